"""Fused AdamW over a model's parameters, with decay on matrices only (section 5.3).

Normalisation gains and biases are left out of the decay: pulling them to zero is no regularisation, it changes scale.
"""

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import AdamW

from heedful.config.training import OptimizerConfig


def build_optimizer(weights: Iterable[nn.Parameter], config: OptimizerConfig) -> AdamW:
    """Make the optimiser. Its learning rate is set anew before each step; fused, it can skip a step on the device."""
    parameters = [parameter for parameter in weights if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    on_gpu = parameters[0].is_cuda
    return AdamW(
        [g for g in groups if g["params"]],
        # A recorded step reads the rate from the device: as a number it would be the one of the recording for ever.
        lr=torch.zeros((), device=parameters[0].device) if on_gpu else 0.0,
        betas=config.betas,
        eps=config.epsilon,
        fused=True,
        capturable=on_gpu,
    )


def set_learning_rate(optimizer: AdamW, rate: float) -> None:
    """Give every group the learning rate of the coming step."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate
