"""Outputs of a CTC model token by token: how probable is each next token after what has been written?

A position says a token or nothing; an output is every sequence of positions that collapses to it. For each row two
sums are kept over all sequences of the first positions that collapse to what the row has written: those that end with
its last token, and those that end with a blank (Graves, 2012, section 7.5.2). Searching these distributions by beam
search is CTC's prefix search. Knows tensors; knows no model.
"""

import torch
from torch import Tensor

_IMPOSSIBLE = -1e9


class CollapsedPrefixes:
    """What a search keeps of its rows."""

    def __init__(self, log_probs: Tensor, real: Tensor, *, blank_id: int) -> None:
        """Start with an empty row for each sentence: log_probs [batch, length, vocab] where real [batch, length]."""
        self._blank_id = blank_id
        padding = torch.full_like(log_probs[0, 0], _IMPOSSIBLE)  # [vocab]: nothing but a blank
        padding[blank_id] = 0.0
        self._log_probs = torch.where(real.unsqueeze(-1), log_probs, padding)
        batch, length = real.shape
        start = log_probs.new_zeros(batch, 1)
        self._sentence_of_row = torch.arange(batch, device=log_probs.device)
        self._after_blank = torch.cat([start, self._log_probs[..., blank_id].cumsum(dim=1)], dim=1)
        self._after_token = torch.full((batch, length + 1), _IMPOSSIBLE, device=log_probs.device)
        self._last = torch.full((batch,), -1, device=log_probs.device)
        self._written = log_probs.new_zeros(batch)
        self._has_begun = False

    def step(self, token_ids: Tensor, parents: Tensor | None) -> Tensor:
        """Append token_ids [rows] to rows parents [rows]; return the log-probabilities of what is next, [rows, vocab].

        The first token is the start symbol, which is not written.
        """
        if parents is not None:
            for name in ("_sentence_of_row", "_after_blank", "_after_token", "_last", "_written"):
                setattr(self, name, getattr(self, name)[parents])
        if self._has_begun:
            self._append(token_ids)
        self._has_begun = True
        return self._next()

    def _append(self, token_ids: Tensor) -> None:
        positions = self._log_probs[self._sentence_of_row]  # [rows, length, vocab]
        said = positions.gather(2, token_ids.view(-1, 1, 1).expand(-1, positions.size(1), 1)).squeeze(2)
        blank = positions[..., self._blank_id]
        # The same token again is another one only after a blank.
        again = (token_ids == self._last).unsqueeze(1)
        before = torch.logaddexp(self._after_blank, self._after_token.masked_fill(again, _IMPOSSIBLE))[:, :-1]
        token = blanks = torch.full_like(before[:, 0], _IMPOSSIBLE)
        after_token, after_blank = [token], [blanks]
        for place in range(before.size(1)):
            blanks = blank[:, place] + torch.logaddexp(blanks, token)
            token = said[:, place] + torch.logaddexp(token, before[:, place])
            after_token.append(token)
            after_blank.append(blanks)
        self._after_token, self._after_blank = torch.stack(after_token, dim=1), torch.stack(after_blank, dim=1)
        self._written = (before + said).logsumexp(dim=1)
        self._last = token_ids

    def _next(self) -> Tensor:
        positions = self._log_probs[self._sentence_of_row]  # [rows, length, vocab]
        before = torch.logaddexp(self._after_blank, self._after_token)[:, :-1, None]
        found = (before + positions).logsumexp(dim=1)  # [rows, vocab]
        if bool((self._last >= 0).any()):
            last = self._last.clamp(min=0).view(-1, 1)
            again = positions.gather(2, last.unsqueeze(1).expand(-1, positions.size(1), 1)).squeeze(2)
            found = found.scatter(1, last, (self._after_blank[:, :-1] + again).logsumexp(dim=1, keepdim=True))
        found[:, self._blank_id] = _IMPOSSIBLE
        return found - self._written.unsqueeze(1)
