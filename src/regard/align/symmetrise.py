"""One alignment out of two: source → target and target → source."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from regard.align.links import Link, Links
from regard.align.options import Symmetrisation

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(forward: Links, reverse: Links, how: Symmetrisation) -> Links:
    """Combine the alignments of both directions (Koehn, Och & Marcu 2003, section 3.1).

    Args:
        forward: links of a model in which each target word chooses a source word.
        reverse: links, the source still first, of a model in which each source word chooses.
        how: "intersection" is precise, "union" complete. "grow-diag" begins with the
            intersection and adds links of the union that touch one, diagonals included, and
            whose source or target word is still alone. "…-final" then adds what is left of
            either direction where one of the two words is alone, "…-final-and" where both are.
    """
    return _METHODS[how](forward, reverse)


def grow_diag(forward: Links, reverse: Links) -> Links:
    """The intersection, grown along its neighbours inside the union."""
    union = forward | reverse
    grown = set(forward & reverse)
    sources, targets = {i for i, _ in grown}, {j for _, j in grown}
    has_grown = True
    while has_grown:
        has_grown = False
        # A sweep by source, then target word; what is added ahead is met in the same sweep.
        sweep = list(grown)
        heapify(sweep)
        while sweep:
            i, j = heappop(sweep)
            for step_i, step_j in NEIGHBOURS:
                link = (i + step_i, j + step_j)
                if link not in union or (link[0] in sources and link[1] in targets):
                    continue
                grown.add(link)
                sources.add(link[0])
                targets.add(link[1])
                has_grown = True
                if link > (i, j):
                    heappush(sweep, link)
    return frozenset(grown)


def _finish(grown: Links, direction: Links, *, both: bool) -> Links:
    """Add links of one direction whose source or target word (or both) is still alone."""
    links: set[Link] = set(grown)
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    for i, j in sorted(direction):
        is_alone = (i not in sources, j not in targets)
        if all(is_alone) if both else any(is_alone):
            links.add((i, j))
            sources.add(i)
            targets.add(j)
    return frozenset(links)


def _grow_diag_final(forward: Links, reverse: Links, *, both: bool) -> Links:
    grown = grow_diag(forward, reverse)
    return _finish(_finish(grown, forward, both=both), reverse, both=both)


_METHODS: dict[Symmetrisation, Callable[[Links, Links], Links]] = {
    "forward": lambda forward, reverse: forward,
    "reverse": lambda forward, reverse: reverse,
    "intersection": lambda forward, reverse: forward & reverse,
    "union": lambda forward, reverse: forward | reverse,
    "grow-diag": grow_diag,
    "grow-diag-final": lambda forward, reverse: _grow_diag_final(forward, reverse, both=False),
    "grow-diag-final-and": lambda forward, reverse: _grow_diag_final(forward, reverse, both=True),
}
