"""The BLEU of papers on Multi30k: the tokenised files' quirks, and multi-bleu's arithmetic."""

import io
import math
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from regard.metrics import paper
from regard.metrics.options import Language
from regard.metrics.paper import PaperBleu, tokenise


@pytest.mark.parametrize(
    ("language", "line", "tokens"),
    [
        ("en", "Two men, outside.", "two men , outside ."),
        ("en", "The dog's T-shirt isn't here", "the dog &apos;s t-shirt isn &apos;t here"),
        ("fr", "L'homme d'à côté", "l&apos; homme d&apos; à côté"),
        ("de", "Was ist's", "was ist &apos; s"),
        ("de", "Er sagt: „Nein!“ & geht", "er sagt : &quot; nein ! &quot; &amp; geht"),
        ("en", "a <b> [c] | d", "a &lt; b &gt; &#91; c &#93; &#124; d"),
        ("en", "  two   spaces ", "two spaces"),
        ("en", "Ends in dots...", "ends in dots ..."),
        ("en", "", ""),
    ],
)
def test_a_line_is_tokenised_as_moses_does(language: Language, line: str, tokens: str) -> None:
    assert tokenise(line, language) == tokens


@pytest.mark.parametrize(
    ("language", "line", "tokens"),
    [
        ("de", "Da steht „Tee.“", "da steht &quot; tee &quot; ."),
        ("fr", 'Il dit "non."', "il dit &quot; non &quot; ."),
        ("fr", "un coup d’œil", "un coup d &quot; œil"),
    ],
)
def test_the_faults_of_the_perl_scripts_are_kept(
    language: Language, line: str, tokens: str
) -> None:
    assert tokenise(line, language) == tokens


def multi_bleu(hypotheses: list[str], references: list[str]) -> float:
    """BLEU by its definition: clipped n-gram precisions and the brevity penalty."""
    right, total = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for order in range(1, 5):
            ours, theirs = (
                Counter(zip(*(text.split()[skip:] for skip in range(order)), strict=False))
                for text in (hypothesis, reference)
            )
            right[order - 1] += (ours & theirs).total()
            total[order - 1] += ours.total()
    lengths = [sum(len(line.split()) for line in text) for text in (hypotheses, references)]
    penalty = min(0.0, 1 - lengths[1] / lengths[0])
    logs = [math.log(found / of) for found, of in zip(right, total, strict=True)]
    return 100 * math.exp(penalty + sum(logs) / 4)


def test_the_score_is_that_of_multi_bleu_on_tokenised_text() -> None:
    hypotheses = ["Ein Mann läuft im Park.", "Da steht „Tee.“ im Schild"]
    references = ["Ein Mann läuft schnell im Park.", "Da steht „Tee.“ auf dem Schild"]
    tokenised = [[tokenise(line, "de") for line in text] for text in (hypotheses, references)]
    found = PaperBleu("de").score(hypotheses, references, samples=0).value
    assert found == pytest.approx(multi_bleu(*tokenised))


def test_nothing_is_smoothed() -> None:
    score = PaperBleu("en").score(["a b c x e f g"], ["a b c d e f g"], samples=0)
    assert score.value == 0


def test_case_and_punctuation_marks_are_made_alike() -> None:
    score = PaperBleu("de").score(["EIN „MANN“ läuft hier"], ['ein "mann" läuft hier'], samples=0)
    assert score.value == pytest.approx(100)


def test_the_command_tokenises_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "argv", ["paper", "fr"])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("L'été\n\n".encode())))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=written))
    paper.main()
    assert written.getvalue().decode() == "l&apos; été\n\n"


@pytest.mark.parametrize("arguments", [[], ["xx"], ["de", "fr"]])
def test_the_command_tells_how_it_is_used(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["paper", *arguments])
    with pytest.raises(SystemExit, match=r"usage: python -m regard.metrics.paper cs\|de\|en\|fr"):
        paper.main()
