"""Switching parts off is what it says: a model whose weights were zeroed by hand does the same."""

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from heedful.errors import UserError
from heedful.insight.ablation import Head, Layer, ablate, head_changes, switched_off
from heedful.insight.attribution import attribute
from heedful.insight.trace import trace_translation
from heedful.models.attention_weights import uses_by_name, watch_attention
from heedful.models.transformer import Transformer
from tests.support.small_models import SENTENCE, USES, draw_model, small_translator

SOURCE = torch.tensor([[5, 6, 7, 8, 2]])
INPUTS = torch.tensor([[1, 14, 15, 16]])


@torch.no_grad()
def stepped(model: Transformer) -> torch.Tensor:
    """The logits of a search that writes INPUTS."""
    state = model.start(SOURCE, None, max_rows=1, max_len=4)
    return torch.stack([model.step(state, INPUTS[:, position]) for position in range(4)], dim=1)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("kind", USES)
def test_a_head_is_off_when_its_slice_of_the_output_matrix_is_zero(norm: str, kind: str) -> None:
    model = draw_model(norm)
    by_hand = copy.deepcopy(model)
    uses_by_name(by_hand)[kind][1].module.output.weight.data[:, 16:] = 0.0  # head 1 of layer 1
    before = model(SOURCE, None, INPUTS)
    with switched_off(model, [Head(kind, 1, 1)]):
        torch.testing.assert_close(model(SOURCE, None, INPUTS), by_hand(SOURCE, None, INPUTS))
        torch.testing.assert_close(stepped(model), stepped(by_hand))
        assert not torch.allclose(model(SOURCE, None, INPUTS), before)
    assert torch.equal(model(SOURCE, None, INPUTS), before)


def test_several_parts_are_off_together() -> None:
    model = draw_model()
    by_hand = copy.deepcopy(model)
    for head in (0, 1):
        uses_by_name(by_hand)["cross"][0].module.output.weight.data[:, 16 * head : 16 * head + 16] = 0.0
    with switched_off(model, [Head("cross", 0, 0), Head("cross", 0, 1)]):
        torch.testing.assert_close(model(SOURCE, None, INPUTS), by_hand(SOURCE, None, INPUTS))


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_pre_norm_layer_that_is_off_could_as_well_not_be_there(stack: str) -> None:
    model = draw_model("pre")
    without = copy.deepcopy(model)
    layers = getattr(without, stack).layers
    getattr(without, stack).layers = nn.ModuleList([layer for number, layer in enumerate(layers) if number != 1])
    with switched_off(model, [Layer(stack, 1)]):
        torch.testing.assert_close(model(SOURCE, None, INPUTS), without(SOURCE, None, INPUTS))
        torch.testing.assert_close(stepped(model), stepped(without))


def test_a_post_norm_layer_that_is_off_only_normalises() -> None:
    model = draw_model()
    states = torch.randn(1, 5, 32, generator=torch.Generator().manual_seed(1))
    layer = model.encoder.layers[0]
    wanted = layer.feed_forward_residual.norm(layer.self_attention_residual.norm(states))
    with switched_off(model, [Layer("encoder", 0)]):
        torch.testing.assert_close(layer(states), wanted)


def test_ablation_says_what_is_written_now_and_what_the_old_translation_is_worth() -> None:
    translator = small_translator()
    trace = translator.translate(SENTENCE, trace=True)
    nothing = ablate(translator, trace, [])
    assert nothing.text == trace.text
    assert nothing.change == pytest.approx(0.0, abs=1e-5)
    assert nothing.log_prob == pytest.approx(trace.log_prob, abs=1e-5)
    without = ablate(translator, trace, [Head("cross", 1, 0)])
    by_hand = copy.deepcopy(translator.readable_model)
    uses_by_name(by_hand)["cross"][1].module.output.weight.data[:, :16] = 0.0
    reference = translator.with_model(by_hand)
    (wanted,) = reference.translate_detailed([SENTENCE])
    assert without.text == wanted.text
    assert without.score == pytest.approx(wanted.score, abs=1e-5)
    assert without.change == pytest.approx(float(head_changes(translator, trace)["cross"][1, 0]), abs=1e-4)


def test_every_head_has_its_change() -> None:
    translator = small_translator()
    trace = translator.translate(SENTENCE, trace=True)
    changes = head_changes(translator, trace)
    assert {kind: changes[kind].shape for kind in USES} == {"encoder": (3, 2), "decoder": (2, 2), "cross": (2, 2)}
    for kind in USES:
        assert float(changes[kind][1, 1]) == pytest.approx(
            ablate(translator, trace, [Head(kind, 1, 1)]).change, abs=1e-4
        )


def test_other_threads_have_the_whole_model_and_are_not_watched() -> None:
    model = draw_model()
    before = model(SOURCE, None, INPUTS)
    with (
        ThreadPoolExecutor(1) as other,
        switched_off(model, [Head("cross", 0, 0), Layer("encoder", 1)]),
        watch_attention(model) as found,
    ):
        assert torch.equal(other.submit(model, SOURCE, None, INPUTS).result(), before)
        assert not found
        assert not torch.allclose(model(SOURCE, None, INPUTS), before)
        assert len(found) == 7


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (Head("cross", 0, 2), "`head` must be between 0 and 1, but is 2."),
        (Head("encoder", 3, 0), "`layer` must be between 0 and 2, but is 3."),
        (Head("self", 0, 0), '`kind` must be "encoder", "decoder" or "cross".'),
        (Layer("decoder", -1), "`layer` must be between 0 and 1, but is -1."),
    ],
)
def test_parts_that_are_not_there_are_refused(part: Head | Layer, sentence: str) -> None:
    translator = small_translator()
    with pytest.raises(UserError) as refusal:
        ablate(translator, translator.translate(SENTENCE, trace=True), [part])
    assert str(refusal.value) == sentence


def test_a_part_that_is_refused_leaves_the_others_switched_on() -> None:
    model = draw_model()
    before = model(SOURCE, None, INPUTS)
    with pytest.raises(UserError), switched_off(model, [Head("cross", 0, 0), Head("cross", 9, 0)]):
        pass
    assert torch.equal(model(SOURCE, None, INPUTS), before)


def test_one_sentence_is_looked_into_on_one_thread() -> None:
    """Its matrices are too small to be shared out: on a busy machine threads would mostly wait for each other."""
    translator = small_translator()
    seen: set[int] = set()
    for module in translator.readable_model.modules():
        module.register_forward_pre_hook(lambda *_: seen.add(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        trace = trace_translation(translator, *translator.plan([SENTENCE]))
        attribute(translator.readable_model, trace)
        head_changes(translator, trace)
        ablate(translator, trace, [Head("cross", 0, 0)])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == {1}
