"""What the order of neighbouring tokens tells without attention: hashed n-grams, as vectors and as a linear path.

N-grams are found on the device, from the token ids themselves, so that a batch carries nothing but ids. Each falls into
one of a fixed number of buckets. Two vectors in the same bucket are one (the hashing trick); of the linear path's
n-grams the most frequent owns the bucket, and the others are left out. Bucket 0 stands for "there is none" and always
gives zero. This file knows ids and labels as numbers; it knows no text.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

_MULTIPLIER = 0x2545F4914F6CDD1D
_LOW_HALF = 0xFFFFFFFF
_NOT_NEGATIVE = 0x7FFFFFFFFFFFFFFF

_COUNTED_AT_ONCE = 1 << 24
"""N-grams of documents that are gathered before they are sorted into the counts: bounds the memory this takes."""


def ngram_hashes(token_ids: Tensor, is_real: Tensor, *, length: int) -> Tensor:
    """Return a number of 63 bits for the n-gram of `length` tokens that ends at each position; 0 where none can end.

    token_ids and is_real [batch, length]; an n-gram is there when all of its tokens are real. Returns [batch, length].
    """
    seq_len = token_ids.size(1)
    hashed, is_whole = torch.full_like(token_ids, length << 32), is_real  # above all ids: none is hashed as another
    for distance in range(length):
        hashed = _mix(hashed ^ (functional.pad(token_ids, (distance, 0))[:, :seq_len] + 1))
        is_whole = is_whole & functional.pad(is_real, (distance, 0))[:, :seq_len]
    return hashed.clamp(min=1).masked_fill(~is_whole, 0)


def ngram_buckets(token_ids: Tensor, is_real: Tensor, *, length: int, num_buckets: int) -> Tensor:
    """Return the bucket, below num_buckets, of the n-gram that ends at each position [batch, length]; 0 for none."""
    return _bucket_of(ngram_hashes(token_ids, is_real, length=length), num_buckets)


def _bucket_of(hashes: Tensor, num_buckets: int) -> Tensor:
    return (1 + hashes % (num_buckets - 1)).masked_fill(hashes == 0, 0)


def _fingerprint_of(hashes: Tensor) -> Tensor:
    """Return a number from 1 to 2^23 for each hash, of the bits that say least about its bucket; exact as a float."""
    return (1 + (hashes >> 40)).float()


def _mix(numbers: Tensor) -> Tensor:
    """Scatter whole numbers over 0 to 2^63 - 1: a product that overflows, and its high half folded onto its low one."""
    product = numbers * _MULTIPLIER
    return (product ^ (product >> 32 & _LOW_HALF)) & _NOT_NEGATIVE


def document_ngrams(token_ids: Tensor, is_real: Tensor, *, up_to: int) -> Tensor:
    """Return the hashes of all n-grams of 1 to `up_to` tokens: [batch, ngrams, length], 0 where there is none."""
    return torch.stack([ngram_hashes(token_ids, is_real, length=length) for length in range(1, up_to + 1)], dim=1)


def occurrence_shares(buckets: Tensor) -> Tensor:
    """Return for each entry of buckets [batch, ngrams] 1 / how often its bucket occurs in the row; 0 for bucket 0.

    Weighted like this a bag becomes a set: all occurrences of an n-gram together weigh 1.
    """
    ordered, order = buckets.sort(dim=1)
    is_new = functional.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
    group = is_new.cumsum(dim=1) - 1  # the number of the distinct bucket, [batch, ngrams]
    sizes = torch.zeros_like(buckets).scatter_add_(1, group, torch.ones_like(buckets))
    shares = sizes.gather(1, group).float().reciprocal().masked_fill(ordered == 0, 0.0)
    return torch.zeros_like(shares).scatter_(1, order, shares)


def _draws(buckets: Tensor) -> Tensor:
    """Draw a number between 0 and 1 for each bucket [batch, ngrams]; equal buckets of a row get the same."""
    salts = torch.randint(1 << 62, (buckets.size(0), 1), device=buckets.device)
    return (_mix(buckets ^ salts) % (1 << 20)) / (1 << 20)


class NgramEmbedding(nn.Module):
    """The sum of a trained vector for each n-gram of 2 to `up_to` tokens that ends at a position.

    The vectors begin at zero: what has never been trained must not be noise.
    """

    def __init__(self, *, up_to: int, num_buckets: int, dim: int) -> None:
        super().__init__()
        self.up_to = up_to
        self.weight = nn.Parameter(torch.zeros(num_buckets, dim))

    def forward(self, token_ids: Tensor, is_real: Tensor) -> Tensor:
        """Look up the n-grams of token_ids [batch, length] and return [batch, length, dim]."""
        total = torch.zeros((), device=token_ids.device)
        for length in range(2, self.up_to + 1):
            buckets = ngram_buckets(token_ids, is_real, length=length, num_buckets=self.weight.size(0))
            vectors = functional.embedding(buckets, self.weight)
            total = total + vectors.masked_fill((buckets == 0).unsqueeze(-1), 0.0)
        return total


class NgramCounts:
    """How many documents of each label hold each n-gram; an n-gram is known by its hash."""

    def __init__(self, num_labels: int) -> None:
        self._num_labels = num_labels
        self._hashes = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros((0, num_labels), dtype=np.int64)
        self._pending: list[tuple[NDArray[np.int64], int]] = []
        self._num_pending = 0

    def add(self, hashes: Tensor, labels: Tensor) -> None:
        """Add documents by the hashes of their n-grams [batch, ngrams], 0 where there is none, and labels [batch]."""
        for row, label in zip(hashes.cpu().numpy(), labels.tolist(), strict=True):
            distinct = np.unique(row)
            self._pending.append((distinct[distinct > 0], label))
            self._num_pending += len(distinct)
        if self._num_pending > _COUNTED_AT_ONCE:
            self._merge()

    def table(self, min_count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the hashes [ngrams] that at least min_count documents hold, ascending; counts [ngrams, classes]."""
        self._merge()
        is_frequent = self._counts.sum(axis=1) >= min_count
        return self._hashes[is_frequent], self._counts[is_frequent]

    def _merge(self) -> None:
        num_known, labels = len(self._hashes), self._num_labels
        known, places = np.unique(
            np.concatenate([self._hashes, *(hashes for hashes, _ in self._pending)]), return_inverse=True
        )
        counts = np.zeros((len(known), labels), dtype=np.int64)
        counts[places[:num_known]] = self._counts
        label_of = np.repeat([label for _, label in self._pending], [len(hashes) for hashes, _ in self._pending])
        cells = places[num_known:] * labels + label_of.astype(np.int64)
        counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)
        self._hashes, self._counts = known, counts
        self._pending, self._num_pending = [], 0


class NaiveBayesPath(nn.Module):
    """A linear classifier over the set of a document's n-grams (NB-SVM: Wang and Manning, 2012).

    The weight of an n-gram for a label is the log-count ratio that `set_ratios` fills in before training, times a
    factor that is learned from zero on: what naive Bayes finds telling is learned first. An n-gram of k tokens counts
    1 / k. A bucket that has an owner, which is known by its fingerprint, is there for that n-gram alone.
    """

    def __init__(self, *, up_to: int, num_buckets: int, num_labels: int, dropout: float) -> None:
        super().__init__()
        self.up_to = up_to
        self.dropout = dropout
        self.owners = nn.Parameter(torch.zeros(num_buckets), requires_grad=False)
        self.ratios = nn.Parameter(torch.zeros(num_buckets, num_labels), requires_grad=False)
        self.factors = nn.Parameter(torch.zeros(num_buckets, num_labels))
        self.bias = nn.Parameter(torch.zeros(num_labels))

    def forward(self, token_ids: Tensor, is_real: Tensor) -> Tensor:
        """Return the logits [batch, classes] of documents token_ids [batch, length]."""
        buckets = self.buckets(token_ids, is_real)
        shares = self._shares(buckets)
        if self.training and self.dropout:
            shares = shares * (_draws(buckets) >= self.dropout) / (1.0 - self.dropout)
        # A product and a sum, no matrix product: autocast would take that to bf16, and a thousand small terms with it.
        return (shares.unsqueeze(-1) * self.weights_of(buckets)).sum(dim=1) + self.bias

    def buckets(self, token_ids: Tensor, is_real: Tensor) -> Tensor:
        """Return the buckets of all n-grams of 1 to `up_to` tokens, the shortest first: [batch, ngrams]."""
        hashes = document_ngrams(token_ids, is_real, up_to=self.up_to).flatten(1)
        buckets = _bucket_of(hashes, len(self.owners))
        owners = self.owners[buckets]
        return buckets.masked_fill((owners != 0) & (owners != _fingerprint_of(hashes)), 0)

    def _shares(self, buckets: Tensor) -> Tensor:
        """Return what each of the buckets [batch, ngrams] counts: one of k tokens 1 / k, all its occurrences together.

        A telling word is told again by every n-gram around it; without this the long ones would shout it down.
        """
        lengths = torch.arange(1, self.up_to + 1, device=buckets.device)
        return occurrence_shares(buckets) / lengths.repeat_interleave(buckets.size(1) // self.up_to)

    def weights_of(self, buckets: Tensor) -> Tensor:
        """Return the weights of buckets [batch, ngrams] for each label, [batch, ngrams, classes]."""
        return functional.embedding(buckets, self.ratios) * functional.embedding(buckets, self.factors)

    def contributions(self, token_ids: Tensor, is_real: Tensor) -> Tensor:
        """Return what each token adds to each logit, [batch, length, classes]; an n-gram's tokens share it evenly."""
        seq_len = token_ids.size(1)
        buckets = self.buckets(token_ids, is_real)
        added = self.weights_of(buckets) * self._shares(buckets).unsqueeze(-1)
        added = added.view(len(token_ids), self.up_to, seq_len, -1)
        total = torch.zeros_like(added[:, 0])
        for length in range(1, self.up_to + 1):
            share = added[:, length - 1] / length  # [batch, length, classes], at the n-gram's last token
            for distance in range(min(length, seq_len)):
                total[:, : seq_len - distance] += share[:, distance:]
        return total

    @torch.no_grad()
    def set_ratios(self, counts: NgramCounts, *, min_count: int, smoothing: float) -> int:
        """Give the buckets their owners and these their log-count ratios; return how many there are.

        log of (count + smoothing, as a share of its label) over (the same of all other labels together), for n-grams
        that at least `min_count` documents hold. Where several fall into one bucket, the most frequent has it.
        """
        known, found = (torch.from_numpy(array) for array in counts.table(min_count))
        buckets = _bucket_of(known, len(self.owners))
        by_count = found.sum(dim=1).argsort(descending=True, stable=True)
        order = by_count[buckets[by_count].argsort(stable=True)]
        is_owner = functional.pad(buckets[order].diff() != 0, (1, 0), value=True)[: len(order)]
        owners = order[is_owner]
        numbers = found[owners].double()
        others = numbers.sum(dim=1, keepdim=True) - numbers
        inside, outside = ((side + smoothing) / (side + smoothing).sum(dim=0) for side in (numbers, others))
        for parameter in (self.owners, self.ratios):
            parameter.zero_()
        self.owners[buckets[owners]] = _fingerprint_of(known[owners])
        self.ratios[buckets[owners]] = (inside / outside).log().float()
        return len(owners)

    @torch.no_grad()
    def count(self, counts: NgramCounts, token_ids: Tensor, is_real: Tensor, labels: Tensor) -> None:
        """Add documents token_ids [batch, length] with labels [batch] to the counts."""
        counts.add(document_ngrams(token_ids, is_real, up_to=self.up_to).flatten(1), labels)
