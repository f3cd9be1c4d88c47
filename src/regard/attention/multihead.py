"""Multi-head attention: several small attentions side by side."""

from torch import nn

from regard.attention.attend import Attend
from regard.attention.cache import KeyValue
from regard.attention.few import attend_to_few, can_attend_to_few
from regard.attention.scores import Score, scaled_dot
from regard.errors import ConfigError
from regard.native.linear import Linear, project
from regard.plain import is_plain
from regard.shapes import Bool, Float, Tensor


class MultiHead(nn.Module):
    """Multi-head attention.

        MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O
        head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)

    Vaswani et al. 2017, section 3.2.2. With d_k = d_v = d_model/h, as there, h heads cost as
    much as one head of full width. Differs: the projections have biases unless told otherwise
    (as in the authors' code and in torch.nn).

    Args:
        d_model: width of the queries and of the output.
        heads: number of heads; divides `d_model` unless `d_key` is given.
        d_memory: width of what keys and values are made from, where it is not `d_model`.
        d_key: width of one head's query and key, where it is not d_model/heads.
        d_value: width of one head's value, where it is not `d_key`.
        score: how a key answers a query.
        dropout: probability of dropping an attention weight.
        bias: whether the four projections have biases.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        d_memory: int | None = None,
        d_key: int | None = None,
        d_value: int | None = None,
        score: Score = scaled_dot,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if d_key is None and d_model % heads:
            raise ConfigError(f"heads = {heads} does not divide d_model = {d_model}")
        d_memory = d_memory or d_model
        d_key = d_key or d_model // heads
        d_value = d_value or d_key
        self.heads = heads
        self.query = Linear(d_model, heads * d_key, bias=bias)
        self.key = Linear(d_memory, heads * d_key, bias=bias)
        self.value = Linear(d_memory, heads * d_value, bias=bias)
        self.output = Linear(heads * d_value, d_model, bias=bias)
        self.attend = Attend(score, dropout=dropout)
        for projection in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def forward(
        self,
        states: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S Dm"] | None = None,
        mask: Bool[Tensor, "#B #H #T S"] | None = None,
        *,
        is_causal: bool = False,
    ) -> Float[Tensor, "B T D"]:
        """Attend from the states to the memory, or to the states themselves.

        Args:
            states: one query each.
            memory: what to attend to; the states themselves (self-attention) unless given.
            mask: True where a query may attend to a key.
            is_causal: each query sees the keys up to its own position only.
        """
        if is_plain() or not isinstance(self.query, nn.Linear):
            query = self._split(self.query(states))
            key, value = self.project_memory(states if memory is None else memory)
        else:
            packed, pairs = self._pack(states, memory)
            if self._is_for_few(packed, pairs, mask):
                found = attend_to_few(packed, pairs, self.heads, mask, is_causal=is_causal)
                joined: Tensor = self.output(found)
                return joined
            query, key, value = self._unpack(packed, pairs)
        return self._join(self.attend(query, key, value, mask, is_causal=is_causal))

    def project_memory(self, memory: Float[Tensor, "B S Dm"]) -> KeyValue:
        """The keys and values of a memory, for queries that come later."""
        return KeyValue(self._split(self.key(memory)), self._split(self.value(memory)))

    def attend_to(
        self,
        states: Float[Tensor, "B T D"],
        projected: KeyValue,
        mask: Bool[Tensor, "#B #H #T S"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Attend from the states to keys and values that are already projected."""
        query = self._split(self.query(states))
        return self._join(self.attend(query, projected.key, projected.value, mask))

    def _pack(
        self, states: Float[Tensor, "B T D"], memory: Float[Tensor, "B S Dm"] | None
    ) -> tuple[Float[Tensor, "B T W"], Float[Tensor, "B S V"] | None]:
        """Queries, keys and values side by side in one product; with a memory, queries apart."""
        if memory is None:
            return project(states, self.query, self.key, self.value), None
        return self.query(states), project(memory, self.key, self.value)

    def _unpack(self, packed: Tensor, pairs: Tensor | None) -> list[Float[Tensor, "B H _ _"]]:
        widths = [p.out_features for p in (self.query, self.key, self.value)]
        if pairs is None:
            return [self._split(part) for part in packed.split(widths, -1)]
        return [self._split(part) for part in (packed, *pairs.split(widths[1:], -1))]

    def _is_for_few(self, packed: Tensor, pairs: Tensor | None, mask: Tensor | None) -> bool:
        """Whether the kernel for few keys can take this, which nobody looks into."""
        is_bare = self.attend.is_plain_scaled_dot and not (self.training and self.attend.dropout)
        d_keys = self.query.out_features
        is_even = d_keys == self.value.out_features
        return is_bare and is_even and can_attend_to_few(packed, pairs, d_keys // self.heads, mask)

    def _split(self, states: Float[Tensor, "B T HK"]) -> Float[Tensor, "B H T K"]:
        batch, length, width = states.shape
        return states.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def _join(self, heads: Float[Tensor, "B H T K"]) -> Float[Tensor, "B T D"]:
        joined: Tensor = self.output(heads.transpose(1, 2).flatten(2))
        return joined
