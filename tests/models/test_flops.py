"""Operations by formula are those that torch counts."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from regard.build import ARCHITECTURES
from regard.data.batching import Batch
from regard.decoding.request import Specials
from regard.models.deep_att import DeepAttConfig
from regard.models.flops import forward_flops, reward_flops, training_flops
from regard.models.interface import ModelConfig
from regard.models.seq2seq import EncoderDecoder, EncoderDecoderConfig
from regard.models.transformer import TransformerConfig
from regard.plain import plain
from regard.train.reward import reward_loss
from tests.models.architectures import VARIATIONS

VOCABULARY = 11
SPECIALS = Specials(pad=0, bos=2, eos=3)
# All but those for which torch does more than is needed, tested below.
EXACT = [name for name in VARIATIONS if name.split("-")[0] not in ("transformer", "deep")]


def counted(config: ModelConfig, batch: int, source: int, target: int) -> int:
    """What torch counts in a forward pass of the plain formulas."""
    _, architecture = ARCHITECTURES[config.arch]
    model = architecture(config, VOCABULARY, VOCABULARY).eval()
    ids = torch.ones(batch, max(source, target), dtype=torch.long)
    s, t = ids[:, :source], ids[:, :target]
    with plain(), FlopCounterMode(display=False) as counter:
        model(s, s.bool(), t, t.bool())
    return int(counter.get_total_flops())


@settings(max_examples=10)
@given(
    batch=st.integers(1, 3),
    source=st.integers(1, 9),
    target=st.integers(1, 9),
    encoder_layers=st.integers(1, 2),
    decoder_layers=st.integers(1, 2),
    d_key=st.sampled_from([0, 3, 7]),
    experts=st.sampled_from([1, 3]),
)
def test_the_forward_pass_is_what_torch_counts_but_for_the_masked_half(
    batch: int,
    source: int,
    target: int,
    encoder_layers: int,
    decoder_layers: int,
    d_key: int,
    experts: int,
) -> None:
    config = TransformerConfig(
        d_model=8,
        heads=2,
        d_ff=12,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        d_key=d_key,
        experts=experts,
    )
    masked_pairs = target * (target - 1) // 2  # keys after the query, multiplied for nothing
    width = 2 * d_key + 8 if d_key else 2 * 8  # of keys and values
    masked = 2 * batch * decoder_layers * masked_pairs * width
    formula = forward_flops(config, VOCABULARY, [(source, target)] * batch)
    assert formula + masked == counted(config, batch, source, target)


def test_padding_is_not_counted() -> None:
    config = TransformerConfig(d_model=8, heads=2, d_ff=12)
    together = forward_flops(config, VOCABULARY, [(3, 4), (30, 40)])
    apart = [forward_flops(config, VOCABULARY, [pair]) for pair in ((3, 4), (30, 40))]
    assert together == sum(apart)


def test_learning_is_three_times_the_forward_pass() -> None:
    config = TransformerConfig(d_model=8, heads=2, d_ff=12)
    pairs = [(5, 6)]
    assert training_flops(config, VOCABULARY, pairs) == pytest.approx(
        3 * forward_flops(config, VOCABULARY, pairs)
    )


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(("source", "target"), [(7, 4), (1, 1), (3, 8)])
def test_the_forward_pass_is_what_torch_counts(name: str, source: int, target: int) -> None:
    config = VARIATIONS[name]
    formula = forward_flops(config, VOCABULARY, [(source, target)] * 2)
    assert formula == counted(config, 2, source, target)


def test_what_deep_atts_bottom_layer_hears_is_made_twice_and_counted_once() -> None:
    config = DeepAttConfig(d_model=8, encoder_layers=3, decoder_layers=2)
    d, gates = 8, 4 * 8
    source, target = 7, 4
    again = target * 2 * d * gates
    formula = forward_flops(config, VOCABULARY, [(source, target)])
    assert formula + 2 * again == counted(config, 1, source, target)


def test_rewards_cost_what_torch_counts_but_for_sources_read_again() -> None:
    torch.manual_seed(3)
    config = EncoderDecoderConfig(d_model=8, layers=2, cell="lstm")
    model = EncoderDecoder(config, VOCABULARY, VOCABULARY).eval()
    # No end is ever drawn, so that all samples are as long as they may be.
    never = torch.zeros(VOCABULARY).index_fill(0, torch.tensor(SPECIALS.eos), -1e9)
    model.output.bias = nn.Parameter(never)
    batch, source, target, samples = 2, 5, 3, 4
    longest = 2 * (target - 1) + 2
    ids = np.full((batch, source + target), 5)
    real = np.ones_like(ids, dtype=bool)
    given = Batch(
        source=ids[:, :source],
        source_mask=real[:, :source],
        target_in=ids[:, :target],
        target_out=ids[:, :target],
        target_mask=real[:, :target],
        indices=np.arange(batch),
    )
    with plain(), FlopCounterMode(display=False) as counter:
        reward_loss(model, given, SPECIALS, samples).backward()
    pairs = [(source, longest)] * batch
    again = (samples - 1) * forward_flops(config, VOCABULARY, [(source, 0)] * batch)
    formula = reward_flops(config, VOCABULARY, pairs, samples)
    # No gradient goes back to the state before the first word.
    nowhere = 2 * batch * config.layers * 4 * config.d_model**2
    # An end that was not drawn is not learned from.
    unsaid = 3 * 2 * batch * samples * config.d_model * VOCABULARY
    assert formula + again - nowhere - unsaid == counter.get_total_flops()
