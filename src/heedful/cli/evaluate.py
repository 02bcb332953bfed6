"""`heedful evaluate`: translate a test set and score it."""


def evaluate() -> None:
    """Score."""
