"""Kernels in C, for inner loops that PyTorch takes several passes over memory for.

They are compiled when the package is installed, if there is a compiler. Everything works without
them, by the lines of PyTorch that stand beside each call.
"""
