"""The Transformer's shape: what is shared, how deep, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from regard.errors import ConfigError, RegardError
from regard.models.decoder_only import DecoderOnly
from regard.models.encoder_only import EncoderOnly
from regard.models.transformer import PRESETS, Transformer, TransformerConfig
from regard.nn.embedding import load_pretrained
from regard.nn.experts import MixtureOfExperts
from tests.models.architectures import TINY, sentences


def small(vocabularies: tuple[int, int] = (9, 9), **changes: Any) -> Transformer:
    return Transformer(replace(TINY, **changes), *vocabularies)


def test_all_three_matrices_are_one_when_all_are_shared() -> None:
    model = small(share_embeddings="all")
    assert model.source.embedding.weight is model.target.embedding.weight is model.output.weight


def test_the_source_has_a_matrix_of_its_own_when_the_target_is_shared() -> None:
    model = small((9, 7), share_embeddings="target")
    assert model.source.embedding.weight.shape == (9, 16)
    assert model.target.embedding.weight is model.output.weight
    assert model.output.weight.shape == (7, 16)


def test_three_matrices_are_three_when_none_is_shared() -> None:
    model = small((9, 7), share_embeddings="none")
    source, target, output = model.source.embedding, model.target.embedding, model.output
    assert len({id(layer.weight) for layer in (source, target, output)}) == 3
    assert target.weight.shape == output.weight.shape == (7, 16)


def test_a_shared_matrix_gathers_the_gradients_of_all_its_uses() -> None:
    source, target = sentences([3]), sentences([4])
    shared, apart = small(), small(share_embeddings="none")
    apart.load_state_dict(shared.state_dict())
    for model in (shared, apart):
        model(source.tokens % 9, source.mask, target.tokens % 9, target.mask)[0, 0, 5].backward()
    gradients = [
        weight.grad
        for weight in (
            apart.source.embedding.weight,
            apart.target.embedding.weight,
            apart.output.weight,
        )
    ]
    assert shared.output.weight.grad is not None
    summed = sum(gradient for gradient in gradients if gradient is not None)
    torch.testing.assert_close(shared.output.weight.grad, summed)


def test_an_output_bias_is_one_number_a_token() -> None:
    biased, plain = small(output_bias=True), small()
    assert biased.num_parameters() == plain.num_parameters() + 9


def test_encoder_and_decoder_may_differ_in_depth() -> None:
    model = small(encoder_layers=3, decoder_layers=1)
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (3, 1)


def test_only_a_pre_norm_stack_ends_in_a_norm() -> None:
    assert small(norm_place="post").encoder.norm is None
    assert small(norm_place="pre").encoder.norm is not None


def test_pretrained_vectors_reach_the_encoder() -> None:
    model = small(position="none").eval()
    vector = torch.linspace(-1, 1, 16)
    load_pretrained(model.source.embedding, {"cat": vector}, ["", "", "", "", "cat"])
    torch.testing.assert_close(model.source(torch.tensor([[4]]))[0, 0], vector)


def test_the_base_model_has_the_papers_65_million_parameters() -> None:
    with torch.device("meta"):
        model = Transformer(PRESETS["base"], 37_000, 37_000)
    assert model.num_parameters() / 1e6 == pytest.approx(65, abs=2)


def test_the_big_model_has_the_papers_213_million_parameters() -> None:
    with torch.device("meta"):
        model = Transformer(PRESETS["big"], 37_000, 37_000)
    assert model.num_parameters() / 1e6 == pytest.approx(213, abs=2)


@pytest.mark.parametrize(("d_key", "millions"), [(16, 58), (32, 60)])
def test_narrow_keys_save_the_papers_parameters(d_key: int, millions: int) -> None:
    """Table 3, rows B, beside the 65 million of the base model."""
    with torch.device("meta"):
        base, narrow = (
            Transformer(replace(PRESETS["base"], d_key=width), 37_000, 37_000)
            for width in (0, d_key)
        )
    saved = base.num_parameters() - narrow.num_parameters()
    assert saved / 1e6 == pytest.approx(65 - millions, abs=0.5)


def test_heads_of_any_number_have_as_many_parameters() -> None:
    """Table 3, rows A."""
    assert len({small(heads=heads).num_parameters() for heads in (1, 2, 4, 8, 16)}) == 1


def test_narrow_keys_leave_values_as_wide_as_they_were() -> None:
    attention = small(d_key=3).encoder.layers[0].self_attention
    widths = [getattr(attention, name).out_features for name in ("query", "key", "value")]
    assert widths == [4 * 3, 4 * 3, 16]


def test_experts_stand_in_every_block() -> None:
    model, one = small(experts=3), small()
    mixtures = [module for module in model.modules() if isinstance(module, MixtureOfExperts)]
    assert len(mixtures) == len(model.encoder.layers) + len(model.decoder.layers)
    feed_forward, gates = 2 * 16 * 24 + 24 + 16, 2 * 16 * 3
    assert model.num_parameters() - one.num_parameters() == 4 * (2 * feed_forward + gates)


def test_more_experts_to_visit_than_there_are_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model.experts_top_k = 5 is more than model.experts ="):
        TransformerConfig(experts=4, experts_top_k=5)


@pytest.mark.parametrize(("heads", "fit"), [(7, 4), (512, 16), (3, 2)])
def test_heads_that_do_not_divide_the_width_are_refused_with_some_that_do(
    heads: int, fit: int
) -> None:
    message = f"model.heads = {heads} does not divide model.d_model = 16; try {fit}$"
    with pytest.raises(ConfigError, match=message):
        TransformerConfig(d_model=16, heads=heads)


def test_two_vocabularies_cannot_share_one_matrix() -> None:
    with pytest.raises(ConfigError, match=r'share_embeddings = "all" needs one vocabulary'):
        small((9, 7))


def test_a_sentence_longer_than_the_learned_positions_is_refused() -> None:
    source = sentences([41])
    with pytest.raises(RegardError, match=r"41 pieces is longer than the model's 40 learned"):
        small((13, 13), position="learned").encode(source.tokens, source.mask)


def test_dropout_acts_in_training_only() -> None:
    source, model = sentences([5]), small((13, 13), dropout=0.3)
    encode = model.encode
    assert not torch.equal(
        encode(source.tokens, source.mask).states, encode(source.tokens, source.mask).states
    )
    model.eval()
    assert torch.equal(
        encode(source.tokens, source.mask).states, encode(source.tokens, source.mask).states
    )


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_dropped_word_leaves_its_position_and_the_others_make_up_for_it(side: str) -> None:
    embedder = getattr(small((13, 13), dropout=0.0, dropout_words=0.25), side)
    tokens = torch.randint(4, 13, (64, 32))
    found = embedder(tokens)
    position = embedder.position(tokens, 0, None).expand_as(found)
    whole = position + embedder.embedding(tokens) / 0.75
    is_dropped = (found == position).all(-1)
    assert 0.2 < is_dropped.float().mean() < 0.3
    assert torch.allclose(found[~is_dropped], whole[~is_dropped], atol=1e-6)
    assert torch.equal(embedder.eval()(tokens), embedder.embedding(tokens) + position)


def test_halves_of_a_transformer_drop_words_too() -> None:
    config = replace(TINY, dropout=0.0, dropout_words=0.5)
    tokens = torch.randint(4, 13, (8, 8))
    for embedder in (EncoderOnly(config, 13).source, DecoderOnly(config, 13).target):
        assert not torch.equal(embedder(tokens), embedder(tokens))
