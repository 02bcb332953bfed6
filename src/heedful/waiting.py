"""How PyTorch's threads wait for each other on a CPU: they spin for microseconds, then they sleep.

Every operation of a step on several threads ends at a barrier. OpenMP lets threads spin there for milliseconds, which
is well on an idle machine. Beside another program the thread that is waited for may have been pushed off its core,
perhaps by the very thread that spins, and a step takes many times as long. OpenMP reads its settings once, when PyTorch
is loaded; so this has to come first, and does not import PyTorch. Results do not depend on how threads wait.
"""

import os
import sys

_SPINS = "1000"
"""Some tens of microseconds: what most barriers last on an idle machine."""

_USERS_CHOICE = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")


def spin_briefly() -> None:
    """Let threads sleep soon when they have to wait, unless the user has chosen or PyTorch is loaded already."""
    if "torch" not in sys.modules and not any(name in os.environ for name in _USERS_CHOICE):
        os.environ["GOMP_SPINCOUNT"] = _SPINS
