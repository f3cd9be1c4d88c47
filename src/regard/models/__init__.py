"""Architectures behind one interface.

A new architecture is one file here and one line in `ARCHITECTURES` of `regard.build`.
"""
