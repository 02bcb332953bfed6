"""Training: loss, schedule, step, loop, checkpoints, journal. Knows a model as an `nn.Module` and a few callables."""
