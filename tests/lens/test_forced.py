"""Alignment by the attention of a model that is made to write a given translation."""

from typing import Any

import pytest

from regard.api import Translator
from regard.lens.forced import forced_alignment
from regard.lens.words import Alignment
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
    for found in translator.translate(SOURCES, beam=1, split_sentences=False):
        (sentence,) = found.sentences
        # Only where the tokeniser cuts the translation as the model wrote it.
        again = translator.tokenisers.target.encode(found.text)
        if again.ids == sentence.best.target.ids:
            (forced,) = align(translator, [found.source], [found.text])
            assert forced == sentence.alignment


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
