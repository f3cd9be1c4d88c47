"""A teacher's translations, kept while they are made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard import distillation
from regard.api import Translator, load
from regard.distillation import distil, round_trips
from regard.errors import ConfigError, DataError
from regard.metrics.bleu import bleu
from regard.metrics.chrf import chrf
from tests.little_corpus import sentences

PAIRS = sentences()[::9]  # 22: four chunks and a rest
SOURCES, REFERENCES = [source for source, _ in PAIRS], [target for _, target in PAIRS]


class StoppedError(Exception):
    """The end that comes in the middle."""


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distillation, "CHUNK", 5)


@pytest.fixture
def counted(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that the teacher is asked to translate."""
    asked: list[str] = []
    translate = translator.translate

    def spied(texts: Any, **options: Any) -> Any:
        asked.extend(texts)
        return translate(texts, **options)

    monkeypatch.setattr(translator, "translate", spied)
    return asked


def stop_after(num_sources: int) -> Callable[[int], None]:
    """A listener that ends the work when so many are done."""
    total = 0

    def progress(num_done: int) -> None:
        nonlocal total
        total += num_done
        if total >= num_sources:
            raise StoppedError

    return progress


def test_the_most_probable_translation_is_taken(translator: Translator, tmp_path: Path) -> None:
    found = distil(translator, SOURCES, tmp_path / "kept", beam=3)
    usual = translator.translate(SOURCES, beam=3, split_sentences=False)
    assert found == [each.text for each in usual]


def test_a_text_of_several_sentences_is_taken_whole(translator: Translator, tmp_path: Path) -> None:
    text = " ".join(SOURCES[:2])
    (found,) = distil(translator, [text], tmp_path / "kept")
    assert found == translator.translate(text, split_sentences=False).text


@pytest.mark.parametrize(("nearest", "scorer"), [("bleu", bleu()), ("chrf", chrf())])
def test_the_nearest_hypothesis_of_the_beam_is_taken(
    nearest: Any, scorer: Any, translator: Translator, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"beam": 6, "alpha": 0.5}
    found = distil(
        translator, SOURCES, tmp_path / "a", references=REFERENCES, nearest=nearest, **given
    )
    usual = distil(translator, SOURCES, tmp_path / "b", **given)
    n_best = translator.translate(SOURCES, n_best=6, split_sentences=False, **given)
    for text, reference, translation in zip(found, REFERENCES, n_best, strict=True):
        texts = [candidate.text for candidate in translation.sentences[0].candidates]
        scores = [scorer.score_line(each, reference) for each in texts]
        assert text == texts[scores.index(max(scores))]
    assert found != usual


def test_an_ensemble_teaches_too(translator: Translator, trained_run: Path, tmp_path: Path) -> None:
    beginner = load(trained_run, checkpoint="step-20", device="cpu")
    models = [*translator.models, *beginner.models]
    voting = Translator(models, translator.tokenisers, translator.decoding)
    taught = [
        distil(teacher, SOURCES, tmp_path / str(number))
        for number, teacher in enumerate((voting, translator, beginner))
    ]
    usual = voting.translate(SOURCES, split_sentences=False)
    assert taught[0] == [each.text or None for each in usual]
    assert taught[0] not in taught[1:]


def test_what_cannot_be_taken_whole_or_said_is_none(translator: Translator, tmp_path: Path) -> None:
    teacher = Translator(
        translator.models, translator.tokenisers, translator.decoding, max_pieces=30
    )
    found = distil(teacher, [SOURCES[0], 5 * SOURCES[0], " "], tmp_path / "kept")
    assert [target is None for target in found] == [False, True, True]


# ------------------------------------------------------------------------------ interrupted


@pytest.mark.parametrize("stop", [5, 10, 20, 22])
def test_an_interrupted_distillation_goes_on_and_equals_the_unbroken_one(
    stop: int, translator: Translator, counted: list[str], tmp_path: Path
) -> None:
    unbroken = distil(translator, SOURCES, tmp_path / "unbroken", beam=1)
    counted.clear()
    with pytest.raises(StoppedError):
        distil(translator, SOURCES, tmp_path / "kept", progress=stop_after(stop), beam=1)
    heard: list[int] = []
    resumed = distil(translator, SOURCES, tmp_path / "kept", progress=heard.append, beam=1)
    assert resumed == unbroken
    num_again = stop % 5  # of a last chunk that is not whole
    assert counted == SOURCES + SOURCES[stop - num_again : stop]
    assert sum(heard) == len(SOURCES)
    assert (tmp_path / "kept").read_bytes() == (tmp_path / "unbroken").read_bytes()


@pytest.mark.parametrize("num_lost", [1, 7, 60, 200])
def test_a_torn_file_goes_on_from_its_last_whole_chunk(
    num_lost: int, translator: Translator, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    unbroken = distil(translator, SOURCES, kept, beam=1)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-num_lost])
    assert distil(translator, SOURCES, kept, beam=1) == unbroken
    assert kept.read_bytes() == whole


@pytest.mark.parametrize("size", [0, 3])
def test_a_file_without_a_beginning_is_begun(
    size: int, translator: Translator, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    unbroken = distil(translator, SOURCES, kept, beam=1)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:size])
    assert distil(translator, SOURCES, kept, beam=1) == unbroken
    assert kept.read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        {"sources": SOURCES[1:6]},
        {"beam": 2},
        {"nearest": "chrf", "references": REFERENCES},
        {"teachers": 2},
    ],
    ids=lambda change: str(next(iter(change))),
)
def test_what_another_distillation_kept_is_refused_and_left(
    change: dict[str, Any], translator: Translator, trained_run: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    distil(translator, SOURCES[:5], kept, beam=3)
    before = kept.read_bytes()
    teachers = load([trained_run] * change.pop("teachers", 1), device="cpu")
    given: dict[str, Any] = {"sources": SOURCES[:5], "beam": 3} | change
    with pytest.raises(DataError, match="kept is of another distillation"):
        distil(teachers, kept=kept, **given)
    assert kept.read_bytes() == before


def test_what_is_kept_and_damaged_is_refused(translator: Translator, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    distil(translator, SOURCES[:2], kept)
    kept.write_bytes(kept.read_bytes().replace(b'"', b"", 3))
    with pytest.raises(DataError, match="kept is damaged; remove it to begin anew"):
        distil(translator, SOURCES, kept)


def test_the_nearest_of_one_is_refused(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="take a beam of 2 or more"):
        distil(translator, SOURCES, tmp_path / "kept", nearest="bleu", beam=1)


def test_a_round_trip_is_scored_by_how_near_it_comes_back(
    translator: Translator, tmp_path: Path
) -> None:
    # A model of one direction serves for both: only what it writes matters.
    returned = translator.translate(SOURCES, beam=1, split_sentences=False)
    wanted = [each.text for each in returned]
    wanted[3] = "something else"
    scores = round_trips(translator, wanted, SOURCES, tmp_path / "kept")
    assert scores[:3] == [100.0] * 3 and scores[4:] == [100.0] * (len(SOURCES) - 4)
    assert scores[3] == chrf().score_line(returned[3].text, "something else") < 60
