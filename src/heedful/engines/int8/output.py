"""The output projection of a model with 8-bit weights, where the rest of the model is computed by PyTorch.

For a model whose steps are short, as those of a recurrent network, the projection to the vocabulary is most of a step;
the engine makes it several times as fast and hands out the few best tokens without ever storing the logits.
"""

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_float, c_int8, c_int32, c_int64, c_void_p
from typing import Any

import torch
from torch import Tensor

from heedful.engines.int8.engine import check_status
from heedful.engines.int8.library import NativeUnavailableError, open_library
from heedful.engines.int8.weights import LinearWeights
from heedful.models.recurrent import RecurrentModel
from heedful.nn.embedding import OutputProjection
from heedful.storage.quantized_weights import quantize_rows


class Int8Output:
    """An `OutputProjection` packed for the engine; it keeps no reference to the floats."""

    def __init__(
        self, projection: OutputProjection, *, threads: int | None = None, library: ctypes.CDLL | None = None
    ) -> None:
        """Round the weights, a scale for each token; `library` is what `open_library` gives."""
        self._library = library or open_library()
        self.vocab_size, self.dim = projection.weight.shape
        lanes = self._library.heedful_lanes()
        if self.dim % lanes:
            raise NativeUnavailableError(
                f"The int8 engine needs `dim` to be a multiple of {lanes} on this processor, but it is {self.dim}."
            )
        matrix, scales = quantize_rows(projection.weight.detach().float())
        bias = None if projection.bias is None else projection.bias.detach().float().contiguous()
        weights = LinearWeights(
            ctypes.cast(matrix.data_ptr(), POINTER(c_int8)),
            ctypes.cast(scales.data_ptr(), POINTER(c_float)),
            None if bias is None else ctypes.cast(bias.data_ptr(), POINTER(c_float)),
            self.vocab_size,
            self.dim,
        )
        handle = c_void_p()
        wanted = c_int32(threads or torch.get_num_threads())
        check_status(self._library.heedful_new_output(ctypes.byref(weights), wanted, ctypes.byref(handle)))
        self._handle = handle

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._library.heedful_free_output(self._handle)

    def logits(self, states: Tensor) -> Tensor:
        """Turn states [rows, dim] into logits [rows, vocab]."""
        states = self._ready(states)
        logits = torch.empty(states.size(0), self.vocab_size)
        check_status(self._library.heedful_logits(*self._given(states), c_void_p(logits.data_ptr())))
        return logits

    def best(self, states: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Turn states [rows, dim] into the best log-probabilities and ids, [rows, candidates] each, best first."""
        states, count = self._ready(states), min(count, self.vocab_size)
        log_probs = torch.empty(states.size(0), count)
        ids = torch.empty(states.size(0), count, dtype=torch.int64)
        status = self._library.heedful_best(
            *self._given(states), c_int32(count), c_void_p(log_probs.data_ptr()), c_void_p(ids.data_ptr())
        )
        check_status(status)
        return log_probs, ids

    def _ready(self, states: Tensor) -> Tensor:
        assert states.dim() == 2, "one state for each row"
        assert states.size(1) == self.dim, "as wide as the model"
        return states.float().contiguous()

    def _given(self, states: Tensor) -> tuple[c_void_p, c_void_p, c_int64]:
        return self._handle, c_void_p(states.data_ptr()), c_int64(states.size(0))


class Int8Recurrent:
    """A `RecurrentModel` on the CPU whose output projection is the engine's. It satisfies `decoding.Decodable`."""

    def __init__(
        self, model: RecurrentModel, *, threads: int | None = None, library: ctypes.CDLL | None = None
    ) -> None:
        self.model = model.eval()
        self.output = Int8Output(model.output_projection, threads=threads, library=library)

    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor | None,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = lambda: None,
    ) -> Any:
        """Encode source_ids, real where source_mask, [batch, source_len] each; one row for each at first."""
        return self.model.start(source_ids, source_mask, max_rows=max_rows, max_len=max_len, before_layer=before_layer)

    def step(self, state: Any, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to the rows that parents [rows] name; returns logits [rows, vocab]."""
        return self.output.logits(self.model.advance(state, token_ids, parents))

    def step_best(
        self, state: Any, token_ids: Tensor, parents: Tensor | None = None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Take a `step`, token_ids and parents [rows]; the best log-probabilities and ids, [rows, candidates] each."""
        return self.output.best(self.model.advance(state, token_ids, parents), count)
