"""Corpora of others: what `heedful data` fetches. Knows no model and no torch."""
