"""How far alignments are from what people say."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.align.links import Links
from regard.align.pharaoh import Gold


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """The alignment error rate of links A against sure links S and possible links P ⊇ S.

        precision = |A ∩ P| / |A|        recall = |A ∩ S| / |S|

        AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

    Och & Ney 2003, section 4. Where a denominator is 0, nothing was said wrongly or nothing
    was missed: precision and recall are 1, the error rate is 0.

    Attributes:
        num_links: |A|.
        num_sure: |S|.
        num_found: |A ∩ S|.
        num_allowed: |A ∩ P|.
    """

    num_links: int
    num_sure: int
    num_found: int
    num_allowed: int

    @property
    def precision(self) -> float:
        return self.num_allowed / self.num_links if self.num_links else 1.0

    @property
    def recall(self) -> float:
        return self.num_found / self.num_sure if self.num_sure else 1.0

    @property
    def aer(self) -> float:
        total = self.num_links + self.num_sure
        return 1 - (self.num_found + self.num_allowed) / total if total else 0.0


def error_rate(alignments: Sequence[Links], gold: Sequence[Gold]) -> ErrorRate:
    """Compare the alignments of a corpus with its gold alignments, counts taken together."""
    pairs = list(zip(alignments, gold, strict=True))
    return ErrorRate(
        num_links=sum(len(links) for links, _ in pairs),
        num_sure=sum(len(each.sure) for _, each in pairs),
        num_found=sum(len(links & each.sure) for links, each in pairs),
        num_allowed=sum(len(links & each.possible) for links, each in pairs),
    )
