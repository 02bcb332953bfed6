from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from heedful.config.models import TransformerConfig
from heedful.config.training import NoRegularizer, RDrop, SimCut, TrainingConfig
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.training.ema import MovingAverage
from heedful.training.loop import start_state
from heedful.training.losses.cross_entropy import kl_divergence, label_smoothed_cross_entropy, symmetric_kl_divergence
from heedful.training.losses.sequence import sequence_loss
from heedful.training.step import train_step

VOCAB = 17


@dataclass(frozen=True)
class Pairs:
    source_ids: Tensor
    target_input_ids: Tensor
    target_output_ids: Tensor

    @property
    def source_mask(self) -> Tensor:
        return self.source_ids != 0

    @property
    def target_mask(self) -> Tensor:
        return self.target_output_ids != 0

    @property
    def num_target_tokens(self) -> int:
        return int(self.target_mask.sum())

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "Pairs":
        return self


@pytest.fixture
def pairs() -> Pairs:
    generator = torch.Generator().manual_seed(2)
    source, inputs, outputs = (torch.randint(3, VOCAB, (4, length), generator=generator) for length in (6, 5, 5))
    source[1, 4:] = 0
    inputs[2, 3:] = outputs[2, 3:] = 0
    return Pairs(source, inputs, outputs)


def model_with(dropout: float) -> Transformer:
    shape = TransformerConfig(
        dim=16,
        num_heads=2,
        hidden_dim=32,
        num_encoder_layers=1,
        num_decoder_layers=1,
        dropout=dropout,
        output_bias=True,
    )
    generator = torch.Generator().manual_seed(4)
    return build_model(shape, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)


def test_without_a_regularizer_it_is_the_cross_entropy_of_the_models_logits(pairs: Pairs) -> None:
    model = model_with(0.0)
    logits = model(pairs.source_ids, pairs.source_mask, pairs.target_input_ids)
    expected, nll = label_smoothed_cross_entropy(logits, pairs.target_output_ids, pairs.target_mask, smoothing=0.1)
    found = sequence_loss(label_smoothing=0.1, regularizer=NoRegularizer())(model, pairs)
    assert found.num_tokens == 18
    torch.testing.assert_close(found.loss_sum, expected)
    torch.testing.assert_close(found.metrics["nll"], nll)
    parameters = list(model.parameters())
    pairs_of_gradients = zip(
        torch.autograd.grad(found.loss_sum, parameters), torch.autograd.grad(expected, parameters), strict=True
    )
    for gradient, wanted in pairs_of_gradients:
        torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-5)


def test_r_drop_without_dropout_is_plain_and_with_it_is_the_papers_formula(pairs: Pairs) -> None:
    plain = sequence_loss(label_smoothing=0.1, regularizer=NoRegularizer())
    r_drop = sequence_loss(label_smoothing=0.1, regularizer=RDrop(kind="r_drop", weight=5.0))
    still = model_with(0.0)
    torch.testing.assert_close(r_drop(still, pairs).loss_sum, plain(still, pairs).loss_sum)
    shaken = model_with(0.3)
    torch.manual_seed(9)
    found = r_drop(shaken, pairs)
    torch.manual_seed(9)
    twice = [torch.cat([tensor, tensor]) for tensor in (pairs.source_ids, pairs.source_mask, pairs.target_input_ids)]
    first, second = shaken(*twice).chunk(2)
    losses = [
        label_smoothed_cross_entropy(logits, pairs.target_output_ids, pairs.target_mask, smoothing=0.1)[0]
        for logits in (first, second)
    ]
    divergence = symmetric_kl_divergence(first, second, pairs.target_mask)
    assert divergence.item() > 0.01
    torch.testing.assert_close(found.loss_sum, (losses[0] + losses[1] + 5.0 * divergence) / 2)
    torch.testing.assert_close(found.metrics["divergence"], divergence)


def test_simcut_compares_with_a_pass_in_which_tokens_are_cut(pairs: Pairs) -> None:
    model = model_with(0.0)
    config = SimCut(kind="simcut", weight=3.0, cut_rate=0.4)
    torch.manual_seed(9)
    found = sequence_loss(label_smoothing=0.1, regularizer=config)(model, pairs)
    torch.manual_seed(9)
    keep_source, keep_inputs = (torch.rand(4, length) >= 0.4 for length in (6, 5))
    assert not keep_source.all()
    full = model(pairs.source_ids, pairs.source_mask, pairs.target_input_ids)
    memory = model.encode(pairs.source_ids, pairs.source_mask, keep_source)
    cut = model.project(model.decode(pairs.target_input_ids, memory, pairs.source_mask, keep_inputs))
    loss, _ = label_smoothed_cross_entropy(full, pairs.target_output_ids, pairs.target_mask, smoothing=0.1)
    divergence = kl_divergence(full, cut, pairs.target_mask)
    torch.testing.assert_close(found.loss_sum, loss + 3.0 * divergence)


@pytest.mark.parametrize(
    "regularizer", [NoRegularizer(), RDrop(kind="r_drop"), SimCut(kind="simcut")], ids=lambda r: r.kind
)
@pytest.mark.parametrize("bf16", [False, True])
def test_every_loss_trains(pairs: Pairs, regularizer: NoRegularizer | RDrop | SimCut, bf16: bool) -> None:
    model = model_with(0.1)
    state = start_state(model, TrainingConfig())
    loss = sequence_loss(label_smoothing=0.1, regularizer=regularizer)
    values = []
    for _ in range(40):
        train_step(state, loss, [pairs], learning_rate=0.01, bf16=bf16)
        values.append((state.tally.loss_sum / state.tally.num_tokens).item())
        state.tally.start_new_line()
    assert state.tally.skipped.item() == 0
    assert sum(values[-5:]) < 0.7 * sum(values[:5])


def test_the_moving_average_moves_by_one_minus_decay() -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(1.0)
    average = MovingAverage(model, 0.9)
    with torch.no_grad():
        model.weight.fill_(2.0)
    average.update(model, torch.tensor(0.0))
    assert average.weights["weight"].item() == pytest.approx(1.1)
    average.update(model, torch.tensor(1.0))
    assert average.weights["weight"].item() == pytest.approx(1.1)
