"""The Transformer of "Attention Is All You Need", trained, measured and looked into."""

from regard.machine import guard_amx

# Before anything imports torch: oneDNN reads its limits at the first operation only.
guard_amx()

__version__ = "0.1.0"
