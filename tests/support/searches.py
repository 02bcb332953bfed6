"""Searches that hypothesis makes up: scripts with impossible tokens, sources, caps and penalties."""

import math
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from torch import Tensor

from heedful.decoding import Decodable, Hypothesis, SearchRequest, Stepwise, beam_search
from tests.support.scripted import (
    BOS,
    EOS,
    PAD,
    Script,
    ScriptedModel,
    batch_of,
    random_script,
)

FORBIDDEN = (PAD, BOS)
seeds = st.integers(0, 2**20)
vocabs = st.integers(4, 9)
alphas = st.sampled_from([0.0, 0.6, 1.0, 2.0])
sources_and_caps = st.lists(
    st.tuples(st.lists(st.integers(3, 8), min_size=1, max_size=3), st.integers(1, 6)), min_size=1, max_size=5
)


def moody_script(seed: int, vocab: int) -> Script:
    """A random script in which some tokens are impossible and, rarely, a distribution is no number."""
    base = random_script(seed, vocab)

    def script(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        logits = list(base(source, written))
        mood = hash((seed, source, written)) % 16
        if mood == 0:
            logits[3] = math.nan
        elif mood < 5:
            logits[2 + mood % (vocab - 2)] = -math.inf
        return logits

    return script


def search(model: Decodable[Any], source_ids: Tensor, source_mask: Tensor, **options: Any) -> list[list[Hypothesis]]:
    """Search a model step by step, by a request with these options."""
    return Stepwise(model).generate(source_ids, source_mask, SearchRequest(**options))


def run(script: Script, cases: Sequence[tuple[list[int], int]], **options: Any) -> list[list[Hypothesis]]:
    source_ids, source_mask = batch_of([source for source, _ in cases])
    request = SearchRequest(
        bos_id=BOS, eos_id=EOS, max_lengths=[cap for _, cap in cases], forbidden_ids=FORBIDDEN, **options
    )
    return beam_search(ScriptedModel(script), source_ids, source_mask, request)
