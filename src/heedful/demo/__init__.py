"""The two demonstrations: the bundled translator, and a training before one's eyes."""
