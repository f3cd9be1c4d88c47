"""`regard data noise`: a corpus with one kind of noise, to measure what it costs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.data.noise import Kind


def noise(
    kind: Kind,
    /,
    *corpus: Path,
    out: Annotated[tuple[Path, ...], Parameter(consume_multiple=True, negative="")],
    seed: int = 0,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Spoil a corpus in one way, as `data.noise` spoils training sentences in several.

    Translate the noisy source and score it against the noisy target, which differs from the
    target only where it must: capitals are answered in capitals, two sentences by two.

    Args:
        kind: accents: none. caps: all in capitals. lower: no capitals. stop: no . ! ? at the end.
            typos: in some words, one each. join: every two pairs on one line.
        corpus: two parallel files, or one .tsv or .jsonl; each gzipped or not.
        out: where to write: the same kinds of names.
        seed: of the typos.
        force: write over files that exist.
    """
    from random import Random

    from regard.data.corpus import read_pairs, write_pairs
    from regard.data.noise import all_spoilt

    examples = list(read_pairs(corpus))
    noisy = list(all_spoilt(kind, examples, Random(seed)))
    write_pairs(out, noisy, force=force)
    sources = {example.source for example in examples}
    num_spoilt = sum(example.source not in sources for example in noisy)
    print(f"{', '.join(map(str, out))}: {len(noisy):,} pairs, {num_spoilt:,} of them spoilt")
