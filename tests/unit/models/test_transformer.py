"""Building: sizes, tying, and what the paper says about the number of parameters."""

from typing import Any

import pytest
import torch

from heedful.config.models import TransformerConfig
from heedful.models import Transformer, build_model, count_parameters
from heedful.models.build import construct_model
from heedful.nn.initialization import initialize
from tests.support.families import as_transformer

SMALL = {"dim": 16, "num_heads": 2, "hidden_dim": 24, "num_encoder_layers": 1, "num_decoder_layers": 2}


def build(target_vocab_size: int = 11, **changes: Any) -> Transformer:
    config = TransformerConfig.model_validate({**SMALL, **changes})
    return as_transformer(build_model(config, source_vocab_size=11, target_vocab_size=target_vocab_size, pad_id=0))


def test_base_model_has_the_papers_number_of_parameters() -> None:
    """Table 3: 65 million for the base model, with about 37,000 shared tokens."""
    with torch.device("meta"):
        model = build_model(TransformerConfig(), source_vocab_size=37000, target_vocab_size=37000, pad_id=0)
    attention, feed_forward, norm = 4 * 512 * 512 + 4 * 512, 2 * 512 * 2048 + 2048 + 512, 2 * 512
    layers = 6 * (attention + feed_forward + 2 * norm) + 6 * (2 * attention + feed_forward + 3 * norm)
    assert count_parameters(model) == layers + 37000 * 512
    assert round(count_parameters(model) / 1e6) in (63, 64, 65)


def test_tying_shares_the_matrices_it_names() -> None:
    three, two, none = build(), build(tying="two_way", target_vocab_size=13), build(tying="none", target_vocab_size=13)
    assert three.source_embedding.weight is three.target_embedding.weight is three.output_projection.weight
    assert two.source_embedding.weight is not two.target_embedding.weight
    assert two.target_embedding.weight is two.output_projection.weight
    assert (
        len({id(none.source_embedding.weight), id(none.target_embedding.weight), id(none.output_projection.weight)})
        == 3
    )
    assert none(torch.ones(2, 3).long(), None, torch.ones(2, 4).long()).shape == (2, 4, 13)


def test_three_way_tying_needs_one_vocabulary() -> None:
    with pytest.raises(AssertionError, match="one matrix needs one vocabulary"):
        build(target_vocab_size=13)


def test_same_seed_builds_the_same_model() -> None:
    config = TransformerConfig.model_validate(SMALL)
    one, other = (
        build_model(
            config, source_vocab_size=9, target_vocab_size=9, pad_id=0, generator=torch.Generator().manual_seed(4)
        )
        for _ in range(2)
    )
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_a_model_for_given_weights_draws_none() -> None:
    before = torch.get_rng_state()
    construct_model(TransformerConfig.model_validate(SMALL), source_vocab_size=9, target_vocab_size=9, pad_id=0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("tying", ["three_way", "two_way", "none"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_initialisation_leaves_nothing_unset(tying: str, positions: str) -> None:
    model = build(tying=tying, positions={"kind": positions}, norm="pre", output_bias=True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(torch.nan)
    initialize(model)
    assert [name for name, parameter in model.named_parameters() if parameter.isnan().any()] == []


def test_without_positions_the_encoder_sees_a_bag_of_tokens() -> None:
    source_ids = torch.tensor([[1, 2, 3, 4]])
    order = torch.tensor([2, 0, 3, 1])
    blind, seeing = build(positions={"kind": "none"}).eval(), build().eval()
    torch.testing.assert_close(blind.encode(source_ids[:, order], None), blind.encode(source_ids, None)[:, order])
    difference = seeing.encode(source_ids[:, order], None) - seeing.encode(source_ids, None)[:, order]
    assert difference.abs().max() > 0.1


def test_cache_refuses_more_rows_or_steps_than_it_was_made_for() -> None:
    model = build().eval()
    state = model.start(torch.ones(2, 3).long(), None, max_rows=2, max_len=1)
    model.step(state, torch.tensor([1, 1]), None)
    with pytest.raises(AssertionError, match="the cache was made for 1 positions"):
        model.step(state, torch.tensor([1, 1]), None)
    with pytest.raises(AssertionError, match="3 rows do not fit into a cache made for 2"):
        model.step(state, torch.tensor([1, 1, 1]), torch.tensor([0, 0, 1]))


def test_half_precision_runs_and_gives_fp32_logits() -> None:
    model = build().eval().to(torch.bfloat16)
    state = model.start(torch.ones(1, 3).long(), None, max_rows=1, max_len=2)
    logits = model.step(state, torch.tensor([1]), None)
    assert logits.dtype == torch.float32
    assert logits.isfinite().all()


def test_training_pass_is_one_graph() -> None:
    """`torch.compile` finds nothing to break the graph at, so that one compiled kernel chain runs a whole step."""
    model = build()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    source_ids, target_ids = torch.randint(1, 11, (2, 5)), torch.randint(1, 11, (2, 4))
    source_mask = torch.arange(5) < torch.tensor([[5], [2]])
    model.eval()
    torch.testing.assert_close(
        compiled(source_ids, source_mask, target_ids), model(source_ids, source_mask, target_ids)
    )
    model.train()
    assert compiled(source_ids, source_mask, target_ids).isfinite().all()
