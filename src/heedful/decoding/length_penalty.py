"""The length penalty of Wu et al. (2016, equation 14), which the paper uses with α = 0.6 (section 6.1).

A sum of log-probabilities falls with every token, so by itself it prefers short outputs; it is divided by
((5 + length) / 6)^α before hypotheses of different lengths are compared. α is called `length_penalty` everywhere.
"""


def penalty_of(length: int, length_penalty: float) -> float:
    """Return what the log-probability of `length` tokens, the end symbol included, is divided by."""
    return float(((5 + length) / 6) ** length_penalty)
