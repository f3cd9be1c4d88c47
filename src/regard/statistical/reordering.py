"""Two rules of word order, learned from alignments: neighbours change places, brackets close."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.align.links import Links

LEAST_COUNT = 3
"""Times a word must have been seen where a rule could apply before it may."""


@dataclass(frozen=True, slots=True)
class Reordering:
    """Which source words move, before every word is translated by itself.

    Swap: a word of `swapped` goes before its left neighbour.

        la voiture rouge → la rouge voiture → the red car

    Bracket: where a clause has a word of `opening`, its last word goes behind that word.

        er hat den Ball gefangen → er hat gefangen den Ball → he has caught the ball

    No rule names a language or a kind of word: a word moves because it did so in more than
    half of the places where it could. What the rules cannot say: that a word moves in one
    construction and not in another, or that several move together (a German subordinate
    clause with its subject and its verb).
    """

    swapped: frozenset[str]
    opening: frozenset[str]

    def order(self, words: Sequence[str]) -> list[int]:
        """The source words in the order in which they are to be translated."""
        order = list(range(len(words)))
        for place in range(1, len(order)):
            if is_word(words[place - 1]) and words[place] in self.swapped:
                order[place - 1], order[place] = order[place], order[place - 1]
        for begin, end in clauses([words[i] for i in order]):
            opening = [p for p in range(begin, end - 2) if words[order[p]] in self.opening]
            if opening:
                order.insert(opening[0] + 1, order.pop(end - 1))
        return order


def learn_reordering(sources: Sequence[Sequence[str]], alignments: Sequence[Links]) -> Reordering:
    """Find the words that move, in sentences whose words have one link each or none.

    Args:
        sources: the words of each source sentence.
        alignments: precise links, such as an intersection of two directions.
    """
    swaps: Counter[tuple[str, bool]] = Counter()
    brackets: Counter[tuple[str, bool]] = Counter()
    for words, links in zip(sources, alignments, strict=True):
        to = dict(links)
        for i, j in to.items():
            if i and i - 1 in to and is_word(words[i - 1]):
                swaps[words[i], to[i - 1] == j + 1] += 1
        for begin, end in clauses(words):
            last = to.get(end - 1)
            if last is not None:
                for i in range(begin, end - 2):
                    brackets[words[i], to.get(i) == last - 1] += 1
    return Reordering(_movers(swaps), _movers(brackets))


def _movers(counts: Counter[tuple[str, bool]]) -> frozenset[str]:
    """Words that moved more often than they stayed."""
    return frozenset(
        word
        for (word, has_moved), moved in counts.items()
        if has_moved and moved > counts[word, False] and moved + counts[word, False] >= LEAST_COUNT
    )


def clauses(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Begin and end of every stretch of words between marks of punctuation."""
    begin = 0
    for place in range(len(words) + 1):
        if place == len(words) or not is_word(words[place]):
            if begin < place:
                yield begin, place
            begin = place + 1


def is_word(word: str) -> bool:
    """Whether it is not a mark of punctuation."""
    return any(character.isalnum() for character in word)
