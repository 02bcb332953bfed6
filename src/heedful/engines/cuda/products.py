"""The linear maps of a step with the residual sums and LayerNorms around them, in two forms.

`PlainProducts` says what is computed and is what many rows take, where a product is worth a launch of its own.
`FusedProducts` does the same for a few rows with a third of the launches: a sum stays as it is, and whoever reads it
normalises it. Tests hold the two equal.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from heedful.engines.cuda.weights import Linear, Norm
from heedful.nn.feed_forward import ACTIVATIONS, Activation


class Stream(NamedTuple):
    """The residual stream, values [rows, dim], still to be normalised where there is a norm."""

    values: Tensor
    norm: Norm | None = None


class Products(Protocol):
    """Both forms."""

    def project(
        self, stream: Stream, linear: Linear, norm: Norm | None = None, activation: Activation | None = None
    ) -> Tensor:
        """Read the stream, normalised first where there is a norm; returns [rows, dim], as wide as the map makes it."""

    def add(self, stream: Stream, found: Tensor, linear: Linear, norm: Norm | None) -> Stream:
        """Add what a sub-layer found, mapped, found [rows, dim], to the stream, and normalise it by the norm."""

    def logits(self, stream: Stream, linear: Linear, norm: Norm | None) -> Tensor:
        """Read the stream for the last time: logits [rows, vocab] in fp32."""


class PlainProducts:
    """One operation after the other."""

    def project(
        self, stream: Stream, linear: Linear, norm: Norm | None = None, activation: Activation | None = None
    ) -> Tensor:
        """Map the stream, [rows, dim]."""
        projected = functional.linear(normalized(stream.values, norm), *linear)
        if activation == "relu":
            return projected.relu_()
        return projected if activation is None else ACTIVATIONS[activation](projected)

    def add(self, stream: Stream, found: Tensor, linear: Linear, norm: Norm | None) -> Stream:
        """Add found [rows, dim] to the stream."""
        update = functional.linear(found, *linear)
        if norm is not None and update.is_cuda:
            from heedful.nn.kernels.residual import add_and_normalize

            weight, bias, epsilon = norm
            return Stream(add_and_normalize(stream.values, update, weight, bias, epsilon=epsilon, dropout=0.0))
        return Stream(normalized(stream.values + update, norm))

    def logits(self, stream: Stream, linear: Linear, norm: Norm | None) -> Tensor:
        """Compute logits [rows, vocab]: sums in fp32 are not rounded again, so that few tokens are equally good."""
        states = normalized(stream.values, norm)
        if states.dtype == torch.float32 or not states.is_cuda:
            return functional.linear(states, *linear).float()
        logits = torch.mm(states, linear.weight.t(), out_dtype=torch.float32)
        return logits if linear.bias is None else logits + linear.bias


class FusedProducts:
    """One launch for each product."""

    def project(
        self, stream: Stream, linear: Linear, norm: Norm | None = None, activation: Activation | None = None
    ) -> Tensor:
        """Map the stream, [rows, dim]."""
        from heedful.nn.kernels import few_rows

        return few_rows.linear(stream.values, *linear, norm=stream.norm or norm, activation=activation)

    def add(self, stream: Stream, found: Tensor, linear: Linear, norm: Norm | None) -> Stream:
        """Add found [rows, dim] to the stream."""
        from heedful.nn.kernels import few_rows

        total = few_rows.linear(found, *linear, residual=stream.values, residual_norm=stream.norm)
        return Stream(total, norm)

    def logits(self, stream: Stream, linear: Linear, norm: Norm | None) -> Tensor:
        """Compute logits [rows, vocab] in fp32."""
        from heedful.nn.kernels import few_rows

        return few_rows.linear(stream.values, *linear, norm=stream.norm or norm, dtype=torch.float32)


def normalized(values: Tensor, norm: Norm | None) -> Tensor:
    """Normalise values [batch, dim], of any leading dimensions, in fp32; None leaves them."""
    if norm is None:
        return values
    return functional.layer_norm(values.float(), values.shape[-1:], *norm).to(values.dtype)
