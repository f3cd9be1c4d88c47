"""Who decodes: watched or not, one or several, and none that was left behind."""

from collections.abc import Iterator
from typing import Any

import pytest

from regard.api import Translator
from regard.config import changed
from regard.decoding.config import DecodingConfig
from regard.decoding.request import Request
from regard.decoding.search import TURNS
from regard.errors import ConfigError
from regard.metrics.consensus import expected_likeness
from tests.little_corpus import sentences

TEXTS = [source for source, _ in sentences()[::5]]


def test_a_search_that_was_left_does_not_answer_the_next(translator: Translator) -> None:
    config = changed(translator.decoding, {"beam": 1, "batch_tokens": 40}, "decoding")
    parts = [part for text in TEXTS for part in translator.plan(text, config).parts]
    left = translator.sentences(parts, config, align=False, workers=2)
    next(left)
    left.close()  # type: ignore[attr-defined]
    expected = [each.text for each in translator.translate(TEXTS[::-1], beam=1, align=False)]
    found = translator.translate(TEXTS[::-1], beam=1, align=False, workers=2, batch_tokens=40)
    assert [each.text for each in found] == expected


@pytest.mark.parametrize("number", [0, -1])
@pytest.mark.parametrize("align", [False, True])
def test_without_workers_nothing_is_begun(translator: Translator, number: int, align: bool) -> None:
    with pytest.raises(ConfigError, match=f"^workers = {number}: expected 1 or more$"):
        translator.translate(TEXTS, align=align, workers=number, batch_tokens=40)


@pytest.mark.parametrize(
    ("options", "is_needed"),
    [
        ({}, False),
        ({"sample": True}, False),
        ({"coverage": 0.2}, True),
        ({"coverage": 0.2, "sample": True}, False),
        ({"replace_unknown": True}, True),
        ({"replace_unknown": True, "sample": True}, True),
    ],
)
def test_models_are_watched_if_the_search_needs_it_and_recorded_if_asked(
    translator: Translator,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    is_needed: bool,
) -> None:
    watched: list[bool] = []
    search = translator.searcher.decode

    def noting(*args: Any, **named: Any) -> Any:
        found = search(*args, **named)
        watched.extend(bool(seen) for each in found for _, seen in each)
        return found

    monkeypatch.setattr(translator.searcher, "decode", noting)
    monkeypatch.setattr("regard.api.record_of", lambda *_: pytest.fail("nobody asked for it"))
    translator.translate(TEXTS[0], align=False, **options)
    assert DecodingConfig(**options).needs_attention == is_needed
    assert watched == [is_needed]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("sharpness", [0.5, 6.0])
def test_consensus_chooses_among_all_that_a_beam_kept(
    translator: Translator, sharpness: float, workers: int
) -> None:
    options: dict[str, Any] = {"beam": 6, "align": False, "batch_tokens": 40, "workers": workers}
    plain = translator.translate(TEXTS, n_best=6, **options)
    agreed = translator.translate(TEXTS, n_best=2, consensus=sharpness, **options)
    for one, other in zip(plain, agreed, strict=True):
        candidates = one.sentences[0].candidates
        tokens = [each.target.ids for each in candidates]
        expected = expected_likeness(tokens, [sharpness * each.score for each in candidates])
        best = sorted(zip(expected, [each.text for each in candidates], strict=True))[-1:-3:-1]
        found = other.sentences[0].candidates
        assert [each.score for each in found] == pytest.approx([score for score, _ in best])
        assert found[0].text == best[0][1]
    assert any(a.text != b.text for a, b in zip(plain, agreed, strict=True)) or sharpness > 1


def test_samples_count_alike(translator: Translator) -> None:
    options: dict[str, Any] = {"sample": True, "n_best": 5, "temperature": 2.0, "align": False}
    drawn = translator.translate(TEXTS[0], **options).sentences[0].candidates
    agreed = translator.translate(TEXTS[0], consensus=6.0, **options).sentences[0].candidates
    expected = expected_likeness([each.target.ids for each in drawn], [0.0] * 5)
    assert [each.score for each in agreed] == pytest.approx(sorted(expected)[::-1])
    assert len({each.text for each in drawn}) > 2


@pytest.mark.parametrize(("workers", "num_batches"), [(1, 1), (2, 2 * TURNS)])
def test_each_worker_has_its_turns(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, workers: int, num_batches: int
) -> None:
    asked: list[Request] = []

    def note(given: list[Request], *_: Any, **__: Any) -> Iterator[Any]:
        asked.extend(given)
        return iter(())

    monkeypatch.setattr(translator.searcher, "results", note)
    parts = [part for text in TEXTS for part in translator.plan(text, translator.decoding).parts]
    list(translator.sentences(parts, translator.decoding, align=False, workers=workers))
    assert len(asked) == num_batches
