"""The engine for GPUs: steps of a fixed shape, which can be recorded once and replayed."""
