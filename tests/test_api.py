"""What a notebook uses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard.api import Translator, load
from regard.build import create_run
from regard.decoding.trace import START, Node
from regard.errors import ConfigError
from regard.lens.capture import capture
from regard.text.config import TextConfig
from tests.little_corpus import little_run, sentences, write_corpus

SENTENCE = "Jane visite l'Afrique en septembre."
OTHERS = [source for source, _ in sentences()[::17]]


# ------------------------------------------------------------------------------ translating


def test_the_package_offers_load_without_importing_it_first(trained_run: Path) -> None:
    assert regard.load is load
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = regard.absent


def test_training_has_taught_it_something(translator: Translator) -> None:
    found = translator.translate([source for source, _ in sentences()], beam=1, align=False)
    right = sum(t.text == target for t, (_, target) in zip(found, sentences(), strict=True))
    assert right > len(found) / 10


def test_one_text_gives_one_translation_and_many_a_list(translator: Translator) -> None:
    one = translator.translate(SENTENCE)
    (listed,) = translator.translate([SENTENCE])
    assert one.source == listed.source == SENTENCE
    assert one.text == listed.text
    assert one.score == listed.score


def test_no_text_gives_no_translation(translator: Translator) -> None:
    assert translator.translate([]) == []


@pytest.mark.parametrize("text", ["", " ", "\n\t \u2028"])
def test_an_empty_text_stays_empty(translator: Translator, text: str) -> None:
    found = translator.translate(text)
    assert (found.source, found.text, found.sentences, found.score) == (text, "", (), 0.0)
    assert (found.alignment, found.attention, found.pieces) == ((), (), ())


@pytest.mark.parametrize("beam", [1, 3])
def test_a_batch_equals_its_sentences_in_order(translator: Translator, beam: int) -> None:
    together = translator.translate(OTHERS, beam=beam, batch_tokens=64)
    alone = [translator.translate(text, beam=beam) for text in OTHERS]
    assert [t.source for t in together] == OTHERS
    assert [t.text for t in together] == [t.text for t in alone]
    assert [t.score for t in together] == pytest.approx([t.score for t in alone], abs=1e-4)


def test_a_paragraph_keeps_the_white_space_between_its_sentences(translator: Translator) -> None:
    first, second = "Jane voit un livre.", "Elle aime la gare."
    found = translator.translate(f"  {first}\n\n {second} ")
    assert len(found.sentences) == 2
    assert found.text == "\n\n ".join(translator.translate(s).text for s in (first, second))


def test_capitals_are_answered_in_capitals(translator: Translator) -> None:
    quiet, loud = translator.translate([SENTENCE.capitalize(), SENTENCE.upper()])
    assert loud.text == quiet.text.upper()
    assert loud.source == SENTENCE.upper()
    assert loud.alignment == quiet.alignment


def test_a_text_taken_whole_is_one_sentence(translator: Translator) -> None:
    text = "Jane voit un livre. Elle aime la gare."
    found = translator.translate(f" {text} ", split_sentences=False)
    assert [sentence.source.text for sentence in found.sentences] == [text]


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=20))
def test_any_text_is_answered(translator: Translator, text: str) -> None:
    found = translator.translate(text, beam=1)
    assert found.source == text
    json.dumps(found.to_json())


def test_the_progress_of_all_sentences_is_told(translator: Translator) -> None:
    told: list[int] = []
    translator.translate(OTHERS, beam=1, batch_tokens=40, progress=told.append)
    assert sum(told) == len(OTHERS)
    assert len(told) > 1


# ------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beem": 4}, "unknown option beem; did you mean beam?"),
        ({"beam": 0}, "decoding.beam = 0: input should be greater than 0"),
        ({"n_best": 5, "beam": 2}, "n_best = 5 is more than beam = 2"),
        ({"top_p": 2.0}, "decoding.top_p = 2.0: input should be less than or equal to 1"),
    ],
)
def test_a_wrong_option_is_one_line(
    translator: Translator, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        translator.translate(SENTENCE, **options)
    assert message in str(caught.value)


def test_n_best_are_different_and_ordered(translator: Translator) -> None:
    (found,) = translator.translate(SENTENCE, beam=4, n_best=3).sentences
    scores = [candidate.score for candidate in found.candidates]
    assert len({candidate.target.ids for candidate in found.candidates}) == 3
    assert scores == sorted(scores, reverse=True)
    assert len(found.to_json()["n_best"]) == 3


def test_a_prefix_begins_every_translation(translator: Translator) -> None:
    for found in translator.translate(OTHERS, prefix="my friend"):
        assert found.text.startswith("my friend")


def test_samples_come_again_with_their_seed_and_differ_without(translator: Translator) -> None:
    def samples(seed: int) -> list[str]:
        found = translator.translate(OTHERS, sample=True, temperature=2.0, seed=seed)
        return [t.text for t in found]

    assert samples(3) == samples(3) != samples(4)


def test_several_samples_have_the_attention_of_the_best(translator: Translator) -> None:
    options: dict[str, Any] = {"sample": True, "temperature": 1.5}
    many = translator.translate(SENTENCE, attention=True, n_best=4, seed=5, **options).sentences[0]
    ones = [
        translator.translate(SENTENCE, attention=True, seed=5 + n, **options).sentences[0]
        for n in range(4)
    ]
    expected = max(ones, key=lambda one: one.best.score)
    assert many.best == expected.best
    assert many.attention is not None and expected.attention is not None
    assert torch.equal(many.attention.weights["cross"], expected.attention.weights["cross"])
    assert [c.score for c in many.candidates] == sorted(
        (one.best.score for one in ones), reverse=True
    )


# ------------------------------------------------------------------------------ attention


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"sample": True}], ids=str)
def test_the_attention_equals_that_of_teacher_forcing(
    translator: Translator, options: dict[str, Any]
) -> None:
    (found,) = translator.translate(SENTENCE, attention=True, **options).sentences
    record = found.attention
    assert record is not None
    model, (source, target) = translator.models[0], (translator.tokenisers.source, found.best)
    source_ids = torch.tensor([[*found.source.ids, source.eos]])
    target_ids = torch.tensor([[source.bos, *target.target.ids]])
    with torch.inference_mode(), capture(model) as seen:
        memory = model.encode(source_ids, torch.ones_like(source_ids, dtype=torch.bool))
        model.decode(memory, target_ids, torch.ones_like(target_ids, dtype=torch.bool))
    sites = {
        "encoder": "encoder.layers.0.self_attention",
        "decoder": "decoder.layers.0.self_attention",
        "cross": "decoder.layers.0.cross_attention",
    }
    for kind, weights in record.weights.items():
        torch.testing.assert_close(weights, seen.calls[sites[kind]][0], atol=1e-5, rtol=1e-4)


def test_attention_has_a_row_for_every_piece_and_sums_to_one(translator: Translator) -> None:
    for found in translator.translate(OTHERS, attention=True):
        (sentence,), (record,) = found.sentences, found.attention
        num_source, num_target = len(sentence.source.ids) + 1, len(sentence.best.target.ids) + 1
        assert len(record.source) == num_source and len(record.target) == num_target
        assert record.weights["encoder"].shape == (1, 2, num_source, num_source)
        assert record.weights["decoder"].shape == (1, 2, num_target, num_target)
        assert record.weights["cross"].shape == (1, 2, num_target, num_source)
        for weights in record.weights.values():
            torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_watched_equals_unwatched(translator: Translator) -> None:
    watched = translator.translate(OTHERS, attention=True)
    unwatched = translator.translate(OTHERS, align=False)
    assert [t.text for t in watched] == [t.text for t in unwatched]
    assert all(not t.attention and not t.alignment for t in unwatched)


def test_alignments_name_words_that_exist(translator: Translator) -> None:
    for found in translator.translate(OTHERS):
        (sentence,) = found.sentences
        assert sentence.alignment is not None
        assert sorted(j for _, j in found.alignment) == list(range(len(sentence.alignment.target)))
        assert all(0 <= i < len(sentence.alignment.source) for i, _ in found.alignment)


def test_the_words_of_a_paragraph_are_counted_through(translator: Translator) -> None:
    found = translator.translate("Jane voit un livre. Elle aime la gare. Mon ami cherche un livre.")
    alignments = [s.alignment for s in found.sentences if s.alignment is not None]
    assert len(alignments) == 3
    source = [word for alignment in alignments for word in alignment.source]
    target = [word for alignment in alignments for word in alignment.target]
    linked = [(a.source[i], a.target[j]) for a in alignments for i, j in a.links]
    assert [(source[i], target[j]) for i, j in found.alignment] == linked


def test_log_probs_are_of_each_piece_and_the_end(translator: Translator) -> None:
    (found,) = translator.translate(SENTENCE, beam=4, penalty="length", alpha=1.0).sentences
    best = found.best
    assert len(best.log_probs) == len(best.target.ids) + 1
    assert best.score == pytest.approx(sum(best.log_probs) / len(best.log_probs), rel=1e-4)


# ------------------------------------------------------------------------------ ensembles


def test_an_ensemble_of_one_model_twice_is_the_model(
    trained_run: Path, translator: Translator
) -> None:
    ensemble = load([trained_run, trained_run], device="cpu")
    together = ensemble.translate(OTHERS, attention=True)
    alone = translator.translate(OTHERS)
    assert [t.text for t in together] == [t.text for t in alone]
    assert [t.score for t in together] == pytest.approx([t.score for t in alone], abs=1e-4)
    assert [t.alignment for t in together] == [t.alignment for t in alone]


def test_members_that_cut_text_differently_are_refused(trained_run: Path, tmp_path: Path) -> None:
    config = little_run(write_corpus(tmp_path))
    other = create_run(
        tmp_path / "other",
        replace(config, text=TextConfig(kind="characters", vocab_size=90)),
    )
    with pytest.raises(ConfigError, match="cut text differently; the members of an ensemble need"):
        load([trained_run, other.folder])


# ------------------------------------------------------------------------------ step by step


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4, "n_best": 4}], ids=str)
def test_a_traced_sentence_is_the_untraced_one(
    translator: Translator, options: dict[str, Any]
) -> None:
    config = replace(translator.decoding, **options)
    (part,) = translator.plan(SENTENCE, config).parts
    steps: list[tuple[Node, ...]] = []
    found = translator.traced(part, config, steps.append)
    assert found is not None
    (untraced,) = translator.translate(SENTENCE, align=False, **options).sentences
    assert [c.target for c in found.candidates] == [c.target for c in untraced.candidates]
    told = {node.number: node for nodes in steps for node in nodes}
    for candidate, node in zip(found.candidates, steps[-1], strict=True):
        path = [node]
        while path[-1].parent != START:
            path.append(told[path[-1].parent])
        tokens = [each.token for each in reversed(path)]
        assert tokens == [*candidate.target.ids, translator.tokenisers.target.eos]


def test_a_sentence_that_nobody_waits_for_is_not_translated(translator: Translator) -> None:
    config = translator.decoding
    parts = [part for text in OTHERS for part in translator.plan(text, config).parts]
    wanted = translator.sentences(parts, config, is_wanted=lambda number: number % 2 == 0)
    assert {number for batch in wanted for number in batch} == set(range(0, len(parts), 2))
    told: list[tuple[Node, ...]] = []
    assert translator.traced(parts[0], config, told.append, is_wanted=lambda _: False) is None
    assert told == []


def test_a_prefix_that_the_model_has_no_place_for_is_refused(translator: Translator) -> None:
    short = Translator(translator.models, translator.tokenisers, translator.decoding)
    short.max_positions = 4
    with pytest.raises(ConfigError, match=r"the prefix has \d+ pieces, and the model takes 3 at"):
        short.translate(SENTENCE, prefix="my friend my friend my friend")
