"""Stage ⑥: the wiring, one page per task. Knows every layer below, and keeps them from knowing each other."""
