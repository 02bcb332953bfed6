"""Transformers with a part taken out: decoding step by step stays equal, each part is what it says, exports refuse."""

import math

import pytest
import torch

from heedful.config.models import Ablation, TransformerConfig
from heedful.errors import UserError
from heedful.interop.marian import exportable
from heedful.models.ablations import BatchNorm, ConcatenatedPositions, SinePositions
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.nn.positions import sinusoidal_table

EVERY: tuple[Ablation, ...] = (
    "no_residual",
    "batch_norm",
    "no_embedding_scale",
    "no_attention_scale",
    "sine_positions",
    "concatenated_positions",
)


def model_of(*ablations: Ablation, norm: str = "post") -> Transformer:
    config = TransformerConfig(
        dim=32, num_heads=4, hidden_dim=64, num_encoder_layers=2, num_decoder_layers=2, norm=norm, ablations=ablations
    )
    generator = torch.Generator().manual_seed(1)
    model = build_model(config, source_vocab_size=50, target_vocab_size=50, pad_id=0, generator=generator)
    assert isinstance(model, Transformer)
    return model.eval()


def logits(model: Transformer, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return model.project(model.decode(target, model.encode(source, None), None))


def tokens() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    return torch.randint(1, 50, (3, 7), generator=generator), torch.randint(1, 50, (3, 5), generator=generator)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("ablation", EVERY)
def test_decoding_token_by_token_equals_decoding_at_once(ablation: Ablation, norm: str) -> None:
    model, (source, target) = model_of(ablation, norm=norm), tokens()
    state = model.start(source, None, max_rows=3, max_len=10)
    steps = torch.stack([model.step(state, target[:, place]) for place in range(5)], dim=1)
    torch.testing.assert_close(steps, logits(model, source, target), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("ablation", EVERY)
def test_every_ablation_changes_the_model(ablation: Ablation) -> None:
    source, target = tokens()
    assert not torch.allclose(logits(model_of(ablation), source, target), logits(model_of(), source, target))


def test_batch_norm_is_torchs() -> None:
    torch.manual_seed(0)
    ours, theirs = BatchNorm(8), torch.nn.BatchNorm1d(8)
    for _ in range(3):
        states = torch.randn(4, 5, 8) * 3 + 1
        torch.testing.assert_close(ours(states).flatten(0, 1), theirs(states.flatten(0, 1)))
    torch.testing.assert_close(ours.mean.data, theirs.running_mean)
    states = torch.randn(2, 3, 8)
    # torch keeps the unbiased variance, 20 / 19 of ours, in its moving average.
    with torch.no_grad():
        theirs.running_var.sub_(0.9**3).mul_(19 / 20).add_(0.9**3)
    torch.testing.assert_close(ours.eval()(states).flatten(0, 1), theirs.eval()(states.flatten(0, 1)))


def test_without_residual_and_sublayers_nothing_is_left() -> None:
    model = model_of("no_residual", norm="pre")
    for layer in model.encoder.layers:
        layer.feed_forward.contract.weight.data.zero_()
    source, _ = tokens()
    assert model.encoder.layers[-1](torch.randn(3, 7, 32), None).abs().max() == 0
    assert model.encode(source, None).std(dim=1).max() == 0


def test_unscaled_scores_are_larger_by_the_root_of_the_head() -> None:
    scaled, unscaled = model_of().encoder.layers[0].self_attention, model_of("no_attention_scale").encoder.layers[0]
    states = torch.randn(1, 6, 32)
    explained = [it.explain_score(states, head=1, row=2, column=3) for it in (scaled, unscaled.self_attention)]
    assert explained[1].row_scores.tolist() == pytest.approx(
        (explained[0].row_scores * math.sqrt(8)).tolist(), rel=1e-4
    )


def test_positions_are_sines_alone_or_stand_beside_the_embedding() -> None:
    zeros = torch.zeros(1, 4, 16)
    sines = SinePositions(16)(zeros, start=3)[0]
    assert sines[1, 5].item() == pytest.approx(math.sin(4 / 10000 ** (5 / 16)), abs=1e-6)
    beside = ConcatenatedPositions(16)(zeros + 7, start=torch.tensor([2]))[0]
    assert beside[:, :12].unique().tolist() == [7.0]
    torch.testing.assert_close(beside[:, 12:], sinusoidal_table(4, 4, start=2))


def test_an_ablated_model_has_no_engine_and_no_export() -> None:
    config = TransformerConfig(ablations=("no_residual",))
    assert not config.has_int8_engine
    assert TransformerConfig().has_int8_engine
    with pytest.raises(UserError, match="must be without ablations, but this one has: no_residual"):
        exportable(config)
