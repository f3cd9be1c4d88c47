"""Do to a corpus what `check` advises, and count why each pair went."""

import html
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt
from typing_extensions import Doc

from regard.data.check import (
    MAX_RATIO,
    MAX_WORDS,
    NO_BREAK_SPACES,
    fold,
    has_mojibake,
    length_ratio,
    num_words,
)
from regard.data.corpus import Example
from regard.text.normal import without_controls


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What to mend and what to drop."""

    spaces: Annotated[bool, Doc("turn no-break spaces into plain ones, and runs into one")] = False
    unescape: Annotated[bool, Doc("turn HTML entities into the characters they stand for")] = False
    drop_copies: Annotated[bool, Doc("drop pairs whose sides are the same")] = False
    max_words: Annotated[int, Gt(0), Doc("drop pairs with a longer side")] = MAX_WORDS
    max_ratio: Annotated[float, Ge(1), Doc("drop pairs with one side so much longer")] = MAX_RATIO


class Cleaner:
    """Cleans pairs one by one and keeps count.

    Attributes:
        dropped: reasons, each with the number of pairs that went for it; a pair goes for the first
            reason that applies.
        mended: pairs whose text was changed and kept.
        kept: pairs that were passed on.
    """

    def __init__(self, rules: Rules, held_out: Iterable[Example] = ()) -> None:
        self.rules = rules
        self.dropped: Counter[str] = Counter()
        self.mended = 0
        self.kept = 0
        self._held_out_sources: set[str] = set()
        self._held_out_targets: set[str] = set()
        for pair in held_out:
            self._held_out_sources.add(fold(pair.source))
            self._held_out_targets.add(fold(pair.target))
        self._seen: set[Example] = set()

    def clean(self, pairs: Iterable[Example]) -> Iterator[Example]:
        """The pairs worth keeping, mended where the rules say so."""
        for pair in pairs:
            mended = self._mend(pair)
            reason = self._reason_to_drop(mended)
            if reason:
                self.dropped[reason] += 1
                continue
            self._seen.add(mended)
            self.mended += mended != pair
            self.kept += 1
            yield mended

    def _mend(self, pair: Example) -> Example:
        return Example(self._mend_text(pair.source), self._mend_text(pair.target))

    def _mend_text(self, text: str) -> str:
        if self.rules.unescape:
            text, _ = without_controls(html.unescape(text))
        if self.rules.spaces:
            text = " ".join(NO_BREAK_SPACES.sub(" ", text).split())
        return text

    def _reason_to_drop(self, pair: Example) -> str:
        if not pair.source.strip() or not pair.target.strip():
            return "empty"
        if has_mojibake(pair.source) or has_mojibake(pair.target):
            return "wrongly decoded"
        if num_words(pair) > self.rules.max_words:
            return "too long"
        if length_ratio(pair) > self.rules.max_ratio:
            return "lengths too different"
        if self.rules.drop_copies and fold(pair.source) == fold(pair.target):
            return "source and target the same"
        if self._is_held_out(pair):
            return "held out"
        if pair in self._seen:
            return "repeated"
        return ""

    def _is_held_out(self, pair: Example) -> bool:
        """Either side: a model that has seen the target knows half of the answer."""
        return (
            fold(pair.source) in self._held_out_sources
            or fold(pair.target) in self._held_out_targets
        )
