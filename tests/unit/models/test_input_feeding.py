"""Input feeding: the loop over tokens, the steps of a search and the attention that is shown are one and the same."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.config.models import RecurrentConfig
from heedful.insight.ablation import Head, switched_off
from heedful.models import build_model
from heedful.models.attention_weights import forced_pass
from heedful.models.recurrent import RecurrentModel

VOCAB = 17
SOURCE_IDS = torch.tensor([[3, 4, 5, 6, 7]])
TARGET_IDS = torch.tensor([[1, 8, 9, 10]])


def build(**settings: Any) -> RecurrentModel:
    config = RecurrentConfig.model_validate({"kind": "recurrent", "dim": 16, "input_feeding": True, **settings})
    generator = torch.Generator().manual_seed(4)
    model = build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)
    assert isinstance(model, RecurrentModel)
    return model.eval()


def stepped(model: RecurrentModel) -> Tensor:
    state = model.start(SOURCE_IDS, None, max_rows=1, max_len=9)
    return torch.stack([model.step(state, TARGET_IDS[:, place]) for place in range(4)], dim=1)


@pytest.mark.parametrize("attention", ["additive", "dot", "general"])
@torch.no_grad()
def test_the_weights_shown_are_those_of_the_steps(attention: str) -> None:
    model = build(attention=attention)
    asked: list[Tensor] = []

    def note(_: nn.Module, args: tuple[Any, ...]) -> None:
        asked.append(args[0])

    handle = model.attention_residual.register_forward_pre_hook(note)
    stepped(model)
    handle.remove()
    _, shown = forced_pass(model, SOURCE_IDS, None, TARGET_IDS)
    assert model.attention is not None
    memory = model.encode(SOURCE_IDS, None)
    by_step = torch.cat([model.attention.weights(query, memory) for query in asked], dim=2)
    torch.testing.assert_close(shown["cross"][0], by_step)


@torch.no_grad()
def test_without_its_head_the_loop_is_the_steps_too() -> None:
    model = build()
    whole = model(SOURCE_IDS, None, TARGET_IDS)
    with switched_off(model, [Head("cross", 0, 0)]):
        without = model(SOURCE_IDS, None, TARGET_IDS)
        torch.testing.assert_close(stepped(model), without, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(whole, without)


@torch.no_grad()
def test_what_was_found_is_read_with_the_next_token() -> None:
    model = build(num_decoder_layers=1)
    before = model(SOURCE_IDS, None, TARGET_IDS)
    weight = model.decoder[0].unit.weight_ih_l0
    weight[:, 16:] = 0.0
    after = model(SOURCE_IDS, None, TARGET_IDS)
    torch.testing.assert_close(after[:, 0], before[:, 0])
    assert not torch.allclose(after[:, 1], before[:, 1])


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_gradients_of_the_loop_are_those_of_differences(cell: str) -> None:
    model = build(cell=cell, dim=4, num_encoder_layers=1, num_decoder_layers=1, dropout=0.0).double().train()
    memory = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    ids = torch.tensor([[1, 8], [1, 9]])
    assert torch.autograd.gradcheck(lambda memory: model.decode(ids, memory, mask), (memory,))
    names = [name for name, _ in model.named_parameters() if name.startswith(("decoder.", "attention.", "first_"))]
    weights = tuple(model.get_parameter(name) for name in names)

    def decoded(*given: Tensor) -> Tensor:
        return torch.func.functional_call(model, dict(zip(names, given, strict=True)), (ids % 4 + 3, None, ids))

    assert torch.autograd.gradcheck(decoded, weights)
