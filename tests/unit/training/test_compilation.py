import torch
from torch._dynamo.utils import counters

from heedful.config.models import TransformerConfig
from heedful.models.build import build_model
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.training.compilation import compile_layers

SHAPE = TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=3, num_decoder_layers=2, dropout=0.0)


def test_all_layers_of_a_kind_share_one_program_whatever_the_shape_and_compute_the_same() -> None:
    model, plain = (
        build_model(
            SHAPE, source_vocab_size=50, target_vocab_size=50, pad_id=0, generator=torch.Generator().manual_seed(1)
        ).train()
        for _ in range(2)
    )
    torch._dynamo.reset()
    counters.clear()
    # Without generating code: what can fail here is the tracing.
    compile_layers(model, (EncoderLayer, DecoderLayer), backend="aot_eager")
    for rows, source_len, target_len in ((4, 6, 5), (3, 9, 7), (7, 5, 12)):
        source, target = torch.randint(1, 50, (rows, source_len)), torch.randint(1, 50, (rows, target_len))
        source[0, 3:] = 0
        found, expected = (one(source, source != 0, target) for one in (model, plain))
        torch.testing.assert_close(found, expected)
        gradients, wanted = (
            torch.autograd.grad(logits.square().sum(), list(one.parameters()))
            for logits, one in ((found, model), (expected, plain))
        )
        for gradient, other in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(gradient, other, rtol=1e-4, atol=1e-4)
    assert counters["stats"]["unique_graphs"] == 2
    assert list(model.state_dict()) == list(plain.state_dict())
    model.eval()
    with torch.no_grad():
        model(source, None, target)
    assert counters["stats"]["unique_graphs"] == 2
