"""`regard demo`: the main job from end to end, on a corpus of our own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from rich.console import Console

    from regard.config import RunConfig

SENTENCE = "Jane visite l'Afrique en septembre."


def demo(
    sentence: str = SENTENCE,
    /,
    *,
    train: Annotated[bool, Parameter(negative=())] = False,
    out: Path = Path("demo"),
) -> int:
    """Translate a sentence with the model that came with Regard, and show its attention.

    With --train, first train a small Transformer on the phrasebook, in a few minutes; after that
    the trained model is used again.

    Args:
        sentence: French; with --train, in the words of the phrasebook.
        train: train a model instead of taking the one that came along.
        out: the folder for the picture; for corpus and run folder too with --train.
    """
    from rich.console import Console

    from regard.bundled import bundled_into

    console = Console()
    run = out / "run" if train else bundled_into("en")
    if train and not (run / "manifest.json").exists():
        code = _train(console, out, run)
        if code:
            return code
    elif train and not _is_trained(run):
        code = _resume(console, run)
        if code:
            return code
    _show(console, run, sentence, out / "attention.png")
    if train:
        console.print(f'next: regard translate --model {run} "Où est la gare ?"', highlight=False)
    else:
        console.print('next: regard translate "Où est la gare ?"', highlight=False)
        console.print("or train one of your own: regard demo --train", highlight=False)
    return 0


def demo_config(corpus: Path) -> "RunConfig":
    """The run of the demo: small enough for minutes, large enough to be right."""
    from regard.config import RunConfig
    from regard.data.config import DataConfig
    from regard.models.transformer import TransformerConfig
    from regard.text.config import TextConfig
    from regard.train.config import TrainConfig

    return RunConfig(
        data=DataConfig(
            train=(str(corpus / "train.fr"), str(corpus / "train.en")),
            valid=(str(corpus / "valid.fr"), str(corpus / "valid.en")),
            source_language="fr",
            target_language="en",
        ),
        text=TextConfig(vocab_size=2400),
        model=TransformerConfig(
            d_model=128, heads=4, d_ff=256, encoder_layers=3, decoder_layers=3, norm_place="pre"
        ),
        train=TrainConfig(
            steps=400,
            batch_tokens=4096,
            learning_rate=5e-3,
            warmup=150,
            validate_every=100,
            save_every=50,
            keep=3,
            average=3,
        ),
    )


def _train(console: "Console", out: Path, run: Path) -> int:
    from regard.build import build_trainer, create_run
    from regard.cli.train import run_training
    from regard.data.corpus import write_pairs
    from regard.data.phrasebook import phrasebook
    from regard.machine import tune_allocator

    tune_allocator()
    corpus = out / "phrasebook"
    splits = phrasebook()
    for name in ("train", "valid", "test"):
        write_pairs(
            [corpus / f"{name}.fr", corpus / f"{name}.en"], getattr(splits, name), force=True
        )
    console.print(f"phrasebook: {len(splits.train):,} pairs to learn from, in {corpus}")
    created = create_run(run, demo_config(corpus))
    return run_training(created, build_trainer(created), console)


def _is_trained(run: Path) -> bool:
    from regard.train.checkpoint import checkpoints

    return bool(checkpoints(run, "averaged"))


def _resume(console: "Console", run: Path) -> int:
    from regard.build import build_trainer, open_run
    from regard.cli.train import run_training

    opened = open_run(run)
    trainer = build_trainer(opened)
    trainer.resume(lambda line: console.print(line, markup=False, soft_wrap=True))
    return run_training(opened, trainer, console)


def _show(console: "Console", run: Path, sentence: str, picture: Path) -> None:
    from regard.api import load
    from regard.lens.plot import heat_map
    from regard.lens.terminal import show_alignment, show_heat_map
    from regard.lens.words import merge_to_words, words

    picture.parent.mkdir(parents=True, exist_ok=True)
    translation = load(run).translate(sentence, attention=True)
    console.print()
    for part in translation.sentences:
        console.print(f"[dim]{part.source.text}[/]\n[bold]{part.text}[/]\n", highlight=False)
        assert part.alignment is not None and part.attention is not None
        target = part.best.target
        weights = merge_to_words(part.attention.mean("cross"), target, part.source)
        show_alignment(console, part.alignment)
        console.print()
        show_heat_map(console, weights, words(target), words(part.source))
        heat_map(weights, words(target), words(part.source), picture)
    console.print(f"\npicture: {picture}\nmodel: {run}", highlight=False)
