"""What every translation model answers, whatever it is made of."""

from abc import ABC, abstractmethod
from dataclasses import Field, dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from annotated_types import Ge, Gt, Le, Lt
from torch import nn

from regard.attention import Attend
from regard.nn.recompute import Recomputing
from regard.shapes import Bool, Float, Int, Tensor

# Larger than any model is in that direction: a run file cannot ask for all of memory.
Width = Annotated[int, Gt(0), Le(65_536)]
Layers = Annotated[int, Gt(0), Le(500)]
Positions = Annotated[int, Gt(0), Le(65_536)]
Probability = Annotated[float, Ge(0), Lt(1)]
Sharing = Literal["all", "target", "none"]


class ModelConfig(ABC):
    """What the config of every architecture answers; each is a frozen dataclass of its own.

    Attributes:
        arch: the architecture's name in a run file.
        d_model: width of its states.
        dropout: probability of dropping an element, where its paper does so.
        share_embeddings: one matrix for source, target and output; for target and output; or
            three.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    arch: str
    d_model: int
    dropout: float
    share_embeddings: Sharing

    @abstractmethod
    def summary(self) -> str:
        """The shape in a few words, as `regard info` prints it."""

    @abstractmethod
    def products(self, vocabulary: int, source: int, target: int) -> int:
        """Multiplications with an addition that one sentence pair takes, teacher-forced.

        Matrix products only, forwards only, no padding; `models.flops` makes operations of it.

        Args:
            vocabulary: number of target tokens.
            source: tokens read, the end token included.
            target: tokens predicted, the end token included.
        """

    @property
    def max_source(self) -> int | None:
        """The longest source it takes, end token included; None where there is no limit."""
        return None

    @property
    def max_target(self) -> int | None:
        """The longest target it can write, end token included; None where there is no limit."""
        return None


@dataclass(frozen=True, slots=True)
class Memory:
    """What the encoder made of the source.

    Attributes:
        states: one a position.
        mask: True where a position is real.
        last: where a recurrent encoder ended, as many tensors as its decoder starts from.
    """

    states: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]
    last: tuple[Float[Tensor, "B _"], ...] = ()

    def select(self, sentences: Int[Tensor, "b"]) -> "Memory":
        """Keep these sentences, in this order."""
        last = tuple(each[sentences] for each in self.last)
        return Memory(self.states[sentences], self.mask[sentences], last)


State = TypeVar("State")


class Seq2Seq(nn.Module, ABC, Generic[State]):
    """An encoder-decoder: source tokens in, a distribution over the next target token out.

    Training runs `encode`, `decode` and a loss over `output`. Decoding runs `encode`, `start`
    and then `step` after `step`, with `reorder` between them; a row of the state is one
    hypothesis, and the rows of one sentence stand together.

    `source.embedding` and `target.embedding` are its `nn.embedding.Embedding`s: pretrained word
    vectors are filled in there.

    Attributes:
        output: the last layer, hidden state → a score for every target token.
        is_divisible: whether a batch may be learned from in parts: no sentence's result depends
            on another's, and all that is random comes from the generator of `regard.nn.dropout`.
    """

    output: nn.Linear
    is_divisible: bool = True

    @abstractmethod
    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        """Read the source sentences. The mask is True at real tokens."""

    @abstractmethod
    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """The hidden states that predict target 1 … T, given target 0 … T−1 (teacher forcing)."""

    @abstractmethod
    def start(self, memory: Memory, max_length: int) -> State:
        """A state with one row a sentence and nothing decoded, for at most `max_length` steps."""

    @abstractmethod
    def step(self, state: State, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        """Feed each row its last token; return the hidden states that predict the next."""

    @abstractmethod
    def reorder(self, state: State, rows: Int[Tensor, "B N"]) -> None:
        """Let row (b, n) continue what row `rows[b, n]` was.

        Each line of `rows` names rows of one sentence. The number of sentences and of rows a
        sentence may change: so a beam opens after the first step, and finished sentences leave.
        """

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_mask: Bool[Tensor, "B S"],
        target: Int[Tensor, "B T"],
        target_mask: Bool[Tensor, "B T"],
    ) -> Float[Tensor, "B T V"]:
        """Scores for every next token, teacher-forced."""
        hidden = self.decode(self.encode(source, source_mask), target, target_mask)
        logits: Tensor = self.output(hidden)
        return logits

    def cross_attentions(self) -> list[Attend]:
        """The attentions of the decoder over the source, the first layer's first.

        They are known by their place in the module tree, which begins with `cross`.
        """
        return [
            module
            for name, module in self.named_modules()
            if isinstance(module, Attend)
            and name.removesuffix(".attend").rpartition(".")[2].startswith("cross")
        ]

    def recompute_blocks(self, is_asked: bool) -> None:
        """Keep only what enters each block, and compute the rest again on the way back."""
        for module in self.modules():
            if isinstance(module, Recomputing):
                module.recomputes = is_asked

    def num_parameters(self) -> int:
        """Trainable numbers, shared ones counted once."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)
