"""A small model of ours with a tokenizer of ours, for exports: what `heedful train` would make, untrained."""

from typing import Any

import torch
from torch import nn

from heedful.config.models import TransformerConfig
from heedful.models import build_model
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, weights_of
from heedful.text.normalization import Nfkc
from heedful.text.subwords import Merges, Subwords
from heedful.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Tokenizer
from heedful.text.tokenizer import SpecialIds as TokenizerIds
from heedful.text.words import SPACE_MARK
from tests.support.marian_folder import make_sentences


def make_characters(order: int) -> Subwords:
    """Make a vocabulary of bytes and single characters, with ids in the given order (1 or -1)."""
    characters = sorted(set("".join(make_sentences(300, seed=1)).replace(" ", SPACE_MARK)))[::order]
    return Subwords(
        ["<pad>", "<s>", "</s>", "<unk>", *(f"<0x{value:02X}>" for value in range(256)), *characters],
        unk_id=UNK_ID,
        reserved_ids=range(4),
        byte_ids=range(4, 260),
        segmentation=Merges(()),
        splitting="words",
    )


def make_own_model(*, shared: bool = True, **shape: Any) -> ModelFolder[TranslatorDescription]:
    """Make a tokenizer of characters and draw weights; `shape` overrides the model's config."""
    source = make_characters(1)
    tokenizer = Tokenizer(
        source=source,
        target=source if shared else make_characters(-1),
        normalization=Nfkc(),
        special_ids=TokenizerIds(pad=PAD_ID, bos=BOS_ID, eos=EOS_ID, unk=UNK_ID),
    )
    base = {"dim": 32, "num_heads": 4, "hidden_dim": 48, "num_encoder_layers": 2, "num_decoder_layers": 3}
    config = TransformerConfig.model_validate({**base, **shape})
    generator = torch.Generator().manual_seed(6)
    model = build_model(
        config,
        source_vocab_size=tokenizer.source_vocab_size,
        target_vocab_size=tokenizer.target_vocab_size,
        pad_id=tokenizer.pad_id,
        generator=generator,
    )
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, mean=float("norm.weight" in name), std=0.25, generator=generator)
    return ModelFolder(
        TranslatorDescription(
            model=config,
            special_ids=SpecialIds.of(tokenizer),
            source_vocab_size=tokenizer.source_vocab_size,
            target_vocab_size=tokenizer.target_vocab_size,
            source_language="ka",
            target_language="lo",
        ),
        weights_of(model),
        tokenizer.to_json(),
    )
