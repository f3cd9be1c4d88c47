"""ByteNet: the paper's block, how far a column sees, and how long a source becomes."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.errors import ConfigError
from regard.models.bytenet import Block, ByteNet, ByteNetConfig
from regard.shapes import Tensor
from tests.models.architectures import BYTENET, VOCABULARY, sentences

SHAPES = [(1, 1, 3), (4, 1, 3), (4, 2, 3), (8, 1, 3), (2, 1, 5)]


def small(**changes: object) -> ByteNet:
    torch.manual_seed(0)
    # Wide enough for no input to be lost in ReLUs that are all shut.
    config = replace(BYTENET, d_model=64, **changes)  # type: ignore[arg-type]
    return ByteNet(config, VOCABULARY, VOCABULARY).eval()


@torch.no_grad()
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dilation", [1, 4])
def test_a_block_is_figure_3_s(is_causal: bool, dilation: int) -> None:
    torch.manual_seed(0)
    block = Block(replace(BYTENET, d_model=12), dilation, is_causal=is_causal)
    for parameter in block.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(2, 11, 12)

    def activated(number: int, x: Tensor) -> Tensor:
        norm = block.norms[number]
        return F.relu(F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias))  # type: ignore[arg-type]

    inside = activated(1, block.narrow(activated(0, x))).transpose(1, 2)
    padded = F.pad(inside, (2 * dilation, 0) if is_causal else (dilation, dilation))
    kernel = block.convolution.weight.view(6, 3, 6).transpose(1, 2)
    convolved = F.conv1d(padded, kernel, block.convolution.bias, dilation=dilation)
    expected = x + block.widen(activated(2, convolved.transpose(1, 2)))
    torch.testing.assert_close(block(x), expected, rtol=1e-4, atol=1e-4)


def seen_from(output: Tensor, inputs: Tensor) -> list[int]:
    """The places of the input on which an output depends, by its gradient."""
    (gradient,) = torch.autograd.grad(output.square().sum(), inputs)
    found: list[int] = gradient[0].abs().sum(-1).nonzero().flatten().tolist()
    return found


@pytest.mark.parametrize(("max_dilation", "num_sets", "kernel"), SHAPES)
def test_a_column_sees_so_far_to_both_sides_and_no_farther(
    max_dilation: int, num_sets: int, kernel: int
) -> None:
    model = small(max_dilation=max_dilation, encoder_sets=num_sets, kernel=kernel)
    x = torch.randn(1, 61, 64, requires_grad=True)
    columns = model.encoder(x, torch.ones(1, 61, dtype=torch.bool))
    reach = num_sets * (2 * max_dilation - 1) * (kernel - 1) // 2  # 1 + 2 + 4 … = 2r − 1
    assert seen_from(columns[0, 30], x) == list(range(30 - reach, 30 + reach + 1))


@pytest.mark.parametrize(("max_dilation", "num_sets", "kernel"), SHAPES)
def test_a_decoder_state_sees_so_far_back_and_nothing_ahead(
    max_dilation: int, num_sets: int, kernel: int
) -> None:
    model = small(max_dilation=max_dilation, decoder_sets=num_sets, kernel=kernel)
    x = torch.randn(1, 61, 64, requires_grad=True)
    reach = num_sets * (2 * max_dilation - 1) * (kernel - 1)
    assert seen_from(model.decoder(x)[0, 45], x) == list(range(45 - reach, 46))


def test_the_paper_s_blocks_see_373_inputs() -> None:
    """Thirty blocks in six sets, dilations 1, 2, 4, 8, 16, kernels of 3."""
    config = ByteNetConfig(max_dilation=16)
    dilations = config.dilations(6)
    assert len(dilations) == 30
    assert 1 + (config.kernel - 1) * sum(dilations) == 373


def test_the_decoder_reads_the_column_of_its_step_and_those_before() -> None:
    model = small(max_dilation=16)
    memory = model.encode(sentences([9]).tokens, sentences([9]).mask)
    columns = memory.states.detach().requires_grad_()
    target = sentences([6])
    hidden = model.decode(replace(memory, states=columns), target.tokens, target.mask)
    assert seen_from(hidden[0, 3], columns) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("factor", "extra", "source", "expected"),
    [(1.0, 0, 7, 7), (1.2, 0, 10, 12), (1.2, 0, 7, 9), (1.0, 4, 3, 7), (1.5, 1, 2, 4)],
)
def test_a_source_is_lengthened_as_section_3_2_has_it(
    factor: float, extra: int, source: int, expected: int
) -> None:
    config = replace(BYTENET, length_factor=factor, length_extra=extra)
    assert config.num_columns(source) == expected
    model = ByteNet(config, VOCABULARY, VOCABULARY).eval()
    batch = sentences([source, 1])
    memory = model.encode(batch.tokens, batch.mask)
    assert memory.mask.sum(1).tolist() == [expected, config.num_columns(1)]
    assert memory.states.shape[1] == expected


@torch.no_grad()
def test_there_is_nothing_beyond_the_last_column() -> None:
    model = small()
    source = sentences([4, 2])
    memory = model.encode(source.tokens, source.mask)
    assert (memory.states[~memory.mask] == 0).all()
    assert (memory.states[memory.mask].abs().sum(-1) > 0).all()


@torch.no_grad()
def test_columns_that_no_token_stands_on_are_written_too() -> None:
    """The source is lengthened before it is encoded, not after: the encoder fills all of it."""
    model = small(length_factor=2.0)
    source = sentences([4])
    states = model.encode(source.tokens, source.mask).states[0, 4:]
    assert (states.std(0) > 0).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": 4}, "model.kernel = 4 must be odd; try 5$"),
        ({"d_model": 7}, "model.d_model = 7 must be even; try 8$"),
        ({"max_dilation": 12}, "model.max_dilation = 12 is no power of two; try 8$"),
    ],
)
def test_impossible_shapes_are_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ByteNetConfig(**change)  # type: ignore[arg-type]
