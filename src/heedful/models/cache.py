"""What a decoder remembers of what was written: keys and values, so that no position is computed twice.

The past of every row (a hypothesis being written) lies in one preallocated tensor; keys and values of the source are
held once for each sentence, however many rows are writing its translation. Rows are re-ordered, multiplied and
dropped by `follow`, and cut back by `rewind`, each to a length of its own. Nothing here knows tokens, scores or layers'
weights.
"""

import torch
from torch import Tensor

from heedful.nn.attention import attend_fused
from heedful.nn.masks import padding_mask


class DecoderCache:
    """Keys and values of `num_rows` rows over up to `length` positions, and of the sentences they translate."""

    def __init__(self, memory: Tensor, memory_mask: Tensor | None, *, max_rows: int, max_len: int) -> None:
        """Start with one empty row for each sentence.

        memory [layers, 2, batch, heads, source_len, head_dim] holds each layer's keys and values of the source;
        memory_mask [batch, source_len] is True at its real tokens, None when no sentence is padded.
        """
        layers, _, batch, heads, _, head_dim = memory.shape
        self.max_len = max_len
        self.length = 0  # of the longest row
        self.num_rows = batch
        # Where a row is shorter than the longest, what lies behind its end is finite: it is hidden by a mask, and
        # 0 times NaN would be NaN.
        self._past = memory.new_empty(layers, 2, max(max_rows, batch), heads, max_len, head_dim)
        self._lengths: Tensor | None = None  # [rows], where rows differ
        self._past_mask: Tensor | None = None  # of the positions being written
        self._sentence_of_row = torch.arange(batch, device=memory.device)  # [rows]
        self._memory_by_sentence, self._mask_by_sentence = memory, memory_mask
        # What the present rows look at: neighbouring rows of one sentence form a group and share its memory.
        self._memory, self._mask, self._group_size = memory, padding_mask(memory_mask), 1

    @property
    def starts(self) -> int | Tensor:
        """The position that each row writes next: one for all, or [rows]."""
        return self.length if self._lengths is None else self._lengths

    def follow(self, parents: Tensor) -> None:
        """Make new row r continue old row parents[r]; parents [rows] may repeat rows and leave rows out."""
        num_rows, old_rows = parents.numel(), self.num_rows
        assert num_rows <= self._past.size(2), f"{num_rows} rows do not fit into a cache made for {self._past.size(2)}"
        self.num_rows = num_rows
        if self._lengths is not None:
            self._lengths = self._lengths[parents]
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
            self._group_size, groups = groups_of(sentence_of_row)
        else:
            groups = sentence_of_row
        self._sentence_of_row = sentence_of_row
        self._memory = self._memory_by_sentence.index_select(2, groups)
        if self._mask_by_sentence is not None:
            self._mask = padding_mask(self._mask_by_sentence[groups])

    def rewind(self, lengths: Tensor) -> None:
        """Let every row forget what it has written beyond lengths [rows]."""
        assert lengths.numel() == self.num_rows, f"{lengths.numel()} lengths for {self.num_rows} rows"
        lengths = lengths.to(self._past.device)
        assert bool(((lengths >= 0) & (lengths <= self.starts)).all()), "a row can only be cut back"
        shortest, longest = int(lengths.min()), int(lengths.max())
        if shortest == longest:
            self._lengths, self.length = None, longest
            return
        self._lengths, self.length = lengths, longest
        behind = self._past[:, :, : self.num_rows, :, shortest:longest]
        is_past = torch.arange(shortest, longest, device=behind.device) < self._lengths[:, None]  # [rows, target_len]
        behind.masked_fill_(~is_past[:, None, :, None], 0.0)

    def make_room(self, num_new: int) -> None:
        """Prepare for `num_new` positions more in every row; called once, before the first layer remembers them."""
        end = self.length + num_new
        assert end <= self.max_len, f"the cache was made for {self.max_len} positions"
        if self._lengths is None and num_new == 1:
            self._past_mask = None  # causal by itself, since nothing later is there yet
            return
        keys = torch.arange(end, device=self._past.device)
        queries = keys[self.length :] if self._lengths is None else self._lengths[:, None] + keys[:num_new]
        # [length, key_len], or [rows, length, key_len] with one dimension more for the heads.
        mask = keys <= queries.unsqueeze(-1)
        self._past_mask = mask if self._lengths is None else mask.unsqueeze(1)
        if self._lengths is not None:
            self._past[:, :, : self.num_rows, :, self.length : end] = 0.0

    def remember(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Keep the newest positions' keys and values [rows, heads, length, head_dim] of one layer.

        Returns the keys and values of all positions up to them, [rows, heads, target_len, head_dim] each, and what
        each of the new ones may see of them, a mask that broadcasts to [rows, heads, length, target_len]; None: all.
        """
        num_new = key.size(2)
        past = self._past[layer, :, : self.num_rows, :, : self.length + num_new]
        keys, values = past
        if self._lengths is None:
            keys[:, :, self.length :] = key
            values[:, :, self.length :] = value
        else:
            places = (self._lengths[:, None] + torch.arange(num_new, device=key.device))[:, None, :, None]
            keys.scatter_(2, places.expand_as(key), key)
            values.scatter_(2, places.expand_as(value), value)
        return keys, values, self._past_mask

    def look_up(self, layer: int, query: Tensor) -> Tensor:
        """Answer queries [rows, heads, length, head_dim] of one layer from the sources of their rows; same shape."""
        rows, heads, num_new, head_dim = query.shape
        key, value = self._memory[layer]
        # All positions of all rows of a group are the queries of one attention: [batch, heads, query_len, head_dim].
        query = query.reshape(-1, self._group_size, heads, num_new, head_dim).transpose(1, 2).flatten(2, 3)
        averages = attend_fused(query, key, value, self._mask).reshape(-1, heads, self._group_size, num_new, head_dim)
        return averages.transpose(1, 2).reshape(rows, heads, num_new, head_dim)

    def advance(self, num_new: int) -> None:
        """Count the newest positions as past; called once when all layers have remembered them."""
        self.length += num_new
        if self._lengths is not None:
            self._lengths = self._lengths + num_new


def groups_of(sentence_of_row: Tensor) -> tuple[int, Tensor]:
    """Find the groups that neighbouring rows of one sentence form, sentence_of_row [rows]; for the CPU.

    Returns how many rows a group has and the sentence of each, [batch]. Groups of unequal size do not make a rectangle;
    then every row is a group of its own.
    """
    num_groups = 1 + int((sentence_of_row[1:] != sentence_of_row[:-1]).sum())
    size = sentence_of_row.numel() // num_groups
    groups = sentence_of_row[::size]
    if torch.equal(groups.repeat_interleave(size), sentence_of_row):
        return size, groups
    return 1, sentence_of_row
