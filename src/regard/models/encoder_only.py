"""An encoder-only Transformer: a state for every token that has seen the whole sentence."""

from torch import nn

from regard.models.transformer import Embedder, Encoder, TransformerConfig
from regard.nn.embedding import Embedding
from regard.nn.position import POSITIONS
from regard.shapes import Bool, Float, Int, Tensor


class EncoderOnly(nn.Module):
    """The encoder alone, as BERT uses it (Devlin et al. 2019, section 3).

    What it is for (a class, a tag a token, a hidden word) is a layer on its states.
    `encoder_layers` of the config gives its depth.
    """

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
        super().__init__()
        embedding = Embedding(vocabulary, config.d_model)
        position = POSITIONS[config.position](config.d_model, config.max_positions)
        self.source = Embedder(embedding, position, config.dropout, config.dropout_words)
        self.encoder = Encoder(config)

    def forward(
        self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        """One state a token; the mask is True at real tokens."""
        states: Tensor = self.encoder(self.source(tokens, lengths=mask.sum(1)), mask)
        return states
