"""Sequence-level knowledge distillation: a corpus whose targets are a teacher's translations.

    −Σ_t q(t | s) log p(t | s)  ≈  −log p(ŷ | s),    ŷ ≈ argmax_t q(t | s)

Kim & Rush 2016, section 3.2: the teacher's distribution q over translations is replaced by its
mode, which beam search finds. A student p then learns from (s, ŷ) as from any corpus: one that is
easier than the original, because it says the same thing in the same way.

Sources without references will do. Read the other way round, (ŷ, s) is back-translation: what a
model of the opposite direction learns from sentences of its target language (Sennrich et al. 2016).
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import torch

from regard.api import Translator
from regard.config import changed
from regard.errors import ConfigError, DataError
from regard.metrics.bleu import bleu
from regard.metrics.chrf import chrf
from regard.text.normal import without_controls
from regard.translation import Translation

Nearness = Literal["bleu", "chrf"]
NEARNESS = {"bleu": bleu, "chrf": chrf}

# Sources translated between two saves: a few minutes are lost at most.
CHUNK = 500


def distil(
    translator: Translator,
    sources: Sequence[str],
    kept: Path,
    *,
    references: Sequence[str] = (),
    nearest: Nearness | None = None,
    progress: Callable[[int], None] = lambda num_done: None,
    **options: Any,
) -> list[str | None]:
    """Translate sources, each taken whole; whole chunks done before an interruption are kept.

    With `nearest`, of all hypotheses that the beam holds in the end that one is taken which is
    nearest to the reference by sentence BLEU or chrF: sequence-level interpolation (section 3.3).

    Args:
        translator: the teacher, or an ensemble of them.
        sources: the text.
        kept: a file for what is done; the caller may remove it when all is.
        references: of the sources; needed for `nearest` alone.
        nearest: how nearness is measured; the most probable hypothesis is taken unless given.
        progress: told how many more sources are done, those of an earlier attempt first.
        options: fields of `DecodingConfig` to change, such as `beam=5`.

    Returns:
        A translation for each source; None where the teacher writes nothing, or cannot take the
        source whole.

    Raises:
        ConfigError: an option is unknown or does not fit.
        DataError: what is kept belongs to something else, or is damaged.
    """
    beam = options.get("beam", translator.decoding.beam)
    options |= {
        "n_best": beam if nearest else 1,
        "sample": False,
        "split_sentences": False,
    }
    config = changed(translator.decoding, options, "decoding")
    if nearest and beam == 1:
        raise ConfigError("the nearest of one hypothesis is that one; take a beam of 2 or more")
    scorer = NEARNESS[nearest]() if nearest else None

    def chosen(translation: Translation, number: int) -> str | None:
        if translation.num_cut or not translation.sentences:
            return None
        (sentence,) = translation.sentences
        # The first of the best: where several are as near, the most probable.
        best = (
            sentence.best
            if scorer is None
            else max(
                sentence.candidates, key=lambda c: scorer.score_line(c.text, references[number])
            )
        )
        return without_controls(best.text)[0].strip() or None

    key = _digest(translator, asdict(config), nearest, sources, references if nearest else ())
    done = _open(kept, key)
    progress(len(done))
    with kept.open("ab") as stream:
        for start in range(len(done), len(sources), CHUNK):
            found = translator.translate(sources[start : start + CHUNK], align=False, **options)
            targets = [chosen(each, number) for number, each in enumerate(found, start)]
            stream.write("".join(f"{json.dumps(target)}\n" for target in targets).encode())
            stream.flush()
            os.fsync(stream.fileno())
            done += targets
            progress(len(targets))
    return done


def round_trips(
    back: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    kept: Path,
    *,
    progress: Callable[[int], None] = lambda num_done: None,
) -> list[float]:
    """How near to its source each translation comes back, in sentence chrF from 0 to 100.

    Args:
        back: a model of the opposite direction; it translates greedily.
        sources: the text.
        targets: their translations.
        kept: see `distil`.
        progress: see `distil`.
    """
    scorer = chrf()
    returned = distil(back, targets, kept, progress=progress, beam=1)
    return [
        scorer.score_line(text or "", source)
        for text, source in zip(returned, sources, strict=True)
    ]


def _open(kept: Path, key: str) -> list[str | None]:
    """The targets that are kept, in whole chunks; what follows them is cut off the file."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    # What stands behind the last line feed was being written when the end came.
    lines = kept.read_bytes().split(b"\n")[:-1]
    if not lines:
        kept.write_bytes(f"{json.dumps(key)}\n".encode())
        return []
    try:
        found, *targets = map(json.loads, lines)
    except ValueError:
        raise DataError(f"{kept} is damaged; remove it to begin anew") from None
    if found != key:
        raise DataError(
            f"{kept} is of another distillation (other models, text or options); remove it to "
            "begin anew, or choose another --out"
        )
    num_kept = len(targets) // CHUNK * CHUNK
    os.truncate(kept, sum(len(line) + 1 for line in lines[: 1 + num_kept]))
    return targets[:num_kept]


def _digest(translator: Translator, *rest: object) -> str:
    """SHA-256 of all that the translations depend on."""
    digest = hashlib.sha256(json.dumps(rest).encode())
    digest.update(translator.tokenisers.fingerprint().encode())
    for model in translator.models:
        for name, tensor in model.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.cpu().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
