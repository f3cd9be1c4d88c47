"""One head of attention from a decoder's states to an encoder's, by any score."""

from torch import nn

from regard.attention.attend import Attend
from regard.attention.cache import KeyValue
from regard.attention.scores import Additive, Bilinear, dot
from regard.attention.windows import Window
from regard.shapes import Bool, Float, Int, Tensor


class SingleHead(nn.Module):
    """Attention as recurrent translation models use it.

        α_t(s) = softmax_s e(q_t, h_s),   c_t = Σ_s α_t(s) h_s

    Bahdanau, Cho & Bengio 2015, equations 5 and 6. What the score makes of a key alone is made
    once a sentence, `project_memory`; the values are the encoder's states as they are.

    Args:
        score: how a key answers a query; the inner product unless given.
        window: narrows the keys around each query (local attention).
    """

    def __init__(
        self, score: Additive | Bilinear | None = None, window: Window | None = None
    ) -> None:
        super().__init__()
        self.score = score
        self.attend = Attend(dot if score is None else score.compare, window)

    def project_memory(self, states: Float[Tensor, "B S Dk"]) -> KeyValue:
        """The keys and values of a memory, for queries that come later."""
        keys = states if self.score is None else self.score.project(states)
        return KeyValue(keys.unsqueeze(1), states.unsqueeze(1))

    def forward(
        self,
        query: Float[Tensor, "B T Dq"],
        memory: KeyValue,
        mask: Bool[Tensor, "B 1 1 S"],
        positions: Int[Tensor, "T"] | None = None,
    ) -> Float[Tensor, "B T Dv"]:
        """The context of each query.

        Args:
            query: decoder states; steps of one sentence, or hypotheses at one step.
            memory: what `project_memory` gave.
            mask: True at real source positions.
            positions: at which step each query stands, for a window; 0, 1, 2 … unless given.
        """
        context: Tensor = self.attend(query.unsqueeze(1), *memory, mask, positions=positions)
        return context.squeeze(1)
