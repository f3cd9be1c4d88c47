"""The compact form of a model is the model."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast
from unittest.mock import patch

import pytest
import torch

from regard.decoding.compact import Compact, CompactState
from regard.decoding.stepper import ModelStepper
from regard.lens.capture import capture
from regard.models.interface import Seq2Seq
from regard.models.transformer import PRESETS, DecoderBlock, Transformer, TransformerConfig
from regard.native import kernels
from regard.nn.feed_forward import FeedForward
from regard.nn.int8 import quantise_model
from regard.nn.norm import LayerNorm
from regard.nn.residual import NormPlace, Residual
from regard.plain import plain
from regard.shapes import Tensor
from tests.models.architectures import BOS, VARIATIONS, sentences, tiny_model

TRANSFORMERS = [n for n, config in VARIATIONS.items() if isinstance(config, TransformerConfig)]
COMPACT = [name for name in TRANSFORMERS if ModelStepper(tiny_model(name))._can_be_compact()]
BATCH = sentences([5, 2, 7])
needs_kernels = pytest.mark.skipif(
    not kernels.has_kernels(), reason="no compiler was there when the package was installed"
)
# A beam of three opens, its hypotheses move, the second sentence leaves.
MOVES = (
    [[0, 0, 0], [1, 1, 1], [2, 2, 2]],
    [[2, 0, 0], [3, 5, 4], [7, 7, 7]],
    [[1, 1, 2], [8, 6, 6]],
    [[0, 1, 2], [3, 4, 5]],
    [[5, 3, 3]],
)


def log_probs_along_the_way(stepper: ModelStepper, kind: type) -> list[Tensor]:
    """Of every step of a search that always moves in the same way."""
    state = stepper.start(BATCH.tokens, BATCH.mask, 10)
    assert isinstance(state, CompactState) == (kind is CompactState)
    tokens, found = torch.full((3,), BOS), []
    for move in MOVES:
        found.append(stepper.step(state, tokens))
        rows = torch.tensor(move)
        stepper.reorder(state, rows)
        tokens = 4 + torch.arange(rows.numel()) % 9
    return found


def rows_of_both(model: Seq2Seq[Any]) -> tuple[Tensor, Tensor]:
    """All rows of all steps: of the compact form, and of the plain formulas."""
    compact = log_probs_along_the_way(ModelStepper(model), CompactState)
    with plain():
        formula = log_probs_along_the_way(ModelStepper(model), object)
    return torch.cat(compact), torch.cat(formula)


@pytest.mark.parametrize("way", ["packed", "not packed", "layer by layer", "without kernels"])
@pytest.mark.parametrize("name", COMPACT)
def test_every_step_equals_the_model_s(
    name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.decoding.compact.FEW_ROWS", 99 if way == "not packed" else 0)
    if way != "packed":
        monkeypatch.setattr("regard.native.kernels.has_float_products", lambda: False)
    if way == "without kernels":
        monkeypatch.setattr("regard.native.kernels._library", lambda: None)
    compact, formula = rows_of_both(tiny_model(name))
    torch.testing.assert_close(compact, formula, atol=1e-4, rtol=1e-4)


@needs_kernels
@pytest.mark.parametrize("name", ["transformer", "transformer-pre-norm"])
@pytest.mark.parametrize("precision", ["floats", "floats, not packed", "integers"])
def test_layers_are_one_call(name: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_packed = {
        "floats": kernels.has_float_products(),
        "floats, not packed": False,
        "integers": kernels.has_integer_products(),
    }[precision]
    model = tiny_model(name)
    if precision == "integers":
        quantise_model(model)
    if not is_packed:
        monkeypatch.setattr(kernels, "has_float_products", lambda: False)
    with patch.object(kernels, "call", wraps=kernels.call) as call:
        log_probs_along_the_way(ModelStepper(model), CompactState)
    calls = [each.args[0] for each in call.mock_calls]
    # Of the steps, the second and third have nine rows: more than few.
    is_few = precision != "integers"
    assert calls.count("step_rows") == (len(MOVES) if is_packed else 3 * is_few)
    assert ("attend_rows" in calls) != is_packed


@needs_kernels
@pytest.mark.skipif(not kernels.has_float_products(), reason="the processor has no AVX-512")
def test_what_is_decoded_does_not_depend_on_its_neighbours_to_the_last_bit() -> None:
    torch.manual_seed(0)
    model = Transformer(replace(PRESETS["tiny"], d_model=64), 90, 90).eval()
    sources = [[5, 6, 7, 3], [8, 3], [9, 10, 11, 12, 13, 14, 15, 3]]
    width = max(map(len, sources))
    batch = torch.tensor([source + [0] * (width - len(source)) for source in sources])

    def steps(source: Tensor, tokens: Tensor) -> Tensor:
        stepper = ModelStepper(model)
        state = stepper.start(source, source != 0, 10)
        return torch.stack([stepper.step(state, each) for each in tokens])

    with torch.inference_mode():
        asked = torch.randint(4, 90, (5, 3))
        together = steps(batch, asked)
        for place, source in enumerate(sources):
            alone = steps(torch.tensor([source]), asked[:, place : place + 1])
            assert torch.equal(alone[:, 0], together[:, place])


@needs_kernels
@pytest.mark.parametrize("norm_place", ["pre", "post"])
@pytest.mark.parametrize("d_model", [20, 128])
def test_one_call_equals_the_formulas_in_long_targets_and_odd_widths(
    norm_place: NormPlace, d_model: int
) -> None:
    """Beyond the sixteen tokens that there is room for at first, and with an ε that counts."""
    torch.manual_seed(0)
    config = replace(PRESETS["tiny"], d_model=d_model, d_ff=50, norm_place=norm_place)
    model = Transformer(config, 50, 50).eval()
    for module in model.modules():
        if isinstance(module, LayerNorm):
            module.eps = 0.1
    source = torch.arange(4, 11).unsqueeze(0)
    asked = torch.randint(4, 50, (40,)).split(1)

    def states() -> Tensor:
        stepper = ModelStepper(model)
        state = stepper.start(source, torch.ones_like(source, dtype=torch.bool), len(asked))
        return torch.cat([stepper.hidden(state, token) for token in asked])

    with torch.inference_mode():
        compiled = states()
        with plain():
            formula = states()
    torch.testing.assert_close(compiled, formula, atol=1e-4, rtol=1e-4)


def uneven(change: str) -> Transformer:
    """A model whose second layer is unlike the first."""
    model = tiny_model("transformer")
    assert isinstance(model, Transformer)
    layer = cast("DecoderBlock", model.decoder.layers[1])
    match change:
        case "norm":
            cast("Residual", layer.residuals[2]).place = "pre"
        case "heads":
            assert layer.cross_attention is not None
            layer.cross_attention.heads //= 2
        case "width":
            torch.manual_seed(0)
            layer.feed_forward = FeedForward(16, 24)
    return model


@pytest.mark.parametrize("change", ["norm", "heads", "width"])
def test_layers_may_differ(change: str) -> None:
    compact, formula = rows_of_both(uneven(change))
    torch.testing.assert_close(compact, formula, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_models_of_other_precisions_are_decoded(dtype: torch.dtype) -> None:
    exact = log_probs_along_the_way(ModelStepper(tiny_model("transformer")), CompactState)
    found = log_probs_along_the_way(ModelStepper(tiny_model("transformer").to(dtype)), CompactState)
    assert {each.dtype for each in found} == {dtype}
    for one, other in zip(found, exact, strict=True):
        torch.testing.assert_close(one.float(), other, atol=0.2, rtol=0)


def test_a_model_is_decoded_under_autocast() -> None:
    model = tiny_model("transformer")
    exact = log_probs_along_the_way(ModelStepper(model), CompactState)
    with torch.autocast("cpu", torch.bfloat16):
        found = log_probs_along_the_way(ModelStepper(model), CompactState)
    for one, other in zip(found, exact, strict=True):
        torch.testing.assert_close(one.float(), other, atol=0.2, rtol=0)


def test_a_source_longer_than_the_kernel_takes_is_read() -> None:
    torch.manual_seed(0)
    model = Transformer(replace(PRESETS["tiny"], d_model=64), 90, 90).eval()
    long = torch.randint(4, 90, (2, kernels.MOST_POSITIONS + 1))
    long[1, 9:] = 0
    found = []
    for context in (nullcontext(), plain()):
        with context, torch.inference_mode():
            stepper = ModelStepper(model)
            state = stepper.start(long, long != 0, 10)
            found.append(stepper.step(state, torch.full((2,), BOS)))
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)


def test_what_is_over_does_not_stay_for_ever() -> None:
    source = torch.randint(4, 12, (8, 5))
    stepper = ModelStepper(tiny_model("transformer"))
    with torch.inference_mode():
        state = stepper.start(source, source > 0, 10)
        stepper.step(state, torch.full((8,), BOS))
        stepper.reorder(state, torch.arange(2).unsqueeze(1))
    assert len(state.memory[0].key) == 2


@pytest.mark.parametrize("sentences", [1, 2])
def test_a_source_of_one_piece_is_read(sentences: int) -> None:
    model = tiny_model("transformer")
    source = torch.full((sentences, 1), 3)
    start = torch.full((sentences,), BOS)
    found = []
    for context in (nullcontext(), plain()):
        with context, torch.inference_mode():
            stepper = ModelStepper(model)
            state = stepper.start(source, torch.ones_like(source, dtype=torch.bool), 10)
            found.append(stepper.step(state, start))
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["transformer", "transformer-pre-norm", "transformer-output-bias"])
def test_every_step_equals_the_model_s_in_integers(name: str) -> None:
    """But for a row where a number half-way between two integers was rounded the other way."""
    model = tiny_model(name)
    quantise_model(model)
    compact, formula = rows_of_both(model)
    is_equal = (compact - formula).abs().amax(1) < 1e-4
    assert is_equal.float().mean() > 0.9
    torch.testing.assert_close(compact, formula, atol=0.05, rtol=0)


@pytest.mark.parametrize("name", COMPACT)
def test_prepared_matrices_change_nothing(name: str) -> None:
    model = tiny_model(name)
    prepared = ModelStepper(model)
    prepared.prepare()
    for one, other in zip(
        log_probs_along_the_way(prepared, CompactState),
        log_probs_along_the_way(ModelStepper(model), CompactState),
        strict=True,
    ):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_the_usual_transformers_have_a_compact_form() -> None:
    assert len(COMPACT) >= 10
    assert {"transformer", "transformer-pre-norm", "transformer-output-bias"} <= set(COMPACT)


@pytest.mark.parametrize("name", [name for name in VARIATIONS if name not in COMPACT])
def test_what_has_no_compact_form_runs_as_it_is(name: str) -> None:
    log_probs_along_the_way(ModelStepper(tiny_model(name)), object)


def test_a_watched_model_is_the_model_itself() -> None:
    model = tiny_model("transformer")
    stepper = ModelStepper(model)
    unwatched = log_probs_along_the_way(stepper, CompactState)
    with capture(model) as record:
        watched = log_probs_along_the_way(stepper, object)
    assert record.calls
    for one, other in zip(watched, unwatched, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_a_compact_model_keeps_the_weights_it_was_made_of() -> None:
    model = tiny_model("transformer")
    assert isinstance(model, Transformer)
    compact = Compact(model)
    state = compact.start(BATCH.tokens, BATCH.mask)
    assert len(state.past) == len(state.memory) == 2
    keys, values = state.memory[0]
    assert keys.shape == values.shape == (3, 4, 7, 4)  # B H S K


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_every_transformer_decodes_in_integers(name: str) -> None:
    """Nearly as in floats: no layer is left out, none read in another way."""
    exact, model = tiny_model(name), tiny_model(name)
    quantise_model(model)
    found = []
    for each in (exact, model):
        stepper = ModelStepper(each)
        state = stepper.start(BATCH.tokens, BATCH.mask, 4)
        found.append(stepper.step(state, torch.full((3,), BOS)).exp())
    torch.testing.assert_close(found[0], found[1], atol=0.15, rtol=0)
