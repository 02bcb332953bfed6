"""Speculation changes nothing: whatever is guessed, in whatever batch, what comes out is what steps give.

Scripts, in which ties, impossible tokens and distributions that are no numbers are frequent, must agree to the last
bit; so must the int8 engine. Models in floats compute several tokens in another order than one, so their
log-probabilities may differ by rounding, and their tokens do not.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.config.models import ConvolutionalConfig, ModelConfig, TransformerConfig
from heedful.decoding import (
    Diverse,
    Extendable,
    Hypothesis,
    Lookup,
    Round,
    Sampling,
    SearchRequest,
    Speculative,
    StepList,
    Stepwise,
)
from heedful.decoding.drafting import NOTHING, Unfinished
from heedful.engines.int8.engine import Int8Transformer
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from tests.support.scripted import BOS, EOS, ReadingScript, batch_of
from tests.support.searches import FORBIDDEN, alphas, moody_script, seeds, sources_and_caps, vocabs

VOCAB = 24
needs_compiler = pytest.mark.skipif(not Int8Transformer.is_available(), reason="needs a C++ compiler")


@dataclass
class Foreseeing:
    """A drafter that knows what will be written, and says so with some probability for each token."""

    outcomes: dict[tuple[int, ...], list[list[int]]]
    """Of each source, the outputs that are to be expected."""

    rate: float
    random: Random = field(default_factory=lambda: Random(1))

    def propose(self, rows: Unfinished, count: int) -> Tensor:
        guesses = [self._guess(*pair, count) for pair in zip(rows.written, rows.sources, strict=True)]
        return torch.tensor(guesses, dtype=torch.long).view(len(guesses), count)

    def _guess(self, written: Sequence[int], source: Sequence[int], count: int) -> list[int]:
        expected = [one for one in self.outcomes[tuple(source)] if one[: len(written)] == list(written)]
        following = [*self.random.choice(expected)[len(written) :], EOS] if expected else []
        following = [*following, *[NOTHING] * count][:count]
        return [it if self.random.random() < self.rate else self.random.randint(NOTHING, 3) for it in following]


def outcomes(
    sources: Sequence[list[int]], found: Sequence[Sequence[Hypothesis]]
) -> dict[tuple[int, ...], list[list[int]]]:
    return {tuple(source): [one.token_ids for one in many] for source, many in zip(sources, found, strict=True)}


def prefixes_of(found: Sequence[Sequence[Hypothesis]], random: Random) -> list[list[int]]:
    """Forced beginnings: of what would be written anyway, and of what would not."""
    some = [one[0].token_ids[: random.randint(0, 3)] for one in found]
    return [[3] if it and random.random() < 0.3 else it for it in some]


@settings(max_examples=250)
@given(seeds, vocabs, sources_and_caps, alphas, st.integers(0, 3), st.integers(1, 5), st.sampled_from([0.0, 0.6, 1.0]))
def test_a_greedy_search_of_any_script_is_the_same(
    seed: int,
    vocab: int,
    cases: list[tuple[list[int], int]],
    alpha: float,
    min_length: int,
    lookahead: int,
    rate: float,
) -> None:
    script, random = moody_script(seed, vocab), Random(seed)
    sources = [[min(token, vocab - 1) for token in source] for source, _ in cases]
    request = SearchRequest(
        bos_id=BOS, eos_id=EOS, max_lengths=[cap for _, cap in cases], forbidden_ids=FORBIDDEN, beam_size=1,
        length_penalty=alpha, min_length=min_length,
    )  # fmt: skip
    batch = batch_of(sources)
    plain = Stepwise(ReadingScript(script)).generate(*batch, request)
    if seed % 2:
        request = replace(request, prefix_ids=prefixes_of(plain, random))
        plain = Stepwise(ReadingScript(script)).generate(*batch, request)
    told: list[tuple[int, int]] = []
    request = replace(request, on_tokens=lambda path, tokens: told.extend((path, token) for token in tokens))
    for drafter in (Foreseeing(outcomes(sources, plain), rate, random), Lookup(context=1)):
        told.clear()
        fast = Speculative(ReadingScript(script), drafter, lookahead).generate(*batch, request)
        assert bits(fast) == bits(plain)
        for path, (hypothesis,) in enumerate(plain):
            assert [token for where, token in told if where == path] == hypothesis.token_ids


@settings(max_examples=200)
@given(seeds, vocabs, sources_and_caps, st.integers(1, 4), alphas, st.integers(1, 4), st.sampled_from([0.0, 0.6, 1.0]))
def test_a_beam_search_of_any_script_is_the_same(
    seed: int, vocab: int, cases: list[tuple[list[int], int]], beam_size: int, alpha: float, lookahead: int, rate: float
) -> None:
    script, random = moody_script(seed, vocab), Random(seed)
    sources = [[min(token, vocab - 1) for token in source] for source, _ in cases]
    request = SearchRequest(
        bos_id=BOS, eos_id=EOS, max_lengths=[cap for _, cap in cases], forbidden_ids=FORBIDDEN,
        beam_size=1 + beam_size, n_best=1 + random.randrange(beam_size), length_penalty=alpha, min_length=seed % 3,
    )  # fmt: skip
    batch = batch_of(sources)
    plain = Stepwise(ReadingScript(script)).generate(*batch, request)
    if seed % 2:
        request = replace(request, prefix_ids=prefixes_of(plain, random))
        plain = Stepwise(ReadingScript(script)).generate(*batch, request)
    model = ReadingScript(script)
    drafter = Foreseeing(outcomes(sources, plain), rate, random)
    fast = Speculative(model, drafter, beam_lookahead=lookahead).generate(*batch, request)
    assert bits(fast) == bits(plain)


@settings(max_examples=150)
@given(seeds, vocabs, sources_and_caps, st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.6, 1.0]))
def test_samples_of_any_script_are_the_same(
    seed: int, vocab: int, cases: list[tuple[list[int], int]], num_samples: int, lookahead: int, rate: float
) -> None:
    script, random = moody_script(seed, vocab), Random(seed)
    sources = [[min(token, vocab - 1) for token in source] for source, _ in cases]
    way = Sampling(temperature=random.choice([0.5, 1.0, 2.0]), top_k=random.choice([None, 3]), seed=seed % 50)
    request = SearchRequest(
        bos_id=BOS, eos_id=EOS, max_lengths=[cap for _, cap in cases], forbidden_ids=FORBIDDEN,
        beam_size=num_samples, n_best=num_samples, min_length=seed % 3, way=way,
    )  # fmt: skip
    batch = batch_of(sources)
    plain = Stepwise(ReadingScript(script)).generate(*batch, request)
    if seed % 2:
        request = replace(request, prefix_ids=prefixes_of(plain, random))
        plain = Stepwise(ReadingScript(script)).generate(*batch, request)
    drafter = Foreseeing(outcomes(sources, plain), rate, random)
    fast = Speculative(ReadingScript(script), drafter, lookahead).generate(*batch, request)
    assert bits(fast) == bits(plain)


CONFIGS: dict[str, ModelConfig] = {
    "paper": TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=2),
    "pre-norm": TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, norm="pre", tying="none"),
    "convolutional": ConvolutionalConfig(kind="convolutional", dim=32, kernel_size=3),
}


@cache
def drawn_model(name: str) -> Extendable[Any]:
    """A model with drawn weights, sharpened so that its outputs are not all alike."""
    family, _, engine = name.partition(" ")
    generator = torch.Generator().manual_seed(5)
    model = build_model(
        CONFIGS[family], source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.7 if parameter.dim() > 1 else 1.0)
    if engine:
        assert isinstance(model, Transformer)
        return Int8Transformer(model, threads=1)
    return cast(Extendable[Any], model)


@pytest.mark.parametrize(
    "name",
    [*CONFIGS, pytest.param("paper int8", marks=needs_compiler), pytest.param("pre-norm int8", marks=needs_compiler)],
)
@pytest.mark.parametrize("batch_size", [1, 8, 64])
def test_all_models_write_in_any_batch_what_steps_write(name: str, batch_size: int) -> None:
    model, random = drawn_model(name), Random(batch_size)
    sources = [[random.randint(4, VOCAB - 1) for _ in range(random.randint(1, 9))] for _ in range(batch_size)]
    batch = batch_of(sources)
    for beam_size in (1, 3):
        request = SearchRequest(
            bos_id=BOS, eos_id=EOS, max_lengths=[random.randint(1, 14) for _ in sources], forbidden_ids=FORBIDDEN,
            beam_size=beam_size, n_best=beam_size,
        )  # fmt: skip
        plain = Stepwise(model).generate(*batch, request)
        drafter = Foreseeing(outcomes(sources, plain), 0.8, random)
        generator = Speculative(model, drafter, beam_lookahead=2, max_rows=1000)
        fast = generator.generate(*batch, request)
        if "int8" in name:
            assert bits(fast) == bits(plain)
        assert [[it.token_ids for it in one] for one in fast] == [[it.token_ids for it in one] for one in plain]
        scores = [[it.score for it in one] for one in plain]
        assert [[it.score for it in one] for one in fast] == [pytest.approx(it, abs=1e-4) for it in scores]


def test_right_guesses_save_passes_in_every_row_by_itself() -> None:
    sources = [[3 + number, 5] for number in range(8)]

    def countdown(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        wanted = EOS if len(written) == 12 else 3 + (source[0] + len(written)) % 20
        return [4.0 * (token == wanted) for token in range(VOCAB)]

    request = SearchRequest(bos_id=BOS, eos_id=EOS, max_lengths=[20] * 8, beam_size=1)
    plain, fast = ReadingScript(countdown), ReadingScript(countdown)
    expected = Stepwise(plain).generate(*batch_of(sources), request)
    assert len(plain.steps) == 13

    known = Foreseeing(outcomes(sources, expected), 1.0)
    rounds: list[Round] = []
    assert Speculative(fast, known, 3, on_round=rounds.append).generate(*batch_of(sources), request) == expected
    assert len(fast.steps) == 4  # one token, then three times four
    assert [one.num_accepted for one in rounds if one.path == 0] == [0, 3, 3, 3]
    assert [token for one in rounds if one.path == 5 for token in one.written] == [*expected[5][0].token_ids, EOS]

    class OneIsLost(Foreseeing):
        def propose(self, rows: Unfinished, count: int) -> Tensor:
            guesses = super().propose(rows, count)
            for row, source in enumerate(rows.sources):
                if source[0] == 3:
                    guesses[row] = NOTHING
            return guesses

    fast.steps.clear()
    lost = OneIsLost(outcomes(sources, expected), 1.0)
    assert Speculative(fast, lost, 3).generate(*batch_of(sources), request) == expected
    assert fast.steps == [8, 8, 8, 8, *[1] * 9]  # seven are done and gone; one goes on alone, step by step


def test_a_beam_search_that_was_foreseen_takes_fewer_passes() -> None:
    def sure(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        # Two ways at first, each of which is then certain of itself.
        if not written:
            return [0.0, 0.0, -9.0, 3.0, 2.9, *[-9.0] * 5]
        wanted = EOS if len(written) == 8 else 3 + (written[0] + len(written)) % 7
        return [9.0 * (token == wanted) for token in range(10)]

    request = SearchRequest(bos_id=BOS, eos_id=EOS, max_lengths=[12], beam_size=2, n_best=2, forbidden_ids=FORBIDDEN)
    plain, fast = ReadingScript(sure), ReadingScript(sure)
    expected = Stepwise(plain).generate(*batch_of([[3]]), request)
    drafter = Foreseeing(outcomes([[3]], expected), 1.0)
    assert Speculative(fast, drafter, beam_lookahead=3).generate(*batch_of([[3]]), request) == expected
    assert len(fast.steps) <= len(plain.steps) // 2


def test_samples_are_distributed_as_the_model_says_however_they_are_guessed() -> None:
    probabilities = {EOS: 0.1, 3: 0.4, 4: 0.3, 5: 0.2}

    def script(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        return [math.log(probabilities[token]) if token in probabilities else -math.inf for token in range(6)]

    class AlwaysThree:
        def propose(self, rows: Unfinished, count: int) -> Tensor:
            return torch.full((len(rows.token_ids), count), 3)

    counts: Counter[tuple[int, ...]] = Counter()
    drawn = 0
    for seed in range(60):
        request = SearchRequest(
            bos_id=BOS, eos_id=EOS, max_lengths=[2], beam_size=50, n_best=50, way=Sampling(seed=seed)
        )
        found = Speculative(ReadingScript(script), AlwaysThree()).generate(*batch_of([[3]]), request)[0]
        counts.update(tuple(one.token_ids) for one in found)
        drawn += len(found)
    expected = {(): 0.1} | {
        (first, *second): p * q
        for first, p in probabilities.items()
        for second, q in [((), 0.1), ((3,), 0.4), ((4,), 0.3), ((5,), 0.2)]
        if first != EOS
    }
    assert set(counts) == set(expected)
    chi_squared = sum((counts[key] - drawn * share) ** 2 / (drawn * share) for key, share in expected.items())
    assert chi_squared < 32.9  # 12 degrees of freedom: once in a thousand by chance, and the seeds are fixed


def test_what_is_not_done_by_guessing_is_done_step_by_step() -> None:
    model = ReadingScript(moody_script(3, 8))
    request = SearchRequest(bos_id=BOS, eos_id=EOS, max_lengths=[5, 5], beam_size=2, n_best=2, forbidden_ids=FORBIDDEN)
    batch = batch_of([[3, 4], [5]])
    never = Foreseeing({}, 1.0)  # fails when it is asked
    recorder = StepList()
    for asked in (request, replace(request, way=Diverse()), replace(request, beam_size=1, n_best=1, recorder=recorder)):
        expected = Stepwise(model).generate(*batch, replace(asked, recorder=None) if asked.recorder else asked)
        assert Speculative(model, never).generate(*batch, asked) == expected
    assert recorder.steps
    crowd = Speculative(model, never, max_rows=1)
    assert crowd.generate(*batch, replace(request, beam_size=1, n_best=1)) == Stepwise(model).generate(
        *batch, replace(request, beam_size=1, n_best=1)
    )


def test_looking_up_goes_on_as_it_went_on_before() -> None:
    def rows(written: list[int]) -> Unfinished:
        return Unfinished(None, torch.tensor([written[-1]]), None, [written], [[7, 8, 9, 10, 11]])

    assert Lookup().propose(rows([5, 8, 9]), 3).tolist() == [[10, 11]]
    assert Lookup().propose(rows([5, 6, 12, 5, 6]), 3).tolist() == [[12, 5, 6]]
    assert Lookup().propose(rows([5, 8]), 3).tolist() == [[]]
    assert Lookup(context=1).propose(rows([8]), 1).tolist() == [[9]]


def bits(found: Sequence[Sequence[Hypothesis]]) -> list[list[tuple[Any, ...]]]:
    return [[(it.token_ids, it.token_log_probs, it.score, it.finish_reason) for it in one] for one in found]
