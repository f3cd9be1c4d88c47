"""Alignment by the attention of a model that is made to write a given translation."""

from typing import Any

import pytest
import torch

from regard.api import Translator
from regard.errors import ConfigError
from regard.lens.choosing import rank_heads
from regard.lens.forced import (
    MEAN,
    Reading,
    encode_pairs,
    forced_alignment,
    forced_attention,
    forced_record,
)
from regard.lens.words import Alignment, align_words
from regard.text.spans import token_spans
from tests.little_corpus import sentences

SOURCES = [source for source, _ in sentences()[:12]]
TARGETS = [target for _, target in sentences()[:12]]


def align(translator: Translator, *texts: list[str], **options: Any) -> list[Alignment]:
    sources, targets = texts
    return forced_alignment(
        translator.models[0], translator.tokenisers, sources, targets, **options
    )


def test_every_target_word_has_one_link(translator: Translator) -> None:
    for alignment in align(translator, SOURCES, TARGETS):
        assert sorted(j for _, j in alignment.links) == list(range(len(alignment.target)))
        assert all(0 <= i < len(alignment.source) for i, _ in alignment.links)


def test_a_batch_equals_its_sentences(translator: Translator) -> None:
    together = align(translator, SOURCES, TARGETS)
    alone = [
        align(translator, [source], [target])[0]
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]
    assert together == alone
    assert align(translator, SOURCES, TARGETS, batch_tokens=1) == together


def test_forcing_what_was_decoded_equals_watching_it(translator: Translator) -> None:
    num_compared = 0
    for found in translator.translate(SOURCES, beam=1, split_sentences=False):
        (sentence,) = found.sentences
        # Only where the tokeniser cuts the translation as the model wrote it.
        again = translator.tokenisers.target.encode(found.text)
        if again.ids == sentence.best.target.ids:
            (forced,) = align(translator, [found.source], [found.text])
            assert forced == sentence.alignment
            num_compared += 1
    assert num_compared >= len(SOURCES) // 2


def test_words_are_what_the_cut_says(translator: Translator) -> None:
    (alignment,) = align(
        translator, ["Jane aime , ici ."], ["Jane likes it. here"], cut=token_spans
    )
    assert alignment.source == ("Jane", "aime", ",", "ici", ".")
    assert alignment.target == ("Jane", "likes", "it.", "here")


@pytest.mark.parametrize(("source", "target"), [("", "Jane"), ("Jane", ""), ("", "")])
def test_an_empty_side_has_no_links(translator: Translator, source: str, target: str) -> None:
    first, middle, last = align(translator, ["Jane", source, "elle"], ["Jane", target, "she"])
    assert middle.links == ()
    assert first.links == last.links == ((0, 0),)


def test_progress_counts_every_pair(translator: Translator) -> None:
    seen: list[int] = []
    align(translator, SOURCES, TARGETS, batch_tokens=30, progress=seen.append)
    assert sum(seen) == len(SOURCES)
    assert len(seen) > 1


def test_nothing_to_align_is_nothing(translator: Translator) -> None:
    assert align(translator, [], []) == []


def weights_of(translator: Translator, source: str, target: str) -> tuple[Any, Any, Any]:
    pairs = encode_pairs(translator.tokenisers, [source], [target])
    ((_, weights),) = forced_attention(translator.models[0], translator.tokenisers, pairs)
    return *pairs[0], weights


def test_one_head_can_be_read_and_the_mean_is_the_mean(translator: Translator) -> None:
    source, target, weights = weights_of(translator, SOURCES[0], TARGETS[0])
    heads = [Reading(1, head).read(weights) for head in (1, 2)]
    torch.testing.assert_close((heads[0] + heads[1]) / 2, MEAN.read(weights))
    for number, head in enumerate(heads, start=1):
        (found,) = align(translator, [SOURCES[0]], [TARGETS[0]], reading=Reading(1, number))
        assert found == align_words(head, target, source)


def test_shifted_a_word_is_read_where_it_is_fed(translator: Translator) -> None:
    *_, weights = weights_of(translator, SOURCES[0], TARGETS[0])
    shifted, plainly = Reading(is_shifted=True).read(weights), MEAN.read(weights)
    torch.testing.assert_close(shifted[:-1], plainly[1:])  # one step later
    longer = TARGETS[0].rstrip(".")
    # The last word too is read after it was fed, at the step that writes the end.
    *_, end = weights_of(translator, SOURCES[0], longer)
    torch.testing.assert_close(Reading(is_shifted=True).read(end)[-1], end.mean((0, 1))[-1])


@pytest.mark.parametrize("reading", [Reading(2, 1), Reading(1, 3), Reading(0, 1)])
def test_a_head_that_is_not_there_is_refused(translator: Translator, reading: Reading) -> None:
    with pytest.raises(ConfigError, match="does not exist; expected 1 to"):
        align(translator, SOURCES, TARGETS, reading=reading)


def test_what_was_forced_equals_what_was_decoded(translator: Translator) -> None:
    found = translator.translate(SOURCES[0], beam=1, attention=True).sentences[0]
    assert found.attention
    forced = forced_record(
        translator.models[0], translator.tokenisers, found.source, found.best.target
    )
    assert (forced.source, forced.target) == (found.attention.source, found.attention.target)
    for kind, weights in found.attention.weights.items():
        torch.testing.assert_close(forced.weights[kind], weights, rtol=1e-3, atol=1e-5)


def test_the_head_that_agrees_most_is_chosen(translator: Translator) -> None:
    reading = Reading(1, 2)
    reference = [frozenset(a.links) for a in align(translator, SOURCES, TARGETS, reading=reading)]
    best, other = rank_heads(
        translator.models[0], translator.tokenisers, SOURCES, TARGETS, reference
    )
    assert (best.reading, best.agreement) == (reading, 1.0)
    assert other.reading == Reading(1, 1) and other.agreement < 1
    found = align(translator, SOURCES, TARGETS, reading=other.reading)
    common = sum(len(a & frozenset(b.links)) for a, b in zip(reference, found, strict=True))
    total = sum(len(a) + len(b.links) for a, b in zip(reference, found, strict=True))
    assert other.agreement == pytest.approx(2 * common / total)


def test_without_text_no_head_can_be_chosen(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="no text to choose a head on"):
        rank_heads(translator.models[0], translator.tokenisers, [], [], [])
