"""The Transformer of "Attention Is All You Need", trained, measured and looked into."""

from typing import TYPE_CHECKING, Any

from regard.machine import guard_amx

# Before anything imports torch: oneDNN reads its limits at the first operation only.
guard_amx()

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard.api import Translator, load
    from regard.translation import Translation

__all__ = ["Translation", "Translator", "load"]


def __getattr__(name: str) -> Any:
    """Import what a notebook uses when it is first asked for: `import regard` needs no torch."""
    if name in __all__:
        from regard import api

        return getattr(api, name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")
