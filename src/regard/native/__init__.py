"""What is faster than PyTorch as it comes: kernels in C, and products by oneDNN.

The kernels are compiled when the package is installed, if there is a compiler. Everything works
without them, by the lines of PyTorch that stand beside each call.
"""
