"""Classification: one label for a text."""
