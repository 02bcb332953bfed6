"""Triton kernels: the same blocks on a GPU, every number moved once. A first reading may leave them out."""
