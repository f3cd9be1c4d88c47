"""Stack decoding: a translation grows from left to right, in competition with those as far on."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Annotated

from annotated_types import Ge
from typing_extensions import Doc

from regard.statistical.model import Derivation, Option, PhraseModel

WAYS = 20
"""Ways to look at for each text of an n-best list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """How far the search looks."""

    stack: Annotated[int, Ge(1), Doc("hypotheses made for each number of words covered")] = 100
    options: Annotated[int, Ge(1), Doc("translations tried of a group of words")] = 10
    distortion_limit: Annotated[int, Ge(0), Doc("words that may be jumped over at once")] = 6


SEARCH = SearchConfig()


@dataclass(slots=True, eq=False)
class Hypothesis:
    """The beginning of a translation, and every way to it that is worth remembering.

    Two ways that cover the same source words, end at the same place and leave the language
    model in the same state can be continued alike: they are one hypothesis with the score
    of the better (Koehn 2004, "hypothesis recombination").

    Attributes:
        covered: the source words translated, as bits.
        end: after the last source word of the last phrase.
        state: the language model's.
        score: of the best way.
        ways: the hypothesis before, the option that was added, and the score it led to.
    """

    covered: int
    end: int
    state: int
    score: float
    ways: list[tuple["Hypothesis", Option | None, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Hypotheses with the same words covered and the same end, times options for the same words.

    Both best first, so that the best of their combinations is likely in the corner.
    """

    before: Sequence[Hypothesis]
    options: Sequence[Option]
    covered: int  # the words covered after the option
    jump: float  # what the distortion costs
    rest: float  # the estimate for the words that are left


def decode(
    model: PhraseModel,
    words: Sequence[str],
    copies: Sequence[str],
    config: SearchConfig = SEARCH,
    *,
    n_best: int = 1,
) -> list[Derivation]:
    """The best translations of a sentence that the search finds, best first.

    Koehn 2004 ("Pharaoh"), section 3: hypotheses stand in stacks by the number of source
    words covered and are compared by score plus an estimate of what the rest will cost.
    Differs: a stack is not filled with every continuation and then cut; the combinations of
    hypotheses and options are taken best first, as far as the stack is large (cube pruning,
    Huang & Chiang 2007). With a stack as large as there are hypotheses, the search is exact.

    Args:
        model: what a translation is worth.
        words: of the source.
        copies: tokens for words that nothing is known of.
        config: how far the search looks.
        n_best: how many translations, all different; fewer if there are no more.
    """
    search = _Search(model, model.options(words, copies, config.options), len(words), config)
    return list(search.run(n_best))


class _Search:
    """One sentence and its stacks."""

    def __init__(
        self, model: PhraseModel, options: Sequence[Option], size: int, config: SearchConfig
    ) -> None:
        self.model = model
        self.size = size
        self.config = config
        self.by_span: defaultdict[tuple[int, int], list[Option]] = defaultdict(list)
        for option in options:
            self.by_span[option.begin, option.end].append(option)
        self.future = future_scores({s: o[0].estimate for s, o in self.by_span.items()}, size)
        self.rest: dict[int, float] = {}
        self.spoken: dict[tuple[int, tuple[int, ...]], tuple[float, int]] = {}

    def run(self, n_best: int) -> Iterator[Derivation]:
        waiting: list[list[_Grid]] = [[] for _ in range(self.size + 1)]
        stack = [Hypothesis(0, 0, self.model.language_model.start, 0.0)]
        for num_covered in range(self.size):
            for grid in self._grids(stack):
                waiting[grid.covered.bit_count()].append(grid)
            stack = self._filled(waiting[num_covered + 1])
            waiting[num_covered + 1] = []
        return paths(self._finish(stack), n_best)

    def _grids(self, stack: Sequence[Hypothesis]) -> Iterator[_Grid]:
        """Every way to go on from the hypotheses of a stack."""
        groups: defaultdict[tuple[int, int], list[Hypothesis]] = defaultdict(list)
        for hypothesis in stack:
            groups[hypothesis.covered, hypothesis.end].append(hypothesis)
        for (covered, end), before in groups.items():
            before.sort(key=lambda hypothesis: -hypothesis.score)
            gap = first_gap(covered)
            for (i, i_end), options in self.by_span.items():
                span = (1 << i_end) - (1 << i)
                if covered & span or not self._is_near(end, gap, i, i_end):
                    continue
                jump = self.model.weights.distortion * abs(i - end)
                rest = self._rest(covered | span)
                yield _Grid(before, options, covered | span, jump, rest)

    def _is_near(self, end: int, gap: int, i: int, i_end: int) -> bool:
        """Whether a jump to words i … i_end is short enough, and so the one back to the gap.

        Without the second condition a hypothesis could end where it can never be completed.
        """
        limit = self.config.distortion_limit
        return abs(i - end) <= limit and (i == gap or i_end - gap <= limit)

    def _filled(self, grids: Sequence[_Grid]) -> list[Hypothesis]:
        """The stack that takes the best combinations of the grids, one after the other."""
        numbers = count()  # decides between equals, so that grids are never compared
        agenda = [self._cell(grid, 0, 0, next(numbers)) for grid in grids]
        heapify(agenda)
        stack: dict[tuple[int, int, int], Hypothesis] = {}
        for _ in range(self.config.stack):
            if not agenda:
                break
            _, _, grid, row, column, score, state = heappop(agenda)
            option = grid.options[column]
            key = grid.covered, option.end, state
            hypothesis = stack.setdefault(key, Hypothesis(*key, score))
            hypothesis.score = max(hypothesis.score, score)
            hypothesis.ways.append((grid.before[row], option, score))
            # Each cell is reached once: along its row, rows from the first column down.
            if column + 1 < len(grid.options):
                heappush(agenda, self._cell(grid, row, column + 1, next(numbers)))
            if column == 0 and row + 1 < len(grid.before):
                heappush(agenda, self._cell(grid, row + 1, 0, next(numbers)))
        return list(stack.values())

    def _cell(
        self, grid: _Grid, row: int, column: int, number: int
    ) -> tuple[float, int, _Grid, int, int, float, int]:
        """A combination with what it is compared by, the smallest first."""
        before, option = grid.before[row], grid.options[column]
        key = before.state, option.words
        if key not in self.spoken:
            self.spoken[key] = self.model.spoken(*key)
        log_prob, state = self.spoken[key]
        added = option.score + self.model.weights.language_model * log_prob
        score = before.score + added - grid.jump
        return -(score + grid.rest), number, grid, row, column, score, state

    def _rest(self, covered: int) -> float:
        """The estimate for the source words that are left: the sum over the gaps."""
        if covered not in self.rest:
            gaps = gaps_of(covered, self.size)
            self.rest[covered] = sum((self.future[gap] for gap in gaps), 0.0)
        return self.rest[covered]

    def _finish(self, stack: Sequence[Hypothesis]) -> Hypothesis:
        """One hypothesis for the ends of all that cover the whole sentence."""
        λ = self.model.weights.language_model
        last = [(each, each.score + λ * self.model.finished(each.state)) for each in stack]
        final = Hypothesis((1 << self.size) - 1, self.size, 0, max(score for _, score in last))
        final.ways += [(each, None, score) for each, score in last]
        return final


def future_scores(best: dict[tuple[int, int], float], size: int) -> dict[tuple[int, int], float]:
    """What the words of each span will score at best, by the options' estimates.

        F(i, k) = max(best(i, k), max_{i < j < k} F(i, j) + F(j, k))

    Koehn 2004, section 3 ("future cost"). Reordering and the language model across options
    are left out.

    Args:
        best: the best estimate of a span that has options.
        size: words of the sentence.
    """
    future: dict[tuple[int, int], float] = {}
    for length in range(1, size + 1):
        for i in range(size - length + 1):
            k = i + length
            splits = (future[i, j] + future[j, k] for j in range(i + 1, k))
            future[i, k] = max((best.get((i, k), float("-inf")), *splits))
    return future


def first_gap(covered: int) -> int:
    """The first source word that is not translated."""
    return (~covered & (covered + 1)).bit_length() - 1


def gaps_of(covered: int, size: int) -> list[tuple[int, int]]:
    """The groups of neighbouring source words that are not translated."""
    gaps: list[tuple[int, int]] = []
    begin = 0
    for place in range(size + 1):
        if place == size or covered >> place & 1:
            if begin < place:
                gaps.append((begin, place))
            begin = place + 1
    return gaps


def paths(final: Hypothesis, n_best: int) -> Iterator[Derivation]:
    """The best ways from the beginning to a hypothesis, best first, of every text one.

    A* search backwards: the score of the best way to a hypothesis is known, so what is
    taken from the agenda first is the best of all that is left (Soong & Huang 1991).
    Most ways write what a better one wrote; after `WAYS` for each text asked for it ends.
    """
    numbers = count()  # decides between equals
    agenda: list[tuple[float, int, Hypothesis, tuple[Option, ...]]] = []
    heappush(agenda, (-final.score, next(numbers), final, ()))
    seen: set[tuple[str, ...]] = set()
    num_ways = 0
    while agenda and len(seen) < n_best and num_ways < WAYS * n_best:
        negated, _, hypothesis, options = heappop(agenda)
        if not hypothesis.ways:
            num_ways += 1
            derivation = Derivation(options, -negated)
            if derivation.tokens not in seen:
                seen.add(derivation.tokens)
                yield derivation
        for before, option, score in hypothesis.ways:
            # The way is `hypothesis.score − score` worse than the best to the same place.
            worse = negated + hypothesis.score - score
            longer = options if option is None else (option, *options)
            heappush(agenda, (worse, next(numbers), before, longer))
