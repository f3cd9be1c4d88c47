"""A decoder-only Transformer: the decoder's blocks without cross-attention, a language model."""

import torch
from torch import nn

from regard.models.transformer import Decoder, DecoderState, Embedder, TransformerConfig
from regard.nn.embedding import Embedding
from regard.nn.position import POSITIONS
from regard.shapes import Bool, Float, Int, Tensor


class DecoderOnly(nn.Module):
    """A causal language model.

        p(y) = Π_t p(y_t | y_1 … y_{t−1})

    Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3; the
    form of GPT. `decoder_layers` of the config gives its depth.
    """

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
        super().__init__()
        embedding = Embedding(vocabulary, config.d_model)
        position = POSITIONS[config.position](config.d_model, config.max_positions)
        self.target = Embedder(embedding, position, config.dropout, config.dropout_words)
        self.decoder = Decoder(config, has_cross=False)
        self.output = nn.Linear(config.d_model, vocabulary, bias=False)
        self.output.weight = embedding.weight

    def forward(
        self, tokens: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Scores for the token after each prefix; the mask is True at real tokens."""
        mask = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        logits: Tensor = self.output(self.decoder(self.target(tokens), mask))
        return logits

    def start(self, max_length: int) -> DecoderState:
        """A state with nothing read, for at most `max_length` steps."""
        return self.decoder.start(None, max_length)

    def step(self, state: DecoderState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R V"]:
        """Read one more token a row; return the scores of the next."""
        embedded = self.target(tokens.unsqueeze(1), offset=state.length)
        logits: Tensor = self.output(self.decoder.step(embedded, state).squeeze(1))
        return logits
