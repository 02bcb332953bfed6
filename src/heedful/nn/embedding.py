"""Tokens to vectors and vectors to logits: section 3.4 of the paper. Both can share one matrix."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class TokenEmbedding(nn.Module):
    """A trained vector for each token, times the square root of `dim`.

    The factor lets one matrix serve as embedding and as output projection: its entries are small enough (about
    dim^-0.5) to give logits of order 1, and the factor brings the embedding up to the size of the positions.
    """

    def __init__(self, vocab_size: int, dim: int) -> None:
        super().__init__()
        self.scale = math.sqrt(dim)
        self.embedding = nn.Embedding(vocab_size, dim)

    @property
    def weight(self) -> nn.Parameter:
        """The matrix [vocab, dim], for tying."""
        weight = self.embedding.weight
        assert isinstance(weight, nn.Parameter)
        return weight

    def forward(self, token_ids: Tensor, keep: Tensor | None = None) -> Tensor:
        """Look up token_ids [batch, length] and return [batch, length, dim].

        Where keep [batch, length] is False the vector is zero: padding, and the tokens that SimCut cuts out.
        """
        vectors: Tensor = self.embedding(token_ids) * self.scale
        return vectors if keep is None else vectors.masked_fill(~keep.unsqueeze(-1), 0.0)


class OutputProjection(nn.Module):
    """The linear map from states to logits, with a matrix [vocab, dim] of its own or an embedding's."""

    def __init__(self, vocab_size: int, dim: int, *, bias: bool, tied_to: TokenEmbedding | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, dim)) if tied_to is None else tied_to.weight
        self.bias = nn.Parameter(torch.empty(vocab_size)) if bias else None

    def forward(self, states: Tensor) -> Tensor:
        """Turn states [batch, length, dim] into logits [batch, length, vocab]; leading dimensions may be any."""
        return functional.linear(states, self.weight, self.bias)
