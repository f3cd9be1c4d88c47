"""`regard align`: which word translates which, by statistics or by a model's attention."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from regard.align.options import BOTH_DIRECTIONS, Method, Symmetrisation
from regard.cli.align_attention import (
    BEST,
    MEAN,
    Choosing,
    Look,
    align_by_attention,
    check_head,
    counted,
)
from regard.cli.progress import bar, warn
from regard.errors import ConfigError, DataError

if TYPE_CHECKING:
    from regard.align.error_rate import ErrorRate
    from regard.align.links import Links
    from regard.align.pharaoh import Gold
    from regard.text.spans import Cut

Flag = Parameter(negative=())

_Bitext = tuple[list[list[str]], list[list[str]]]
"""The words of source and target sentences."""


def align(
    *,
    source: Path,
    target: Path,
    train_source: Path | None = None,
    train_target: Path | None = None,
    train_tokenised: Annotated[bool, Flag] = False,
    held_out: Annotated[bool, Flag] = False,
    method: Method = "hmm",
    symmetrise: Symmetrisation | None = None,
    model: Path | None = None,
    reverse_model: Path | None = None,
    head: str = MEAN,
    shift: Annotated[bool, Flag] = False,
    checkpoint: str | None = None,
    device: str = "auto",
    tokenised: Annotated[bool, Flag] = False,
    keep_case: Annotated[bool, Flag] = False,
    out: Path | None = None,
    transpose: Annotated[bool, Flag] = False,
    lexicon: Path | None = None,
    gold: Path | None = None,
    one_based: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
) -> None:
    """Align the words of parallel files: one line of `i-j` links for each pair of lines.

    Learns from the files themselves, and from a larger corpus where one is named; or asks
    the attention of a trained model, which is made to write the target. Words are counted
    from 0, the source first. A pair with an empty side has an empty line.

    Args:
        source: text, gzipped or not.
        target: its translation, line by line.
        train_source: more text to learn from.
        train_target: its translation.
        train_tokenised: what --tokenised says, of the training files.
        held_out: learn from the training files alone.
        method: hmm, or model1, which knows nothing of word order.
        symmetrise: what becomes of the two directions.
        model: a run folder; its attention is read and nothing is learned.
        reverse_model: a run folder that translates the other way, to symmetrise with.
        head: which attention of a model: mean, over all layers and heads; L.H, such as 3.2, one
            head; best, the one that agrees most with the statistical aligner, on the training
            text where it is given.
        shift: read a target word's attention at the step that is fed it, not at the one that
            writes it.
        checkpoint: best, averaged, last, or a folder's name such as step-500.
        device: auto, cpu, cuda or mps, for a model.
        tokenised: the words of source and target are what stands between spaces; otherwise
            punctuation is split off.
        keep_case: count The and the as two words; otherwise all is lowercased to be counted.
        out: a file for the links; printed unless this, --gold or --json is given.
        transpose: links have the target first, in --out and in --gold.
        lexicon: a file for the table p(target word | source word) that was learned.
        gold: links made by people, i-j sure and ipj possible: prints the error rate.
        one_based: the gold file counts words from 1.
        json: print one JSON object.
    """
    from regard.align.error_rate import error_rate
    from regard.align.links import transposed
    from regard.data.corpus import read_pairs
    from regard.text.spans import token_spans, word_spans

    how = _direction(symmetrise, model, reverse_model)
    if (train_source is None) != (train_target is None):
        raise ConfigError("--train-source and --train-target go together; give both or neither")
    if held_out and train_source is None:
        raise ConfigError("--held-out needs other text to learn from; add --train-source, -target")
    if train_tokenised and train_source is None:
        raise ConfigError("--train-tokenised speaks of --train-source; add it, or --tokenised")
    if one_based and gold is None:
        raise ConfigError("--one-based says how --gold counts; add --gold FILE")
    if lexicon is not None and (model is not None or how == "reverse"):
        raise ConfigError(
            "--lexicon is learned from source to target; leave out --model and --symmetrise reverse"
        )
    check_head(head)
    if model is None and (head != MEAN or shift):
        raise ConfigError("--head and --shift say how to read a model's attention; add --model DIR")
    if model is not None and head != BEST and train_source is not None:
        raise ConfigError(
            "--model learns nothing unless --head best; leave out --train-source, --train-target"
        )

    cut = token_spans if tokenised else word_spans
    train_cut = token_spans if train_tokenised else word_spans
    texts = _Texts.read(source, target)
    expected = None if gold is None else _read_gold(gold, texts, cut, one_based, transpose)
    more = _Texts([], [])
    if train_source is not None and train_target is not None:
        pairs = list(read_pairs((train_source, train_target)))
        more = _Texts([pair.source for pair in pairs], [pair.target for pair in pairs])
    if model is None:
        words = texts.words(cut, keep_case)
        learned = ([], []) if held_out else words
        sources, targets = more.words(train_cut, keep_case)
        learned = learned[0] + sources, learned[1] + targets
        links = _by_statistics(words, learned, method, how, lexicon)
    else:
        known, known_cut = (more, train_cut) if more.sources else (texts, cut)
        choosing = Choosing(known.both, known_cut, method, keep_case)
        look = Look(head, shift, cut, choosing, checkpoint, device)
        links = align_by_attention(texts.both, model, reverse_model, how, look)
    score = None if expected is None else error_rate(links, expected)
    if transpose:
        links = [transposed(each) for each in links]
    if out is not None:
        _write(links, out)
    if json:
        _print_json(links, score, with_links=out is None)
    elif score is not None:
        _print_score(score, len(links))
    elif out is None:
        _print_links(links)


@dataclass(frozen=True, slots=True)
class _Texts:
    """The two files, line by line."""

    sources: list[str]
    targets: list[str]

    @property
    def both(self) -> tuple[list[str], list[str]]:
        return self.sources, self.targets

    def words(self, cut: "Cut", keep_case: bool) -> _Bitext:
        """The words of both sides, in the case they are counted in."""
        return counted(self.sources, cut, keep_case), counted(self.targets, cut, keep_case)

    @classmethod
    def read(cls, source: Path, target: Path) -> "_Texts":
        from regard.data.corpus import read_lines

        texts = cls(list(read_lines(source)), list(read_lines(target)))
        if len(texts.sources) != len(texts.targets):
            raise DataError(
                f"{source} has {len(texts.sources):,} lines, {target} has "
                f"{len(texts.targets):,}; expected as many in both"
            )
        return texts


def _direction(
    symmetrise: Symmetrisation | None, model: Path | None, reverse_model: Path | None
) -> Symmetrisation:
    """How to combine the directions that there are."""
    if reverse_model is not None and model is None:
        raise ConfigError("--reverse-model goes with --model; for one direction use --model alone")
    if model is None or reverse_model is not None:
        return symmetrise or BOTH_DIRECTIONS
    if symmetrise not in (None, "forward"):
        raise ConfigError(
            f"--symmetrise {symmetrise} needs a model of each direction; add --reverse-model DIR"
        )
    return "forward"


def _by_statistics(
    words: _Bitext,
    learned: _Bitext,
    method: Method,
    how: Symmetrisation,
    lexicon: Path | None,
) -> "list[Links]":
    """Learn from one list of sentence pairs and align another."""
    from regard.align import hmm, model1
    from regard.align.aligner import train_aligner
    from regard.align.bitext import LONGEST
    from regard.align.training import Iteration

    iterations = model1.ITERATIONS + (hmm.ITERATIONS if method == "hmm" else 0)
    with bar() as progress:
        num_directions = 1 if how in ("forward", "reverse") else 2
        task = progress.add_task("learning", total=num_directions * iterations)

        def tell(done: Iteration) -> None:
            text = f"{done.model}, perplexity {done.perplexity:,.1f}"
            progress.update(task, advance=1, description=text)

        aligner = train_aligner(*learned, method=method, how=how, progress=tell)
    if lexicon is not None:
        assert aligner.forward is not None, "a lexicon is asked for with a forward model only"
        aligner.forward.lexicon.save(lexicon)
    num_long = sum(max(len(s), len(t)) > LONGEST for s, t in zip(*words, strict=True))
    if num_long:
        warn(f"{num_long:,} pairs of more than {LONGEST:,} words were not aligned")
    return aligner.align(*words)


def _read_gold(
    path: Path, texts: _Texts, cut: "Cut", one_based: bool, transpose: bool
) -> "list[Gold]":
    """The gold alignments, checked against the words they speak of."""
    from regard.align.pharaoh import read_gold
    from regard.data.corpus import read_lines

    lines = list(read_lines(path))
    if len(lines) != len(texts.sources):
        raise DataError(
            f"{path} has {len(lines):,} lines for {len(texts.sources):,} pairs; expected as many"
        )
    found = []
    for number, line in enumerate(lines, start=1):
        where = f"{path}: line {number:,}"
        gold = read_gold(line, one_based=one_based, where=where)
        gold = gold.transposed() if transpose else gold
        num_source = len(cut(texts.sources[number - 1]))
        num_target = len(cut(texts.targets[number - 1]))
        if any(i >= num_source or j >= num_target for i, j in gold.possible):
            raise DataError(
                f"{where} links words beyond the {num_source:,} of the source or the "
                f"{num_target:,} of the target; try --one-based, --transpose or --tokenised"
            )
        found.append(gold)
    return found


def _write(links: "Sequence[Links]", out: Path) -> None:
    from regard.align.pharaoh import write_links
    from regard.data.corpus import replacing

    try:
        with replacing([out]) as (stream,):
            stream.writelines(f"{write_links(each)}\n".encode() for each in links)
    except OSError as error:
        raise DataError(f"{out}: cannot be written ({error.strerror})") from None


def _print_links(links: "Sequence[Links]") -> None:
    from regard.align.pharaoh import write_links

    for each in links:
        print(write_links(each))


def _print_json(links: "Sequence[Links]", score: "ErrorRate | None", *, with_links: bool) -> None:
    from json import dumps

    report: dict[str, Any] = {"pairs": len(links), "links": sum(map(len, links))}
    if score is not None:
        report |= {"aer": score.aer, "precision": score.precision, "recall": score.recall}
        report |= {"sure": score.num_sure}
    if with_links:
        report["alignments"] = [sorted(each) for each in links]
    print(dumps(report))


def _print_score(score: "ErrorRate", num_pairs: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("pairs", "links", "AER", "precision", "recall"):
        table.add_column(heading, justify="right", no_wrap=True)
    rates = (f"{100 * rate:.1f} %" for rate in (score.aer, score.precision, score.recall))
    table.add_row(f"{num_pairs:,}", f"{score.num_links:,}", *rates)
    console.print(table)
