"""A search told step by step: what was kept, what it was chosen from, what was dropped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.decoding.request import Specials
from regard.decoding.stepper import Stepper
from regard.shapes import Bool, Float, Int, Tensor

START = 0
"""The number of the node that every beginning begins with: the start token."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A token that might have come, and log p(token | source, beginning)."""

    token: int
    log_prob: float


@dataclass(frozen=True, slots=True)
class Node:
    """A beginning of a sentence that the search kept: the one before it, and a token more.

    Nodes make a tree. One without children was dropped, unless its token is the end.

    Attributes:
        number: its own, in the order of telling.
        parent: the number of the beginning that it continues.
        token: the token chosen.
        log_prob: of that token.
        total: of the whole beginning, the sum of its log_probs.
        rivals: the most probable tokens in this place, best first, the chosen one perhaps
            among them. They are the model's: a forced prefix does not change them.
    """

    number: int
    parent: int
    token: int
    log_prob: float
    total: float
    rivals: tuple[Rival, ...]


Tell = Callable[[tuple[Node, ...]], None]


@dataclass(slots=True)
class _Kept:
    """A node of the tree, what may follow it, and what did."""

    node: Node
    next_rivals: tuple[Rival, ...] = ()
    end_log_prob: float = 0.0
    children: dict[int, int] = field(default_factory=dict)  # token → number


class Tracer:
    """A stepper that passes one sentence's steps on to another, and tells what it saw.

    A search shows itself in what it asks of its stepper: the tokens it feeds are those it chose,
    the rows it names are those that live on. So no search knows that it is traced, and a traced
    sentence is the untraced one.

    Args:
        stepper: what really steps.
        specials: the tokens treated apart.
        tell: told the nodes of each step, best first, when the step after it begins.
        prefix: the tokens that are forced; a row with others is a filler of the beam.
        num_rivals: how many a node has at most.
    """

    def __init__(
        self,
        stepper: Stepper,
        specials: Specials,
        tell: Tell,
        *,
        prefix: Sequence[int] = (),
        num_rivals: int = 5,
    ) -> None:
        self.stepper = stepper
        self.specials = specials
        self.tell = tell
        self.prefix = prefix
        self.num_rivals = num_rivals
        self._tree = [_Kept(Node(START, START, specials.bos, 0.0, 0.0, ()))]
        self._rows: list[int | None] = [START]  # the node each row is; none where it is a filler
        self._log_probs: Float[Tensor, "R V"] | None = None  # of what follows each row
        self._parents: list[int] = []  # which row of the last step each row continues
        self._num_grown = 0

    def prepare(self) -> None:
        self.stepper.prepare()

    def start(
        self, source: Int[Tensor, "1 S"], source_mask: Bool[Tensor, "1 S"], max_length: int
    ) -> Any:
        return self.stepper.start(source, source_mask, max_length)

    def step(self, state: Any, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R V"]:
        if self._log_probs is not None:
            self._grow(self._log_probs, tokens.tolist())
        log_probs = self.stepper.step(state, tokens)
        # The search rules tokens out in what it is given; what the model said is kept apart.
        self._log_probs = log_probs.clone()
        top = log_probs.topk(min(self.num_rivals, log_probs.shape[-1]))
        ends = log_probs[:, self.specials.eos].tolist()
        for row, number in enumerate(self._rows):
            if number is not None:
                best = zip(top.indices[row].tolist(), top.values[row].tolist(), strict=True)
                self._tree[number].next_rivals = tuple(Rival(*pair) for pair in best)
                self._tree[number].end_log_prob = ends[row]
        return log_probs

    def reorder(self, state: Any, rows: Int[Tensor, "1 N"]) -> None:
        self._parents = rows.flatten().tolist()
        self.stepper.reorder(state, rows)

    def path(self, tokens: Sequence[int]) -> list[int]:
        """The numbers of the nodes that a finished sentence was, its end apart."""
        numbers = []
        number = START
        for token in tokens:
            number = self._tree[number].children[token]
            numbers.append(number)
        return numbers

    def end(self, tokens: Sequence[int]) -> Node:
        """The last node of a finished sentence, which is its end."""
        last = self._tree[(self.path(tokens) or [START])[-1]]
        return self._add(last, self.specials.eos, last.end_log_prob)

    def _grow(self, log_probs: Float[Tensor, "R V"], tokens: Sequence[int]) -> None:
        """Give every living row's node the child that its next token makes of it."""
        rows: list[int | None] = []
        grown: list[Node] = []
        for parent, token in zip(self._parents, tokens, strict=True):
            number = self._rows[parent]
            if number is None or not self._may_come(token):
                rows.append(None)
                continue
            grown.append(self._add(self._tree[number], token, float(log_probs[parent, token])))
            rows.append(grown[-1].number)
        self._rows = rows
        self._num_grown += 1
        self.tell(tuple(grown))

    def _add(self, parent: _Kept, token: int, log_prob: float) -> Node:
        total = parent.node.total + log_prob
        number = len(self._tree)
        node = Node(number, parent.node.number, token, log_prob, total, parent.next_rivals)
        self._tree.append(_Kept(node))
        parent.children[token] = number
        return node

    def _may_come(self, token: int) -> bool:
        if self._num_grown < len(self.prefix):
            return token == self.prefix[self._num_grown]
        return token not in (self.specials.pad, self.specials.bos, self.specials.eos)
