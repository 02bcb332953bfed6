"""The front door of decoding: checks what was asked for, and picks the search that does it.

Token ids go in and token ids come out. Text, tokenizers and the splitting of long inputs belong to `tasks`.
"""

from collections.abc import Sequence

from torch import Tensor

from heedful.decoding.beam import beam_search
from heedful.decoding.greedy import greedy_search
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.protocol import Decodable, State
from heedful.decoding.recorder import Recorder
from heedful.errors import UserError


def search(
    model: Decodable[State],
    source_ids: Tensor,
    source_mask: Tensor,
    *,
    bos_id: int,
    eos_id: int,
    max_lengths: Tensor | Sequence[int],
    beam_size: int = 4,
    length_penalty: float = 0.6,
    n_best: int = 1,
    forbidden_ids: Sequence[int] = (),
    min_length: int = 0,
    prefix_ids: Sequence[Sequence[int]] | None = None,
    recorder: Recorder | None = None,
) -> list[list[Hypothesis]]:
    """Find the best outputs for each sentence of a batch; what else is in the batch makes no difference.

    Args:
        model: What computes the distributions.
        source_ids: int64 [batch, source_len].
        source_mask: bool [batch, source_len], True at real tokens.
        bos_id: The symbol every output starts from; it is not part of the result.
        eos_id: The symbol that ends an output; it is not part of the result.
        max_lengths: int [batch], the most tokens each output may have, its end symbol included.
        beam_size: Hypotheses followed side by side; 1 is greedy search.
        length_penalty: α of ((5 + length) / 6)^α.
        n_best: Hypotheses to return; at most `beam_size`. There may be fewer, but never none.
        forbidden_ids: Tokens that are never emitted, such as padding and the start symbol.
        min_length: Tokens an output has at least before it may end.
        prefix_ids: Tokens each output must begin with, [batch] lists; they count as part of the output.
        recorder: Told about every step.
    """
    caps = [int(length) for length in (max_lengths.tolist() if isinstance(max_lengths, Tensor) else max_lengths)]
    check_request(len(source_ids), caps, prefix_ids)
    if beam_size < 1:
        raise UserError(f"`beam_size` must be at least 1, but is {beam_size}.")
    if not 1 <= n_best <= beam_size:
        raise UserError(f"`n_best` must be between 1 and `beam_size` ({beam_size}), but is {n_best}.")
    if length_penalty < 0:
        raise UserError(f"`length_penalty` must be at least 0, but is {length_penalty}.")
    if not caps:
        return []
    if beam_size == 1 and recorder is None:
        hypotheses = greedy_search(
            model,
            source_ids,
            source_mask,
            bos_id=bos_id,
            eos_id=eos_id,
            max_lengths=caps,
            forbidden_ids=forbidden_ids,
            length_penalty=length_penalty,
            min_length=min_length,
            prefix_ids=prefix_ids,
        )
        return [[hypothesis] for hypothesis in hypotheses]
    return beam_search(
        model,
        source_ids,
        source_mask,
        bos_id=bos_id,
        eos_id=eos_id,
        max_lengths=caps,
        beam_size=beam_size,
        n_best=n_best,
        forbidden_ids=forbidden_ids,
        length_penalty=length_penalty,
        min_length=min_length,
        prefix_ids=prefix_ids,
        recorder=recorder,
    )


def check_request(batch: int, max_lengths: Sequence[int], prefix_ids: Sequence[Sequence[int]] | None) -> None:
    """Refuse caps and prefixes that do not fit a batch of `batch` sentences."""
    if len(max_lengths) != batch:
        raise UserError(f"`max_lengths` must have one entry for each of {batch} sentences, but has {len(max_lengths)}.")
    if max_lengths and min(max_lengths) < 1:
        raise UserError(f"`max_lengths` must be at least 1, but contain {min(max_lengths)}.")
    if prefix_ids is None:
        return
    if len(prefix_ids) != batch:
        raise UserError(f"`prefix_ids` must have one list for each of {batch} sentences, but has {len(prefix_ids)}.")
    for number, (prefix, cap) in enumerate(zip(prefix_ids, max_lengths, strict=True)):
        if len(prefix) > cap:
            raise UserError(
                f"`prefix_ids` must fit `max_lengths`, but sentence {number} has {len(prefix)} tokens for {cap} places."
            )
