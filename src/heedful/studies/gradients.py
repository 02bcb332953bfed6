"""How much of a gradient is left after many positions.

Through a recurrent layer it vanishes or explodes, through attention it does neither. Of each layer at its start: how
much the output at the last position changes with the input at every other, the norm of the Jacobian ∂y_T / ∂x_t. A
recurrent layer multiplies one matrix for every step between the two (Bengio et al., 1994; Pascanu et al., 2013);
attention has one step whatever the distance.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import torch
from torch import Tensor, nn

from heedful.evaluation.intervals import Estimate, mean_interval
from heedful.nn.attention import MultiHeadSelfAttention
from heedful.nn.initialization import initialize
from heedful.nn.recurrent import GatedRecurrence
from heedful.reports.report import LinePlot, Point, Report, Series, Table
from heedful.studies.study_folder import StudyFolder

Say = Callable[[str], None]
NUM_PROBES = 4
HEADS = 4
FADED = 1e-12
"""Below this share of the nearest input's gradient, rounding is all that is left."""


@dataclass(frozen=True)
class GradientSizes:
    """What is measured."""

    length: int = 128
    width: int = 64
    seeds: Sequence[int] = (1, 2, 3, 4, 5)


class PlainRecurrence(nn.Module):
    """h_t = tanh(W x_t + U h_{t-1}), U an orthogonal matrix times `gain`: the recurrent network before gates."""

    def __init__(self, dim: int, gain: float) -> None:
        super().__init__()
        self.unit = nn.RNN(dim, dim, batch_first=True)
        weight_read, weight_kept, *biases = self.unit.all_weights[0]
        nn.init.xavier_uniform_(weight_read)
        nn.init.orthogonal_(weight_kept, gain=gain)
        for bias in biases:
            nn.init.zeros_(bias)

    def forward(self, states: Tensor) -> Tensor:
        """Read states [batch, length, dim] and return the same shape."""
        output: Tensor = self.unit(states)[0]
        return output


class LongShortTerm(nn.Module):
    """A layer of LSTM units (Hochreiter & Schmidhuber, 1997) whose forget gates start with a bias."""

    def __init__(self, dim: int, forget_bias: float) -> None:
        super().__init__()
        self.unit = nn.LSTM(dim, dim, batch_first=True)
        weight_read, weight_kept, bias_read, bias_kept = self.unit.all_weights[0]
        for read, kept in zip(weight_read.chunk(4), weight_kept.chunk(4), strict=True):
            nn.init.xavier_uniform_(read)
            nn.init.orthogonal_(kept)
        nn.init.zeros_(bias_read)
        nn.init.zeros_(bias_kept)
        nn.init.constant_(bias_read.chunk(4)[1], forget_bias)

    def forward(self, states: Tensor) -> Tensor:
        """Read states [batch, length, dim] and return the same shape."""
        output: Tensor = self.unit(states)[0]
        return output


def _initialized(layer: nn.Module) -> nn.Module:
    initialize(layer)
    return layer


LAYERS: dict[str, Callable[[int], nn.Module]] = {
    "tanh, recurrent gain 0.8": lambda dim: PlainRecurrence(dim, 0.8),
    "tanh, recurrent gain 1": lambda dim: PlainRecurrence(dim, 1.0),
    "tanh, recurrent gain 3": lambda dim: PlainRecurrence(dim, 3.0),
    "GRU": lambda dim: _initialized(GatedRecurrence(dim, dim)),
    "LSTM": lambda dim: LongShortTerm(dim, 0.0),
    "LSTM, forget bias 1": lambda dim: LongShortTerm(dim, 1.0),
    "self-attention": lambda dim: _initialized(MultiHeadSelfAttention(dim, HEADS)),
}


def jacobian_norms(layer: nn.Module, inputs: Tensor, probes: Tensor) -> list[float]:
    """Return the norm of ∂y_T / ∂x_t for every t, estimated by probes [rows, dim] of normal numbers.

    inputs [batch, length, dim] of one sequence. The expected square of |Jᵀv| is the squared Frobenius norm of J.
    """
    inputs = inputs.detach().requires_grad_()
    last = layer(inputs)[0, -1]  # [dim]
    squares = [
        torch.autograd.grad(last @ probe, inputs, retain_graph=True)[0][0].square().sum(dim=-1) for probe in probes
    ]
    return torch.stack(squares).mean(dim=0).sqrt().tolist()


def study_gradients(sizes: GradientSizes, folder: StudyFolder, say: Say) -> dict[str, list[list[float]]]:
    """Measure every layer with every seed; returns norms by layer, seed and distance from the last position."""
    for name, build in LAYERS.items():
        for seed in sizes.seeds:
            key = f"{name}, seed {seed}"
            if key in folder.done:
                continue
            torch.manual_seed(seed)
            # In float64: what has faded to a millionth of a millionth is still to be seen.
            layer = build(sizes.width).double()
            inputs = torch.randn(1, sizes.length, sizes.width, dtype=torch.float64)
            probes = torch.randn(NUM_PROBES, sizes.width, dtype=torch.float64)
            norms = jacobian_norms(layer, inputs, probes)
            folder.record(key, {"norms": list(reversed(norms))})
            say(f"{key}: nearest {norms[-1]:.3g}, farthest {norms[0]:.3g}")
    return {
        name: [cast(list[float], folder.done[f"{name}, seed {seed}"]["norms"]) for seed in sizes.seeds]
        for name in LAYERS
    }


def rate_per_step(norms: Sequence[float]) -> float:
    """Return the factor by which norms change from one position to the next, fitted where they are more than rounding.

    norms begin with the last position itself, which is left out: attention has a path of its own there.
    """
    logs = [math.log(norm) for norm in norms[1:] if norm > FADED * norms[0]]
    places = range(len(logs))
    middle, mean = sum(places) / len(logs), sum(logs) / len(logs)
    spread = sum((place - middle) ** 2 for place in places)
    return math.exp(sum((place - middle) * (log - mean) for place, log in zip(places, logs, strict=True)) / spread)


def gradients_report(sizes: GradientSizes, norms: dict[str, list[list[float]]]) -> Report:
    """Say what was found."""
    rates = {name: _exp(mean_interval([math.log(rate_per_step(one)) for one in ofs])) for name, ofs in norms.items()}
    far = sizes.length - 1
    table = Table(
        f"Gradient of the last output with respect to earlier inputs, d = {sizes.width}, {len(sizes.seeds)} seeds",
        ["layer", "factor per step", "95 % interval", "half-life in steps", f"at distance {far}", "it"],
        [
            [
                name,
                f"{rate.value:.4f}",
                f"{rate.low:.4f} to {rate.high:.4f}",
                _half_life(rate),
                f"{_mean_log(norms[name], far).value:.2g}",
                _verdict(rate),
            ]
            for name, rate in rates.items()
        ],
        note=f"Norm of ∂y_T/∂x_t in float64, geometric mean over seeds. Factors are fitted to distances from 1 on, "
        f"as far as the norm is above {FADED:g} of the nearest one.",
    )
    plot = LinePlot(
        "gradients",
        "How much of a gradient is left over a distance",
        "distance in positions, T − t",
        "norm of ∂y_T/∂x_t",
        [_series(name, ofs) for name, ofs in norms.items()],
        log_y=True,
        note="Bands are 95 % intervals over seeds. What is below the picture has faded to less than 1e-16.",
    )
    data = {
        "settings": {"length": sizes.length, "width": sizes.width, "seeds": list(sizes.seeds)},
        "factor_per_step": {name: asdict(rate) for name, rate in rates.items()},
        "norms_by_distance": {name: [list(one) for one in ofs] for name, ofs in norms.items()},
    }
    return Report("gradients", "Gradients over time", [*_sentences(rates, norms, far), table, plot], data)


def _sentences(rates: dict[str, Estimate], norms: dict[str, list[list[float]]], far: int) -> list[str]:
    fading = [
        f"{name} ({rate.value:.3f})" for name, rate in rates.items() if rate.high < 1 and name != "self-attention"
    ]
    growing = [f"{name} ({rate.value:.3f})" for name, rate in rates.items() if rate.low > 1]
    attention = rates["self-attention"]
    ratio = _mean_log(norms["self-attention"], far).value / _mean_log(norms["self-attention"], 1).value
    return [
        "A recurrent layer hands a gradient through one matrix for every step between two positions: where that matrix "
        "shrinks it, it vanishes exponentially with the distance, where it stretches it, it explodes.",
        f"Vanishing, by this factor a step: {', '.join(fading) or 'none'}. Growing: {', '.join(growing) or 'none'}.",
        f"Attention has one step between any two positions: its factor is {attention.value:.4f}, and the input {far} "
        f"positions away has {100 * ratio:.0f} % of the gradient of the neighbour.",
    ]


def _verdict(rate: Estimate) -> str:
    if abs(rate.value - 1) < 0.005:
        return "stays"
    return "vanishes" if rate.high < 1 else "explodes" if rate.low > 1 else "stays"


def _half_life(rate: Estimate) -> str:
    return f"{math.log(0.5) / math.log(rate.value):.1f}" if rate.value < 0.995 else "–"


def _exp(estimate: Estimate) -> Estimate:
    return Estimate(math.exp(estimate.value), math.exp(estimate.low), math.exp(estimate.high))


def _mean_log(norms: Sequence[Sequence[float]], distance: int) -> Estimate:
    return _exp(mean_interval([math.log(max(one[distance], 1e-300)) for one in norms]))


def _series(name: str, norms: Sequence[Sequence[float]]) -> Series:
    points = []
    for distance in range(len(norms[0])):
        found = _mean_log(norms, distance)
        if found.value > 1e-16:
            points.append(Point(distance, found.value, max(found.low, 1e-16), found.high))
    return Series(name, points)
