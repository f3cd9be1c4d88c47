"""`regard quantise`: a run folder with its weights in fewer bits."""

from pathlib import Path
from typing import Literal

from regard.cli.progress import warn


def quantise(
    folder: Path, /, *, out: Path, bits: Literal[8, 16] = 8, checkpoint: str | None = None
) -> None:
    """Write a model again in fewer bits: smaller, and in 8 bits faster on a CPU.

    The new folder holds one checkpoint, the one that translations would use. In 8 bits it
    translates as `regard translate --int8` does with the old one; 16 bits are half the size, on
    any device, computed in fp32. Training cannot go on from it.

    Args:
        folder: what `regard train` wrote.
        out: the folder to write; it must not exist.
        bits: 8, integers, or 16, floating-point numbers of half precision.
        checkpoint: best, averaged, last, or a folder's name such as step-500.
    """
    import shutil

    from safetensors.torch import save_file

    from regard.build import RUN_FILE, TOKENISER, open_run
    from regard.config import write_config
    from regard.errors import ModelFileError
    from regard.loading import check_can_quantise, choose_checkpoint, load_model
    from regard.nn.int8 import quantised_tensors
    from regard.sealed import sealing
    from regard.train.checkpoint import SCORES, WEIGHTS, is_int8, model_tensors

    run = open_run(folder)
    if bits == 8:
        check_can_quantise(run)
    chosen = choose_checkpoint(run, checkpoint, warn)
    if is_int8(chosen):
        raise ModelFileError(f"{folder} is in 8-bit integers already")
    model = load_model(run, chosen)
    tensors = model_tensors(model)
    if bits == 8:
        tensors = quantised_tensors(model, tensors)
    else:
        tensors = {name: tensor.half() for name, tensor in tensors.items()}
    # Weights to go on from, step-N, become weights for use.
    name = f"best-{chosen.name.rpartition('-')[2]}"
    with sealing(out) as temporary:
        (temporary / RUN_FILE).write_text(write_config(run.config), "utf-8")
        run.tokenisers.save(temporary / TOKENISER)
        with sealing(temporary / name) as weights:
            save_file(tensors, weights / WEIGHTS)
            if (chosen / SCORES).exists():
                shutil.copy(chosen / SCORES, weights / SCORES)
    before, after = ((place / WEIGHTS).stat().st_size for place in (chosen, out / name))
    print(f"{out}: {after / 2**20:.1f} MiB of weights instead of {before / 2**20:.1f}")
