"""Corpora to batches: readers, filters, the token store, batches of similar length, and the doctor."""
