"""`regard data`: look corpora over, clean them, spoil them, make them and get them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from regard.cli.noise import noise

if TYPE_CHECKING:
    from rich.console import Console

    from regard.data.check import Finding, Report
    from regard.data.corpus import Splits

app = App(name="data", help="Look corpora over, clean them, spoil them, make them, get them.")
app.command(noise)

Files = Annotated[tuple[Path, ...], Parameter(consume_multiple=True, negative="")]
Switch = Annotated[bool, Parameter(negative="")]
Json = Annotated[bool, Parameter(name="--json", negative="")]


@app.command
def check(
    *train: Path,
    valid: Files = (),
    test: Files = (),
    tokeniser: Path | None = None,
    max_words: int | None = None,
    max_ratio: float | None = None,
    as_json: Json = False,
) -> int:
    """Say what is wrong with a corpus before it is trained on, and what to do about it.

    Ends with 1 if it finds a problem: something that would harm training or make scores untrue.

    Args:
        train: two parallel files, or one .tsv or .jsonl; each gzipped or not.
        valid: the same for validation: adds leakage and unknown words.
        test: the same for the test.
        tokeniser: a folder with trained tokenisers: adds the pieces they do not know.
        max_words: more words than this make a sentence over-long.
        max_ratio: one side longer than the other by more than this is suspicious.
        as_json: print one JSON object instead of a table.
    """
    from dataclasses import asdict

    from regard.data.check import MAX_RATIO, MAX_WORDS, read
    from regard.data.check import check as look_over

    tokenisers = None
    if tokeniser is not None:
        from regard.text.pair import TokeniserPair

        tokenisers = TokeniserPair.load(tokeniser)
    with _working("reading"):
        readings = [
            read(name, spec)
            for name, spec in (("train", train), ("valid", valid), ("test", test))
            if spec or name == "train"
        ]
    with _working("looking"):
        report = look_over(
            readings[0],
            readings[1:],
            tokenisers=tokenisers,
            max_words=MAX_WORDS if max_words is None else max_words,
            max_ratio=MAX_RATIO if max_ratio is None else max_ratio,
        )
    if as_json:
        _print_json(asdict(report))
    else:
        _show_report(report)
    return int(report.has_problems)


@app.command
def clean(
    *corpus: Path,
    out: Files,
    held_out: Files = (),
    spaces: Switch = False,
    unescape: Switch = False,
    drop_copies: Switch = False,
    max_words: int | None = None,
    max_ratio: float | None = None,
    force: Switch = False,
    as_json: Json = False,
) -> None:
    """Drop the pairs that harm training, and mend what can be mended.

    Empty, repeated, over-long, lopsided and wrongly decoded pairs always go.

    Args:
        corpus: two parallel files, or one .tsv or .jsonl; each gzipped or not.
        out: where to write: the same kinds of names.
        held_out: a corpus to measure on: pairs that share a sentence with it go. Several may be
            named, two files each or one .tsv or .jsonl each.
        spaces: turn no-break spaces into plain ones, and runs of spaces into one.
        unescape: turn HTML entities into the characters they stand for.
        drop_copies: drop pairs whose two sides are the same.
        max_words: drop pairs with more words than this on either side.
        max_ratio: drop pairs with one side longer than the other by more than this.
        force: write over files that exist.
        as_json: print one JSON object instead of a table.
    """
    from regard.data.check import MAX_RATIO, MAX_WORDS
    from regard.data.clean import Cleaner, Rules
    from regard.data.corpus import Tally, read_pairs, write_pairs

    rules = Rules(
        spaces=spaces,
        unescape=unescape,
        drop_copies=drop_copies,
        max_words=MAX_WORDS if max_words is None else max_words,
        max_ratio=MAX_RATIO if max_ratio is None else max_ratio,
    )
    tally = Tally()
    with _working("cleaning"):
        kept_back = (pair for spec in _corpora(held_out) for pair in read_pairs(spec))
        cleaner = Cleaner(rules, kept_back)
        write_pairs(out, cleaner.clean(read_pairs(corpus, tally)), force=force)
    dropped = {
        "empty": tally.empty + cleaner.dropped.pop("empty", 0),
        "too long to be read": tally.too_long,
        **cleaner.dropped,
    }
    counts = {
        "read": tally.lines,
        "kept": cleaner.kept,
        "mended": cleaner.mended,
        "dropped": {reason: count for reason, count in dropped.items() if count},
    }
    if as_json:
        _print_json(counts)
        return
    from rich.console import Console

    console = Console()
    files = ", ".join(map(str, out))
    console.print(
        f"{files}: {cleaner.kept:,} of {tally.lines:,} pairs kept, {cleaner.mended:,} mended",
        highlight=False,
        soft_wrap=True,
    )
    _print_counts(console, "dropped", {name: f"{n:,}" for name, n in dropped.items() if n})


@app.command
def make(
    name: Literal["phrasebook", "copy", "reverse", "sort"],
    *,
    out: Path,
    size: int | None = None,
    seed: int = 0,
    force: Switch = False,
    as_json: Json = False,
) -> None:
    """Write a corpus of Regard's own: train, valid and test, in two files each.

    Args:
        name: phrasebook: French and English by a grammar, tested on new combinations. copy,
            reverse, sort: sequences that any correct model learns.
        out: the folder for train.fr, train.en and the others.
        size: pairs in all.
        seed: another seed, another corpus; the same seed, the same.
        force: write over files that exist.
        as_json: print one JSON object instead of a table.
    """
    from regard.data import phrasebook, toys

    suffixes = ("fr", "en") if name == "phrasebook" else ("source", "target")
    _refuse_to_overwrite(out, suffixes, force)
    with _working(f"making {name}"):
        if name == "phrasebook":
            size = phrasebook.SIZE if size is None else size
            splits = phrasebook.phrasebook(size=size, seed=seed)
        else:
            splits = toys.toy(name, size=toys.SIZE if size is None else size, seed=seed)
    _write_splits(out, suffixes, splits, (), as_json)


@app.command
def get(
    name: Literal["multi30k", "tatoeba"],
    *,
    pair: str,
    out: Path,
    folder: Annotated[Path | None, Parameter(name="--from")] = None,
    force: Switch = False,
    as_json: Json = False,
) -> None:
    """Get a published corpus, verify it and write it as train, valid and test.

    Args:
        name: multi30k: captions in en, de, fr, cs. tatoeba: everyday sentences, en with fr or de.
        pair: source and target language, such as en-de.
        out: the folder for train.en, train.de and the others.
        folder: take the files from this folder instead of the network.
        force: write over files that exist.
        as_json: print one JSON object instead of a table.
    """
    from regard.data.public import CORPORA, Downloader, get_local, get_remote, parse_pair

    corpus = CORPORA[name]
    languages = parse_pair(corpus, pair)
    _refuse_to_overwrite(out, languages, force)
    if folder is not None:
        with _working(f"reading {folder}"):
            obtained = get_local(corpus, languages, folder, _warn)
    else:
        with _downloading() as progress:
            downloads = out / ".download"
            obtained = get_remote(corpus, languages, downloads, Downloader(), progress)
    _write_splits(out, languages, obtained.splits, obtained.notes, as_json)


# --------------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------------


def _corpora(files: tuple[Path, ...]) -> Iterator[tuple[Path, ...]]:
    """Cut a list of files into corpora: one .tsv or .jsonl alone, other files two by two."""
    rest = files
    while rest:
        is_alone = rest[0].name.removesuffix(".gz").endswith((".tsv", ".jsonl"))
        width = 1 if is_alone else 2
        yield rest[:width]
        rest = rest[width:]


def _refuse_to_overwrite(out: Path, suffixes: tuple[str, str], force: bool) -> None:
    from regard.data.corpus import require_absent

    files = (
        out / f"{split}.{suffix}" for split in ("train", "valid", "test") for suffix in suffixes
    )
    require_absent(files, force=force)


def _write_splits(
    out: Path,
    suffixes: tuple[str, str],
    splits: "Splits",
    notes: tuple[str, ...],
    as_json: bool,
) -> None:
    from regard.data.corpus import write_pairs

    written = {}
    for split, examples in (
        ("train", splits.train),
        ("valid", splits.valid),
        ("test", splits.test),
    ):
        spec = [out / f"{split}.{suffix}" for suffix in suffixes]
        # Whether they may be replaced was settled before the work began.
        count = write_pairs(spec, examples, force=True)
        written[split] = {"pairs": count, "files": [str(path) for path in spec]}
    if as_json:
        _print_json({"splits": written, "notes": notes})
        return
    from rich.console import Console

    console = Console()
    rows = {
        f"{split}.{suffixes[0]}, {split}.{suffixes[1]}": f"{entry['pairs']:,} pairs"
        for split, entry in written.items()
    }
    _print_counts(console, str(out), rows)
    for note in notes:
        console.print(note, style="dim", highlight=False)


# --------------------------------------------------------------------------------------------------
# What the terminal shows
# --------------------------------------------------------------------------------------------------


@contextmanager
def _working(what: str) -> Iterator[None]:
    """A sign of life on the error stream, if that is a terminal."""
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield


@contextmanager
def _downloading() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each file that is being downloaded."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def progress(name: str, arrived: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total or None)
            bars.update(tasks[name], completed=arrived, total=total or None)

        yield progress


def _warn(message: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(f"regard: warning: {message}", highlight=False, soft_wrap=True)


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))


def _show_report(report: "Report") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    sizes = Table(box=None, pad_edge=False)
    for heading in ("split", "pairs", "source words", "target words"):
        sizes.add_column(heading, justify="left" if heading == "split" else "right")
    for row in report.summaries:
        counts = (row.pairs, row.source_words, row.target_words)
        sizes.add_row(row.split, *(f"{count:,}" for count in counts))
    console.print(sizes)
    colours = {"problem": "bold red", "warning": "yellow", "note": "cyan"}
    for finding in report.findings:
        console.print()
        console.print(
            f"[{colours[finding.severity]}]{finding.severity:<8}[/] "
            f"{finding.split}: {escape(finding.what)}{_amount(finding)}",
            highlight=False,
            soft_wrap=True,
        )
        for parts in finding.examples:
            example = escape(_fitted(parts, console.width - 9))
            console.print(f"         {example}", style="dim", highlight=False, soft_wrap=True)
        console.print(f"         → {escape(finding.advice)}", highlight=False, soft_wrap=True)
    console.print()
    kinds = dict.fromkeys(colours, 0)
    for finding in report.findings:
        kinds[finding.severity] += 1
    console.print(
        ", ".join(f"{count} {kind}{'s' * (count != 1)}" for kind, count in kinds.items()),
        highlight=False,
    )


def _fitted(parts: tuple[str, ...], width: int) -> str:
    """An example on one line: of a pair, each side has half of it."""
    if len(parts) == 1:
        return parts[0]
    line, source, target = parts
    half = max((width - len(line) - 5) // 2, 10)
    cut = [text if len(text) <= half else text[: half - 1] + "…" for text in (source, target)]
    return f"{line}: {cut[0]} | {cut[1]}"


def _amount(finding: "Finding") -> str:
    """How many and which share, unless it is the whole split that is meant."""
    if finding.count == 1 and finding.share == 1.0:
        return ""
    share = finding.share * 100
    return f", {finding.count:,} ({'under 0.1' if share < 0.1 else format(share, '.1f')} %)"


def _print_counts(console: "Console", title: str, rows: dict[str, str]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    for name, count in rows.items():
        table.add_row(name, count)
    if rows:
        console.print(table)
