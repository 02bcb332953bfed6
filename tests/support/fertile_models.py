"""Models with fertilities of drawn weights, teachers for them, and sentences."""

import torch
from torch import Tensor

from heedful.config.models import FertilityConfig, RecurrentConfig, TransformerConfig
from heedful.models.build import build_model
from heedful.models.fertility import FertilityModel
from heedful.models.interfaces import EncoderDecoder

VOCAB, DIM, HEADS = 19, 16, 2


def drawn_model(choice: str = "argmax", seed: int = 2) -> FertilityModel:
    config = FertilityConfig.model_validate(
        {
            "kind": "fertility",
            "dim": DIM,
            "num_heads": HEADS,
            "hidden_dim": 24,
            "num_encoder_layers": 2,
            "num_decoder_layers": 2,
            "max_fertility": 4,
            "choice": choice,
        }
    )
    generator = torch.Generator().manual_seed(seed)
    model = build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator)
    assert isinstance(model, FertilityModel)
    return model.eval()


def drawn_sources() -> tuple[Tensor, Tensor]:
    ids = torch.randint(3, VOCAB, (3, 7), generator=torch.Generator().manual_seed(4))
    return ids, torch.arange(7) < torch.tensor([[7], [4], [2]])


def drawn_teacher(*, is_recurrent: bool = False) -> EncoderDecoder:
    shape: TransformerConfig | RecurrentConfig = TransformerConfig(
        dim=DIM, num_heads=HEADS, hidden_dim=24, num_encoder_layers=1, num_decoder_layers=1
    )
    if is_recurrent:
        shape = RecurrentConfig(kind="recurrent", dim=DIM, num_encoder_layers=1, num_decoder_layers=1)
    generator = torch.Generator().manual_seed(8)
    return build_model(shape, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0, generator=generator).eval()
