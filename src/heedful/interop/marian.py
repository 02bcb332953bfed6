"""Hugging Face Marian folders: the public OPUS-MT models run on our engine, and what ours are called there.

A Marian model is the paper's, post-norm, with all sines before all cosines in its positions, a bias on its logits, and
the padding symbol in the place of a start symbol. This file knows the two configs; names of tensors are in
marian_weights.py, tokenizers in marian_tokenizer.py.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from heedful.config.models import ModelConfig, SinusoidalPositions, TransformerConfig
from heedful.config.training import DecodingConfig
from heedful.errors import UserError
from heedful.interop.marian_tokenizer import read_marian_json, read_marian_tokenizer
from heedful.interop.marian_weights import layers_from_marian, layers_to_marian
from heedful.interop.pickled_tensors import read_pickled_tensors
from heedful.storage.cards import translator_card
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder

MAX_POSITIONS = 1024
"""Of a model that is exported."""


def check_marian_config(path: Path) -> None:
    """Refuse a folder whose config.json says that it holds no model that can be imported."""
    _model_config(_read_json(path / "config.json"), path)


def import_marian(
    path: Path, *, name: str | None = None, facts: Mapping[str, str] | None = None
) -> ModelFolder[TranslatorDescription]:
    """Read a Hugging Face Marian folder, or say in a sentence what of it cannot be used.

    `name` is what the model is called, by default as its folder; `facts` are further lines for its card.
    """
    name, facts = name or path.name, facts or {}
    config = _read_json(path / "config.json")
    model = _model_config(config, path)
    tensors = _read_weights(path)
    source_vocab_size = _number(config, "vocab_size", path)
    target_vocab_size = int(config.get("decoder_vocab_size") or source_vocab_size)
    tokenizer = read_marian_tokenizer(
        path,
        pad_id=_number(config, "pad_token_id", path),
        start_id=_number(config, "decoder_start_token_id", path),
        source_vocab_size=source_vocab_size,
        target_vocab_size=target_vocab_size,
    )
    weights = _weights_from_marian(tensors, model, path)
    named = _read_json(path / "tokenizer_config.json") if (path / "tokenizer_config.json").is_file() else {}
    source_language = str(named.get("source_lang") or "source")
    target_language = str(named.get("target_lang") or "target")
    with _refusing(path):
        description = TranslatorDescription(
            source_language=source_language,
            target_language=target_language,
            languages=tokenizer.languages,
            source_vocab_size=source_vocab_size,
            target_vocab_size=target_vocab_size,
            special_ids=SpecialIds.of(tokenizer),
            model=model,
            decoding=DecodingConfig(beam_size=config.get("num_beams") or 4),
            facts={"imported_from": "huggingface-marian", "name": name, **facts},
        )
    card = translator_card(
        name,
        model.family,
        source_language,
        tokenizer.languages or [target_language],
        weights,
        {"imported from": "a Hugging Face Marian folder", **facts},
    )
    return ModelFolder(description, weights, tokenizer.to_json(), card)


def _model_config(config: dict[str, Any], path: Path) -> TransformerConfig:
    where = path / "config.json"
    expected: dict[str, object] = {
        "model_type": "marian",
        "scale_embedding": True,
        "static_position_embeddings": True,
        "encoder_attention_heads": config.get("decoder_attention_heads"),
        "encoder_ffn_dim": config.get("decoder_ffn_dim"),
    }
    absent = {"normalize_before": False, "normalize_embedding": False, "add_final_layer_norm": False}
    for key, value in expected.items():
        if config.get(key) != value:
            raise UserError(f"{where}: `{key}` must be {value!r}, but is {config.get(key)!r}.")
    for key, value in absent.items():
        if config.get(key, value) != value:
            raise UserError(f"{where}: `{key}` must be {value!r}, but is {config.get(key)!r}.")
    activations: dict[str, Literal["relu", "gelu", "swish"]]
    activations = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
    activation = activations.get(str(config.get("activation_function")))
    if activation is None:
        raise UserError(
            f"{where}: `activation_function` must be one of {', '.join(activations)}, "
            f"but is {config.get('activation_function')!r}."
        )
    tied = bool(config.get("tie_word_embeddings", True))
    shared = bool(config.get("share_encoder_decoder_embeddings", True))
    if shared and not tied:
        raise UserError(f"{where}: `tie_word_embeddings` must be true when the embeddings are shared, but is false.")
    with _refusing(path):
        return TransformerConfig(
            dim=_number(config, "d_model", path),
            num_heads=_number(config, "encoder_attention_heads", path),
            hidden_dim=_number(config, "encoder_ffn_dim", path),
            num_encoder_layers=_number(config, "encoder_layers", path),
            num_decoder_layers=_number(config, "decoder_layers", path),
            activation=activation,
            positions=SinusoidalPositions(layout="halves"),
            tying="three_way" if shared else "two_way" if tied else "none",
            output_bias=True,
            dropout=config.get("dropout", 0.1),
            attention_dropout=config.get("attention_dropout", 0.0),
            hidden_dropout=config.get("activation_dropout", 0.0),
        )


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn what a schema finds wrong inside the block into a sentence about config.json."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "model"
        raise UserError(
            f"{path / 'config.json'} must describe a model this Heedful knows, but its {name} does not: {first['msg']}."
        ) from error


def _number(config: dict[str, Any], key: str, path: Path) -> int:
    value = config.get(key)
    if not isinstance(value, int):
        raise UserError(f"{path / 'config.json'}: `{key}` must be a whole number, but is {value!r}.")
    return value


def _weights_from_marian(tensors: dict[str, Tensor], model: TransformerConfig, path: Path) -> dict[str, Tensor]:
    def first_of(*names: str) -> Tensor:
        for name in names:
            if name in tensors:
                return tensors[name]
        raise UserError(f"{path / 'model.safetensors'} must hold the tensor `{names[0]}`, but does not.")

    weights = layers_from_marian(tensors)
    if model.tying == "three_way":
        weights["source_embedding.embedding.weight"] = first_of(
            "model.shared.weight", "model.encoder.embed_tokens.weight"
        )
    else:
        weights["source_embedding.embedding.weight"] = first_of("model.encoder.embed_tokens.weight")
        weights["target_embedding.embedding.weight"] = first_of("model.decoder.embed_tokens.weight", "lm_head.weight")
    if model.tying == "none":
        weights["output_projection.weight"] = first_of("lm_head.weight")
    weights["output_projection.bias"] = first_of("final_logits_bias").flatten()
    return {name: tensor.float().contiguous() for name, tensor in weights.items()}


def weights_to_marian(weights: dict[str, Tensor], folder: ModelFolder[TranslatorDescription]) -> dict[str, Tensor]:
    """Rename and unpack all weights, for positions with all sines first; norms at the end of a stack are left out."""
    tensors = layers_to_marian(weights)
    source = weights["source_embedding.embedding.weight"]
    if folder.description.model.tying == "three_way":
        tensors["model.shared.weight"] = source
    else:
        tensors["model.encoder.embed_tokens.weight"] = source
        tensors["model.decoder.embed_tokens.weight"] = weights["target_embedding.embedding.weight"]
    if folder.description.model.tying == "none":
        tensors["lm_head.weight"] = weights["output_projection.weight"]
    bias = weights.get("output_projection.bias", torch.zeros(folder.description.target_vocab_size))
    tensors["final_logits_bias"] = bias.unsqueeze(0)
    return tensors


def check_whole(model: TransformerConfig) -> None:
    """Refuse a model with ablations: no other toolkit has what it lacks."""
    if model.ablations:
        raise UserError(
            f"A model for another toolkit must be without ablations, but this one has: {', '.join(model.ablations)}."
        )


def exportable(model: ModelConfig) -> TransformerConfig:
    """Return the shape of a model that Hugging Face's library has a class for, or refuse it."""
    if not isinstance(model, TransformerConfig):
        raise UserError(f"A model for Hugging Face must be a Transformer, but this one is a {model.family}.")
    check_whole(model)
    if not isinstance(model.positions, SinusoidalPositions):
        raise UserError(
            f"A model for Hugging Face must have sinusoidal positions, but this one has {model.positions.kind} ones."
        )
    return model


def marian_config(folder: ModelFolder[TranslatorDescription], model: TransformerConfig) -> dict[str, object]:
    """Return the config.json of a Marian model."""
    special = folder.description.special_ids
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": folder.description.source_vocab_size,
        "decoder_vocab_size": folder.description.target_vocab_size,
        "d_model": model.dim,
        "encoder_layers": model.num_encoder_layers,
        "decoder_layers": model.num_decoder_layers,
        "encoder_attention_heads": model.num_heads,
        "decoder_attention_heads": model.num_heads,
        "encoder_ffn_dim": model.hidden_dim,
        "decoder_ffn_dim": model.hidden_dim,
        "activation_function": model.activation,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": model.tying == "three_way",
        "tie_word_embeddings": model.tying != "none",
        "max_position_embeddings": MAX_POSITIONS,
        "dropout": model.dropout,
        "attention_dropout": model.attention_dropout,
        "activation_dropout": model.hidden_dropout,
        "pad_token_id": special.pad,
        "bos_token_id": special.bos,
        "eos_token_id": special.eos,
        "forced_eos_token_id": special.eos,
        "decoder_start_token_id": special.bos,
    }


def _read_json(path: Path) -> dict[str, Any]:
    content = read_marian_json(path)
    if not isinstance(content, dict):
        raise UserError(f"{path} must be a JSON object, but is not.")
    return content


def _read_weights(path: Path) -> dict[str, Tensor]:
    file = path / "model.safetensors"
    if not file.is_file() and (path / "pytorch_model.bin").is_file():
        return read_pickled_tensors(path / "pytorch_model.bin")
    if not file.is_file():
        raise UserError(f"{file} must exist in a Marian folder, but does not.")
    try:
        return load_file(file)
    except SafetensorError as error:
        raise UserError(f"{file} must be a safetensors file, but is not: {error}.") from error
