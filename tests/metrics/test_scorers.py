"""BLEU, chrF, TER and exact match: sacreBLEU's numbers, as functions of counts."""

import math
from collections.abc import Callable

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError
from regard.metrics.bleu import bleu
from regard.metrics.chrf import chrf
from regard.metrics.exact import ExactMatch
from regard.metrics.paper import PaperBleu
from regard.metrics.scorer import Scorer
from regard.metrics.ter import ter

SCORERS: list[Callable[[], Scorer]] = [bleu, chrf, ter, ExactMatch, lambda: PaperBleu("de")]
WORDS = st.sampled_from(["ein", "Ein", "Mann", "Hund", "läuft", "schläft", ".", "im", "Park"])
LINES = st.lists(WORDS, max_size=12).map(" ".join)
CORPORA = st.lists(st.tuples(LINES, LINES), min_size=1, max_size=8).map(
    lambda pairs: ([one for one, _ in pairs], [other for _, other in pairs])
)


@given(CORPORA)
@settings(deadline=None)
def test_bleu_is_sacrebleus(corpus: tuple[list[str], list[str]]) -> None:
    hypotheses, references = corpus
    expected = sacrebleu.corpus_bleu(hypotheses, [references], force=True).score
    assert bleu().score(hypotheses, references, samples=0).value == pytest.approx(expected)


@given(CORPORA)
@settings(deadline=None)
def test_chrf_is_sacrebleus(corpus: tuple[list[str], list[str]]) -> None:
    hypotheses, references = corpus
    expected = sacrebleu.corpus_chrf(hypotheses, [references]).score
    assert chrf().score(hypotheses, references, samples=0).value == pytest.approx(expected)


@given(CORPORA)
@settings(deadline=None)
def test_lowercased_ter_is_sacrebleus_default(corpus: tuple[list[str], list[str]]) -> None:
    hypotheses, references = corpus
    expected = sacrebleu.corpus_ter(hypotheses, [references]).score
    found = ter(lowercase=True).score(hypotheses, references, samples=0).value
    assert found == pytest.approx(expected)


@given(CORPORA)
@settings(deadline=None)
def test_exact_match_is_the_share_of_equal_lines(corpus: tuple[list[str], list[str]]) -> None:
    hypotheses, references = corpus
    equal = [one == other for one, other in zip(hypotheses, references, strict=True)]
    found = ExactMatch().score(hypotheses, references, samples=0).value
    assert found == pytest.approx(100 * sum(equal) / len(equal))


@pytest.mark.parametrize("make", SCORERS)
def test_the_reference_itself_has_the_perfect_score(make: Callable[[], Scorer]) -> None:
    scorer = make()
    lines = ["Ein Mann läuft im Park .", "Zwei Hunde spielen im Schnee .", "Eine Frau liest ."]
    perfect = 0 if scorer.is_error else 100
    assert scorer.score(lines, lines, samples=0).value == pytest.approx(perfect)


@pytest.mark.parametrize("make", SCORERS)
def test_a_perfect_line_has_the_perfect_score(make: Callable[[], Scorer]) -> None:
    scorer = make()
    perfect = 0 if scorer.is_error else 100
    assert scorer.score_line("Ein Mann.", "Ein Mann.") == pytest.approx(perfect)


@pytest.mark.parametrize("make", SCORERS)
def test_the_order_of_the_lines_changes_nothing(make: Callable[[], Scorer]) -> None:
    scorer = make()
    hypotheses = ["Ein Mann läuft im Park", "Ein Hund", "Ein Mann schläft im Park ."]
    references = ["Ein Mann läuft im Park .", "Der Hund", "Ein Mann schläft im Gras ."]
    backwards = scorer.score(hypotheses[::-1], references[::-1], samples=0)
    assert math.isclose(scorer.score(hypotheses, references, samples=0).value, backwards.value)


@pytest.mark.parametrize(
    "make", [bleu, chrf, ter, ExactMatch], ids=["bleu", "chrf", "ter", "exact"]
)
def test_case_counts_unless_it_is_ignored(make: Callable[..., Scorer]) -> None:
    upper, lower = ["EIN MANN LÄUFT IM PARK"], ["ein mann läuft im park"]
    mixed = make(lowercase=False).score(upper, lower, samples=0)
    ignored = make(lowercase=True).score(upper, lower, samples=0)
    perfect = make(lowercase=False).score(lower, lower, samples=0)
    assert mixed.value != perfect.value == ignored.value


@pytest.mark.parametrize(
    ("scorer", "part"),
    [
        (bleu(), "case:mixed|eff:no|tok:13a|smooth:exp"),
        (bleu(lowercase=True, tokenize="char"), "case:lc|eff:no|tok:char|smooth:exp"),
        (chrf(), "case:mixed|eff:yes|nc:6|nw:0|space:no"),
        (chrf(lowercase=True), "case:lc"),
        (ter(), "case:mixed|tok:tercom"),
        (ExactMatch(), "case:mixed"),
        (ExactMatch(lowercase=True), "case:lc"),
        (PaperBleu("fr"), "case:lc|eff:no|tok:moses-fr|sacremoses:"),
    ],
)
def test_the_signature_tells_the_settings(scorer: Scorer, part: str) -> None:
    assert part in scorer.signature()


@pytest.mark.parametrize("make", SCORERS)
def test_the_signature_tells_whether_anything_was_resampled(make: Callable[[], Scorer]) -> None:
    signatures = make().signature(), make().signature(samples=300)
    assert ["|bs:300|seed:12345|" in signature for signature in signatures] == [False, True]


@pytest.mark.parametrize("make", SCORERS)
@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a"] * 1001, ["a"] * 1000, "1,001 hypotheses for 1,000 references; expected one"),
        ([], ["a"], "0 hypotheses for 1 references"),
        ([], [], "nothing to score: hypotheses and references are empty"),
    ],
)
def test_unequal_or_empty_texts_are_an_error(
    make: Callable[[], Scorer], hypotheses: list[str], references: list[str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        make().score(hypotheses, references)
