"""Weights shown equal weights used: all layers, heads and uses, both orders of LayerNorm, with padding."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heedful.models.attention_weights import entropy, forced_pass, uses_by_name, watch_attention
from heedful.models.transformer import Transformer
from heedful.nn.attention import split_heads
from tests.support.small_models import USES, draw_model

SOURCE = torch.tensor([[5, 6, 7, 8, 9, 2], [11, 12, 2, 0, 0, 0]])
INPUTS = torch.tensor([[1, 14, 15, 16, 17], [1, 18, 19, 20, 0]])


def what_the_kernel_did(model: Transformer, kind: str) -> list[tuple[Tensor, Tensor]]:
    """Per layer, the averages that left the fused kernel and the values that went in, [batch, heads, length, head_dim].

    The averages are what W^O reads. The values are projected here from what the module was given.
    """
    seen: list[tuple[Tensor, Tensor]] = []
    handles = []
    for use in uses_by_name(model)[kind]:
        module = use.module
        assert isinstance(module, nn.Module)
        given: list[Tensor] = []
        handles.append(module.register_forward_pre_hook(lambda _, args, given=given: given.extend(args)))

        def note(
            _: nn.Module,
            args: tuple[Tensor],
            module: nn.Module = module,
            given: list[Tensor] = given,
        ) -> None:
            projection = module.query_key_value if kind != "cross" else module.key_value
            value = projection(given[0] if kind != "cross" else given[1]).chunk(3 if kind != "cross" else 2, -1)[-1]
            seen.append((split_heads(args[0], module.num_heads), split_heads(value, module.num_heads)))

        handles.append(module.output.register_forward_pre_hook(note))
    with torch.no_grad():
        model(SOURCE, SOURCE != 0, INPUTS)
    for handle in handles:
        handle.remove()
    return seen


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("kind", USES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_shown_give_what_every_head_found(norm: str, kind: str, dtype: torch.dtype) -> None:
    model = draw_model(norm).to(dtype)
    _, weights = forced_pass(model, SOURCE, SOURCE != 0, INPUTS)
    kernel = what_the_kernel_did(model, kind)
    assert len(kernel) == len(weights[kind]) == (3 if kind == "encoder" else 2)
    for shown, (averages, values) in zip(weights[kind], kernel, strict=True):
        assert shown.shape[:2] == (2, 2)
        torch.testing.assert_close(shown @ values, averages, atol=1e-5, rtol=0)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("kind", USES)
def test_weights_can_be_got_back_from_the_output_of_the_fast_kernel(norm: str, kind: str) -> None:
    # There are fewer keys than features in a head, so that one set of weights only explains what the kernel returned.
    model = draw_model(norm).double()
    _, weights = forced_pass(model, SOURCE[:1], None, INPUTS[:1])
    for shown, (averages, values) in zip(weights[kind], what_the_kernel_did(model, kind), strict=True):
        recovered = averages[:1] @ torch.linalg.pinv(values[:1])
        torch.testing.assert_close(shown, recovered, atol=1e-5, rtol=0)


def test_watching_changes_no_output_and_leaves_nothing_behind() -> None:
    model = draw_model()
    before = model(SOURCE, SOURCE != 0, INPUTS)
    with watch_attention(model) as found:
        during = model(SOURCE, SOURCE != 0, INPUTS)
    assert torch.equal(before, during)
    assert len(found) == 3 + 2 + 2
    found.clear()
    model(SOURCE, SOURCE != 0, INPUTS)
    assert not found


def test_rows_are_distributions_without_weight_on_padding_or_the_future() -> None:
    _, weights = forced_pass(draw_model(), SOURCE, SOURCE != 0, INPUTS)
    for kind in USES:
        torch.testing.assert_close(weights[kind].sum(dim=-1), torch.ones(weights[kind].shape[:-1]))
    assert not weights["encoder"][:, 1, :, :, 3:].any()
    assert not weights["cross"][:, 1, :, :, 3:].any()
    assert not weights["decoder"].triu(1).any()


def test_entropy_is_0_for_one_token_and_the_logarithm_of_the_number_for_all_alike() -> None:
    one, alike = np.eye(4, dtype=np.float32), np.full((4, 4), 0.25, dtype=np.float32)
    assert entropy(np.stack([one, alike])[None]).tolist() == [[0.0, 2.0]]
