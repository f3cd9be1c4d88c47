r"""How well attention aligns: the error rate of a model's heads beside Model 1 and the HMM.

    python bench/attention_aer.py --model runs/en-fr --reverse runs/fr-en \
        --text hansards.en-fr.src-tgt --gold hansards.en-fr.gold \
        --train-source train.en --train-target train.fr [--json > results/attention_aer.json]

The text has a pair a line, `source ||| target`, in words between spaces; the gold has its links,
`i-j` sure and `ipj` possible, counted from 1. Both models are made to write the other side. The
aligners learn from the training text alone, and so does the choice of a head by agreement with the
HMM. What else is chosen (the symmetrisation of each row, the head and the shift of "head by gold")
is chosen on the first pairs of the gold; the error rates are those of the others.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from regard.align.aligner import Aligner, train_aligner
from regard.align.error_rate import ErrorRate, error_rate
from regard.align.links import Links, transposed
from regard.align.options import SYMMETRISATIONS, Method, Symmetrisation
from regard.align.pharaoh import Gold, read_gold
from regard.align.symmetrise import symmetrise
from regard.api import Translator, load
from regard.cli.align_attention import Texts, agreeing_head, counted
from regard.data.corpus import read_lines, read_pairs
from regard.errors import DataError, RegardError
from regard.lens.choosing import rank_heads
from regard.lens.forced import MEAN, Reading, forced_alignment
from regard.text.spans import token_spans, word_spans
from workers import tell

BETWEEN = "|||"
NUM_CHOOSING = 100
METHODS: dict[str, Method] = {"Model 1": "model1", "HMM": "hmm"}
# Both directions are rows of their own; what is left takes two.
COMBINATIONS = [how for how in SYMMETRISATIONS if how not in ("forward", "reverse")]


@dataclass(frozen=True, slots=True)
class GoldText:
    """Sentence pairs and what people say of them.

    Attributes:
        texts: sources and targets, in words between spaces.
        gold: the links of each pair.
        num_choosing: how many of the first are for choosing.
    """

    texts: Texts
    gold: list[Gold]
    num_choosing: int

    @classmethod
    def read(cls, text: Path, gold: Path, num_choosing: int) -> "GoldText":
        """Read both files.

        Raises:
            DataError: they do not fit each other, or leave nothing to report on.
        """
        pairs = [line.partition(BETWEEN) for line in read_lines(text)]
        sides = [source.strip() for source, *_ in pairs], [target.strip() for *_, target in pairs]
        links = [
            read_gold(line, one_based=True, where=f"{gold}: line {number:,}")
            for number, line in enumerate(read_lines(gold), start=1)
        ]
        if not num_choosing < len(links) == len(pairs):
            raise DataError(
                f"{gold} has {len(links):,} lines and {text} {len(pairs):,}; expected as many, "
                f"and more than the {num_choosing:,} to choose on"
            )
        for number, (source, target, each) in enumerate(zip(*sides, links, strict=True), start=1):
            num_source, num_target = len(token_spans(source)), len(token_spans(target))
            if any(i >= num_source or j >= num_target for i, j in each.possible):
                raise DataError(
                    f"{gold}: line {number:,} links words beyond the {num_source:,} of the source "
                    f"or the {num_target:,} of the target in {text}"
                )
        return cls(sides, links, num_choosing)

    def choosing(self, links: Sequence[Links]) -> ErrorRate:
        """The error rate on the pairs for choosing."""
        return error_rate(links[: self.num_choosing], self.gold[: self.num_choosing])

    def reported(self, links: Sequence[Links]) -> ErrorRate:
        """The error rate on all other pairs."""
        return error_rate(links[self.num_choosing :], self.gold[self.num_choosing :])


@dataclass(frozen=True, slots=True)
class Direction:
    """A model of one direction, with text of that direction.

    Attributes:
        translator: the model.
        texts: of the gold, its source first.
        gold: likewise.
        known: the training text, likewise.
        aligner: the HMM of that text.
    """

    translator: Translator
    texts: Texts
    gold: list[Gold]
    known: Texts
    aligner: Aligner

    def links(self, reading: Reading) -> list[Links]:
        """What a reading of the attention says of the gold's text."""
        found = forced_alignment(
            self.translator.models[0],
            self.translator.tokenisers,
            *self.texts,
            reading=reading,
            cut=token_spans,
        )
        return [frozenset(alignment.links) for alignment in found]

    def best(self, *, is_shifted: bool) -> Reading:
        """The head that agrees most with the HMM on the training text."""
        return agreeing_head(
            self.translator,
            self.known,
            self.aligner,
            cut=word_spans,
            keep_case=False,
            is_shifted=is_shifted,
        ).reading

    def chosen(self, num_choosing: int) -> Reading:
        """The head, and whether it is shifted, by agreement with the first pairs' sure links."""
        sources, targets = (side[:num_choosing] for side in self.texts)
        sure = [gold.sure for gold in self.gold[:num_choosing]]
        ranked = [
            rank_heads(
                self.translator.models[0],
                self.translator.tokenisers,
                sources,
                targets,
                sure,
                is_shifted=is_shifted,
                cut=token_spans,
            )[0]
            for is_shifted in (False, True)
        ]
        return max(ranked, key=lambda choice: choice.agreement).reading


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True, help="a run folder, source → target")
    parser.add_argument("--reverse", type=Path, required=True, help="one of the other direction")
    parser.add_argument("--guided", type=Path, help="source → target, trained with alignments")
    parser.add_argument("--guided-reverse", type=Path, help="the other direction, likewise")
    parser.add_argument("--text", type=Path, required=True, help="lines of source ||| target")
    parser.add_argument("--gold", type=Path, required=True, help="their links, counted from 1")
    parser.add_argument("--train-source", type=Path, required=True, help="for the aligners")
    parser.add_argument("--train-target", type=Path, required=True)
    parser.add_argument("--choose", type=int, default=NUM_CHOOSING, help="pairs to choose on")
    parser.add_argument("--checkpoint", help="of the run folders, as `regard align` takes it")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    if (options.guided is None) != (options.guided_reverse is None):
        parser.error("--guided and --guided-reverse go together; give both or neither")
    try:
        report = measure(options)
    except RegardError as error:
        print(f"attention_aer: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, indent=2)) if options.json else show(report)
    return 0


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Every row, and by how much the best attention is better than the mean."""
    text = GoldText.read(options.text, options.gold, options.choose)
    pairs = list(read_pairs((options.train_source, options.train_target)))
    known = [pair.source for pair in pairs], [pair.target for pair in pairs]
    rows, aligners = [], {}
    for name, method in METHODS.items():
        tell(f"learning {name}")
        aligners[method] = train_aligner(
            *(counted(side, word_spans, False) for side in known), method=method
        )
        rows.append(statistical_row(name, aligners[method], text))
    models = {"": (options.model, options.reverse)}
    if options.guided:
        models["guided, "] = (options.guided, options.guided_reverse)
    for prefix, folders in models.items():
        there, back = (load(folder, checkpoint=options.checkpoint) for folder in folders)
        hmm = aligners["hmm"]
        forward = Direction(there, text.texts, text.gold, known, hmm)
        reverse = Direction(
            back,
            text.texts[::-1],
            [gold.transposed() for gold in text.gold],
            known[::-1],
            Aligner(hmm.reverse, hmm.forward, hmm.how),
        )
        rows += attention_rows(prefix, forward, reverse, text)
    tell("")
    return {
        "pairs": {"choosing": text.num_choosing, "reported": len(text.gold) - text.num_choosing},
        "rows": rows,
        "gain": gain(rows),
    }


def statistical_row(name: str, aligner: Aligner, text: GoldText) -> dict[str, Any]:
    """What an aligner says of the gold's text."""
    words = [counted(side, token_spans, False) for side in text.texts]
    assert aligner.forward is not None and aligner.reverse is not None
    forward = aligner.forward.align(*words)
    reverse = [transposed(links) for links in aligner.reverse.align(*reversed(words))]
    return row(name, forward, reverse, text)


def attention_rows(
    prefix: str, forward: Direction, reverse: Direction, text: GoldText
) -> list[dict[str, Any]]:
    """Each way to read the attention of a pair of models."""
    ways: dict[str, Callable[[Direction], Reading]] = {
        "mean attention": lambda direction: MEAN,
        "best head": lambda direction: direction.best(is_shifted=False),
        "shifted best head": lambda direction: direction.best(is_shifted=True),
        "head by gold": lambda direction: direction.chosen(text.num_choosing),
    }
    found = []
    for name, way in ways.items():
        tell(f"reading {prefix}{name}")
        readings = way(forward), way(reverse)
        there = forward.links(readings[0])
        back = [transposed(links) for links in reverse.links(readings[1])]
        heads = [_head(reading) for reading in readings]
        found.append(row(prefix + name, there, back, text) | {"heads": heads})
    return found


def row(
    name: str, forward: Sequence[Links], reverse: Sequence[Links], text: GoldText
) -> dict[str, Any]:
    """Error rates of both directions and of the combination that the first pairs prefer."""
    combined = {
        how: [symmetrise(there, back, how) for there, back in zip(forward, reverse, strict=True)]
        for how in COMBINATIONS
    }
    how: Symmetrisation = min(combined, key=lambda each: text.choosing(combined[each]).aer)
    return {
        "name": name,
        "forward": _rates(text.reported(forward)),
        "reverse": _rates(text.reported(reverse)),
        "symmetrised": _rates(text.reported(combined[how])) | {"how": how},
        "choosing": text.choosing(combined[how]).aer,
    }


def gain(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How much lower the error of the best attention is, which the first pairs have chosen."""
    attentive = [each for each in rows if "heads" in each]
    (mean,) = (each for each in attentive if each["name"] == "mean attention")
    best = min(attentive, key=lambda each: each["choosing"])
    return {
        "best": best["name"],
        "over": mean["name"],
        "aer": mean["symmetrised"]["aer"] - best["symmetrised"]["aer"],
    }


def show(report: dict[str, Any]) -> None:
    """For a terminal: error rates in percent."""
    table = Table(
        box=SIMPLE_HEAD, title=f"AER on {report['pairs']['reported']:,} pairs, in percent"
    )
    for heading in ("", "forward", "reverse", "symmetrised", "by", "heads"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for each in report["rows"]:
        rates = (f"{100 * each[key]['aer']:.1f}" for key in ("forward", "reverse", "symmetrised"))
        heads = " and ".join(each.get("heads", []))
        table.add_row(each["name"], *rates, each["symmetrised"]["how"], heads)
    console = Console()
    console.print(table)
    found = report["gain"]
    console.print(
        f"{found['best']} is {100 * found['aer']:.1f} points better than {found['over']}",
        highlight=False,
    )


def _rates(found: ErrorRate) -> dict[str, Any]:
    return {"aer": found.aer, "precision": found.precision, "recall": found.recall}


def _head(reading: Reading) -> str:
    """Such as 3.2, or 3.2 shifted."""
    if reading.layer is None:
        return "mean"
    return f"{reading.layer}.{reading.head}" + (" shifted" if reading.is_shifted else "")


if __name__ == "__main__":
    sys.exit(main())
