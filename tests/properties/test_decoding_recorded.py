"""A search of fixed shape, which a GPU replays, finds what the search step by step finds: token for token.

On a CPU the same program runs unrecorded. Desks are small here, so that sentences wait and take the places of others.
"""

import warnings
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.config.models import LearnedPositions, NoPositions, SinusoidalPositions, TransformerConfig
from heedful.decoding import Hypothesis, Recorded, SearchRequest, Stepwise
from heedful.engines.cuda.transformer import FixedTransformer
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from tests.support.families import as_transformer
from tests.support.fixed_script import FixedScript
from tests.support.scripted import BOS, EOS, PAD, ScriptedModel, batch_of, random_script
from tests.support.searches import FORBIDDEN, alphas, moody_script, seeds, sources_and_caps, vocabs

DEVICES = [pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
VOCAB = 40
beams = st.integers(1, 5).flatmap(lambda beam: st.tuples(st.just(beam), st.integers(1, beam)))


@settings(max_examples=60)
@given(seeds, vocabs, sources_and_caps, beams, alphas, st.integers(0, 3), st.booleans())
def test_it_finds_what_is_found_step_by_step(
    seed: int,
    vocab: int,
    cases: list[tuple[list[int], int]],
    beam: tuple[int, int],
    alpha: float,
    min_length: int,
    is_moody: bool,
) -> None:
    script = (moody_script if is_moody else random_script)(seed, vocab)
    request = SearchRequest(
        bos_id=BOS,
        eos_id=EOS,
        forbidden_ids=FORBIDDEN,
        max_lengths=[cap for _, cap in cases],
        beam_size=beam[0],
        n_best=beam[1],
        length_penalty=alpha,
        min_length=min_length,
    )
    batch = batch_of([source for source, _ in cases])
    model = ScriptedModel(script)
    recorded = Recorded(FixedScript(script, vocab), model, places=(1, 2))
    assert recorded.generate(*batch, request) == Stepwise(model).generate(*batch, request)


def transformer(device: str, **shape: Any) -> Transformer:
    config = TransformerConfig(
        dim=32, hidden_dim=64, num_encoder_layers=2, num_decoder_layers=2, **{"num_heads": 4, "tying": "none", **shape}
    )
    model = build_model(
        config,
        source_vocab_size=VOCAB,
        target_vocab_size=VOCAB,
        pad_id=PAD,
        generator=torch.Generator().manual_seed(1),
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(1.5)  # so that outputs differ from sentence to sentence
    return as_transformer(model).to(device)


def on(device: str, sources: list[list[int]]) -> tuple[Tensor, Tensor]:
    source_ids, source_mask = batch_of(sources)
    return source_ids.to(device), source_mask.to(device)


def texts(found: list[list[Hypothesis]]) -> list[list[tuple[list[int], str]]]:
    return [[(one.token_ids, one.finish_reason) for one in some] for some in found]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"norm": "pre", "activation": "swish", "output_bias": True},
        {"activation": "gelu", "tying": "three_way", "positions": LearnedPositions(kind="learned", max_len=64)},
        {"positions": NoPositions(kind="none"), "norm": "pre", "ablations": ("no_embedding_scale",)},
        {"positions": SinusoidalPositions(layout="halves"), "num_heads": 1},
    ],
    ids=["paper", "pre-norm", "learned", "none", "halves"],
)
def test_an_engine_of_any_shape_writes_what_its_model_writes(device: str, shape: dict[str, Any]) -> None:
    model = transformer(device, **shape)
    engine = Recorded(FixedTransformer(model, torch.float32), model, places=(1, 4, 16))
    generator = torch.Generator().manual_seed(2)
    for beam_size, n_best, count in ((1, 1, 1), (1, 1, 23), (4, 2, 1), (3, 3, 9), (4, 1, 40)):
        sources = [torch.randint(3, VOCAB, (1 + number % 11,), generator=generator).tolist() for number in range(count)]
        batch = on(device, sources)
        request = SearchRequest(
            bos_id=BOS,
            eos_id=EOS,
            forbidden_ids=(PAD, BOS),
            max_lengths=[len(source) + 6 for source in sources],
            beam_size=beam_size,
            n_best=n_best,
        )
        found, expected = engine.generate(*batch, request), Stepwise(model).generate(*batch, request)
        assert texts(found) == texts(expected)
        for some, others in zip(found, expected, strict=True):
            for one, other in zip(some, others, strict=True):
                assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_in_the_padding_and_who_sits_beside_make_no_difference(device: str) -> None:
    model = transformer(device)
    engine = Recorded(FixedTransformer(model, torch.float32), model, places=(4,))
    sources = [[5, 6, 7, 8], [9, 10], [11, 12, 13, 14, 15, 16, 17]]
    ids, mask = batch_of(sources)
    ids[~mask] = VOCAB - 1
    request = SearchRequest(bos_id=BOS, eos_id=EOS, forbidden_ids=(PAD, BOS), max_lengths=[10] * 3, beam_size=3)
    together = engine.generate(ids.to(device), mask.to(device), request)
    for number, source in enumerate(sources):
        alone = SearchRequest(bos_id=BOS, eos_id=EOS, forbidden_ids=(PAD, BOS), max_lengths=[10], beam_size=3)
        batch = on(device, [source])
        assert texts(engine.generate(*batch, alone))[0] == texts(together)[number]


@pytest.mark.parametrize("device", DEVICES)
def test_a_search_that_is_broken_off_leaves_nothing_behind(device: str) -> None:
    model = transformer(device)
    engine = Recorded(FixedTransformer(model, torch.float32), model, places=(4,))
    batch = on(device, [[5, 6, 7], [8, 9], [10], [11, 12], [13, 14]])
    rules: dict[str, Any] = {"bos_id": BOS, "eos_id": EOS, "max_lengths": [12] * 5, "beam_size": 2}
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.generate(*batch, SearchRequest(**rules, before_step=stop))
    found = engine.generate(*batch, SearchRequest(**rules))
    assert texts(found) == texts(Stepwise(model).generate(*batch, SearchRequest(**rules)))


@pytest.mark.parametrize("device", DEVICES)
def test_a_listener_hears_every_token_of_a_greedy_search_once(device: str) -> None:
    model = transformer(device)
    engine = Recorded(FixedTransformer(model, torch.float32), model, places=(4,))
    heard: dict[int, list[int]] = {}
    request = SearchRequest(
        bos_id=BOS,
        eos_id=EOS,
        max_lengths=[14] * 6,
        beam_size=1,
        on_tokens=lambda sentence, news: heard.setdefault(sentence, []).extend(news),
    )
    batch = on(device, [[token, token + 1] for token in range(3, 9)])
    found = engine.generate(*batch, request)
    assert heard == {number: one.token_ids for number, [one] in enumerate(found) if one.token_ids}


class Unrecordable(FixedScript):
    def make_seats(self, **_: int) -> Any:
        raise RuntimeError("Failed to find C compiler.")


def test_where_nothing_can_be_recorded_it_is_said_once_and_done_step_by_step() -> None:
    script = random_script(3, 8)
    model = ScriptedModel(script)
    request = SearchRequest(bos_id=BOS, eos_id=EOS, max_lengths=[5], beam_size=2)
    engine = Recorded(Unrecordable(script, 8), model)
    with pytest.warns(UserWarning, match="Failed to find C compiler"):
        found = engine.generate(*batch_of([[3, 4]]), request)
    assert found == Stepwise(model).generate(*batch_of([[3, 4]]), request)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert engine.generate(*batch_of([[3, 4]]), request) == found


def test_what_it_does_not_do_goes_step_by_step() -> None:
    script = random_script(3, 8)
    model = ScriptedModel(script)
    request = SearchRequest(bos_id=BOS, eos_id=EOS, max_lengths=[5], prefix_ids=[[4, 5]], beam_size=2)
    found = Recorded(FixedScript(script, 8), model).generate(*batch_of([[3, 4]]), request)
    assert found[0][0].token_ids[:2] == [4, 5]
    assert model.steps
