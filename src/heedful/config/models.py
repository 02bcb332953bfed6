"""The shape of a model. Alternatives are types with a `kind`, not flags; the families are the members of `ModelConfig`.

What a family's settings mean for those who plan a run or load a model (how deep it is, how far it reads, what it keeps
in memory) is said by its own section, so that nobody else asks which family it is.

Sizes have upper bounds, far above what has ever been trained: a number beyond them is a slip or an attack, and is
refused before anybody asks for the memory.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from heedful.config.section import Section

Rate = Annotated[float, Field(ge=0, lt=1)]
MAX_DEPTH, MAX_WIDTH, MAX_LENGTH = 1000, 1 << 17, 1 << 16
Depth = Annotated[int, Field(ge=1, le=MAX_DEPTH)]
Width = Annotated[int, Field(ge=1, le=MAX_WIDTH)]
Length = Annotated[int, Field(ge=1, le=MAX_LENGTH)]


def check_width(dim: int, num_heads: int = 1, *, setting: str = "num_heads") -> None:
    """Refuse a width that heads cannot share evenly, or that has no pairs for sines and cosines."""
    if dim % num_heads:
        raise ValueError(f"`dim` must be a multiple of `{setting}`, but {dim} is no multiple of {num_heads}.")
    if dim % 2:
        raise ValueError(f"`dim` must be even, but is {dim}.")


class SinusoidalPositions(Section):
    """Sines and cosines of geometrically growing wavelengths (section 3.5 of the paper). No parameters, any length."""

    kind: Literal["sinusoidal"] = "sinusoidal"
    layout: Literal["interleaved", "halves"] = "interleaved"
    """Sine and cosine on neighbouring dimensions (the paper), or all sines before all cosines (Marian)."""


class LearnedPositions(Section):
    """One trained vector for each position."""

    kind: Literal["learned"]
    max_len: Length = 1024
    """Positions that exist; longer inputs are split."""


class NoPositions(Section):
    """No positions: the model sees a bag of tokens. For comparison."""

    kind: Literal["none"]


Positions = Annotated[SinusoidalPositions | LearnedPositions | NoPositions, Field(discriminator="kind")]


Tying = Literal["three_way", "two_way", "none"]
Cell = Literal["gru", "lstm"]

Ablation = Literal[
    "no_residual",
    "batch_norm",
    "no_embedding_scale",
    "no_attention_scale",
    "sine_positions",
    "concatenated_positions",
]


class TransformerConfig(Section):
    """The encoder-decoder of *Attention Is All You Need*."""

    family: ClassVar[str] = "Transformer"
    takes_preset: ClassVar[bool] = True

    kind: Literal["transformer"] = "transformer"
    dim: Width = 512
    """Width of the residual stream, d_model."""

    num_heads: Width = 8
    """Attention heads, h; `dim` must be a multiple of it."""

    hidden_dim: Width = 2048
    """Width inside the feed-forward layers, d_ff."""

    num_encoder_layers: Depth = 6
    """Depth of the encoder, N."""

    num_decoder_layers: Depth = 6
    """Depth of the decoder, N."""

    norm: Literal["post", "pre"] = "post"
    """LayerNorm after each residual sum (the paper) or before each sub-layer, with a final one on top."""

    activation: Literal["relu", "gelu", "swish"] = "relu"
    """Non-linearity of the feed-forward layers; the paper has relu, OPUS-MT models have swish."""

    positions: Positions = SinusoidalPositions()
    """How a token knows where it stands."""

    tying: Tying = "three_way"
    """Which of source embedding, target embedding and output projection share one matrix."""

    output_bias: bool = False
    """A bias on the logits (Marian models have one)."""

    dropout: Rate = 0.1
    """On embeddings plus positions, and on each sub-layer's output before it is added."""

    attention_dropout: Rate = 0.0
    """On the attention weights."""

    hidden_dropout: Rate = 0.0
    """On the activations inside the feed-forward layers."""

    ablations: tuple[Ablation, ...] = ()
    """Parts taken out or exchanged, to see what they are worth: no residual connections, BatchNorm for LayerNorm, no
    √d_model on embeddings, no √d_k under scores, positions of sines alone, positions beside embeddings and not on
    them. Such a model runs in PyTorch alone."""

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        check_width(self.dim, self.num_heads)
        return self

    @property
    def has_int8_engine(self) -> bool:
        """Whether the 8-bit engine can run it."""
        return not self.ablations

    @property
    def depth(self) -> int:
        """Layers of all stacks."""
        return self.num_encoder_layers + self.num_decoder_layers

    @property
    def max_positions(self) -> int | None:
        """The longest sequence the model can read or write, None when any."""
        return self.positions.max_len if isinstance(self.positions, LearnedPositions) else None

    def num_kept(self, source_len: int, target_len: int) -> int:
        """Return how many numbers a forward pass keeps of a pair for the backward pass.

        Fitted to the tensors that PyTorch keeps: an encoder layer 11·dim + hidden_dim for each token, a decoder layer
        18·dim + hidden_dim, the embeddings 3·dim a side. A test holds it to them.
        """
        encoder = self.num_encoder_layers * (11 * self.dim + self.hidden_dim) + 3 * self.dim
        decoder = self.num_decoder_layers * (18 * self.dim + self.hidden_dim) + 3 * self.dim
        return source_len * encoder + target_len * decoder


class RecurrentConfig(Section):
    """Recurrent units, with attention (Bahdanau et al., 2015; Luong et al., 2015) or one vector for a sentence."""

    family: ClassVar[str] = "recurrent network"
    takes_preset: ClassVar[bool] = True
    has_int8_engine: ClassVar[bool] = True

    kind: Literal["recurrent"]
    cell: Cell = "gru"
    """Gated recurrent units, or long short-term memory."""

    attention: Literal["none", "additive", "dot", "general"] = "additive"
    """How what is being written is compared with the source: by a small network, by a product, or by a product through
    a learned matrix; "none" gives the decoder one vector, what the encoder ends with."""

    input_feeding: bool = False
    """Whether what attention found is read with the next token (Luong et al., 2015, section 3.3). The first layer of
    the decoder then learns token by token, which is slower."""

    dim: Width = 512
    """Width of states and embeddings; the two directions of the encoder have half of it each."""

    num_encoder_layers: Depth = 2
    """Depth of the encoder; each layer reads both ways."""

    num_decoder_layers: Depth = 2
    """Depth of the decoder; the first layer asks the source, those above read what was found."""

    tying: Tying = "three_way"
    """Which of source embedding, target embedding and output projection share one matrix."""

    dropout: Rate = 0.2
    """On embeddings, and on each layer's output before it is added."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        check_width(self.dim)
        if self.input_feeding and self.attention == "none":
            raise ValueError('`input_feeding` must be false with `attention = "none"`, which finds nothing to feed.')
        return self

    @property
    def depth(self) -> int:
        """Layers of both stacks."""
        return self.num_encoder_layers + self.num_decoder_layers

    @property
    def max_positions(self) -> None:
        """The longest sequence the model can read or write: any."""
        return None

    def num_kept(self, source_len: int, target_len: int) -> int:
        """Return how many numbers a forward pass keeps of a pair for the backward pass; a test holds it to them.

        Additive attention keeps `dim` numbers for each pair of tokens: it is what bounds the length of sentences.
        """
        both_ways, one_way = (13, 10) if self.cell == "gru" else (28, 21)
        first = 12 if self.input_feeding else one_way  # step by step PyTorch keeps less of long short-term memory
        asking = {"none": 3, "additive": 5, "dot": 6, "general": 6}[self.attention]
        source = both_ways * self.num_encoder_layers + (3 if self.attention == "general" else 2)
        target = first + one_way * (self.num_decoder_layers - 1) + asking
        pairs = source_len * target_len if self.attention == "additive" else 0
        return self.dim * (source_len * source + target_len * target + pairs)


class ConvolutionalConfig(Section):
    """Gated convolutions with attention in every decoder layer: ConvS2S (Gehring et al., 2017)."""

    family: ClassVar[str] = "convolutional network"
    takes_preset: ClassVar[bool] = True
    has_int8_engine: ClassVar[bool] = False

    kind: Literal["convolutional"]
    dim: Width = 256
    """Width of states and embeddings."""

    kernel_size: Annotated[int, Field(ge=1, le=1024)] = 3
    """How many positions a window has; in the decoder it ends at its own."""

    num_encoder_layers: Depth = 4
    """Depth of the encoder; each layer lets a position know `kernel_size` - 1 more."""

    num_decoder_layers: Depth = 3
    """Depth of the decoder; each layer asks the source by itself."""

    norm: Literal["post", "pre", "scaled"] = "post"
    """LayerNorm after each residual sum, or before each convolution and attention with a final one on top; or none, and
    every sum times √½ (the paper)."""

    positions: Positions = SinusoidalPositions()
    """How a token knows where it stands; the paper has learned positions."""

    tying: Tying = "three_way"
    """Which of source embedding, target embedding and output projection share one matrix."""

    dropout: Rate = 0.2
    """On embeddings plus positions, and on what each convolution or attention gives before it is added."""

    @model_validator(mode="after")
    def _pairs_are_whole(self) -> Self:
        check_width(self.dim)
        return self

    @property
    def depth(self) -> int:
        """Layers of both stacks."""
        return self.num_encoder_layers + self.num_decoder_layers

    @property
    def max_positions(self) -> int | None:
        """The longest sequence the model can read or write, None when any."""
        return self.positions.max_len if isinstance(self.positions, LearnedPositions) else None

    def num_kept(self, source_len: int, target_len: int) -> int:
        """Return how many numbers a forward pass keeps of a pair for the backward pass; a test holds it to them.

        A window is kept whole: `kernel_size` · `dim` numbers for each position and layer.
        """
        encoder = (self.kernel_size + 4) * self.num_encoder_layers + 3
        decoder = (self.kernel_size + 10) * self.num_decoder_layers + 2
        return self.dim * (source_len * encoder + target_len * decoder)


class _ParallelConfig(Section):
    """What models that write all positions at once have in common."""

    has_int8_engine: ClassVar[bool] = False

    dim: Width = 512
    """Width of the residual stream, d_model."""

    num_heads: Width = 8
    """Attention heads, h; `dim` must be a multiple of it."""

    hidden_dim: Width = 2048
    """Width inside the feed-forward layers, d_ff."""

    num_encoder_layers: Depth = 6
    """Depth of the encoder, N."""

    num_decoder_layers: Depth = 6
    """Depth of the decoder, N."""

    norm: Literal["post", "pre"] = "post"
    """LayerNorm after each residual sum (the paper) or before each sub-layer, with a final one on top."""

    activation: Literal["relu", "gelu", "swish"] = "relu"
    """Non-linearity of the feed-forward layers."""

    tying: Tying = "three_way"
    """Which of source embedding, target embedding and output projection share one matrix."""

    dropout: Rate = 0.1
    """On embeddings plus positions, and on each sub-layer's output before it is added."""

    attention_dropout: Rate = 0.0
    """On the attention weights."""

    hidden_dropout: Rate = 0.0
    """On the activations inside the feed-forward layers."""

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        check_width(self.dim, self.num_heads)
        return self

    @property
    def depth(self) -> int:
        """Layers of both stacks."""
        return self.num_encoder_layers + self.num_decoder_layers

    @property
    def max_positions(self) -> None:
        """The longest sequence the model can read or write: any."""
        return None

    def _kept(self, source_len: int, length: int, attentions: int) -> int:
        """Return what a pass keeps of a pair whose decoder has so many positions, and attentions in each layer."""
        encoder = self.num_encoder_layers * (11 * self.dim + self.hidden_dim) + 3 * self.dim
        decoder = self.num_decoder_layers * ((4 + 7 * attentions) * self.dim + self.hidden_dim) + 3 * self.dim
        return source_len * encoder + length * decoder


class CtcConfig(_ParallelConfig):
    """All positions at once: the source up-sampled, its outputs collapsed (Libovický and Helcl, 2018)."""

    family: ClassVar[str] = "CTC model"

    kind: Literal["ctc"]
    upsampling: Annotated[int, Field(ge=1, le=16)] = 3
    """Positions that are written for each source token; repeats of a token and blanks are dropped afterwards. A target
    longer than `upsampling` times its source cannot be written."""

    def num_kept(self, source_len: int, target_len: int) -> int:  # noqa: ARG002 - the source says how much is written
        """Return how many numbers a forward pass keeps of a pair for the backward pass."""
        return self._kept(source_len, self.upsampling * source_len, 2)


class FertilityConfig(_ParallelConfig):
    """All positions at once: every source token copied as often as its fertility says (Gu et al., 2018)."""

    family: ClassVar[str] = "fertility model"

    kind: Literal["fertility"]
    max_fertility: Annotated[int, Field(ge=1, le=256)] = 50
    """The most positions that are written for one source token."""

    choice: Literal["argmax", "average"] = "argmax"
    """Which fertilities are taken where none are drawn: the most probable ones, or their means, rounded."""

    def num_kept(self, source_len: int, target_len: int) -> int:
        """Return how many numbers a forward pass keeps of a pair for the backward pass."""
        return self._kept(source_len, target_len, 3)


ModelConfig = Annotated[
    TransformerConfig | RecurrentConfig | ConvolutionalConfig | CtcConfig | FertilityConfig, Field(discriminator="kind")
]
"""Every family there is; a file that does not say `kind` describes a Transformer."""
