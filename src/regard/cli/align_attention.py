"""`regard align --model`: links from the attention of a model, or of one in each direction."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.align.options import Method, Symmetrisation
from regard.cli.progress import bar, warn
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.align.aligner import Aligner
    from regard.align.links import Links
    from regard.api import Translator
    from regard.lens.choosing import Choice
    from regard.lens.forced import Reading
    from regard.text.spans import Cut

BEST = "best"
MEAN = "mean"

Texts = tuple[list[str], list[str]]
"""Sources and targets, line by line."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """What a head is chosen by: the links of a statistical aligner on some text.

    Attributes:
        texts: to learn from; heads are compared on a part of it.
        cut: how it falls into words.
        method: of the aligner.
        keep_case: whether The and the are two words to it.
    """

    texts: Texts
    cut: "Cut"
    method: Method
    keep_case: bool


@dataclass(frozen=True, slots=True)
class Look:
    """How a model's attention is read.

    Attributes:
        head: mean, best or L.H.
        is_shifted: read a target word at the step that is fed it.
        cut: how the texts fall into words.
        choosing: for the best head.
        checkpoint: of the run folder.
        device: of the model.
    """

    head: str
    is_shifted: bool
    cut: "Cut"
    choosing: Choosing
    checkpoint: str | None
    device: str


def check_head(head: str) -> None:
    """Refuse what names no head.

    Raises:
        ConfigError: it is neither mean nor best nor of the form L.H.
    """
    if head not in (BEST, MEAN) and not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}", head):
        raise ConfigError(
            f"--head {head}: expected mean, best, or a layer and a head such as 3.2, from 1.1 on"
        )


def align_by_attention(
    texts: Texts, model: Path, reverse_model: Path | None, how: Symmetrisation, look: Look
) -> "list[Links]":
    """Align by where a model looks, or two, one for each direction."""
    from regard.align.links import transposed
    from regard.align.symmetrise import symmetrise

    sources, targets = texts
    forward = _read(model, (sources, targets), look, is_reverse=False)
    if reverse_model is None:
        return forward
    reverse = _read(reverse_model, (targets, sources), look, is_reverse=True)
    return [
        symmetrise(there, transposed(back), how)
        for there, back in zip(forward, reverse, strict=True)
    ]


def counted(texts: Sequence[str], cut: "Cut", keep_case: bool) -> list[list[str]]:
    """The words of each text, in the case they are counted in."""
    found = [[text[start:end] for start, end in cut(text)] for text in texts]
    return found if keep_case else [[word.lower() for word in words] for words in found]


def _read(folder: Path, texts: Texts, look: Look, *, is_reverse: bool) -> "list[Links]":
    from regard.api import load
    from regard.lens.forced import Reading, forced_alignment

    translator = load(folder, checkpoint=look.checkpoint, device=look.device, warn=warn)
    if look.head == BEST:
        reading = _choose(translator, folder, look, is_reverse=is_reverse)
    elif look.head == MEAN:
        reading = Reading(is_shifted=look.is_shifted)
    else:
        layer, head = map(int, look.head.split("."))
        reading = Reading(layer, head, look.is_shifted)
    with bar() as progress:
        task = progress.add_task("reading", total=len(texts[0]))
        found = forced_alignment(
            translator.models[0],
            translator.tokenisers,
            *texts,
            reading=reading,
            cut=look.cut,
            progress=lambda num_done: progress.advance(task, num_done),
        )
    return [frozenset(alignment.links) for alignment in found]


def _choose(translator: "Translator", folder: Path, look: Look, *, is_reverse: bool) -> "Reading":
    """The head that agrees most with a statistical aligner, and a line that says which."""
    from regard.align.aligner import train_aligner

    choosing = look.choosing
    sources, targets = reversed(choosing.texts) if is_reverse else choosing.texts
    words = [counted(side, choosing.cut, choosing.keep_case) for side in (sources, targets)]
    aligner = train_aligner(*words, method=choosing.method)
    best = agreeing_head(
        translator,
        (sources, targets),
        aligner,
        cut=choosing.cut,
        keep_case=choosing.keep_case,
        is_shifted=look.is_shifted,
    )
    warn(
        f"{folder}: layer {best.reading.layer}, head {best.reading.head} agrees most with the "
        f"statistical aligner ({100 * best.agreement:.1f} % of the links)"
    )
    return best.reading


def agreeing_head(
    translator: "Translator",
    texts: Texts,
    aligner: "Aligner",
    *,
    cut: "Cut",
    keep_case: bool,
    is_shifted: bool,
) -> "Choice":
    """The head that agrees most with a trained aligner, on a part of some text.

    Args:
        translator: whose heads are compared.
        texts: in the translator's direction.
        aligner: of the same direction.
        cut: how the texts fall into words.
        keep_case: whether The and the are two words to the aligner.
        is_shifted: whether target words are read at the step that is fed them.
    """
    from regard.lens.choosing import ENOUGH_PAIRS, rank_heads

    # Texts are often sorted; the same few of them are drawn each time.
    num_pairs = len(texts[0])
    some = sorted(random.Random(0).sample(range(num_pairs), min(num_pairs, ENOUGH_PAIRS)))
    sources, targets = ([side[n] for n in some] for side in texts)
    words = (counted(side, cut, keep_case) for side in (sources, targets))
    with bar() as progress:
        task = progress.add_task("choosing a head", total=len(some))
        best, *_ = rank_heads(
            translator.models[0],
            translator.tokenisers,
            sources,
            targets,
            aligner.align(*words),
            is_shifted=is_shifted,
            cut=cut,
            progress=lambda num_done: progress.advance(task, num_done),
        )
    return best
