"""Language models of bytes, small enough to make in every test."""

from pathlib import Path

import torch

from heedful.config.language_modeling import LanguageModelConfig, TransformerXLConfig
from heedful.models.build import build_language_model
from heedful.storage.descriptions import LanguageModelDescription
from heedful.storage.model_folder import ModelFolder, save_model_folder, weights_of
from heedful.text.symbols import ByteSymbols

PLAIN = LanguageModelConfig(kind="language_model", dim=16, num_heads=2, hidden_dim=32, num_layers=1)


def write_language_model(
    path: Path, config: LanguageModelConfig | TransformerXLConfig = PLAIN, *, memory_len: int = 16
) -> None:
    symbols = ByteSymbols()
    model = build_language_model(config, vocab_size=symbols.vocab_size, generator=torch.Generator().manual_seed(0))
    save_model_folder(
        path,
        ModelFolder(
            LanguageModelDescription(
                model=config, vocab_size=symbols.vocab_size, segment_len=16, memory_len=memory_len
            ),
            weights_of(model),
            symbols.to_json(),
        ),
    )
