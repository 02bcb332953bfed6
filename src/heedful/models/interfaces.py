"""What every model that translates has in common, whatever it is made of; a family is one subclass.

What stands above models/ knows an `EncoderDecoder`: losses read `encode`, `decode` and `output_projection`, searches
read `start`, `step` and `step_best`, insight reads `attention_uses`. Which family it is stands in the config and is
decided in build.py. This file knows token ids and masks; it knows no layer of any family.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from heedful.nn.attention import ScoreExplanation
from heedful.nn.embedding import OutputProjection, TokenEmbedding
from heedful.nn.positions import Positions

Side = Literal["source", "target"]


class AttentionModule(Protocol):
    """A module that attends and can say how; beside its `forward` stand two methods of the same arguments."""

    num_heads: int
    output: nn.Linear
    """What reads the heads' findings, side by side, each in its own slice: without its slice a head is off."""

    @property
    def weights(self) -> Callable[..., Tensor]:
        """Called like `forward`: how much each query looks at each key, [batch, heads, query_len, key_len]."""

    @property
    def explain_score(self) -> Callable[..., ScoreExplanation]:
        """Called like `forward` with `head`, `row` and `column` besides: how that weight came about."""


@dataclass(frozen=True)
class AttentionUse:
    """One attention of a model: what it is for, and the module that does it."""

    name: str
    """What it is called; the layers of one use have one name."""

    looks_from: Side
    """Whose positions look; row i of the target's is the writing of token i."""

    looks_at: Side
    """Whose positions are looked at; those of the target are what the decoder reads, one token late."""

    causal: bool
    """Whether a position may look at none that come later."""

    layer: int
    """Counted from 0 within the use."""

    module: AttentionModule


class EncoderDecoder(nn.Module, ABC):
    """Source tokens in, a distribution over the next target token out."""

    dim: int
    """Width of embeddings and of what `decode` returns."""

    source_embedding: TokenEmbedding
    target_embedding: TokenEmbedding
    output_projection: OutputProjection

    def forward(self, source_ids: Tensor, source_mask: Tensor | None, target_ids: Tensor) -> Tensor:
        """Predict every next target token from the tokens before it (teacher forcing).

        source_ids [batch, source_len]; source_mask [batch, source_len] is True at real tokens, None when nothing is
        padded; target_ids [batch, target_len] is the target shifted right. Returns logits [batch, target_len, vocab].
        """
        return self.project(self.decode(target_ids, self.encode(source_ids, source_mask), source_mask))

    def encode(self, source_ids: Tensor, source_mask: Tensor | None, keep: Tensor | None = None) -> Tensor:
        """Read source_ids [batch, source_len], real where source_mask [batch, source_len]; None: nothing is padded.

        Tokens where keep [batch, source_len] is False lose their embedding, not their place.
        Returns the memory [batch, source_len, dim], as wide as the family wants it: `decode` alone reads it.
        """
        if source_mask is not None:
            # Whatever stands in the padding, a NaN included, ends here: weight 0 times NaN would still be NaN.
            keep = source_mask if keep is None else keep & source_mask
        return self.encode_vectors(self.source_embedding(source_ids, keep), source_mask)

    @abstractmethod
    def encode_vectors(self, vectors: Tensor, source_mask: Tensor | None) -> Tensor:
        """Do what `encode` does from embeddings, vectors [batch, source_len, dim] with 0 where padding stands.

        source_mask [batch, source_len] as in `encode`. Returns the memory [batch, source_len, dim].
        """

    @abstractmethod
    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor | None, keep: Tensor | None = None
    ) -> Tensor:
        """Read target_ids [batch, target_len], each position knowing itself, those before it, and the source.

        memory [batch, source_len, dim] and source_mask [batch, source_len] are those of `encode`; tokens where keep
        [batch, target_len] is False lose their embedding. Returns [batch, target_len, dim], to be given to `project`.
        """

    def project(self, hidden: Tensor) -> Tensor:
        """Turn the decoder's output [batch, target_len, dim] into logits [batch, target_len, vocab]."""
        logits: Tensor = self.output_projection(hidden)
        return logits

    @abstractmethod
    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor | None,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = lambda: None,
    ) -> Any:
        """Encode the sentences of a search, source_ids and source_mask [batch, source_len]; one row for each at first.

        The search may hold up to `max_rows` rows and take up to `max_len` steps. `before_layer` is called once, before
        the encoder; what it raises ends the search.
        """

    @abstractmethod
    def step(self, state: Any, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to the rows and return the logits of what comes next, [rows, vocab] in fp32.

        Row r goes on from row parents[r] of the step before, parents [rows]; None lets every row go on from itself.
        """

    @torch.no_grad()
    def step_best(
        self, state: Any, token_ids: Tensor, parents: Tensor | None = None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Take a `step` and return only the `count` most probable next tokens, the candidates, best first.

        token_ids and parents [rows] as for `step`; a `count` above the vocabulary means all of it.
        Returns log-probabilities and token ids, [rows, candidates] each.
        """
        return best_tokens(self.step(state, token_ids, parents), count)

    @abstractmethod
    def attention_uses(self) -> list[AttentionUse]:
        """List every attention of the model, the layers of a use one after the other, first layer first."""

    def copied(self, source_ids: Tensor, length: int) -> Tensor | None:  # noqa: ARG002 - what families that copy make of it
        """Say which token of source_ids [1, source_len] each of `length` positions of the decoder reads, [1, length].

        None where it reads what was written before.
        """
        return None

    def positions(self, side: Side) -> Positions | None:  # noqa: ARG002 - what families with a table make of it
        """Return what tells one side's tokens where they stand; None where reading in order does."""
        return None


class ExtendableModel(EncoderDecoder):
    """A family that reads several tokens of a row at once, of which one is a special case."""

    @torch.no_grad()
    def step(self, state: Any, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to rows parents [rows] and return the logits of what comes next, [rows, vocab]."""
        return self.extend(state, token_ids.unsqueeze(1), parents).squeeze(1)

    @abstractmethod
    def extend(self, state: Any, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab] in fp32.

        A token sees those before it in its row, as if it had been appended by a `step` of its own; parents as there.
        """

    @torch.no_grad()
    def extend_best(
        self, state: Any, token_ids: Tensor, parents: Tensor | None = None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Append token_ids [rows, length] and return the `count` most probable tokens after each, best first.

        parents [rows] and `count` as for `step_best`. Returns log-probabilities and ids, [rows, length, candidates].
        """
        return best_tokens(self.extend(state, token_ids, parents), count)


def best_tokens(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` most probable tokens of each distribution, best first.

    logits [rows, vocab] or [rows, length, vocab]; log-probabilities and ids come with the candidates as the last
    dimension, as many as there are tokens where these are fewer.
    """
    best, ids = logits.topk(min(count, logits.size(-1)), dim=-1)
    return best - logits.logsumexp(dim=-1, keepdim=True), ids
