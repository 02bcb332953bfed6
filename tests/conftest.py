"""What holds for every test: one thread a process, no clock in the properties, GPU tests only where there is a GPU."""

import os

# Before torch is imported: the suite runs in several processes, and commands started by a test inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest

# A property may take as long as it takes on a busy machine; what it draws is the same in every run of one version.
hypothesis.settings.register_profile("heedful", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("heedful")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `gpu` on a machine without one; torch is imported only when such a test was collected."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
