"""Where tests of Triton kernels run: on a GPU, and without one in Triton's interpreter, where the package is there.

Triton reads its variable when a kernel is defined, so this is imported before the kernels are.
"""

import importlib.util
import os

import pytest
import torch

HAS_GPU = torch.cuda.is_available()
HAS_TRITON = importlib.util.find_spec("triton") is not None
DEVICE = "cuda" if HAS_GPU else "cpu"

if HAS_TRITON and not HAS_GPU:
    os.environ["TRITON_INTERPRET"] = "1"

needs_triton = pytest.mark.skipif(not HAS_TRITON, reason="needs the package triton, which torch brings for GPUs")
