"""How a model is trained: batches, optimiser, schedule, regularisers, what is kept and when it is measured."""

from typing import Annotated, Literal

from pydantic import Field

from heedful.config.section import Section

Count = Annotated[int, Field(ge=1)]

MAX_BEAM_SIZE, MAX_LENGTH_PENALTY = 256, 10.0
"""Wider beams cost memory and time in proportion, and translations have long ceased to get better."""


class PaperSchedule(Section):
    """lr = factor · dim^-0.5 · min(step^-0.5, step · warmup_steps^-1.5) (section 5.3 of the paper)."""

    kind: Literal["paper"] = "paper"
    warmup_steps: Count = 4000
    """Steps of linear growth."""

    factor: float = Field(default=1.0, gt=0)
    """Scales the whole curve."""


class InverseSqrtSchedule(Section):
    """Linear warm-up to `peak`, then peak · sqrt(warmup_steps / step)."""

    kind: Literal["inverse_sqrt"]
    peak: float = Field(gt=0)
    """Highest learning rate, reached at the end of the warm-up."""

    warmup_steps: Count = 4000
    """Steps of linear growth: step i of n uses i · peak / n."""


class CosineSchedule(Section):
    """Linear warm-up to `peak`, then half a cosine down to `final` at the last step."""

    kind: Literal["cosine"]
    peak: float = Field(gt=0)
    """Highest learning rate."""

    warmup_steps: Count = 1000
    """Steps of linear growth."""

    final: float = Field(default=0.0, ge=0)
    """Learning rate at `training.max_steps`."""


class ConstantSchedule(Section):
    """Linear warm-up to `peak`, then constant."""

    kind: Literal["constant"]
    peak: float = Field(gt=0)
    """The learning rate."""

    warmup_steps: Count = 1
    """Steps of linear growth."""


Schedule = Annotated[
    PaperSchedule | InverseSqrtSchedule | CosineSchedule | ConstantSchedule, Field(discriminator="kind")
]


class NoRegularizer(Section):
    """Cross-entropy alone."""

    kind: Literal["none"] = "none"

    @property
    def after_steps(self) -> int:
        """Return 0: nothing begins."""
        return 0


class _Agreement(Section):
    """Two passes that must agree, from some step on."""

    after_steps: int = Field(default=0, ge=0)
    """Steps of cross-entropy alone before it: what has to agree with itself from the first step on learns late, or
    never, to look at the source."""


class RDrop(_Agreement):
    """Two passes with different dropout must agree (Liang et al., 2021)."""

    kind: Literal["r_drop"]
    weight: float = Field(default=5.0, gt=0)
    """Weight α of the symmetric KL divergence."""


class SimCut(_Agreement):
    """A pass with tokens cut out must agree with the full one (Gao et al., 2022)."""

    kind: Literal["simcut"]
    weight: float = Field(default=3.0, gt=0)
    """Weight α of the KL divergence."""

    cut_rate: float = Field(default=0.05, gt=0, lt=1)
    """How often a token's embedding is cut (set to zero)."""


class Glancing(_Agreement):
    """A CTC model is shown a part of what it does not know yet (Qian et al., 2021)."""

    kind: Literal["glancing"]
    rate: float = Field(default=0.5, gt=0, le=1)
    """Which part of the positions it gets wrong is shown to it: of a first pass without gradients, chosen anew in every
    step."""


class Teacher(_Agreement):
    """A model with fertilities is fine-tuned to write what a teacher would (Gu et al., 2018, section 3.3)."""

    kind: Literal["teacher"]
    model: str
    """The teacher: a model or run folder that writes step by step, with the same tokenizer."""

    weight: float = Field(default=0.25, gt=0, le=1)
    """Share λ of the teacher's part in the loss: of words by divergence, of fertilities by policy gradient."""


AgreementRegularizer = NoRegularizer | RDrop | SimCut
"""What any model can be trained with."""

Regularizer = Annotated[NoRegularizer | RDrop | SimCut | Glancing | Teacher, Field(discriminator="kind")]


class OptimizerConfig(Section):
    """AdamW with the paper's moments (section 5.3)."""

    betas: tuple[float, float] = (0.9, 0.98)
    """Decay rates of the two moments."""

    epsilon: float = Field(default=1e-9, gt=0)
    """Added to the denominator."""

    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay, on matrices only."""


class CheckpointConfig(Section):
    """What is kept while a run goes on."""

    every_steps: Count = 1000
    """Steps between checkpoints (one is also written when training stops)."""

    keep_last: Count = 5
    """How many of the newest stay."""

    keep_best: int = Field(default=1, ge=0)
    """How many of the best by `validation.metric` stay beside them."""


class AverageConfig(Section):
    """The shipped model is the mean of several checkpoints (section 6.1 of the paper)."""

    which: Literal["last", "best"] = "last"
    """The newest checkpoints, or the best by `validation.metric`."""

    count: Count = 5
    """How many; 1 ships a single checkpoint."""


class Replicated(Section):
    """Every process holds the whole model and takes its parts of each batch (PyTorch's DistributedDataParallel)."""

    kind: Literal["replicated"] = "replicated"
    parts: Count | None = None
    """Parts that every batch is cut into, by rows, each with dropout of its own; the processes share them evenly, so
    that any number of processes that divides it trains alike. Not set: as many as there are processes at the start."""


class Sharded(Section):
    """Every process holds a shard of each weight (PyTorch's FSDP2): for models that one GPU does not hold."""

    kind: Literal["sharded"]
    parts: Count | None = None
    """As above."""


Distribution = Annotated[Replicated | Sharded, Field(discriminator="kind")]


class TrainingConfig(Section):
    """The loop."""

    max_steps: Count = 100_000
    """Updates of the weights."""

    batch_tokens: Count = 25_000
    """Budget of a batch: padded target tokens, and as many source tokens."""

    accumulate: Count = 1
    """Batches whose gradients are summed into one update."""

    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16 autocasts the forward pass; weights and optimiser stay in fp32."""

    compile: bool = False
    """Compile the layers with `torch.compile`: some seconds at the start, then a quarter to a half faster on a GPU."""

    recompute: bool = False
    """Compute what is inside a layer a second time for its gradient instead of keeping it (activation checkpointing):
    less memory, a third more work. Such steps are not recorded."""

    cuda_graphs: bool = True
    """On a GPU, record a step once per shape of batch and replay it: the same weights, many times faster when small."""

    distribution: Distribution = Replicated()
    """How several processes (`--processes`, or `torchrun`) share a run."""

    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Probability mass spread over the whole vocabulary (section 5.4 of the paper)."""

    clip_norm: float | None = Field(default=None, gt=0)
    """Largest norm of the gradient."""

    optimizer: OptimizerConfig = OptimizerConfig()
    """Adam's constants."""

    schedule: Schedule = PaperSchedule()
    """Learning rate over steps."""

    regularizer: Regularizer = NoRegularizer()
    """A second term of the loss."""

    ema_decay: float | None = Field(default=None, gt=0, lt=1)
    """Validate and ship an exponential moving average of the weights with this decay."""

    checkpoint: CheckpointConfig = CheckpointConfig()
    """What is kept."""

    average: AverageConfig = AverageConfig()
    """Which checkpoints make the shipped model."""

    patience: int | None = Field(default=None, ge=1)
    """Stop after so many validations without a better `validation.metric`."""

    log_every: Count = 50
    """Steps between lines of metrics.jsonl."""

    tensorboard: bool = False
    """Also write TensorBoard events into the run folder (needs the package `tensorboard`)."""

    init_from: str | None = None
    """Start with the weights, the shape and the tokenizer of this model or run folder, or of a model by its name:
    "bundled", the one that ships for the run's task, or one that `heedful get` has fetched (to go on with a run use
    --resume)."""

    @property
    def agreement(self) -> AgreementRegularizer:
        """The regulariser, where it is one that any model can be trained with; whoever asks has checked that."""
        assert isinstance(self.regularizer, NoRegularizer | RDrop | SimCut)
        return self.regularizer


class ValidationConfig(Section):
    """When and how progress is measured."""

    every_steps: Count = 1000
    """Steps between validations."""

    metric: Literal["loss", "bleu"] = "bleu"
    """What "best" means."""

    bleu_tokenize: Literal["13a", "none", "zh", "char", "intl"] = "13a"
    """sacreBLEU's tokenizer; "none" for text that is tokenised already."""

    max_sentences: int | None = Field(default=None, ge=1)
    """Decode at most so many sentences for BLEU."""

    num_samples: int = Field(default=3, ge=0)
    """Sentences written to samples.jsonl at each validation."""


class DecodingConfig(Section):
    """How translations are searched for."""

    beam_size: int = Field(default=4, ge=1, le=MAX_BEAM_SIZE)
    """Hypotheses kept per sentence; 1 is greedy."""

    length_penalty: float = Field(default=0.6, ge=0, le=MAX_LENGTH_PENALTY)
    """α of ((5 + length) / 6)^α (Wu et al., 2016; section 6.1 of the paper)."""

    extra_tokens: int = Field(default=50, ge=0, le=10_000)
    """An output has at most the input's tokens plus so many."""

    max_source_tokens: int = Field(default=256, ge=1, le=1 << 16)
    """A longer sentence is translated in parts, cut after clauses, else at spaces."""

    batch_tokens: int = Field(default=4096, ge=1, le=1 << 24)
    """Padded source tokens decoded together."""
