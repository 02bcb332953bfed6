"""The engine's output projection by itself, against exact integers, and a recurrent model that writes through it."""

import numpy as np
import pytest
import torch
from torch import Tensor

from heedful.config.models import RecurrentConfig
from heedful.engines.int8.library import NativeUnavailableError, is_available, open_library
from heedful.engines.int8.output import Int8Output, Int8Recurrent
from heedful.models.build import build_model
from heedful.models.recurrent import RecurrentModel
from heedful.nn.embedding import OutputProjection
from tests.support.searches import search

pytestmark = pytest.mark.skipif(not is_available(), reason="needs a C++ compiler")

VOCAB, DIM = 1283, 48  # the last group of outputs, and the last chunk, are partly empty


def projection(*, bias: bool = True) -> OutputProjection:
    generator = torch.Generator().manual_seed(3)
    made = OutputProjection(VOCAB, DIM, bias=bias)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return made


def in_integers(states: Tensor, made: OutputProjection) -> np.ndarray:
    """Compute logits as the engine is meant to: bytes times integers, exactly, then the two scales; in NumPy."""
    largest = open_library().heedful_largest_activation(DIM)
    weight = made.weight.detach().numpy().astype(np.float64)
    scales = np.abs(weight).max(axis=1) / 127
    matrix = np.rint(weight / scales[:, None]).astype(np.int64)
    steps = np.abs(states.numpy()).max(axis=1) / largest
    rounded = np.rint(states.numpy().astype(np.float64) / steps[:, None]).astype(np.int64)
    bias = 0.0 if made.bias is None else made.bias.detach().numpy()
    return (rounded @ matrix.T) * scales * steps[:, None] + bias


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bias", [True, False])
def test_logits_are_products_of_integers(threads: int, bias: bool) -> None:
    made = projection(bias=bias)
    output = Int8Output(made, threads=threads)
    for rows in (1, 2, 7, 70, 3):
        states = torch.randn(rows, DIM, generator=torch.Generator().manual_seed(rows))
        np.testing.assert_allclose(output.logits(states).numpy(), in_integers(states, made), atol=2e-4)


def test_the_best_are_those_of_all_logits_whatever_stands_beside() -> None:
    output = Int8Output(projection(), threads=2)
    states = torch.randn(9, DIM, generator=torch.Generator().manual_seed(1))
    log_probs, ids = output.best(states, 6)
    wanted = output.logits(states).log_softmax(dim=-1).topk(6)
    assert torch.equal(ids, wanted.indices)
    torch.testing.assert_close(log_probs, wanted.values, atol=1e-5, rtol=0)
    alone = [output.best(states[row : row + 1], 6) for row in range(9)]
    assert torch.equal(log_probs, torch.cat([one[0] for one in alone]))
    assert torch.equal(ids, torch.cat([one[1] for one in alone]))
    assert output.best(states, VOCAB + 5)[1].shape == (9, VOCAB)


def test_what_is_not_a_number_stays_visible() -> None:
    states = torch.randn(3, DIM)
    states[1, 5] = float("nan")
    log_probs, _ = Int8Output(projection(), threads=1).best(states, 4)
    assert log_probs.isnan().all(dim=1).tolist() == [False, True, False]


def test_a_width_the_engine_cannot_hold_is_refused() -> None:
    with pytest.raises(NativeUnavailableError, match="needs `dim` to be a multiple of"):
        Int8Output(OutputProjection(20, 12, bias=False), threads=1)


@pytest.mark.parametrize("settings", [{"attention": "none"}, {"cell": "lstm", "input_feeding": True}])
def test_a_search_of_a_recurrent_model_is_nearly_that_of_its_floats(settings: dict[str, object]) -> None:
    config = RecurrentConfig.model_validate({"kind": "recurrent", "dim": DIM, **settings})
    generator = torch.Generator().manual_seed(0)
    model = build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator).eval()
    assert isinstance(model, RecurrentModel)
    engine = Int8Recurrent(model, threads=1)
    source_ids = torch.randint(4, VOCAB, (4, 7), generator=generator)
    mask = torch.ones(4, 7, dtype=torch.bool)
    floats, ours = (one.start(source_ids, mask, max_rows=4, max_len=3) for one in (model, engine))
    token_ids, parents = torch.ones(4, dtype=torch.int64), torch.tensor([1, 0, 3, 3])
    for rows in (None, parents):
        exact = model.step(floats, token_ids, rows)
        assert (engine.step(ours, token_ids, rows) - exact).abs().max() < 0.02 * exact.abs().max()
    rules = {"bos_id": 1, "eos_id": 2, "max_lengths": [6] * 4, "beam_size": 3}
    together = search(engine, source_ids, mask, **rules)
    assert all(1 <= len(one[0].token_ids) <= 6 for one in together)
    assert all(one[0].log_prob == pytest.approx(sum(one[0].token_log_probs), abs=1e-4) for one in together)
