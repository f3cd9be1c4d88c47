"""`regard shortlist`: which target pieces could translate each source piece."""

from pathlib import Path


def shortlist(
    folder: Path,
    /,
    *,
    out: Path,
    source: Path | None = None,
    target: Path | None = None,
    best: int = 50,
    frequent: int = 100,
) -> None:
    """Learn from sentence pairs what each piece may become, for `regard translate --shortlist`.

    IBM Model 1 is trained on the pieces of both sides. A translation may then only use the
    likeliest translations of its source's pieces, and the most frequent pieces of all.

    Args:
        folder: what `regard train` wrote.
        out: the file to write.
        source: sentences to learn from; those that the model was trained on unless given.
        target: their translations.
        best: target pieces kept for each source piece.
        frequent: target pieces that every translation may use.
    """
    from regard.align.aligner import train_direction
    from regard.align.training import say_nothing
    from regard.build import open_run, training_examples
    from regard.data.corpus import read_pairs
    from regard.decoding.shortlist import Shortlist
    from regard.errors import ConfigError

    if (source is None) != (target is None):
        raise ConfigError("--source and --target go together; give both or none")
    if min(best, frequent) < 1:
        raise ConfigError(f"--best {best} --frequent {frequent}: expected 1 or more of each")
    run = open_run(folder)
    if source is not None and target is not None:
        examples = list(read_pairs((str(source), str(target))))
    else:
        if not run.config.data.train:
            raise ConfigError(f"{folder}: its run file names no data; give --source and --target")
        examples = list(training_examples(run.config.data))
    sources = run.tokenisers.source.encode_ids([example.source for example in examples])
    targets = run.tokenisers.target.encode_ids([example.target for example in examples])
    # The aligner counts words, whatever they are.
    names = [[[str(id) for id in ids] for ids in side] for side in (sources, targets)]
    lexicon = train_direction(names[0], names[1], "model1", say_nothing).lexicon
    found = Shortlist.learned(lexicon, targets, run.tokenisers, best=best, frequent=frequent)
    found.save(out)
    sizes = [len(found.of(ids)) for ids in sources[:1000]]
    print(
        f"{out}: {sum(sizes) / max(len(sizes), 1):.0f} of {len(run.tokenisers.target):,} pieces "
        "for a sentence"
    )
