"""Look a corpus over before training on it, and say what to do about each thing found.

Three severities. A *problem* would harm training or make its scores untrue; a *warning* costs some
quality; a *note* is good to know. Most findings are warnings until they touch so large a share of
the pairs that they become problems; that share stands beside each check below.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from regard.data.corpus import LONGEST_LINE, Example, Tally, read_numbered
from regard.errors import DataError
from regard.text.pair import TokeniserPair

Severity = Literal["problem", "warning", "note"]
NEVER = 2.0
"""A share that no finding reaches."""

MAX_WORDS = 200
MAX_RATIO = 3.0
_RATIO_SLACK = 10  # characters: without it every "Go." with a polite translation would stand out
_NUM_EXAMPLES = 3

# --------------------------------------------------------------------------------------------------
# What can be seen in a sentence or a pair
# --------------------------------------------------------------------------------------------------

# UTF-8 that was read as Latin-1 or Windows-1252 and written as UTF-8 again: é became Ã©, ’ became
# â€™. Only sequences that no language writes: "Ã" before a letter is Portuguese.
_MOJIBAKE = re.compile(
    "[ÂÃ][\x80-\xbf]|Ã[ŠŒŽšœžŸ‰ˆƒ€]|â[€\x80]|â„¢|ï»¿|ï¿½|(?:[ÐÑ][\x80-\xbf]){2}|\ufffd"
)
_ENTITY = re.compile("&(?:[a-zA-Z]{2,8}|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});")
NO_BREAK_SPACES = re.compile("[\u00a0\u2007\u2009\u202f]")
_WORD = re.compile(r"\w+|[^\w\s]")


def fold(text: str) -> str:
    """A sentence without the differences that do not make it another sentence: case and spaces."""
    return " ".join(text.casefold().split())


def has_mojibake(text: str) -> bool:
    """Whether the text shows signs of having been decoded wrongly."""
    return _MOJIBAKE.search(text) is not None


def has_entity(text: str) -> bool:
    """Whether the text holds an HTML entity such as &amp;quot;."""
    return _ENTITY.search(text) is not None


def length_ratio(pair: Example) -> float:
    """How much longer one side is than the other, (longer + 10) / (shorter + 10) in characters."""
    short, long = sorted((len(pair.source), len(pair.target)))
    return (long + _RATIO_SLACK) / (short + _RATIO_SLACK)


def num_words(pair: Example) -> int:
    """Words, by white space, of the longer side."""
    return max(len(pair.source.split()), len(pair.target.split()))


# --------------------------------------------------------------------------------------------------
# Findings
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of thing found in one split.

    Attributes:
        split: where.
        severity: problem, warning or note.
        what: the thing.
        count: how many.
        share: how many of what could have it, from 0 to 1.
        examples: the first few, each as its parts: line number, source and target, or one text.
        advice: what to do.
    """

    split: str
    severity: Severity
    what: str
    count: int
    share: float
    examples: tuple[tuple[str, ...], ...]
    advice: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The size of a split."""

    split: str
    pairs: int
    source_words: int
    target_words: int


@dataclass(frozen=True, slots=True)
class Report:
    """All that a check has to say."""

    summaries: tuple[Summary, ...]
    findings: tuple[Finding, ...]

    @property
    def has_problems(self) -> bool:
        return any(finding.severity == "problem" for finding in self.findings)


@dataclass(slots=True)
class Reading:
    """A split in memory, as far as it could be read.

    Attributes:
        name: train, valid or test.
        pairs: line numbers and pairs.
        tally: what reading left out or mended.
        error: why reading stopped, or nothing.
    """

    name: str
    pairs: list[tuple[int, Example]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    error: str = ""


def read(name: str, spec: Sequence[str | Path]) -> Reading:
    """Read a split; what is wrong inside its files becomes part of the reading.

    Raises:
        DataError: there is no such file.
    """
    reading = Reading(name)
    rows = read_numbered(spec, reading.tally)
    try:
        for row in rows:
            reading.pairs.append(row)
    except DataError as error:
        reading.error = str(error)
    return reading


def check(
    train: Reading,
    held_out: Sequence[Reading] = (),
    *,
    tokenisers: TokeniserPair | None = None,
    max_words: int = MAX_WORDS,
    max_ratio: float = MAX_RATIO,
) -> Report:
    """Look over a training set and the sets held out from it.

    Args:
        train: what will be learned from.
        held_out: what will be measured on.
        tokenisers: if given, unknown pieces are counted as well as unknown words.
        max_words: a sentence with more is over-long.
        max_ratio: a pair whose `length_ratio` is larger is suspicious.
    """
    splits = (train, *held_out)
    findings = [
        *(finding for split in splits for finding in check_reading(split)),
        *(finding for split in splits for finding in check_pairs(split, max_words, max_ratio)),
        *(finding for split in splits for finding in check_duplicates(split)),
        *(finding for other in held_out for finding in check_leakage(train, other)),
        *(finding for other in held_out for finding in check_unknown_words(train, other)),
    ]
    if tokenisers is not None:
        findings += [
            finding for split in splits for finding in check_unknown_pieces(split, tokenisers)
        ]
    order: tuple[Severity, ...] = ("problem", "warning", "note")
    return Report(
        tuple(map(_summarise, splits)),
        tuple(sorted(findings, key=lambda finding: order.index(finding.severity))),
    )


def _summarise(split: Reading) -> Summary:
    return Summary(
        split.name,
        len(split.pairs),
        sum(len(pair.source.split()) for _, pair in split.pairs),
        sum(len(pair.target.split()) for _, pair in split.pairs),
    )


def _grade(share: float, harmful: float, otherwise: Severity) -> Severity:
    return "problem" if share >= harmful else otherwise


def check_reading(split: Reading) -> Iterator[Finding]:
    """What reading itself ran into: errors, and lines left out or mended."""
    tally, lines = split.tally, max(split.tally.lines, 1)
    if split.error:
        yield Finding(
            split.name, "problem", "cannot be read to its end", 1, 1.0, ((split.error,),), "mend it"
        )
    if not split.pairs:
        advice = "check that these are the right files"
        yield Finding(split.name, "problem", "has no pairs", 1, 1.0, (), advice)
    counted: tuple[tuple[int, str, float, Severity, tuple[tuple[str, ...], ...]], ...] = (
        (tally.empty, "empty on one side or both", 0.05, "warning", ()),
        (
            tally.too_long,
            f"lines of more than {LONGEST_LINE:,} bytes",
            0.01,
            "warning",
            tuple((place,) for place in tally.first_too_long),
        ),
        (tally.control_characters, "control characters", NEVER, "note", ()),
    )
    for count, what, harmful, severity, examples in counted:
        if count:
            share = min(count / lines, 1.0)
            graded = _grade(share, harmful, severity)
            is_mended = severity == "note"
            advice = "mended when read" if is_mended else "left out when read"
            yield Finding(split.name, graded, what, count, share, examples, advice)


def _either(is_seen: Callable[[str], bool]) -> Callable[[Example], bool]:
    return lambda pair: is_seen(pair.source) or is_seen(pair.target)


def check_pairs(split: Reading, max_words: int, max_ratio: float) -> Iterator[Finding]:
    """What can be seen in one pair alone."""
    checks: tuple[tuple[str, Callable[[Example], bool], float, Severity, str], ...] = (
        (
            "wrongly decoded text (Ã©, â€™, U+FFFD)",
            _either(has_mojibake),
            0.01,
            "warning",
            "regard data clean drops these pairs; better, decode the original anew",
        ),
        (
            "HTML entities (&quot;, &#39;)",
            _either(has_entity),
            0.05,
            "warning",
            "regard data clean --unescape",
        ),
        (
            f"one side {max_ratio:g} times longer than the other",
            lambda pair: length_ratio(pair) > max_ratio,
            0.10,
            "warning",
            f"regard data clean --max-ratio {max_ratio:g}",
        ),
        (
            f"more than {max_words:,} words",
            lambda pair: num_words(pair) > max_words,
            0.10,
            "warning",
            f"regard data clean --max-words {max_words}",
        ),
        (
            "source and target are the same",
            lambda pair: fold(pair.source) == fold(pair.target),
            0.10,
            "warning",
            "regard data clean --drop-copies, unless copying is the task",
        ),
        (
            "no-break spaces",
            _either(lambda text: NO_BREAK_SPACES.search(text) is not None),
            NEVER,
            "note",
            "regard data clean --spaces, if only some lines have them",
        ),
    )
    for what, is_found, harmful, severity, advice in checks:
        found = [(line, pair) for line, pair in split.pairs if is_found(pair)]
        if found:
            share = len(found) / len(split.pairs)
            graded = _grade(share, harmful, severity)
            yield Finding(split.name, graded, what, len(found), share, _show(found), advice)


def check_duplicates(split: Reading) -> Iterator[Finding]:
    """Pairs that come again, and sources with more than one target."""
    seen: set[Example] = set()
    repeated = []
    for line, pair in split.pairs:
        if pair in seen:
            repeated.append((line, pair))
        seen.add(pair)
    if repeated:
        share = len(repeated) / len(split.pairs)
        graded = _grade(share, 0.30, "warning")
        advice = "regard data clean drops them"
        yield Finding(
            split.name, graded, "repeated pairs", len(repeated), share, _show(repeated), advice
        )
    targets = Counter(pair.source for pair in seen)
    many = [(line, pair) for line, pair in split.pairs if targets[pair.source] > 1]
    if many:
        yield Finding(
            split.name,
            "note",
            "sources with several targets",
            len(many),
            len(many) / len(split.pairs),
            _show(many),
            "fine to train on; split by sentence, never by line",
        )


def check_leakage(train: Reading, held_out: Reading) -> Iterator[Finding]:
    """What is measured on but was learned from, comparing sentences after `fold`."""
    if not held_out.pairs:
        return
    pairs = {(fold(pair.source), fold(pair.target)) for _, pair in train.pairs}
    sources = {source for source, _ in pairs}
    targets = {target for _, target in pairs}
    leaks: dict[str, list[tuple[int, Example]]] = {"pairs": [], "sources": [], "targets": []}
    for line, pair in held_out.pairs:
        source, target = fold(pair.source), fold(pair.target)
        if (source, target) in pairs:
            leaks["pairs"].append((line, pair))
        elif source in sources:
            leaks["sources"].append((line, pair))
        elif target in targets:
            leaks["targets"].append((line, pair))
    harmful_at = {"pairs": 0.01, "sources": 0.05, "targets": NEVER}
    for what, found in leaks.items():
        if found:
            share = len(found) / len(held_out.pairs)
            yield Finding(
                held_out.name,
                _grade(share, harmful_at[what], "note" if what == "targets" else "warning"),
                f"{what} that are in {train.name} too",
                len(found),
                share,
                _show(found),
                f"regard data clean --held-out drops them from {train.name}",
            )


def check_unknown_words(train: Reading, held_out: Reading) -> Iterator[Finding]:
    """Running words of a held-out set that the training set never shows."""
    for side in ("source", "target"):
        known = {
            word
            for _, pair in train.pairs
            for word in _WORD.findall(getattr(pair, side).casefold())
        }
        words = Counter(
            word
            for _, pair in held_out.pairs
            for word in _WORD.findall(getattr(pair, side).casefold())
        )
        unknown = Counter({word: count for word, count in words.items() if word not in known})
        if unknown:
            share = unknown.total() / words.total()
            yield Finding(
                held_out.name,
                "warning" if share >= 0.05 else "note",
                f"{side} words not in {train.name}",
                unknown.total(),
                share,
                ((", ".join(word for word, _ in unknown.most_common(8)),),),
                "subword pieces (bpe, unigram) can still spell them",
            )


def check_unknown_pieces(split: Reading, tokenisers: TokeniserPair) -> Iterator[Finding]:
    """Pieces of a split that a tokeniser can only read as <unk>."""
    for side, tokeniser in (("source", tokenisers.source), ("target", tokenisers.target)):
        texts = [getattr(pair, side) for _, pair in split.pairs]
        rows = tokeniser.encode_ids(texts)
        count = sum(row.count(tokeniser.unk) for row in rows)
        if count:
            share = count / sum(map(len, rows))
            found = [
                row for row, ids in zip(split.pairs, rows, strict=True) if tokeniser.unk in ids
            ]
            yield Finding(
                split.name,
                _grade(share, 0.01, "warning"),
                f"{side} pieces unknown to the tokeniser",
                count,
                share,
                _show(found),
                "train the tokeniser on this text, or on more characters",
            )


def _show(found: Sequence[tuple[int, Example]]) -> tuple[tuple[str, ...], ...]:
    return tuple((f"{line:,}", pair.source, pair.target) for line, pair in found[:_NUM_EXAMPLES])
