"""`heedful demo`."""


def demo() -> None:
    """Train a small model and show it."""
