"""The description of a run that learns to put one of several labels on a text (`task = "classification"`).

Where documents come from, which of them are held out, what the classifier is made of. The loop's settings are those of
every run (training.py). Attention, the layer around it, pooling and n-grams are chosen apart from one another, so that
the worth of each can be measured.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from heedful.config.data import TokenizerConfig
from heedful.config.models import (
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_WIDTH,
    Cell,
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


class JsonlDocuments(Section):
    """One file with one JSON object a line. Its name may end in .gz, .xz or .zst."""

    kind: Literal["jsonl"] = "jsonl"
    path: str
    """File with one object a line."""

    text_key: str = "text"
    """Key of the text."""

    label_key: str = "label"
    """Key of the label: text, a whole number, or true and false."""


class CsvDocuments(Section):
    """One file with columns, quoted as RFC 4180 says: a text in quotes may hold commas, quotes and line ends."""

    kind: Literal["csv"]
    path: str
    """File with one document a row."""

    text_column: int = Field(default=0, ge=0)
    """Column of the text, from 0."""

    label_column: int = Field(default=1, ge=0)
    """Column of the label, from 0."""

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    """What stands between columns."""

    header: bool = False
    """Whether the first row names the columns."""


class TsvDocuments(Section):
    """One file with tab-separated columns and no quoting: one line is one document."""

    kind: Literal["tsv"]
    path: str
    """File with one document a line."""

    text_column: int = Field(default=0, ge=0)
    """Column of the text, from 0."""

    label_column: int = Field(default=1, ge=0)
    """Column of the label, from 0."""

    header: bool = False
    """Whether the first line names the columns."""


class FolderDocuments(Section):
    """A folder with one sub-folder for each label, in it one text file for each document."""

    kind: Literal["folders"]
    path: str
    """The folder; its sub-folders are the labels, hidden ones apart."""


Buckets = Annotated[int, Field(ge=2, le=1 << 31)]

LabelledCorpus = Annotated[JsonlDocuments | CsvDocuments | TsvDocuments | FolderDocuments, Field(discriminator="kind")]


class LabelledDataConfig(Section):
    """The documents of a run. A leading `data/` in a path stands for the folder HEEDFUL_DATA, when that is set."""

    train: list[LabelledCorpus] = Field(min_length=1)
    """Documents to learn from; the labels are those that occur in them."""

    validation: list[LabelledCorpus] = Field(default_factory=list)
    """Documents on which progress is measured. Where there are none, a part of `train` is held out."""

    hold_out: float = Field(default=0.1, gt=0, lt=1)
    """Share of `train` that is held out when `validation` is empty, chosen by a hash of the text: equal texts stay
    together, and more documents do not move those that were there."""

    test: dict[str, LabelledCorpus] = Field(default_factory=dict)
    """Named corpora for `heedful evaluate --split NAME`; never seen in training."""

    max_documents: int | None = Field(default=None, ge=1)
    """Learn from at most so many documents, chosen by the same hash: for curves over the size of the data."""


class BasicAttention(Section):
    """y_i = Σ_j softmax_j(x_i · x_j) x_j: no parameters at all."""

    kind: Literal["basic"]


class ScaledAttention(Section):
    """Basic attention with its scores divided by √dim, so that the softmax does not saturate. No parameters."""

    kind: Literal["scaled"]


class ProjectedAttention(Section):
    """Scaled attention between learned queries, keys and values, in one head."""

    kind: Literal["projected"]


class ManyHeads(Section):
    """Scaled attention between learned queries, keys and values in several heads at once: the paper's."""

    kind: Literal["multi_head"] = "multi_head"
    num_heads: Width = 4
    """Attention heads; `dim` must be a multiple of it."""


Attention = Annotated[BasicAttention | ScaledAttention | ProjectedAttention | ManyHeads, Field(discriminator="kind")]


class AttentionLayer(Section):
    """Attention and nothing around it: its output is the next layer's input."""

    kind: Literal["attention"]


class TransformerLayer(Section):
    """The paper's encoder layer: attention and a feed-forward network, each with a residual and a LayerNorm."""

    kind: Literal["transformer"] = "transformer"
    hidden_dim: Width = 512
    """Width inside the feed-forward network."""

    norm: Literal["post", "pre"] = "pre"
    """LayerNorm after each residual sum or before each sub-layer."""

    activation: Literal["relu", "gelu", "swish"] = "gelu"
    """Non-linearity of the feed-forward network."""

    attention_dropout: Rate = 0.0
    """On the attention weights; only multi-head and projected attention have it."""

    hidden_dropout: Rate = 0.0
    """On the activations inside the feed-forward network."""


Layer = Annotated[AttentionLayer | TransformerLayer, Field(discriminator="kind")]


class Windows(Section):
    """A document of more tokens is read in windows of this length; pooling is over all of them, so nothing is cut."""

    kind: Literal["windows"] = "windows"
    length: int = Field(default=512, ge=8, le=MAX_LENGTH)
    """Tokens that attend to one another."""


class HeadAndTail(Section):
    """Of a document of more tokens the beginning and the end are read. How many were shortened is said."""

    kind: Literal["head_and_tail"]
    head: Length = 384
    """Tokens of the beginning."""

    tail: int = Field(default=128, ge=0, le=MAX_LENGTH)
    """Tokens of the end."""


LongDocuments = Annotated[Windows | HeadAndTail, Field(discriminator="kind")]


class NgramEmbedding(Section):
    """Each token also carries vectors for the token pairs, triples, ... that end with it, found by hashing."""

    up_to: int = Field(default=3, ge=2, le=5)
    """Longest n-gram."""

    num_buckets: Buckets = 1 << 18
    """Vectors there are; n-grams with the same hash share one."""


class NaiveBayesPath(Section):
    """A linear path beside the encoder: the n-grams a document holds, weighted by how much they tell of each label.

    The weight of an n-gram is its naive-Bayes log-count ratio, counted before training, times a factor that is learned
    (NB-SVM: Wang and Manning, 2012), divided by its length. The path sees the document as a set and is trained by
    itself.
    """

    up_to: int = Field(default=3, ge=1, le=5)
    """Longest n-gram."""

    num_buckets: Buckets = 1 << 22
    """Weights there are for each label; of several n-grams with the same hash the most frequent has it."""

    min_count: int = Field(default=2, ge=1)
    """N-grams that fewer training documents hold count for nothing."""

    smoothing: float = Field(default=1.0, gt=0)
    """Added to every count before its logarithm is taken."""

    dropout: Rate = 0.5
    """How often an n-gram of a document is left out in training."""

    share: float = Field(default=0.5, gt=0, lt=1)
    """Weight of this path's logits in the decision; the encoder's have the rest. The journal's `best_share` says what
    would have been best on the documents held out; a finished run takes another share with --resume."""


class ClassifierShape(Section):
    """What all classifiers have: a depth, n-grams beside the encoder if wanted, and an answer to long documents."""

    dim: int = Field(default=128, ge=2, le=MAX_WIDTH)
    """Width of the residual stream."""

    num_layers: int = Field(default=2, ge=0, le=MAX_DEPTH)
    """Depth of the encoder; 0 pools the embeddings themselves."""

    long_documents: LongDocuments = Windows()
    """What happens to documents that are longer than the encoder should reach."""

    ngram_embedding: NgramEmbedding | None = None
    """N-grams in the input of the encoder."""

    naive_bayes: NaiveBayesPath | None = None
    """N-grams in a linear path beside the encoder."""

    dropout: Rate = 0.1
    """On embeddings plus positions, on each sub-layer's output before it is added, and on the pooled vector."""

    token_dropout: Rate = 0.0
    """How often the embedding of a token is set to zero in training."""

    @property
    def longest(self) -> int:
        """The most tokens that are read at once."""
        long_documents = self.long_documents
        return (
            long_documents.length
            if isinstance(long_documents, Windows)
            else (long_documents.head + long_documents.tail)
        )


class ClassifierConfig(ClassifierShape):
    """An encoder, a pooling over its positions, a linear map to the labels; optionally n-grams beside it."""

    kind: Literal["classifier"] = "classifier"
    attention: Attention = ManyHeads()
    """How positions gather from one another."""

    layer: Layer = TransformerLayer()
    """What is around the attention."""

    positions: Positions = SinusoidalPositions()
    """How a token knows where it stands."""

    pooling: Literal["mean", "max", "first", "mean_max"] = "mean"
    """How many positions become one vector: their mean, their maximum, the start symbol's, or mean beside maximum."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        num_heads = self.attention.num_heads if isinstance(self.attention, ManyHeads) else 1
        check_width(self.dim, num_heads, setting="attention.num_heads")
        if isinstance(self.positions, LearnedPositions) and self.positions.max_len < self.longest:
            raise ValueError(
                f"`positions.max_len` must be at least {self.longest}, the tokens `long_documents` lets through at "
                f"once, but is {self.positions.max_len}."
            )
        return self


class RecurrentClassifierConfig(ClassifierShape):
    """Recurrent units that read a document both ways, a pooling over its positions, a linear map to the labels."""

    kind: Literal["recurrent"]
    cell: Cell = "lstm"
    """Long short-term memory, or gated recurrent units."""

    pooling: Literal["mean", "max", "mean_max", "ends"] = "mean_max"
    """How many positions become one vector: their mean, their maximum, mean beside maximum, or what each of the two
    ways of reading ends with."""

    @model_validator(mode="after")
    def _halves_are_whole(self) -> Self:
        check_width(self.dim)
        return self


AnyClassifier = Annotated[ClassifierConfig | RecurrentClassifierConfig, Field(discriminator="kind")]
"""Every family there is; a file that does not say `kind` describes an encoder with attention."""


class ClassificationValidation(Section):
    """When and how progress is measured."""

    every_steps: int = Field(default=500, ge=1)
    """Steps between validations."""

    metric: Literal["accuracy", "macro_f1", "loss"] = "accuracy"
    """What "best" means."""

    num_samples: int = Field(default=3, ge=0)
    """Documents written to samples.jsonl at each validation, the surest mistakes first."""


class ClassificationRun(RunSection):
    """Everything that decides the result of a run that learns labels, the machine apart."""

    task: Literal["classification"]
    """What the model is for."""

    data: LabelledDataConfig
    """Labelled documents."""

    tokenizer: TokenizerConfig = TokenizerConfig()
    """How text becomes tokens."""

    model: AnyClassifier = ClassifierConfig()
    """Shape of the classifier."""

    training: TrainingConfig = TrainingConfig()
    """The loop. A batch holds `batch_tokens` padded tokens; what is counted and averaged over are documents."""

    validation: ClassificationValidation = ClassificationValidation()
    """When and how progress is measured."""

    @field_validator("model", mode="before")
    @classmethod
    def _classifier_unless_said(cls, section: object) -> object:
        return {"kind": "classifier", **section} if isinstance(section, dict) and "kind" not in section else section

    @model_validator(mode="after")
    def _what_labels_can_do(self) -> Self:
        if self.tokenizer.dropout:
            raise ValueError("`tokenizer.dropout` must be 0 for classification; take `model.token_dropout`.")
        if self.training.regularizer.kind == "glancing":
            raise ValueError('`training.regularizer.kind` must not be "glancing" for a classifier.')
        return self
