"""What holds on the CPU holds on a GPU: both forms of attention, the cache, mixed precision, the compiled model."""

import pytest
import torch
from torch import Tensor

from heedful.config.models import TransformerConfig
from heedful.models import Transformer, build_model
from heedful.nn import attend, attend_fused
from tests.support.families import as_transformer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
VOCAB = 64


@pytest.fixture(autouse=True)
def exact_matrix_products() -> None:
    torch.set_float32_matmul_precision("highest")


def build(norm: str = "post") -> Transformer:
    config = TransformerConfig(
        dim=64, num_heads=2, hidden_dim=96, num_encoder_layers=2, num_decoder_layers=2, norm=norm, dropout=0.0
    )
    generator = torch.Generator().manual_seed(3)
    return as_transformer(
        build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator).cuda()
    )


def draw_batch() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(4)
    source_ids = torch.randint(1, VOCAB, (5, 13), generator=generator)
    source_mask = torch.arange(13) < torch.tensor([[13], [1], [4], [6], [8]])
    target_ids = torch.randint(1, VOCAB, (5, 9), generator=generator)
    return source_ids.cuda(), source_mask.cuda(), target_ids.cuda()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
def test_fused_attention_is_the_readable_one_with_zeros_in_empty_rows(dtype: torch.dtype, tolerance: float) -> None:
    query, key, value = (torch.randn(3, 2, length, 32, device="cuda", dtype=dtype) for length in (7, 11, 11))
    mask = torch.rand(3, 1, 7, 11, device="cuda") < 0.5
    mask[0, 0, 0] = False
    leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    averages = attend_fused(*leaves, mask)  # type: ignore[call-arg]
    averages.float().square().sum().backward()
    torch.testing.assert_close(averages, attend(query, key, value, mask)[0], atol=tolerance, rtol=tolerance)
    assert (averages[0, :, 0] == 0).all()
    assert all(leaf.grad.isfinite().all() for leaf in leaves)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_rows_that_move_multiply_and_leave_keep_their_own_past(norm: str) -> None:
    model = build(norm).eval()
    source_ids, source_mask, target_ids = draw_batch()
    state = model.start(source_ids, source_mask, max_rows=8, max_len=4)
    rows = torch.arange(5, device="cuda")
    written = torch.empty(5, 0, dtype=torch.long, device="cuda")
    for step, chosen in enumerate([None, [0, 0, 1, 2, 2, 3, 4, 4], [7, 1, 1, 0], [3, 2]]):
        parents = None if chosen is None else torch.tensor(chosen, device="cuda")
        if parents is not None:
            rows, written = rows[parents], written[parents]
        tokens = target_ids.flatten()[step : step + len(rows)]
        written = torch.cat([written, tokens.unsqueeze(1)], dim=1)
        logits = model.step(state, tokens, parents)
        with torch.no_grad():
            expected = model(source_ids[rows], source_mask[rows], written)[:, -1]
        torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


def test_compiled_model_in_mixed_precision_trains_like_the_plain_one() -> None:
    source_ids, source_mask, target_ids = draw_batch()
    losses = []
    for compiled in (False, True):
        model = build()
        run = torch.compile(model, fullgraph=True) if compiled else model
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = run(source_ids, source_mask, target_ids)
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), target_ids.flatten())
        loss.backward()
        losses.append((loss.item(), model.source_embedding.weight.grad.norm().item()))
    assert losses[1] == pytest.approx(losses[0], rel=2e-2)
