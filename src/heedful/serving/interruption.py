"""A model whose search can be stopped between two steps, or two layers of the encoder, and listened to.

It stands between the search and a model and passes everything on unchanged, so that results are the model's own.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from heedful.decoding import Decodable
from heedful.engines.int8.engine import Int8Transformer
from heedful.serving.request_queue import AbandonedError

TokenListener = Callable[[list[int]], None]


class InterruptibleModel:
    """A `Decodable` that asks before each step whether anybody still wants the result."""

    def __init__(
        self, model: Decodable[Any], is_abandoned: Callable[[], bool], on_tokens: TokenListener | None = None
    ) -> None:
        """Put it before a model, for one search.

        `on_tokens` is told the token that each row appends, at every step; the first is the start symbol.
        """
        self._model = model
        self._is_abandoned = is_abandoned
        self._on_tokens = on_tokens

    def start(self, source_ids: Tensor, source_mask: Tensor, *, max_rows: int, max_len: int) -> Any:
        """Encode source_ids [batch, source_len] where source_mask [batch, source_len] is True."""
        self._check()
        if isinstance(self._model, Int8Transformer):
            return self._model.start(
                source_ids, source_mask, max_rows=max_rows, max_len=max_len, before_layer=self._check
            )
        return self._model.start(source_ids, source_mask, max_rows=max_rows, max_len=max_len)

    def step(self, state: Any, token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Advance by token_ids [rows]; returns logits [rows, vocab]."""
        self._check(token_ids)
        return self._model.step(state, token_ids, parents)

    def step_best(self, state: Any, token_ids: Tensor, parents: Tensor | None, *, count: int) -> tuple[Tensor, Tensor]:
        """Advance by token_ids [rows]; returns the best log-probabilities and ids [rows, candidates]."""
        self._check(token_ids)
        return self._model.step_best(state, token_ids, parents, count=count)

    def _check(self, token_ids: Tensor | None = None) -> None:
        if self._is_abandoned():
            raise AbandonedError
        if self._on_tokens is not None and token_ids is not None:
            self._on_tokens(token_ids.tolist())
