"""Triton kernels of searches on a GPU. A first reading may leave them out."""
