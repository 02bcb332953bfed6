"""Language models of bytes, small enough to make in every test."""

from pathlib import Path

import torch

from heedful.config.language_modeling import LanguageModelConfig, TransformerXLConfig
from heedful.models.build import build_language_model
from heedful.storage.language_model_folder import LanguageModelFolder, save_language_model
from heedful.storage.model_folder import weights_of
from heedful.text.symbols import ByteSymbols

PLAIN = LanguageModelConfig(kind="language_model", dim=16, num_heads=2, hidden_dim=32, num_layers=1)


def write_language_model(
    path: Path, config: LanguageModelConfig | TransformerXLConfig = PLAIN, *, memory_len: int = 16
) -> None:
    symbols = ByteSymbols()
    model = build_language_model(config, vocab_size=symbols.vocab_size, generator=torch.Generator().manual_seed(0))
    save_language_model(
        path,
        LanguageModelFolder(
            model=config,
            weights=weights_of(model),
            symbols_json=symbols.to_json(),
            vocab_size=symbols.vocab_size,
            segment_len=16,
            memory_len=memory_len,
        ),
    )
