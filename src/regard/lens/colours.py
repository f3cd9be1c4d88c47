"""The one ramp of colours for attention weights: pale is little, deep is much."""

from collections.abc import Sequence

# Evenly spaced, each darker than the one before, so that the ramp also reads in grey.
RAMP = ("#f5f7fb", "#d3dff1", "#a3bfe3", "#6a97cf", "#3a6bb0", "#1f4585", "#11264f")

Colour = tuple[int, int, int]


def colour(weight: float) -> Colour:
    """The red, green and blue of a weight between 0 and 1."""
    stops = [_parse(stop) for stop in RAMP]
    place = min(max(weight, 0.0), 1.0) * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    return _between(stops[low], stops[low + 1], place - low)


def ink(background: Colour) -> str:
    """Black or white: the one that is read better on a background."""
    return RAMP[0] if _luminance(background) < 0.5 else RAMP[-1]


def _parse(code: str) -> Colour:
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


def _between(first: Sequence[int], second: Sequence[int], share: float) -> Colour:
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(first, second, strict=True))
    return red, green, blue


def _luminance(colour: Colour) -> float:
    """How bright a colour looks, from 0 to 1 (ITU-R BT.601)."""
    red, green, blue = colour
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
