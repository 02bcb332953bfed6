"""The learning rate as a pure function of the step, so that resuming needs no schedule state (section 5.3)."""

import math

from heedful.config.training import ConstantSchedule, CosineSchedule, InverseSqrtSchedule, PaperSchedule, Schedule


def learning_rate(schedule: Schedule, *, dim: int, max_steps: int, step: int) -> float:
    """Return the learning rate of update number `step`, counted from 1. `dim` matters to the paper's schedule alone."""
    match schedule:
        case PaperSchedule(warmup_steps=warmup, factor=factor):
            return factor * min(1 / math.sqrt(step), step / math.pow(warmup, 1.5)) / math.sqrt(dim)
        case InverseSqrtSchedule(peak=peak, warmup_steps=warmup):
            return peak * min(step / warmup, math.sqrt(warmup / step))
        case CosineSchedule(peak=peak, warmup_steps=warmup, final=final):
            if step <= warmup:
                return peak * step / warmup
            progress = min(1.0, (step - warmup) / max(1, max_steps - warmup))
            return final + (peak - final) * 0.5 * (1 + math.cos(math.pi * progress))
        case ConstantSchedule(peak=peak, warmup_steps=warmup):
            return peak * min(1.0, step / warmup)
