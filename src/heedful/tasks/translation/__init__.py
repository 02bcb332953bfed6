"""Translation: from corpora to a model, and from text to text."""
