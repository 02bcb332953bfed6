"""A text classifier: an encoder, a pooling over its positions, a linear map to the labels; optionally n-grams.

Each path gives logits of its own and is trained by its own loss; the decision is their weighted mean, a geometric mean
of the two distributions. Documents longer than a window are read window by window: attention stays inside, pooling is
over all, so that nothing is cut and the work grows no faster than the length. This file knows ids and masks; it knows
no text and no loss.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.config.classification import (
    AttentionLayer,
    BasicAttention,
    ClassifierConfig,
    ManyHeads,
    ProjectedAttention,
    RecurrentClassifierConfig,
    ScaledAttention,
    TransformerLayer,
)
from heedful.config.models import NoPositions
from heedful.models.blocks import build_positions
from heedful.nn.attention import MultiHeadSelfAttention
from heedful.nn.basic_attention import BareAttentionLayer, BasicEncoderLayer, BasicSelfAttention, ScaledSelfAttention
from heedful.nn.embedding import TokenEmbedding
from heedful.nn.layers import EncoderLayer
from heedful.nn.masks import padding_mask
from heedful.nn.ngrams import NaiveBayesPath, NgramEmbedding
from heedful.nn.recurrent import BothWaysLayer, last_said


class ClassifierModel(nn.Module):
    """Token ids in, one logit for each label out."""

    def __init__(
        self, config: ClassifierConfig | RecurrentClassifierConfig, *, vocab_size: int, num_labels: int, pad_id: int
    ) -> None:
        super().__init__()
        dim, ngrams, path = config.dim, config.ngram_embedding, config.naive_bayes
        is_pre_norm = isinstance(config, ClassifierConfig) and _is_pre_norm(config)
        self.pad_id = pad_id
        self.pooling = config.pooling
        self.window = config.longest
        self.token_dropout = config.token_dropout
        self.embedding = TokenEmbedding(vocab_size, dim)
        self.ngram_embedding = (
            None if ngrams is None else NgramEmbedding(up_to=ngrams.up_to, num_buckets=ngrams.num_buckets, dim=dim)
        )
        # A state that reads in order knows where it stands.
        self.positions = build_positions(
            config.positions if isinstance(config, ClassifierConfig) else NoPositions(kind="none"), dim
        )
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList([_build_layer(config) for _ in range(config.num_layers)])
        self.final_norm = nn.LayerNorm(dim) if is_pre_norm else nn.Identity()
        self.output = nn.Linear(dim * (2 if config.pooling == "mean_max" else 1), num_labels)
        self.naive_bayes = (
            None
            if path is None
            else NaiveBayesPath(
                up_to=path.up_to, num_buckets=path.num_buckets, num_labels=num_labels, dropout=path.dropout
            )
        )
        self.path_shares = (1.0,) if path is None else (1.0 - path.share, path.share)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Return the logits [batch, classes] of documents token_ids [batch, length], padded at the end."""
        return self.decide(self.path_logits(token_ids))

    def decide(self, paths: Sequence[Tensor]) -> Tensor:
        """Weigh what the paths found, tensors of the same shape such as [batch, classes], into one of that shape."""
        return torch.stack([share * path for share, path in zip(self.path_shares, paths, strict=True)]).sum(dim=0)

    def path_logits(self, token_ids: Tensor, keep: Tensor | None = None) -> list[Tensor]:
        """Return the logits [batch, classes] of each path: the encoder's and, where there is one, the linear path's.

        Where keep [batch, length] is False, the encoder sees a token's place but not the token.
        """
        is_real = token_ids != self.pad_id
        logits = [self.encoder_logits(self.embed(token_ids, keep), is_real)]
        if self.naive_bayes is not None:
            logits.append(self.naive_bayes(token_ids, is_real))
        return logits

    def embed(self, token_ids: Tensor, keep: Tensor | None = None) -> Tensor:
        """Look up tokens and the n-grams that end with them: [batch, length] to [batch, length, dim]."""
        is_real = token_ids != self.pad_id
        seen = is_real if keep is None else is_real & keep
        if self.training and self.token_dropout:
            seen = seen & (torch.rand_like(token_ids, dtype=torch.float) >= self.token_dropout)
        vectors: Tensor = self.embedding(token_ids, seen)
        if self.ngram_embedding is not None:
            vectors = vectors + self.ngram_embedding(token_ids, seen)
        return vectors

    def encoder_logits(self, vectors: Tensor, is_real: Tensor) -> Tensor:
        """Encode what `embed` returned, [batch, length, dim], pool it and return the logits [batch, classes]."""
        batch = vectors.size(0)
        width = min(self.window, vectors.size(1))
        states, is_real = _cut(vectors, is_real, width)  # [batch · windows, width, dim], [batch · windows, width]
        states = self.dropout(self.positions(states))
        mask = padding_mask(is_real)
        for layer in self.layers:
            states = layer(states, mask)
        pooled = self.pool(self.final_norm(states), is_real, batch)
        logits: Tensor = self.output(self.dropout(pooled))
        return logits

    def pool(self, states: Tensor, is_real: Tensor, batch: int) -> Tensor:
        """Make one vector of all positions of a document: [batch · windows, width, dim] to [batch, dim]."""
        if self.pooling == "ends":
            states, is_real = last_said(states, is_real).unsqueeze(1), is_real[:, :1]
        elif self.pooling == "first":  # the first token of each window, averaged over windows that hold anything
            states, is_real = states[:, :1], is_real[:, :1]
        states = states.reshape(batch, -1, states.size(-1))  # [batch, length, dim]
        is_real = is_real.reshape(batch, -1, 1)
        match self.pooling:
            case "max":
                return _maximum(states, is_real)
            case "mean_max":
                return torch.cat([_mean(states, is_real), _maximum(states, is_real)], dim=-1)
            case _:
                return _mean(states, is_real)


def _is_pre_norm(config: ClassifierConfig) -> bool:
    return isinstance(config.layer, TransformerLayer) and config.layer.norm == "pre"


def _build_layer(config: ClassifierConfig | RecurrentClassifierConfig) -> nn.Module:
    """Build one layer: recurrent units, or each kind of attention, by itself or as the paper has it."""
    if isinstance(config, RecurrentClassifierConfig):
        return BothWaysLayer(config.dim, config.cell, config.dropout)
    dim, layer = config.dim, config.layer
    dropout = layer.attention_dropout if isinstance(layer, TransformerLayer) else 0.0
    attention: BasicSelfAttention | MultiHeadSelfAttention
    match config.attention:
        case BasicAttention():
            attention = BasicSelfAttention()
        case ScaledAttention():
            attention = ScaledSelfAttention()
        case ProjectedAttention():
            attention = MultiHeadSelfAttention(dim, 1, dropout)
        case ManyHeads(num_heads=num_heads):
            attention = MultiHeadSelfAttention(dim, num_heads, dropout)
    if isinstance(layer, AttentionLayer):
        return BareAttentionLayer(attention)
    if isinstance(attention, BasicSelfAttention):
        return BasicEncoderLayer(
            attention,
            dim=dim,
            hidden_dim=layer.hidden_dim,
            norm=layer.norm,
            activation=layer.activation,
            dropout=config.dropout,
            hidden_dropout=layer.hidden_dropout,
        )
    return EncoderLayer(
        dim=dim,
        num_heads=attention.num_heads,
        hidden_dim=layer.hidden_dim,
        norm=layer.norm,
        activation=layer.activation,
        dropout=config.dropout,
        attention_dropout=dropout,
        hidden_dropout=layer.hidden_dropout,
    )


def _mean(states: Tensor, is_real: Tensor) -> Tensor:
    """Average the real positions of states [batch, length, dim]: [batch, dim]."""
    return states.masked_fill(~is_real, 0.0).sum(dim=1) / is_real.sum(dim=1).clamp(min=1)


def _maximum(states: Tensor, is_real: Tensor) -> Tensor:
    """Take the largest of each feature over the real positions of states [batch, length, dim]: [batch, dim]."""
    return states.masked_fill(~is_real, torch.finfo(states.dtype).min).amax(dim=1)


def _cut(vectors: Tensor, is_real: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Cut documents [batch, length, dim] into windows [batch · windows, width, dim], the last filled up."""
    missing = -vectors.size(1) % width
    vectors = functional.pad(vectors, (0, 0, 0, missing))
    is_real = functional.pad(is_real, (0, missing))
    return vectors.reshape(-1, width, vectors.size(-1)), is_real.reshape(-1, width)
