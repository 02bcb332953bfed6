"""The choice in one launch against the same choice said plainly, step by step on the same distributions."""

import math

import pytest
import torch
from torch import Tensor

from heedful.decoding.fixed_beam import FixedBeam, FixedRules
from heedful.decoding.hypothesis import Hypothesis
from tests.support.triton_kernels import DEVICE, needs_triton

pytestmark = needs_triton
BATCH, LENGTH, VOCAB = 3, 70, 9


def begin(beam_size: int, n_best: int, device: str, caps: Tensor) -> FixedBeam:
    rules = FixedRules(eos_id=2, bos_id=1, forbidden_ids=(), min_length=0, beam_size=beam_size, n_best=n_best)
    rows = BATCH * beam_size
    holders = torch.arange(rows, dtype=torch.int32, device=device)[:, None].repeat(1, LENGTH)
    token_ids = torch.zeros(rows, dtype=torch.long, device=device)
    beam = FixedBeam(rules, token_ids, torch.zeros(BATCH, dtype=torch.long, device=device), holders)
    beam.set_length_penalty(0.6)
    beam.begin(torch.arange(BATCH, device=device), caps.to(device))
    return beam


def results(beam: FixedBeam) -> list[list[Hypothesis]]:
    places = torch.arange(BATCH, device=beam.steps.device)
    return beam.take(places, max(1, int(beam.steps.max()))).hypotheses(0.6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("beam_size", "n_best"), [(1, 1), (2, 2), (4, 1), (5, 3)])
def test_one_launch_chooses_what_many_operations_choose(beam_size: int, n_best: int, seed: int) -> None:
    from heedful.decoding.kernels.choice import choose

    generator = torch.Generator().manual_seed(seed)
    caps = torch.randint(1, 9, (BATCH,), generator=generator)
    plain, launched = (begin(beam_size, n_best, device, caps) for device in ("cpu", DEVICE))
    for step in range(10):
        logits = (torch.randn(BATCH * beam_size, VOCAB, generator=generator) * 8).round() / 4  # so that ties happen
        logits[step % len(logits), 2:] = -math.inf
        if step == 3 + seed:
            logits[0] = math.nan
        log_probs, ids = logits.log_softmax(-1).sort(dim=-1, descending=True, stable=True)
        best = log_probs[:, : beam_size + 1].contiguous(), ids[:, : beam_size + 1].contiguous()
        plain.choose(*best)
        choose(launched, *(part.to(DEVICE) for part in best))
        for name in ("is_open", "steps", "num_endings", "failed_slots"):
            assert torch.equal(getattr(launched, name).cpu(), getattr(plain, name)), name
        is_live = plain.is_open[:, None] & (plain.log_probs > -math.inf)
        assert torch.equal(launched.log_probs.cpu()[plain.is_open], plain.log_probs[plain.is_open])
        assert torch.equal(launched.token_ids.cpu()[is_live], plain.token_ids[is_live])
        for place, slot in is_live.nonzero().tolist():
            num = int(plain.steps[place])
            assert torch.equal(launched.holders[place, slot, :num].cpu(), plain.holders[place, slot, :num])
    assert not plain.is_open.any()
    assert results(launched) == results(plain)
