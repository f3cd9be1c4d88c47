"""Small models of every architecture, in the variations that every identity is tested on."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from regard.build import ARCHITECTURES
from regard.models.bahdanau import BahdanauConfig
from regard.models.bytenet import ByteNetConfig
from regard.models.convs2s import ConvS2SConfig
from regard.models.deep_att import DeepAttConfig
from regard.models.gnmt import GNMTConfig
from regard.models.interface import ModelConfig, Seq2Seq
from regard.models.luong import LuongConfig
from regard.models.seq2seq import EncoderDecoderConfig
from regard.models.transformer import TransformerConfig
from regard.nn.norm import BatchNorm
from regard.shapes import Tensor

PAD, UNK, BOS, EOS = range(4)
VOCABULARY = 13

TINY = TransformerConfig(
    d_model=16, heads=4, d_ff=24, encoder_layers=2, decoder_layers=2, max_positions=40, dropout=0.0
)
# Without residual connections a change is lost in rounding after a few layers.
SHALLOW = replace(TINY, encoder_layers=1, decoder_layers=1)

RNN = EncoderDecoderConfig(d_model=16, layers=2, dropout=0.0)
BAHDANAU = BahdanauConfig(d_model=16, d_align=12, dropout=0.0)
LUONG = LuongConfig(d_model=16, layers=2, half_width=2, dropout=0.0)
# Deep enough for the last of the six tokens that the identities feed to see the first.
CONVS2S = ConvS2SConfig(
    d_model=16, d_hidden=12, encoder_layers=2, decoder_layers=3, max_positions=40, dropout=0.0
)
BYTENET = ByteNetConfig(d_model=16, max_dilation=4, encoder_sets=1, decoder_sets=1, dropout=0.0)

VARIATIONS: dict[str, ModelConfig] = {
    "transformer": TINY,
    "transformer-pre-norm": replace(TINY, norm_place="pre"),
    "transformer-batch-norm": replace(TINY, norm="batch"),
    "transformer-learned": replace(TINY, position="learned"),
    "transformer-fraction": replace(TINY, position="fraction"),
    "transformer-integer": replace(TINY, position="integer"),
    "transformer-bag-of-words": replace(TINY, position="none"),
    "transformer-target-shared": replace(TINY, share_embeddings="target", norm_place="pre"),
    "transformer-nothing-shared": replace(TINY, share_embeddings="none", activation="gelu"),
    "transformer-output-bias": replace(TINY, output_bias=True),
    "transformer-deep-encoder": replace(TINY, encoder_layers=3, decoder_layers=1),
    "transformer-narrow-keys": replace(TINY, d_key=3),
    "transformer-no-residual": replace(SHALLOW, residual=False),
    "transformer-no-residual-pre-norm": replace(SHALLOW, residual=False, norm_place="pre"),
    "transformer-one-head": replace(TINY, heads=1),
    "transformer-experts": replace(TINY, experts=4, experts_top_k=2),
    "transformer-one-expert": replace(TINY, experts=5, experts_top_k=1, norm_place="pre"),
    "seq2seq-rnn": replace(RNN, cell="rnn"),
    "seq2seq-gru": replace(RNN, cell="gru", feed_summary=True, reverse_source=False),
    "seq2seq-lstm": RNN,
    "seq2seq-lstm-norm": replace(RNN, cell_norm=True, layers=1),
    "bahdanau": BAHDANAU,
    "luong": LUONG,
    "luong-dot": replace(LUONG, score="dot", input_feeding=False),
    "luong-concat": replace(LUONG, score="concat", input_feeding=False, layers=1),
    "luong-local-m": replace(LUONG, reach="local-m", input_feeding=False),
    "luong-local-m-fed": replace(LUONG, reach="local-m", score="concat"),
    "luong-local-p": replace(LUONG, reach="local-p"),
    "deep-att": DeepAttConfig(d_model=16, encoder_layers=3, decoder_layers=2, dropout=0.0),
    "gnmt": GNMTConfig(d_model=16, layers=4, dropout=0.0),
    "gnmt-shallow": GNMTConfig(d_model=16, layers=2, share_embeddings="none", dropout=0.0),
    "gnmt-experts": GNMTConfig(d_model=16, experts=4, d_expert=8, dropout=0.0),
    "bytenet": BYTENET,
    "bytenet-as-long-as-the-source": replace(BYTENET, length_factor=1.0, decoder_sets=2),
    "bytenet-longer": replace(BYTENET, length_extra=3, kernel=5, share_embeddings="none"),
    "convs2s": CONVS2S,
    "convs2s-long-kernel": replace(CONVS2S, kernel=7, decoder_layers=1, d_hidden=16),
    "convs2s-nothing-shared": replace(CONVS2S, share_embeddings="none", position="sinusoid"),
}


def tiny_model(name: str, *, seed: int = 0, sharpness: float = 1.0) -> Seq2Seq[Any]:
    """A random model in evaluation mode, none of whose parameters is 0 or 1.

    Args:
        name: one of VARIATIONS.
        seed: of the weights.
        sharpness: factor of the output matrix; above 1 the distributions have clear winners.
    """
    config = VARIATIONS[name]
    torch.manual_seed(seed)
    _, architecture = ARCHITECTURES[config.arch]
    model = architecture(config, VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        model.output.weight.mul_(sharpness)
        _settle(model)
    return model.eval()


def _settle(model: Seq2Seq[Any]) -> None:
    """Let every batch norm take its running averages from one batch."""
    norms = [module for module in model.modules() if isinstance(module, BatchNorm)]
    for norm in norms:
        norm.momentum = 1.0
    if norms:
        batch = sentences([9] * 8)
        model.train()(batch.tokens, batch.mask, batch.tokens, batch.mask)


@dataclass(frozen=True)
class Sentences:
    """A padded batch: tokens, and which of them are real."""

    tokens: Tensor
    mask: Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    def alone(self, number: int) -> "Sentences":
        """One sentence without its padding."""
        length = int(self.mask[number].sum())
        return Sentences(
            self.tokens[number : number + 1, :length], self.mask[number : number + 1, :length]
        )


def sentences(lengths: list[int], *, seed: int = 0) -> Sentences:
    """Random sentences of these lengths; the padding is random too, since nobody may look."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, VOCABULARY, (len(lengths), max(lengths)), generator=generator)
    return Sentences(tokens, torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1))


def another_token(of: Sentences, place: int) -> Sentences:
    """The same sentences with other tokens in one place."""
    tokens = of.tokens.clone()
    tokens[:, place] = 4 + (tokens[:, place] - 3) % (VOCABULARY - 4)
    return Sentences(tokens, of.mask)
