"""A text classifier: an encoder, a pooling over its positions, a linear map to the labels; optionally n-grams.

Each path gives logits of its own and is trained by its own loss; the decision is their weighted mean, a geometric mean
of the two distributions. Documents longer than a window are read window by window: attention stays inside, pooling is
over all, so that nothing is cut and the work grows no faster than the length. This file knows ids and masks; it knows
no text and no loss.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.nn.embedding import TokenEmbedding
from heedful.nn.masks import padding_mask
from heedful.nn.ngrams import NaiveBayesPath, NgramEmbedding
from heedful.nn.positions import Positions

Pooling = Literal["mean", "max", "first", "mean_max"]


class ClassifierModel(nn.Module):
    """Token ids in, one logit for each label out.

    `layers` map states and a mask to states; `final_norm` is the LayerNorm that pre-norm layers need on top.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_labels: int,
        pad_id: int,
        dim: int,
        layers: Sequence[nn.Module],
        final_norm: bool,
        positions: Positions,
        pooling: Pooling,
        window: int,
        ngram_embedding: NgramEmbedding | None = None,
        naive_bayes: NaiveBayesPath | None = None,
        naive_bayes_share: float = 0.5,
        dropout: float = 0.0,
        token_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.pooling: Pooling = pooling
        self.window = window
        self.token_dropout = token_dropout
        self.embedding = TokenEmbedding(vocab_size, dim)
        self.ngram_embedding = ngram_embedding
        self.positions = positions
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(layers)
        self.final_norm = nn.LayerNorm(dim) if final_norm else nn.Identity()
        self.output = nn.Linear(dim * (2 if pooling == "mean_max" else 1), num_labels)
        self.naive_bayes = naive_bayes
        self.path_shares = (1.0,) if naive_bayes is None else (1.0 - naive_bayes_share, naive_bayes_share)

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
        if self.pooling == "first":  # the first token of each window, averaged over windows that hold anything
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
