"""Words and pieces as they can be shown, whatever characters they hold."""

import unicodedata

from rich.cells import cell_len, set_cell_size

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def visible(label: str) -> str:
    """The label without what would act instead of being seen.

    Control characters could steer a terminal, and no file can hold a lone surrogate.
    """
    return "".join(
        REPLACEMENT if unicodedata.category(char) in ("Cc", "Cs") else char for char in label
    )


def shorten(label: str, width: int) -> str:
    """A visible label of at most `width` terminal cells, cut with … if it must be."""
    shown = visible(label)
    if cell_len(shown) <= width:
        return shown
    return set_cell_size(shown, width - 1).rstrip() + "…"
