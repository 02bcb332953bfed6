"""What is done to the layers of a stack: `torch.compile` where it pays, or computing them twice to keep less.

A whole model as one graph compiles for minutes, most of them spent on copies of the same layer; one layer compiles in
seconds and serves all of its kind, whatever the shape of the batch. What is around the layers is either large products
or has its own kernels (`losses/fused.py`). Evaluation stays as written: it would need another program for little use.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


def compile_layers(model: nn.Module, kinds: tuple[type[nn.Module], ...], *, backend: str = "inductor") -> None:
    """Let the layers of the given kinds run compiled while they train. Names and weights stay as they are."""
    for layer in model.modules():
        if isinstance(layer, kinds):
            layer.forward = _compiled_in_training(layer, backend)


def _compiled_in_training(layer: nn.Module, backend: str) -> Callable[..., Tensor]:
    plain = layer.forward
    fast = torch.compile(plain, dynamic=True, backend=backend)

    def forward(*states: Tensor | None) -> Tensor:
        output: Tensor = (fast if layer.training else plain)(*states)
        return output

    return forward


def recompute_layers(model: nn.Module, kinds: tuple[type[nn.Module], ...]) -> None:
    """Let the layers of the given kinds keep only what goes into them, and compute the rest again for the gradient."""
    for layer in model.modules():
        if isinstance(layer, kinds):
            layer.forward = _recomputed_in_training(layer)


def _recomputed_in_training(layer: nn.Module) -> Callable[..., Tensor]:
    once = layer.forward

    def forward(*states: Tensor | None) -> Tensor:
        if not (layer.training and torch.is_grad_enabled()):
            plain: Tensor = once(*states)
            return plain
        output: Tensor = checkpoint(once, *states, use_reentrant=False)
        return output

    return forward
