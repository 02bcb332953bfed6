"""Model folders small enough to make in every test: a real tokenizer, drawn weights, any languages."""

from pathlib import Path

import torch

from heedful.config.data import TokenizerConfig
from heedful.config.models import CtcConfig, FertilityConfig, TransformerConfig
from heedful.config.training import DecodingConfig
from heedful.models import build_model
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, save_model_folder, weights_of
from heedful.text.learning import learn_tokenizer

TINY = TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=1)
LINES = ["where is the station", "wo ist der bahnhof", "où est la gare", "车站在哪里"]


def make_model(
    *,
    languages: tuple[str, ...] = (),
    seed: int = 0,
    lines: list[str] = LINES,
    config: TransformerConfig | CtcConfig | FertilityConfig = TINY,
) -> ModelFolder[TranslatorDescription]:
    """Draw a model that translates, badly, from English into German, or between English and `languages`."""
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=320), lines, lines, languages)
    size = tokenizer.source_vocab_size
    generator = torch.Generator().manual_seed(seed)
    model = build_model(
        config, source_vocab_size=size, target_vocab_size=size, pad_id=tokenizer.pad_id, generator=generator
    )
    return ModelFolder(
        TranslatorDescription(
            model=config,
            special_ids=SpecialIds.of(tokenizer),
            source_vocab_size=size,
            target_vocab_size=size,
            source_language="en",
            target_language="de",
            languages=languages,
            decoding=DecodingConfig(beam_size=2, extra_tokens=4),
        ),
        weights_of(model),
        tokenizer.to_json(),
    )


def save_model(path: Path, *, languages: tuple[str, ...] = (), seed: int = 0, lines: list[str] = LINES) -> Path:
    """Write such a model at `path` and return the path."""
    save_model_folder(path, make_model(languages=languages, seed=seed, lines=lines))
    return path
