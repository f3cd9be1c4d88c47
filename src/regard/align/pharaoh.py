"""Alignments as text: `0-0 1-2`, a sentence pair a line (the Pharaoh format)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from regard.align.links import Link, Links, transposed
from regard.errors import DataError

_LINK = re.compile(r"([0-9]+)([-p])([0-9]+)")


@dataclass(frozen=True, slots=True)
class Gold:
    """What people say of a sentence pair.

    Attributes:
        sure: links that must be there.
        possible: links that may be; the sure ones are among them.
    """

    sure: Links
    possible: Links

    def transposed(self) -> "Gold":
        """The same with the target first."""
        return Gold(transposed(self.sure), transposed(self.possible))


def write_links(links: Iterable[Link]) -> str:
    """One line: `i-j` for each link, the source word first, counted from 0, in order."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def read_links(line: str, *, where: str = "alignment") -> Links:
    """The links of a line that `write_links` wrote.

    Raises:
        DataError: it has another form, or possible links, which only gold alignments have.
    """
    gold = read_gold(line, where=where)
    if gold.possible != gold.sure:
        raise DataError(f"{where}: holds possible links (ipj), expected i-j only")
    return gold.sure


def read_gold(line: str, *, one_based: bool = False, where: str = "gold alignment") -> Gold:
    """Sure links `i-j` and possible links `ipj` of a line.

    Args:
        line: such as `0-0 1p2`.
        one_based: whether words are counted from 1.
        where: the file and line, for the error.

    Raises:
        DataError: naming the place and what stands there.
    """
    sure: set[Link] = set()
    possible: set[Link] = set()
    for entry in line.split():
        found = _LINK.fullmatch(entry)
        if found is None:
            raise DataError(f"{where}: {entry!r} is not a link; expected i-j, or ipj if possible")
        i, j = int(found[1]) - one_based, int(found[3]) - one_based
        if i < 0 or j < 0:
            raise DataError(f"{where}: {entry!r} counts from 0; leave out --one-based")
        possible.add((i, j))
        if found[2] == "-":
            sure.add((i, j))
    return Gold(frozenset(sure), frozenset(possible))
