"""The classifier: order, padding, windows, pooling, paths; and against torch.nn's own encoder with the same weights."""

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from heedful.config.classification import ClassifierConfig
from heedful.models.build import build_classifier, count_parameters
from heedful.nn.positions import sinusoidal_table
from tests.support.classifier_models import ATTENTIONS, PAD, VOCAB, build, documents

NO_POSITIONS: dict[str, Any] = {"positions": {"kind": "none"}}
LAYERS: list[dict[str, Any]] = [{"kind": "attention"}, {"kind": "transformer", "hidden_dim": 24}]


@pytest.mark.parametrize("attention", ATTENTIONS, ids=lambda it: it["kind"])
@pytest.mark.parametrize("layer", LAYERS, ids=lambda it: it["kind"])
@pytest.mark.parametrize("pooling", ["mean", "max", "mean_max"])
def test_without_positions_the_order_of_words_does_not_matter(attention: Any, layer: Any, pooling: str) -> None:
    model = build(attention=attention, layer=layer, pooling=pooling, **NO_POSITIONS)
    ids = documents(12, 9)
    shuffled = ids.clone()
    for row, length in enumerate((12, 9)):
        shuffled[row, :length] = ids[row, torch.randperm(length, generator=torch.Generator().manual_seed(row))]
    assert not torch.equal(ids, shuffled)
    assert (model(ids) - model(shuffled)).abs().max() < 1e-5


@pytest.mark.parametrize(
    "positions", [{"kind": "sinusoidal"}, {"kind": "learned", "max_len": 512}], ids=lambda it: it["kind"]
)
@pytest.mark.parametrize("pooling", ["mean", "max", "first", "mean_max"])
def test_with_positions_the_order_of_words_matters(positions: Any, pooling: str) -> None:
    model = build(positions=positions, pooling=pooling)
    ids = documents(12)
    assert (model(ids) - model(ids.flip(1))).abs().max() > 1e-3


@pytest.mark.parametrize("path", ["ngram_embedding", "naive_bayes"])
def test_ngrams_tell_the_order_even_without_positions(path: str) -> None:
    model = build(**{path: {"up_to": 2, "num_buckets": 1000}}, **NO_POSITIONS)
    ids = documents(12)
    assert (model(ids) - model(ids.flip(1))).abs().max() > 1e-3


ALL: dict[str, Any] = {
    "ngram_embedding": {"up_to": 3, "num_buckets": 500},
    "naive_bayes": {"up_to": 3, "num_buckets": 500},
    "long_documents": {"kind": "windows", "length": 8},
}


@pytest.mark.parametrize("pooling", ["mean", "max", "first", "mean_max"])
def test_a_document_gets_the_same_logits_in_any_batch(pooling: str) -> None:
    model = build(pooling=pooling, **ALL)
    ids = documents(30, 5, 17)
    together = model(ids)
    for row, length in enumerate((30, 5, 17)):
        assert_close(model(ids[row : row + 1, :length])[0], together[row], atol=1e-5, rtol=1e-5)


def test_windows_read_everything_and_attend_only_inside() -> None:
    model = build(long_documents={"kind": "windows", "length": 8}, pooling="mean")
    ids = documents(20)
    changed = ids.clone()
    changed[0, -1] = ids[0, -1] % (VOCAB - 1) + 1
    assert (model(ids) - model(changed)).abs().max() > 1e-5, "the last token counts"
    # Mean pooling over windows is the mean of what each window alone gives, weighed by its tokens.
    parts = [model.encoder_logits(model.embed(part), part != PAD)[0] for part in ids.split(8, dim=1)]
    expected = sum(part * size for part, size in zip(parts, (8, 8, 4), strict=True)) / 20
    assert_close(model(ids)[0], expected, atol=1e-5, rtol=1e-5)


def test_the_decision_is_the_weighted_mean_of_the_paths() -> None:
    model = build(**{**ALL, "naive_bayes": {"up_to": 3, "num_buckets": 500, "share": 0.25}})
    ids = documents(20, 7)
    encoder, linear = model.path_logits(ids)
    assert_close(model(ids), 0.75 * encoder + 0.25 * linear)
    assert (encoder - linear).abs().max() > 0.1


def test_what_is_not_kept_is_not_seen() -> None:
    model = build(ngram_embedding={"up_to": 2, "num_buckets": 500})
    ids = documents(10)
    keep = torch.ones_like(ids, dtype=torch.bool)
    keep[0, 4] = False
    other = ids.clone()
    other[0, 4] = ids[0, 4] % (VOCAB - 1) + 1
    assert_close(model.path_logits(ids, keep)[0], model.path_logits(other, keep)[0])
    assert (model.path_logits(ids, keep)[0] - model.path_logits(ids)[0]).abs().max() > 1e-4


def test_no_label_is_favoured_before_training() -> None:
    model = build_classifier(ClassifierConfig(pooling="mean_max"), vocab_size=VOCAB, num_labels=4, pad_id=PAD)
    assert (model(documents(9, 4)) == 0).all()


def test_the_same_generator_draws_the_same_weights() -> None:
    ids = documents(9)
    assert torch.equal(build(seed=3)(ids), build(seed=3)(ids))
    assert not torch.equal(build(seed=3)(ids), build(seed=4)(ids))


def test_the_ladder_adds_parameters_step_by_step() -> None:
    counts = [count_parameters(build(attention=kind, layer={"kind": "attention"})) for kind in ATTENTIONS]
    assert counts[0] == counts[1] == VOCAB * 16 + 16 * 3 + 3
    assert counts[2] == counts[3] == counts[0] + 2 * (4 * 16 * 16 + 4 * 16)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_the_encoder_of_torch_with_the_same_weights(norm: str) -> None:
    layer = {"kind": "transformer", "hidden_dim": 24, "norm": norm, "activation": "gelu"}
    model = build(layer=layer, pooling="mean")
    theirs = nn.TransformerEncoderLayer(16, 2, 24, 0.0, "gelu", batch_first=True, norm_first=norm == "pre")
    final = nn.LayerNorm(16) if norm == "pre" else nn.Identity()
    ids = documents(11, 6)
    states = nn.functional.embedding(ids, model.embedding.weight) * 4 * (ids != PAD)[..., None] + sinusoidal_table(
        11, 16
    )
    for ours in model.layers:
        layer_copy = copy.deepcopy(theirs)
        attention, residual = ours.self_attention, (ours.self_attention_residual, ours.feed_forward_residual)
        layer_copy.load_state_dict(
            {
                "self_attn.in_proj_weight": attention.query_key_value.weight,
                "self_attn.in_proj_bias": attention.query_key_value.bias,
                "self_attn.out_proj.weight": attention.output.weight,
                "self_attn.out_proj.bias": attention.output.bias,
                **{f"linear1.{name}": value for name, value in _linear(ours.feed_forward, 0).items()},
                **{f"linear2.{name}": value for name, value in _linear(ours.feed_forward, 1).items()},
                **{
                    f"norm{n + 1}.{name}": getattr(residual[n].norm, name)
                    for n in (0, 1)
                    for name in ("weight", "bias")
                },
            }
        )
        states = layer_copy.train()(states, src_key_padding_mask=ids == PAD)
    if norm == "pre":
        final.load_state_dict(model.final_norm.state_dict())
    states = final(states).masked_fill((ids == PAD)[..., None], 0.0)
    expected = model.output(states.sum(dim=1) / (ids != PAD).sum(dim=1, keepdim=True))
    assert_close(model(ids), expected, atol=1e-5, rtol=1e-5)


def _linear(feed_forward: nn.Module, number: int) -> dict[str, torch.Tensor]:
    linear = [module for module in feed_forward.modules() if isinstance(module, nn.Linear)][number]
    return {"weight": linear.weight, "bias": linear.bias}
