"""What a decoder remembers between two steps of a search: keys and values, so that no position is computed twice.

The past of every row (a hypothesis being written) lies in one preallocated tensor; keys and values of the source are
held once for each sentence, however many rows are writing its translation. Rows are re-ordered, multiplied and
dropped by `follow`. Nothing here knows tokens, scores or layers' weights.
"""

import torch
from torch import Tensor

from heedful.nn.attention import attend_fused
from heedful.nn.masks import padding_mask


class DecoderCache:
    """Keys and values of `num_rows` rows over `length` positions, and of the sentences they translate."""

    def __init__(self, memory: Tensor, memory_mask: Tensor | None, *, max_rows: int, max_len: int) -> None:
        """Start with one empty row for each sentence.

        memory [layers, 2, batch, heads, source_len, head_dim] holds each layer's keys and values of the source;
        memory_mask [batch, source_len] is True at its real tokens, None when no sentence is padded.
        """
        layers, _, batch, heads, _, head_dim = memory.shape
        self.max_len = max_len
        self.length = 0
        self.num_rows = batch
        self._past = memory.new_empty(layers, 2, max(max_rows, batch), heads, max_len, head_dim)
        self._sentence_of_row = torch.arange(batch, device=memory.device)  # [rows]
        self._memory_by_sentence, self._mask_by_sentence = memory, memory_mask
        # What the present rows look at: neighbouring rows of one sentence form a group and share its memory.
        self._memory, self._mask, self._group_size = memory, padding_mask(memory_mask), 1

    def follow(self, parents: Tensor) -> None:
        """Make new row r continue old row parents[r]; parents [rows] may repeat rows and leave rows out."""
        num_rows, old_rows = parents.numel(), self.num_rows
        assert num_rows <= self._past.size(2), f"{num_rows} rows do not fit into a cache made for {self._past.size(2)}"
        self.num_rows = num_rows
        rows = torch.arange(num_rows, device=parents.device)
        if parents.device.type == "cpu":
            # Most rows continue themselves. Finding them costs nothing here; on an accelerator it would mean waiting.
            moved = parents != rows
            if num_rows == old_rows and not moved.any():
                return
            rows, moved_parents = rows[moved], parents[moved]
        else:
            moved_parents = parents
        # One tensor after the other: a copy of all of them at once would be fresh memory, and several times slower.
        for past in self._past[:, :, :, :, : self.length].flatten(0, 1):  # [rows, heads, target_len, head_dim]
            past.index_copy_(0, rows, past.index_select(0, moved_parents))
        self._regroup(self._sentence_of_row[parents])

    def _regroup(self, sentence_of_row: Tensor) -> None:
        """Take up a new map from rows to sentences, sentence_of_row [rows]."""
        if sentence_of_row.device.type == "cpu":
            if torch.equal(sentence_of_row, self._sentence_of_row):
                return
            num_groups = 1 + int((sentence_of_row[1:] != sentence_of_row[:-1]).sum())
            size = sentence_of_row.numel() // num_groups
            groups = sentence_of_row[::size]
            if not torch.equal(groups.repeat_interleave(size), sentence_of_row):
                # Groups of unequal size do not make a rectangle; then every row is a group of its own.
                size, groups = 1, sentence_of_row
            self._group_size = size
        else:
            groups = sentence_of_row
        self._sentence_of_row = sentence_of_row
        self._memory = self._memory_by_sentence.index_select(2, groups)
        if self._mask_by_sentence is not None:
            self._mask = padding_mask(self._mask_by_sentence[groups])

    def remember(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the newest position's key and value [rows, heads, 1, head_dim] of one layer.

        Returns the keys and values of all positions up to it, [rows, heads, target_len, head_dim] each.
        """
        assert self.length < self.max_len, f"the cache was made for {self.max_len} positions"
        keys, values = self._past[layer, :, : self.num_rows, :, : self.length + 1]
        keys[:, :, self.length :] = key
        values[:, :, self.length :] = value
        return keys, values

    def look_up(self, layer: int, query: Tensor) -> Tensor:
        """Answer queries [rows, heads, 1, head_dim] of one layer from the sources of their rows; same shape."""
        rows, heads, _, head_dim = query.shape
        key, value = self._memory[layer]
        # The rows of a group are the queries of one attention: [batch, heads, beam, head_dim].
        query = query.reshape(-1, self._group_size, heads, head_dim).transpose(1, 2)
        averages = attend_fused(query, key, value, self._mask)
        return averages.transpose(1, 2).reshape(rows, heads, 1, head_dim)

    def advance(self) -> None:
        """Count the newest position as past; called once when all layers have remembered it."""
        self.length += 1
