"""Architectures behind one interface.

A new architecture is one file here, and one line each in `MODELS` of `regard.config` and
`ARCHITECTURES` of `regard.build`.
"""
