"""Statistics of heads whose answers are known, and what masking a head does."""

import math
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from regard.api import Translator
from regard.attention import Attend
from regard.lens.capture import capture
from regard.lens.forced import encode_pairs, forced_record
from regard.lens.heads import HeadStatistics, head_statistics, mean_statistics, statistics_of
from regard.lens.likelihood import forced_loss
from regard.lens.masking import head_importance, masked_heads, num_heads
from regard.models.transformer import Transformer
from regard.plain import plain
from regard.shapes import Tensor
from tests.little_corpus import sentences
from tests.models.architectures import sentences as some_sentences
from tests.models.architectures import tiny_model

PAIRS = sentences()[:6]


def one_head(matrix: Tensor, *, is_self: bool = True) -> HeadStatistics:
    return statistics_of(matrix[None, None], is_self=is_self)


def numbers(found: HeadStatistics) -> tuple[float, float, float, float]:
    return tuple(  # type: ignore[return-value]
        float(x) for x in (found.entropy, found.distance, found.offset, found.diagonal)
    )


def test_a_head_that_looks_at_itself() -> None:
    assert numbers(one_head(torch.eye(6))) == pytest.approx((0, 0, 0, 1))


def test_a_head_that_looks_at_the_word_before() -> None:
    previous = torch.zeros(6, 6)
    previous[torch.arange(1, 6), torch.arange(5)] = 1.0  # the first has none before it
    assert numbers(one_head(previous)) == pytest.approx((0, 1, -1, 1), abs=1e-5)


def test_a_head_that_looks_everywhere() -> None:
    entropy, _, offset, diagonal = numbers(one_head(torch.full((5, 5), 0.2)))
    assert (entropy, offset, diagonal) == pytest.approx((math.log(5), 0, 0), abs=1e-5)


def test_a_head_that_reads_backwards() -> None:
    backwards = torch.eye(6).flip(0)
    assert numbers(one_head(backwards, is_self=False))[3] == pytest.approx(-1)


def test_sentences_of_different_lengths_begin_and_end_together() -> None:
    stretched = torch.zeros(3, 5)
    stretched[[0, 1, 2], [0, 2, 4]] = 1.0
    assert numbers(one_head(stretched, is_self=False)) == pytest.approx((0, 0, 0, 1), abs=1e-5)


def test_the_first_key_alone_has_no_diagonal() -> None:
    first = torch.zeros(4, 4)
    first[:, 0] = 1.0
    assert numbers(one_head(first))[3] == 0


def test_every_kind_has_numbers_for_every_head(translator: Translator) -> None:
    ((source, target),) = encode_pairs(translator.tokenisers, *([x] for x in PAIRS[0]))
    record = forced_record(translator.models[0], translator.tokenisers, source, target)
    found = head_statistics(record)
    assert set(found) == {"encoder", "decoder", "cross"}
    for kind, statistics in found.items():
        shape = list(record.weights[kind].shape[:2])
        for table in statistics.to_json().values():
            assert [len(table), len(table[0])] == shape
        assert mean_statistics([statistics, statistics]).to_json() == statistics.to_json()


def run(model: Any) -> Tensor:
    batch = some_sentences([5, 7])
    with torch.no_grad():
        found: Tensor = model(batch.tokens, batch.mask, batch.tokens, batch.mask)
    return found


def silenced(model: Transformer, site: str, head: int) -> Tensor:
    """The same by hand: the columns of W^O that read the head are zero."""
    output = model.get_submodule(site).output.weight  # type: ignore[union-attr]
    assert isinstance(output, Tensor)
    kept = output.detach().clone()
    width = output.shape[1] // 4
    with torch.no_grad():
        output[:, head * width : (head + 1) * width] = 0.0
    try:
        return run(model)
    finally:
        with torch.no_grad():
            output.copy_(kept)


@pytest.mark.parametrize(
    "site", ["encoder.layers.1.self_attention", "decoder.layers.0.cross_attention"]
)
@pytest.mark.parametrize("is_plain", [False, True])
def test_a_masked_head_is_one_whose_output_is_not_read(site: str, is_plain: bool) -> None:
    model = tiny_model("transformer")
    assert isinstance(model, Transformer)
    expected = silenced(model, site, 2)
    formulas = plain() if is_plain else nullcontext()
    with formulas, masked_heads(model, {site: [2]}):
        torch.testing.assert_close(run(model), expected, rtol=1e-4, atol=1e-5)
        with capture(model) as seen:
            torch.testing.assert_close(run(model), expected, rtol=1e-4, atol=1e-5)
    assert seen.calls[site][0][:, 2].sum() > 0  # its weights are what they were


def test_nothing_is_left_masked() -> None:
    model = tiny_model("transformer")
    before = run(model)
    everything = {"encoder.layers.0.self_attention": [0, 1, 2, 3]}
    with masked_heads(model, everything):
        assert not torch.equal(run(model), before)
    with pytest.raises(ZeroDivisionError), masked_heads(model, everything):
        raise ZeroDivisionError
    assert torch.equal(run(model), before)
    assert all(m.gates is None for m in model.modules() if isinstance(m, Attend))


@pytest.mark.parametrize("name", ["bahdanau", "luong", "luong-local-m-fed", "deep-att", "gnmt"])
def test_a_single_head_can_be_masked_in_every_architecture(name: str) -> None:
    model = tiny_model(name)
    before = run(model)
    _, costs = head_importance(model, lambda: float(run(model).abs().sum()))
    assert num_heads(model) == 1
    assert costs["cross"].shape == (1, 1) and costs["cross"].abs().min() > 1e-4
    assert torch.equal(run(model), before)


def test_importance_is_what_masking_costs(translator: Translator) -> None:
    model = translator.models[0]
    pairs = encode_pairs(translator.tokenisers, *map(list, zip(*PAIRS, strict=True)))

    def measure() -> float:
        return forced_loss(model, translator.tokenisers, pairs)

    done: list[int] = []
    whole, costs = head_importance(model, measure, progress=done.append)
    assert whole == measure()
    assert sum(done) == 1 + num_heads(model) == 1 + 3 * 2
    with masked_heads(model, {"decoder.layers.0.cross_attention": [1]}):
        assert float(costs["cross"][0, 1]) == pytest.approx(measure() - whole, abs=1e-5)
    # A trained translator needs its source: without it some head must be missed.
    assert costs["cross"].max() > 0.01


def test_the_loss_of_a_translation_is_that_of_its_pieces(translator: Translator) -> None:
    found = translator.translate("Jane voit un livre.", beam=1).sentences[0]
    pair = (found.source, found.best.target)
    expected = -sum(found.best.log_probs) / len(found.best.log_probs)
    loss = forced_loss(translator.models[0], translator.tokenisers, [pair])
    assert loss == pytest.approx(expected, abs=1e-4)


def test_the_loss_of_a_batch_is_the_mean_over_its_pieces(translator: Translator) -> None:
    pairs = encode_pairs(translator.tokenisers, *map(list, zip(*PAIRS, strict=True)))
    lengths = [len(target.ids) + 1 for _, target in pairs]
    alone = [forced_loss(translator.models[0], translator.tokenisers, [pair]) for pair in pairs]
    expected = sum(a * n for a, n in zip(alone, lengths, strict=True)) / sum(lengths)
    for budget in (1, 2048):
        loss = forced_loss(translator.models[0], translator.tokenisers, pairs, budget)
        assert loss == pytest.approx(expected, abs=1e-4)
