"""The description of a run that learns what comes next in a text (`task = "language_modeling"`).

Where the text comes from and how it is cut into symbols, which of the three models reads it, and how long a segment and
its memory are. The loop's settings are those of every run (training.py).
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heedful.config.data import TokenizerConfig
from heedful.config.models import (
    MAX_LENGTH,
    MAX_WIDTH,
    Cell,
    Depth,
    LearnedPositions,
    Length,
    Positions,
    Rate,
    SinusoidalPositions,
    Width,
    check_width,
)
from heedful.config.section import RunSection, Section
from heedful.config.training import TrainingConfig


class TextFiles(Section):
    """Texts in files of their own. Names may end in .gz, .xz or .zst."""

    kind: Literal["files"] = "files"
    train: list[str] = Field(min_length=1)
    """Files to learn from, read one after the other as one text."""

    validation: list[str] = Field(min_length=1)
    """Files on which progress is measured, read as one text."""

    test: dict[str, str] = Field(default_factory=dict)
    """Named files for `heedful evaluate --split NAME`; never seen in training."""


class SplitFile(Section):
    """One file, cut by bytes: the beginning to learn from, then validation, then test, as enwik8 and text8 are used."""

    kind: Literal["split"]
    path: str
    """The file. Its name may end in .gz, .xz or .zst."""

    train_bytes: int = Field(default=90_000_000, ge=1)
    """Bytes at the beginning to learn from."""

    validation_bytes: int = Field(default=5_000_000, ge=1)
    """Bytes after them on which progress is measured."""

    test_bytes: int = Field(default=5_000_000, ge=0)
    """Bytes after those for `heedful evaluate --split test`; never seen in training."""


TextData = Annotated[TextFiles | SplitFile, Field(discriminator="kind")]


class Bytes(Section):
    """Every byte is a symbol: 256 of them, nothing to learn, any file can be read."""

    kind: Literal["bytes"] = "bytes"


class Subwords(Section):
    """Pieces learned from the training text; a line end is a symbol of its own."""

    kind: Literal["subwords"]
    vocab_size: int = Field(default=8000, ge=300)
    """Pieces in the vocabulary, the special symbols and the 256 bytes included."""

    segmentation: Literal["bpe", "unigram"] = "bpe"
    """Merges of frequent pairs, or a unigram language model over pieces."""

    def as_tokenizer(self) -> TokenizerConfig:
        """Return the same for those who learn tokenizers; every character of the text is kept."""
        return TokenizerConfig(kind=self.segmentation, vocab_size=self.vocab_size, normalization="none")


Symbols = Annotated[Bytes | Subwords, Field(discriminator="kind")]


class LayerShape(Section):
    """What the layers of both models have in common."""

    dim: int = Field(default=512, ge=2, le=MAX_WIDTH)
    """Width of the residual stream, d_model."""

    num_heads: Width = 8
    """Attention heads; `dim` must be a multiple of it."""

    hidden_dim: Width = 2048
    """Width inside the feed-forward layers, d_ff."""

    num_layers: Depth = 12
    """Depth."""

    norm: Literal["post", "pre"] = "post"
    """LayerNorm after each residual sum or before each sub-layer, with a final one on top."""

    activation: Literal["relu", "gelu", "swish"] = "relu"
    """Non-linearity of the feed-forward layers."""

    tied_output: bool = True
    """One matrix for the embedding and the output projection."""

    dropout: Rate = 0.1
    """On embeddings, on each sub-layer's output before it is added, and in Transformer-XL on positions and output."""

    attention_dropout: Rate = 0.0
    """On the attention weights."""

    hidden_dropout: Rate = 0.0
    """On the activations inside the feed-forward layers."""

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        check_width(self.dim, self.num_heads)
        return self


class TransformerXLConfig(LayerShape):
    """Transformer-XL (Dai et al., 2019): a memory of earlier segments, and positions as distances."""

    kind: Literal["transformer_xl"] = "transformer_xl"
    tied_biases: bool = True
    """One pair of global biases for all layers (u and v in the paper), or a pair for each."""

    clamp_len: int | None = Field(default=None, ge=1, le=MAX_LENGTH)
    """Distances beyond this one are all taken for it."""


class LanguageModelConfig(LayerShape):
    """The plain causal decoder: it sees the segment it is in, and nothing before."""

    kind: Literal["language_model"]
    positions: Positions = SinusoidalPositions()
    """How a token knows where it stands in the segment."""

    context_len: int = Field(default=512, ge=2, le=MAX_LENGTH)
    """The most tokens it sees at once; it is trained with `training.segment_len` of them."""

    @model_validator(mode="after")
    def _positions_suffice(self) -> Self:
        if isinstance(self.positions, LearnedPositions) and self.positions.max_len < self.context_len:
            raise ValueError(
                f"`positions.max_len` must be at least `context_len`, {self.context_len}, but is "
                f"{self.positions.max_len}."
            )
        return self


class RecurrentLanguageModelConfig(Section):
    """Recurrent units, what came before: a state of fixed size remembers all that was read."""

    kind: Literal["recurrent"]
    cell: Cell = "lstm"
    """Long short-term memory, or gated recurrent units."""

    dim: int = Field(default=512, ge=2, le=MAX_WIDTH)
    """Width of states and embeddings."""

    num_layers: Depth = 2
    """Depth."""

    tied_output: bool = True
    """One matrix for the embedding and the output projection."""

    dropout: Rate = 0.2
    """On embeddings, and on each layer's output before it is added."""


AnyLanguageModel = Annotated[
    TransformerXLConfig | LanguageModelConfig | RecurrentLanguageModelConfig, Field(discriminator="kind")
]


class LanguageModelTraining(TrainingConfig):
    """The loop. A batch is `batch_tokens` / `segment_len` texts side by side, each going on where it stopped."""

    segment_len: Length = 512
    """Symbols of each text that are read, and learned from, in one step."""

    memory_len: int = Field(default=512, ge=0, le=MAX_LENGTH)
    """Positions before the segment that Transformer-XL remembers; another length can be taken when evaluating. A
    recurrent model carries its state from segment to segment, however long it has read; with 0 it does not."""

    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Probability mass spread over the whole vocabulary; anything above 0 costs perplexity."""

    @property
    def num_streams(self) -> int:
        """Texts that are read side by side."""
        return self.batch_tokens // self.segment_len


class TextValidation(Section):
    """When and how progress is measured."""

    every_steps: int = Field(default=1000, ge=1)
    """Steps between validations."""

    metric: Literal["loss"] = "loss"
    """What "best" means: the mean negative log-likelihood of a symbol in nats."""

    max_symbols: int | None = Field(default=None, ge=1)
    """Measure on so many symbols from the beginning of the validation text; by default on all."""

    segment_len: int | None = Field(default=None, ge=1)
    """Symbols read at a time; by default as in training."""

    memory_len: int | None = Field(default=None, ge=0)
    """Positions remembered; by default as in training."""

    num_streams: int = Field(default=8, ge=1)
    """Parts of the text that are read side by side, each after a memory's length of what is before it."""

    sample_len: int = Field(default=200, ge=0)
    """Symbols the model writes into samples.jsonl at each validation."""


class LanguageModelRun(RunSection):
    """Everything that decides the result of a run that learns what comes next, the machine apart."""

    task: Literal["language_modeling"]
    """What the model is for."""

    data: TextData
    """The text."""

    tokenizer: Symbols = Bytes()
    """What a symbol is."""

    model: AnyLanguageModel = TransformerXLConfig()
    """Which model, and its shape."""

    training: LanguageModelTraining = LanguageModelTraining()
    """The loop."""

    validation: TextValidation = TextValidation()
    """When and how progress is measured."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        training, model = self.training, self.model
        if training.num_streams < 1:
            raise ValueError(
                f"`training.batch_tokens` must be at least `training.segment_len`, {training.segment_len}, but is "
                f"{training.batch_tokens}."
            )
        if training.regularizer.kind != "none":
            raise ValueError('`training.regularizer.kind` must be "none" for a language model.')
        if isinstance(model, LanguageModelConfig):
            if training.memory_len:
                raise ValueError(
                    '`training.memory_len` must be 0 with `model.kind = "language_model"`, which has no memory, but is '
                    f'{training.memory_len}. Take "transformer_xl" for one.'
                )
            if training.segment_len > model.context_len:
                raise ValueError(
                    f"`training.segment_len` must be at most `model.context_len`, {model.context_len}, but is "
                    f"{training.segment_len}."
                )
        return self
