"""Does a sentence's translation depend on what is translated beside it?

    python bench/batch_invariance.py fr-en data/tatoeba-fr-en/test.fr
    python bench/batch_invariance.py fr-en data/tatoeba-fr-en/test.fr --json

Sentences alone, in pairs, and in batches of 256, in fp32 with the model's own beam. Sums are taken
in another order in a larger batch, so two hypotheses with almost the same score may change places:
a translation may differ where the scores are less than 0.0001 apart. Exit code 1 if one differs by
more.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from regard.api import Translator, load
from regard.translation import Candidate

SIZES = (2, 256)
CLOSE = 1e-4
# Pieces of a batch: no bound but the sentences we put into one.
UNBOUNDED = 1_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """Batches of one size beside single sentences.

    Attributes:
        size: sentences of a batch.
        equal: how many translations are the same.
        close: how many differ, with scores less than `CLOSE` apart.
        different: how many differ by more.
        largest: the largest distance between the scores of translations that are the same.
    """

    size: int
    equal: int
    close: int
    different: int
    largest: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a run folder, or the name of a model of the package")
    parser.add_argument("file", type=Path, help="sentences, one a line")
    parser.add_argument("--limit", type=int, default=1000, help="how many of them")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    translator = load(options.model, device="cpu")
    with options.file.open(encoding="utf-8") as lines:
        texts = list(islice(filter(None, map(str.strip, lines)), options.limit))
    alone = list(translated(translator, texts, 1))
    rows = [compare(size, alone, list(translated(translator, texts, size))) for size in SIZES]
    if options.json:
        command = f"python bench/batch_invariance.py {' '.join(sys.argv[1:])}"
        report = {"command": command, "sentences": len(texts), "rows": [asdict(r) for r in rows]}
        print(json.dumps(report, indent=2))
    else:
        show(len(texts), rows)
    sys.exit(any(row.different for row in rows))


def translated(translator: Translator, texts: Sequence[str], size: int) -> Iterator[Candidate]:
    """The best translation of every text, so many of them at a time."""
    starts = range(0, len(texts), size)
    console = Console(stderr=True)
    for begin in track(starts, f"in batches of {size}", console=console, transient=True):
        batch = texts[begin : begin + size]
        found = translator.translate(
            batch, align=False, split_sentences=False, batch_tokens=UNBOUNDED
        )
        for each in found:
            yield each.sentences[0].best


def compare(size: int, alone: Sequence[Candidate], batched: Sequence[Candidate]) -> Row:
    """Count what changed."""
    equal = close = different = 0
    largest = 0.0
    for one, other in zip(alone, batched, strict=True):
        distance = abs(one.score - other.score)
        if one.target.ids == other.target.ids:
            equal += 1
            largest = max(largest, distance)
        elif distance < CLOSE:
            close += 1
        else:
            different += 1
    return Row(size, equal, close, different, largest)


def show(count: int, rows: Sequence[Row]) -> None:
    table = Table(title=f"{count:,} sentences, beside each alone")
    for name in ("batches of", "the same", f"scores within {CLOSE:g}", "different", "rounding"):
        table.add_column(name, justify="right")
    for row in rows:
        counts = (row.size, row.equal, row.close, row.different)
        table.add_row(*[f"{each:,}" for each in counts], f"{row.largest:.1e}")
    Console().print(table)


if __name__ == "__main__":
    main()
