"""What a step costs on paper: seconds and bytes on 1 to 1,024 GPUs, from its shape and four rates of a GPU.

A step is products, which run at the rate of a large product; what is between them (sums, dropout, normalisation, the
softmax of the vocabulary, Adam), which runs at the rate of the memory; and messages between the GPUs, of which the part
that fits behind the backward pass costs nothing. One constant is fitted, to one measurement; RESULTS.md has the
predictions beside the others. Closed forms in plain numbers: no tensor, no model, no clock.
"""

from dataclasses import dataclass

_BYTES = 4
"""Of a weight, a gradient and each of Adam's two moments: all in fp32."""

_PASSES = 246
"""How often a layer moves one bf16 number of its width for each token, forth and back: fitted to the base model,
compiled, on one H200 (707,278 tokens a second)."""

_VOCABULARY_PASSES = 6
"""How often the logits of a token are moved."""

_RECOMPUTED = 4 / 3
"""With layers computed twice, a backward pass of two parts becomes one of three beside the forward pass of one."""

_BEHIND_BACKWARD = 2 / 3
"""The share of a step's computing that is its backward pass, behind which gradients travel."""


@dataclass(frozen=True)
class Gpu:
    """One GPU, and what connects it with others; rates are what programs get, not what data sheets say."""

    name: str
    products: float
    """Operations a second in products of bf16."""

    memory: float
    """Bytes a second from and to its memory."""

    memory_bytes: float
    link: float
    """Bytes a second and direction to the other GPUs of its machine."""

    network: float
    """Bytes a second and direction to other machines, for each GPU."""

    per_machine: int = 8
    latency: float = 2e-5
    """Seconds of a message over one hop."""


H200 = Gpu("H200", products=0.88 * 805e12, memory=0.8 * 4.8e12, memory_bytes=139 * 2**30, link=360e9, network=40e9)
"""Products as measured here; memory at four fifths of the data sheet, links and network likewise, not measured."""

H100 = Gpu("H100", products=0.88 * 700e12, memory=0.8 * 3.35e12, memory_bytes=79 * 2**30, link=360e9, network=40e9)
A100 = Gpu("A100", products=0.88 * 280e12, memory=0.8 * 2.0e12, memory_bytes=79 * 2**30, link=240e9, network=20e9)
"""Both from data sheets, scaled as the H200 is; nothing of them was measured here."""

GPUS = {gpu.name.lower(): gpu for gpu in (H200, H100, A100)}


@dataclass(frozen=True)
class StepShape:
    """What is computed in a step, by all GPUs together."""

    num_parameters: int
    layer_parameters: int
    """Weights in the layers, which meet every token in a product."""

    num_layers: int
    dim: int
    vocab_size: int
    tokens: float
    """Target tokens of a step, padding included."""

    layer_tokens: float
    """Tokens that pass a layer, taken over all layers and summed: of an encoder-decoder, of both sides."""

    attended: float = 0.0
    """Positions a token attends to, as a mean over the layers' attentions."""

    recompute: bool = False

    @property
    def flops(self) -> float:
        """Operations of all products, forth and back: six for a weight and token, twelve for a score and width."""
        in_layers = self.layer_tokens * (6 * self.layer_parameters / self.num_layers + 12 * self.attended * self.dim)
        return in_layers * (_RECOMPUTED if self.recompute else 1) + 6 * self.tokens * self.vocab_size * self.dim

    @property
    def moved_bytes(self) -> float:
        """Bytes that go through the memory between the products."""
        layers = 2 * _PASSES * self.layer_tokens * self.dim * (_RECOMPUTED if self.recompute else 1)
        return layers + 2 * _VOCABULARY_PASSES * self.tokens * self.vocab_size


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step."""

    products: float
    moving: float
    """Between the products, and Adam."""

    waiting: float
    """For messages that the backward pass does not hide."""

    @property
    def total(self) -> float:
        """All of it."""
        return self.products + self.moving + self.waiting


def step_time(shape: StepShape, gpu: Gpu, num_gpus: int, *, sharded: bool = False) -> StepTime:
    """Predict a step on `num_gpus` GPUs, each with its share of the tokens."""
    products = shape.flops / num_gpus / gpu.products
    between = shape.moved_bytes / num_gpus / gpu.memory
    updated = shape.num_parameters / (num_gpus if sharded else 1)
    adam = 7 * _BYTES * updated / gpu.memory  # reads weight, gradient and moments, writes all but the gradient
    messages = message_time(shape.num_parameters * _BYTES, gpu, num_gpus, sharded=sharded)
    hidden = _BEHIND_BACKWARD * (products + between)
    return StepTime(products, between + adam, max(0.0, messages - hidden))


def message_time(num_bytes: float, gpu: Gpu, num_gpus: int, *, sharded: bool = False) -> float:
    """Seconds of all messages of a step about weights of so many bytes.

    Gradients are added up in a ring: each GPU sends 2·(n-1)/n of them. Sharded, weights are gathered twice and
    gradients scattered once: 3·(n-1)/n. A ring over several machines runs at the rate of their network.
    """
    if num_gpus == 1:
        return 0.0
    rate = gpu.link if num_gpus <= gpu.per_machine else gpu.network * gpu.per_machine
    machines = -(-num_gpus // gpu.per_machine)
    if machines > 1:
        rate = min(rate, gpu.link)
    rounds = 3 if sharded else 2
    return rounds * ((num_gpus - 1) / num_gpus * num_bytes / rate + (num_gpus - 1) / gpu.per_machine * gpu.latency)


def step_memory(shape: StepShape, num_gpus: int, kept: float, *, sharded: bool = False, average: bool = False) -> float:
    """Predict the bytes of a GPU: weights, gradients, moments, and what a step keeps.

    `kept` is what the layers keep of this GPU's tokens for the backward pass, in bytes, when all is kept. Recomputed, a
    layer keeps what goes into it, and one layer at a time the rest. Sharded, two layers are there in whole beside the
    shards, one with its gradient, and so is what is not a layer.
    """
    held = shape.num_parameters / (num_gpus if sharded else 1)
    state = held * _BYTES * (5 if average else 4)
    if shape.recompute:
        kept = kept / shape.num_layers + _BYTES * shape.layer_tokens / num_gpus * shape.dim
    logits = min(shape.tokens / num_gpus * shape.vocab_size, 2**28) * 2 + _BYTES * shape.vocab_size * shape.dim
    whole = 0.0
    if sharded:
        layer = shape.layer_parameters / shape.num_layers
        rest = shape.num_parameters - shape.layer_parameters
        whole = _BYTES * (3 * layer + 2 * rest)
    return state + kept + logits + whole
