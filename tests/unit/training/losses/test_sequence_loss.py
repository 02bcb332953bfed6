import numpy as np
import pytest
import torch

from heedful.config.models import TransformerConfig
from heedful.config.training import NoRegularizer, RDrop, SimCut, TrainingConfig
from heedful.data.batch import Batch
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.training.ema import MovingAverage
from heedful.training.loop import start_state
from heedful.training.losses.cross_entropy import kl_divergence, label_smoothed_cross_entropy, symmetric_kl_divergence
from heedful.training.losses.sequence import SequenceLoss
from heedful.training.step import StepSettings, train_step
from tests.support.families import as_transformer

VOCAB = 17


@pytest.fixture
def pairs() -> Batch:
    generator = torch.Generator().manual_seed(2)
    source, inputs, outputs = (torch.randint(3, VOCAB, (4, length), generator=generator) for length in (6, 5, 5))
    source[1, 4:] = 0
    inputs[2, 3:] = outputs[2, 3:] = 0
    return Batch(source, inputs, outputs, (outputs != 0).sum(dim=1).numpy(), np.arange(4), pad_id=0)


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
    return as_transformer(
        build_model(shape, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)
    )


def test_without_a_regularizer_it_is_the_cross_entropy_of_the_models_logits(pairs: Batch) -> None:
    model = model_with(0.0)
    logits = model(pairs.source_ids, pairs.source_mask, pairs.target_input_ids)
    expected, nll = label_smoothed_cross_entropy(logits, pairs.target_output_ids, pairs.target_mask, smoothing=0.1)
    found = SequenceLoss(model, label_smoothing=0.1, regularizer=NoRegularizer())(pairs)
    assert found.num_items == 18
    torch.testing.assert_close(found.loss_sum, expected)
    torch.testing.assert_close(found.metrics["nll"], nll)
    parameters = list(model.parameters())
    pairs_of_gradients = zip(
        torch.autograd.grad(found.loss_sum, parameters), torch.autograd.grad(expected, parameters), strict=True
    )
    for gradient, wanted in pairs_of_gradients:
        torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-5)


def test_r_drop_without_dropout_is_plain_and_with_it_is_the_papers_formula(pairs: Batch) -> None:
    still, shaken, config = model_with(0.0), model_with(0.3), RDrop(kind="r_drop", weight=5.0)
    plain = SequenceLoss(still, label_smoothing=0.1, regularizer=NoRegularizer())
    r_drop = SequenceLoss(still, label_smoothing=0.1, regularizer=config)
    torch.testing.assert_close(r_drop(pairs).loss_sum, plain(pairs).loss_sum)
    torch.manual_seed(9)
    found = SequenceLoss(shaken, label_smoothing=0.1, regularizer=config)(pairs)
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


def test_simcut_compares_with_a_pass_in_which_tokens_are_cut(pairs: Batch) -> None:
    model = model_with(0.0)
    config = SimCut(kind="simcut", weight=3.0, cut_rate=0.4)
    torch.manual_seed(9)
    found = SequenceLoss(model, label_smoothing=0.1, regularizer=config)(pairs)
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
def test_every_loss_trains(pairs: Batch, regularizer: NoRegularizer | RDrop | SimCut, bf16: bool) -> None:
    model = model_with(0.1)
    state = start_state(model, TrainingConfig())
    loss = SequenceLoss(model, label_smoothing=0.1, regularizer=regularizer)
    values = []
    for _ in range(40):
        train_step(state, loss, [pairs], StepSettings(bf16=bf16), learning_rate=0.01)
        values.append((state.tally.loss_sum / state.tally.num_items).item())
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
