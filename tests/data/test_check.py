"""What `check` sees in a corpus."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.check import (
    Finding,
    Reading,
    check,
    fold,
    has_entity,
    has_mojibake,
    length_ratio,
    read,
)
from regard.data.corpus import Example
from regard.text.config import TextConfig
from regard.text.train import train_tokenisers

GOOD = [(f"Le chat numéro {n} dort.", f"Cat number {n} sleeps.") for n in range(200)]


def reading(name: str, pairs: list[tuple[str, str]]) -> Reading:
    return Reading(name, [(line, Example(*pair)) for line, pair in enumerate(pairs, start=1)])


def found(
    train: list[tuple[str, str]], test: list[tuple[str, str]] | None = None
) -> dict[str, Finding]:
    held_out = [] if test is None else [reading("test", test)]
    return {finding.what: finding for finding in check(reading("train", train), held_out).findings}


def test_a_good_corpus_has_no_findings() -> None:
    assert found(GOOD) == {}


@pytest.mark.parametrize(
    ("pair", "what"),
    [
        (("Un Ã©tÃ© chaud", "A hot summer"), "wrongly decoded text (Ã©, â€™, U+FFFD)"),
        (("Un été chaud", "It\ufffds hot now"), "wrongly decoded text (Ã©, â€™, U+FFFD)"),
        (("Moi &amp; toi", "Me and you"), "HTML entities (&quot;, &#39;)"),
        (("Oui.", "Yes, and then there was much more to say."), "one side 3 times longer than "),
        (("mot " * 201, "word " * 201), "more than 200 words"),
        (("Rien à faire", "rien à  faire"), "source and target are the same"),
        (("Où ça\u00a0?", "Where then?"), "no-break spaces"),
        (GOOD[0], "repeated pairs"),
        ((GOOD[0][0], "Cat zero sleeps."), "sources with several targets"),
    ],
)
def test_one_bad_pair_is_one_finding_with_its_line(pair: tuple[str, str], what: str) -> None:
    (finding,) = found([*GOOD, pair]).values()
    assert finding.what.startswith(what)
    assert finding.examples[-1] == (f"{len(GOOD) + 1}", *pair)


@pytest.mark.parametrize(
    ("held_out", "what", "severity"),
    [
        (("le chat numéro 3  DORT.", "Cat number 3 sleeps."), "pairs that are in train", "problem"),
        (("Le chat numéro 3 dort.", "Cat 3 sleeps."), "sources that are in train", "problem"),
        (("Chat 3 dort.", "cat number 3 sleeps."), "targets that are in train", "note"),
    ],
)
def test_leakage_is_seen_through_case_and_spaces(
    held_out: tuple[str, str], what: str, severity: str
) -> None:
    (finding,) = found(GOOD, [held_out]).values()
    assert finding.what == f"{what} too"
    assert finding.severity == severity


def test_a_little_leakage_is_a_warning_and_not_a_problem() -> None:
    train = [("une phrase de train", "a sentence of train"), *GOOD]
    test = [("une phrase de train", "a sentence of train"), *((f"{a}!", f"{b}!") for a, b in GOOD)]
    finding = found(train, test)["pairs that are in train too"]
    assert (finding.count, finding.severity) == (1, "warning")


def test_unknown_words_are_counted_by_occurrence() -> None:
    findings = found(GOOD, [("Le chat dort zut zut.", "Cat sleeps number.")])
    finding = findings["source words not in train"]
    assert (finding.count, finding.share) == (2, 2 / 6)
    assert finding.examples == (("zut",),)


def test_unknown_pieces_are_counted_with_a_tokeniser() -> None:
    sources, targets = zip(*GOOD, strict=True)
    tokenisers = train_tokenisers(TextConfig(kind="characters", joint=True), sources, targets)
    report = check(reading("train", [*GOOD, ("Le chat 猫", "cat")]), tokenisers=tokenisers)
    pieces = [finding for finding in report.findings if "pieces" in finding.what]
    assert [(finding.what, finding.count) for finding in pieces] == [
        ("source pieces unknown to the tokeniser", 1)
    ]


def test_what_reading_left_out_is_reported(tmp_path: Path) -> None:
    lines = [*GOOD, ("", "nothing"), ("a\x00", "b")]
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in lines), encoding="utf-8")
    report = check(read("train", [tmp_path / "a.tsv"]))
    assert {(finding.what, finding.count) for finding in report.findings} == {
        ("empty on one side or both", 1),
        ("control characters", 1),
    }


def test_what_cannot_be_read_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo\n")
    (tmp_path / "b").write_bytes(b"un\n")
    report = check(read("train", [tmp_path / "a", tmp_path / "b"]))
    assert report.has_problems
    (finding,) = report.findings
    assert finding.examples == ((f"{tmp_path / 'a'} has 2 lines, {tmp_path / 'b'} has 1",),)


def test_an_empty_corpus_is_a_problem() -> None:
    assert found([])["has no pairs"].severity == "problem"


def test_much_of_a_small_evil_is_a_problem() -> None:
    bad = ("Un Ã©tÃ© chaud", "A hot summer")
    few, many = [*GOOD, bad], [*GOOD, *((f"{bad[0]} {n}", f"{bad[1]} {n}") for n in range(9))]
    severities = [next(iter(found(pairs).values())).severity for pairs in (few, many)]
    assert severities == ["warning", "problem"]


def test_problems_come_first() -> None:
    severities = [
        finding.severity for finding in found([*GOOD, ("x\u00a0y", "xy")], GOOD[:5]).values()
    ]
    assert severities == ["problem", "note"]


def test_summaries_count_pairs_and_words() -> None:
    (summary,) = check(reading("train", GOOD[:2])).summaries
    assert (summary.pairs, summary.source_words, summary.target_words) == (2, 10, 8)


@pytest.mark.parametrize("text", ["été", "à", "«", "don’t", "Понять", "\ufeffa"])
@pytest.mark.parametrize("encoding", ["latin1", "cp1252"])
def test_mojibake_is_seen(text: str, encoding: str) -> None:
    assert has_mojibake(text.encode().decode(encoding, errors="replace"))


def test_a_replacement_character_is_seen() -> None:
    assert has_mojibake("caf\ufffd")


@pytest.mark.parametrize(
    "text", ["été", "NÃO", "»Spaß«", "Âge", "SÃO PAULO", "à « Paris »", "Привет", "château", "año"]
)
def test_good_text_is_not_taken_for_mojibake(text: str) -> None:
    assert not has_mojibake(text)


letters = st.characters(categories=["Lu", "Ll"], min_codepoint=0xC0, max_codepoint=0xFF)


@given(st.text(letters, min_size=1))
def test_latin_letters_decoded_wrongly_are_always_seen(text: str) -> None:
    assert has_mojibake(text.encode().decode("latin1"))


@pytest.mark.parametrize(
    ("text", "is_seen"),
    [("a &quot;b&#39; c", True), ("R&D; a & b;", False), ("&#x27;", True), ("AT&T", False)],
)
def test_entities_are_seen(text: str, is_seen: bool) -> None:
    assert has_entity(text) == is_seen


@given(st.text(), st.text())
def test_the_length_ratio_has_no_preferred_side(source: str, target: str) -> None:
    ratio = length_ratio(Example(source, target))
    assert ratio == length_ratio(Example(target, source)) >= 1


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
