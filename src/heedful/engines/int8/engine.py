"""A trained Transformer with 8-bit weights on the CPU: the same search protocol, several times the speed.

Weights become signed bytes with one scale for each output (|w| ≤ 127 · scale); activations are rounded row by row while
the engine runs, so that a sentence's result does not depend on its batch: to 8 bits on processors with AVX-512 VNNI, to
16 on all others. The arithmetic is in the C++ beside it; this file hands it the weights and speaks to the search. It
cannot be trained.
"""

import ctypes
from collections.abc import Callable
from ctypes import c_float, c_int32, c_int64, c_void_p

import torch
from torch import Tensor

from heedful.engines.int8.library import is_available, open_library
from heedful.engines.int8.weights import check_shapes, describe, describe_drafter, is_computable
from heedful.errors import HeedfulError
from heedful.models.drafter import Drafter
from heedful.models.transformer import Transformer
from heedful.nn.attention import split_heads
from heedful.nn.positions import Positions
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import ModelFolder
from heedful.storage.quantized_weights import QuantizedWeights

LEAST_CERTAINTY = 0.4
"""How probable all that was guessed for a row must be for another guess: to check a wrong one takes time."""


class Int8Search:
    """The state of one search, kept by the engine; see `Decodable`."""

    def __init__(self, owner: "Int8Transformer", handle: c_void_p, num_rows: int, positions: Tensor) -> None:
        self.handle = handle
        self.num_rows = num_rows
        # The engine, and the positions [max_len, dim] that it reads, must outlive its searches.
        self._owner, self._positions = owner, positions

    def __del__(self) -> None:
        self._owner.library.heedful_free_search(self.handle)


def restore_int8(
    folder: ModelFolder[TranslatorDescription], *, library: ctypes.CDLL | None = None
) -> "Int8Transformer":
    """Make the engine of a model folder. Weights stored in int8 are packed as they are and never become floats."""
    quantized = folder.weights if isinstance(folder.weights, QuantizedWeights) else None
    model = folder.description.build_empty()
    assert isinstance(model, Transformer), "the only family whose section says it has this engine"
    model.load_state_dict(folder.weights if quantized is None else quantized.vectors(), strict=False)
    return Int8Transformer(model.eval(), quantized=quantized, drafter=folder.drafter, library=library)


class Int8Transformer:
    """A `Transformer` for inference only, on the CPU. It satisfies `decoding.Extendable`, with a drafter `Guessing`."""

    def __init__(
        self,
        model: Transformer,
        *,
        quantized: QuantizedWeights | None = None,
        drafter: Drafter | None = None,
        threads: int | None = None,
        library: ctypes.CDLL | None = None,
    ) -> None:
        """Pack the weights of `model`; with `quantized`, which has its matrices, those in the model may be empty.

        `library` is what `open_library` has given; without it, it is asked.
        """
        self.library = library or open_library()
        lanes = int(self.library.heedful_lanes())
        self.drafter = drafter if drafter is not None and is_computable(drafter, lanes) else None
        self.dim, self.num_heads, self.num_encoder_layers = model.dim, model.num_heads, len(model.encoder.layers)
        self.source_vocab_size = model.source_embedding.weight.size(0)
        self.vocab_size = model.output_projection.weight.size(0)
        self._source_positions = _PositionTable(model.source_positions, model.dim)
        self._target_positions = _PositionTable(model.target_positions, model.dim)
        check_shapes(model, lanes)
        # While the engine packs them the tensors must stay alive, hence the list.
        alive: list[Tensor] = []
        handle = c_void_p()
        spec = describe(model, quantized, alive, threads)
        if self.drafter is not None:
            describe_drafter(spec, self.drafter, alive)
        check_status(self.library.heedful_new_engine(ctypes.byref(spec), ctypes.byref(handle)))
        self.handle = handle.value

    @classmethod
    def is_available(cls) -> bool:
        """Say whether this machine can run the engine."""
        return is_available()

    def largest_activation(self, inputs: int) -> int:
        """Return what the peak of a row of `inputs` activations is rounded to; the others keep their proportion."""
        return int(self.library.heedful_largest_activation(c_int32(inputs)))

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.library.heedful_free_engine(c_void_p(self.handle))

    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor | None,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = lambda: None,
    ) -> Int8Search:
        """Encode source_ids [batch, source_len], real where source_mask [batch, source_len]; one row for each.

        What `before_layer` raises ends the search before it has begun: long texts take a while to be read.
        """
        if source_mask is None:
            source_mask = torch.ones_like(source_ids, dtype=torch.bool)
        tokens = source_ids[source_mask].contiguous()  # end to end: padding is left out here, not masked later
        lengths = source_mask.sum(dim=1)
        assert int(lengths.min()) > 0, "every sentence has at least its end symbol"
        assert 0 <= int(tokens.min()) <= int(tokens.max()) < self.source_vocab_size, "the engine does not check ids"
        source = self._source_positions.rows(int(lengths.max()))
        target = self._target_positions.rows(max_len)
        handle = c_void_p()
        status = self.library.heedful_start(
            c_void_p(self.handle),
            c_void_p(tokens.data_ptr()),
            c_void_p(lengths.data_ptr()),
            c_int64(len(lengths)),
            c_void_p(source.data_ptr()),
            c_int64(max_rows),
            c_int64(max_len),
            ctypes.byref(handle),
        )
        check_status(status)
        search = Int8Search(self, handle, len(lengths), target)
        for layer in range(self.num_encoder_layers):
            before_layer()
            check_status(self.library.heedful_encode(handle, c_int32(layer)))
        before_layer()
        check_status(self.library.heedful_keep_sources(handle, c_void_p(target.data_ptr())))
        return search

    def step(self, state: Int8Search, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to the rows that parents [rows] name; returns logits [rows, vocab]."""
        return self.extend(state, token_ids, parents)

    def step_best(
        self, state: Int8Search, token_ids: Tensor, parents: Tensor | None = None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Take a `step`, token_ids and parents [rows]; returns the best log-probabilities and ids [rows, count]."""
        return self.extend_best(state, token_ids, parents, count=count)

    def extend(self, state: Int8Search, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows, length] to the rows that parents [rows] name; logits [rows, length, vocab]."""
        token_ids = token_ids.contiguous()
        logits = torch.empty(*token_ids.shape, self.vocab_size)
        check_status(self.library.heedful_extend(*_arguments(state, token_ids, parents), c_void_p(logits.data_ptr())))
        return logits

    def extend_best(
        self, state: Int8Search, token_ids: Tensor, parents: Tensor | None = None, *, count: int
    ) -> tuple[Tensor, Tensor]:
        """Append token_ids [rows, length] likewise; the best log-probabilities and ids [rows, length, candidates]."""
        token_ids, count = token_ids.contiguous(), min(count, self.vocab_size)
        log_probs = torch.empty(*token_ids.shape, count)
        ids = torch.empty(*token_ids.shape, count, dtype=torch.int64)
        status = self.library.heedful_extend_best(
            *_arguments(state, token_ids, parents),
            c_int32(count),
            c_void_p(log_probs.data_ptr()),
            c_void_p(ids.data_ptr()),
        )
        check_status(status)
        return log_probs, ids

    def looks(self, state: Int8Search, input_ids: Tensor, source_len: int) -> Tensor:
        """Append input_ids [rows, target_len] to the rows.

        Returns how much the last layer looks from each of them at each token of the source, the mean of its heads,
        [rows, target_len, source_len].
        """
        batch, target_len = input_ids.shape
        input_ids, looks = input_ids.contiguous(), torch.zeros(batch, target_len, source_len)
        assert 0 <= int(input_ids.min()) <= int(input_ids.max()) < self.vocab_size, "the engine does not check ids"
        status = self.library.heedful_look(
            state.handle,
            c_void_p(input_ids.data_ptr()),
            c_int64(batch),
            c_int64(target_len),
            c_int64(source_len),
            c_void_p(looks.data_ptr()),
        )
        check_status(status)
        return looks

    def guess(self, state: Int8Search, token_ids: Tensor, parents: Tensor | None = None, *, count: int) -> Tensor:
        """Guess what follows token_ids [rows], not appended yet, of the rows parents [rows] name; ids [rows, count]."""
        rows = token_ids.numel()
        guesses, used = torch.empty(rows, count, dtype=torch.int64), c_int64()
        status = self.library.heedful_guess(
            state.handle,
            c_void_p(token_ids.data_ptr()),
            c_void_p(None if parents is None else parents.data_ptr()),
            c_int64(rows),
            c_int64(count),
            c_float(LEAST_CERTAINTY),
            c_void_p(guesses.data_ptr()),
            ctypes.byref(used),
        )
        check_status(status)
        return guesses[:, : used.value]

    def states_of(
        self, source_ids: Tensor, source_mask: Tensor, input_ids: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Read source_ids where source_mask, [batch, source_len] each, beside input_ids [batch, target_len].

        Returns what is projected to the vocabulary, [batch, target_len, dim], and the last layer's keys and values of
        the sources, [batch, heads, source_len, head_dim] each: what a drafter goes on from, and learns from.
        """
        batch, target_len = input_ids.shape
        state = self.start(source_ids, source_mask, max_rows=batch, max_len=target_len)
        input_ids, hidden = input_ids.contiguous(), torch.empty(batch, target_len, self.dim)
        assert 0 <= int(input_ids.min()) <= int(input_ids.max()) < self.vocab_size, "the engine does not check ids"
        packed = torch.empty(int(source_mask.sum()), 2 * self.dim)
        status = self.library.heedful_states(
            state.handle,
            c_void_p(input_ids.data_ptr()),
            c_int64(batch),
            c_int64(target_len),
            c_void_p(hidden.data_ptr()),
            c_void_p(packed.data_ptr()),
        )
        check_status(status)
        memory = torch.zeros(*source_ids.shape, 2 * self.dim)  # [batch, source_len, 2 * dim]
        memory[source_mask] = packed
        key, value = (split_heads(part, self.num_heads) for part in memory.chunk(2, dim=-1))
        return hidden, (key, value)

    def restart(self, state: Int8Search, sentences: Tensor) -> None:
        """Forget all that was written, and give each of sentences [rows], by number, an empty row."""
        sentences = sentences.contiguous()
        status = self.library.heedful_restart(state.handle, c_void_p(sentences.data_ptr()), c_int64(len(sentences)))
        check_status(status)
        state.num_rows = len(sentences)

    def rewind(self, state: Int8Search, lengths: Tensor) -> None:
        """Let every row forget what it has written beyond lengths [rows]."""
        assert lengths.numel() == state.num_rows, "one length for each row"
        assert lengths.is_contiguous(), "the engine reads memory as it lies"
        check_status(self.library.heedful_rewind(state.handle, c_void_p(lengths.data_ptr())))


def check_status(status: int) -> None:
    """Raise what the engine's status says; `Status` in engines/int8/transformer.cpp has the numbers."""
    if status == 1:
        raise MemoryError("The int8 engine was refused the memory it asked for.")
    if status:
        raise HeedfulError(f"The int8 engine failed (status {status}). Go on with `--quantize none`.")


def _arguments(
    state: Int8Search, token_ids: Tensor, parents: Tensor | None
) -> tuple[c_void_p, c_void_p, c_void_p, c_int64, c_int64]:
    rows = token_ids.size(0)
    assert parents is None or (parents.is_contiguous() and parents.numel() == rows), "one parent for each row"
    state.num_rows = rows
    return (
        state.handle,
        c_void_p(token_ids.data_ptr()),
        c_void_p(None if parents is None else parents.data_ptr()),
        c_int64(rows),
        c_int64(token_ids.numel() // rows),
    )


class _PositionTable:
    """What positions add to embeddings, computed again only when more of them are needed than ever before."""

    def __init__(self, positions: Positions, dim: int) -> None:
        self._positions = positions
        self._table = torch.empty(0, dim)  # [length, dim]

    def rows(self, length: int) -> Tensor:
        """Return at least the first `length` rows, [length, dim]."""
        table = self._table
        if len(table) < length:
            with torch.no_grad():
                table = self._positions(torch.zeros(1, length, table.size(1)))[0].float().contiguous()
            self._table = table
        return table
