"""`regard new`: a commented run file to start from."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def new(
    path: Annotated[Path, Parameter(allow_leading_hyphen=True)] = Path("run.toml"),
    /,
    *,
    arch: str = "transformer",
    preset: str | None = None,
    force: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Write a run file with every setting, its default, and what it is for.

    Args:
        path: where to write it; - prints it.
        arch: which architecture.
        preset: size of a Transformer: nano, tiny (unless given), small, base or big.
        force: overwrite a file that exists.
    """
    from regard.config import RunConfig, commented_config, with_overrides
    from regard.errors import ConfigError
    from regard.models.transformer import PRESETS

    if preset is not None and arch != "transformer":
        raise ConfigError(f"--preset {preset}: only a transformer has presets; leave it out")
    if preset is not None and preset not in PRESETS:
        raise ConfigError(f"--preset {preset}: known are {', '.join(PRESETS)}")
    config = RunConfig(model=PRESETS[preset or "tiny"])
    text = commented_config(with_overrides(config, [f"model.arch={arch}"]))
    if str(path) == "-":
        print(text, end="")
        return
    if path.exists() and not force:
        raise ConfigError(f"{path} exists already; choose another name, or --force")
    path.write_text(text, "utf-8")
    print(f"{path}: set data.train, then `regard train {path}`")
