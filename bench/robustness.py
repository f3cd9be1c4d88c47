"""How much of a model's quality survives noise, 8-bit integers and a shortlist: one table.

    python bench/robustness.py fr-en data/tatoeba-fr-en/test.fr data/tatoeba-fr-en/test.en
    python bench/robustness.py … --json > results/fr-en.json

Each row is a whole test set: as it is, or spoilt throughout in one way (`regard data noise`), and
translated with the model's own settings. BLEU and chrF are sacreBLEU's, with 95 % intervals.
"""

import argparse
import json
import sys
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.table import Table

from regard.api import Translator, load
from regard.data.corpus import Example, read_pairs
from regard.data.noise import KINDS, all_spoilt
from regard.decoding.workers import num_cores
from regard.metrics.bleu import bleu
from regard.metrics.chrf import chrf

SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a run folder, or the name of a model of the package")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--shortlist", type=Path, help="a file of `regard shortlist`: another row")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    examples = list(read_pairs((options.source, options.target)))
    translator = load(options.model, device="cpu")
    rows = {"as it is": score(translator, examples)}
    for kind in KINDS:
        print(f"robustness: {kind}", file=sys.stderr)
        rows[kind] = score(translator, list(all_spoilt(kind, examples, Random(SEED))))
    rows["int8"] = score(load(options.model, device="cpu", int8=True), examples)
    if options.shortlist:
        narrow = load(options.model, device="cpu", shortlist=options.shortlist)
        rows["shortlist"] = score(narrow, examples)
    if options.json:
        command = f"python bench/robustness.py {' '.join(sys.argv[1:])}"
        print(json.dumps({"command": command, "pairs": len(examples), "rows": rows}, indent=2))
    else:
        show(rows)


def score(translator: Translator, examples: list[Example]) -> dict[str, Any]:
    """BLEU and chrF of a corpus with their intervals."""
    sources = [example.source for example in examples]
    found = translator.translate(sources, align=False, workers=num_cores())
    texts, references = [each.text for each in found], [example.target for example in examples]
    scores = [scorer().score(texts, references) for scorer in (bleu, chrf)]
    return {
        each.name: {
            "value": each.value,
            "interval": [each.interval.low, each.interval.high] if each.interval else None,
            "signature": each.signature,
        }
        for each in scores
    }


def show(rows: dict[str, dict[str, Any]]) -> None:
    table = Table("", *next(iter(rows.values())))
    for name, scores in rows.items():
        cells = []
        for each in scores.values():
            low, high = each["interval"]
            cells.append(f"{each['value']:.1f} ± {(high - low) / 2:.1f}")
        table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
