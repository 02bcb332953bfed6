"""Models for CTranslate2 (https://github.com/OpenNMT/CTranslate2), a C++ engine for Transformer inference.

Its specification of a Transformer is ours with other names, packed projections included, so this file only hands
tensors over. CTranslate2 works on pieces, not on text: `Tokenizer.trace_source(text).pieces` is what it takes.
The package is imported when it is needed; it is an extra.
"""

from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from heedful.config.models import TransformerConfig
from heedful.errors import UserError
from heedful.files import publish_folder
from heedful.interop.marian import check_whole
from heedful.models.transformer import Transformer
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.nn.positions import LearnedPositions, Positions, SinusoidalPositions
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import ModelFolder, restore_model
from heedful.text.tokenizer import Tokenizer

Quantization = Literal["int8", "int8_float32", "int8_float16", "int16", "float16", "bfloat16"]

_MAX_POSITIONS = 2048
_NEVER = -1e4  # as a bias on a logit; within the range of fp16


def export_ctranslate2(
    folder: ModelFolder[TranslatorDescription], out: Path, quantization: Quantization | None = None
) -> None:
    """Write a model for CTranslate2 at `out`, which must not exist yet; None keeps the weights in fp32."""
    spec = build_spec(folder)
    spec.validate()
    spec.optimize(quantization=quantization)

    def fill(partial: Path) -> None:
        spec.save(str(partial))
        (partial / "tokenizer.json").write_text(folder.tokenizer_json, encoding="utf-8")

    publish_folder(out, fill)


def build_spec(folder: ModelFolder[TranslatorDescription]) -> Any:
    """Describe a model in CTranslate2's terms: a `ctranslate2.specs.TransformerSpec` with all weights set."""
    try:
        from ctranslate2.specs import TransformerSpec, common_spec
    except ImportError as error:
        raise UserError(
            "The package `ctranslate2` must be installed for this export, but is not.\n"
            "Install it with: pip install 'heedful[interop]'"
        ) from error
    config = folder.description.model
    if not isinstance(config, TransformerConfig):
        raise UserError(f"CTranslate2 runs Transformers, but this model is a {config.family}.")
    check_whole(config)
    activations = {
        "relu": common_spec.Activation.RELU,
        "gelu": common_spec.Activation.GELU,
        "swish": common_spec.Activation.SWISH,
    }
    spec = TransformerSpec.from_config(
        (config.num_encoder_layers, config.num_decoder_layers),
        config.num_heads,
        pre_norm=config.norm == "pre",
        activation=activations[config.activation],
    )
    model = restore_model(folder)
    assert isinstance(model, Transformer), "what its section says"
    _set_stacks(spec, model)
    _set_output(spec, model, folder)
    _set_vocabularies(spec, folder)
    return spec


def _set_stacks(spec: Any, model: Transformer) -> None:
    spec.encoder.embeddings[0].weight = _array(model.source_embedding.weight)
    spec.decoder.embeddings.weight = _array(model.target_embedding.weight)
    spec.encoder.position_encodings.encodings = _array(_table(model.source_positions, model.dim))
    spec.decoder.position_encodings.encodings = _array(_table(model.target_positions, model.dim))
    for target, layer in zip(spec.encoder.layer, model.encoder.layers, strict=True):
        assert isinstance(layer, EncoderLayer)
        _set_self_attention_and_feed_forward(target, layer)
    for target, layer in zip(spec.decoder.layer, model.decoder.layers, strict=True):
        assert isinstance(layer, DecoderLayer)
        _set_self_attention_and_feed_forward(target, layer)
        _set_linear(target.attention.linear[0], layer.cross_attention.query)
        _set_linear(target.attention.linear[1], layer.cross_attention.key_value)
        _set_linear(target.attention.linear[2], layer.cross_attention.output)
        _set_norm(target.attention.layer_norm, layer.cross_attention_residual.norm)
    for target, stack in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        if stack.final_norm is not None:
            _set_norm(target.layer_norm, stack.final_norm)


def _set_self_attention_and_feed_forward(spec: Any, layer: EncoderLayer | DecoderLayer) -> None:
    _set_linear(spec.self_attention.linear[0], layer.self_attention.query_key_value)
    _set_linear(spec.self_attention.linear[1], layer.self_attention.output)
    _set_norm(spec.self_attention.layer_norm, layer.self_attention_residual.norm)
    _set_linear(spec.ffn.linear_0, layer.feed_forward.expand)
    _set_linear(spec.ffn.linear_1, layer.feed_forward.contract)
    _set_norm(spec.ffn.layer_norm, layer.feed_forward_residual.norm)


def _set_output(spec: Any, model: Transformer, folder: ModelFolder[TranslatorDescription]) -> None:
    output = model.output_projection
    bias = torch.zeros(folder.description.target_vocab_size) if output.bias is None else output.bias.detach().clone()
    # Our search never writes these symbols; here the weights have to see to it.
    bias[[folder.description.special_ids.pad, folder.description.special_ids.bos]] = _NEVER
    spec.decoder.projection.weight = _array(output.weight)
    spec.decoder.projection.bias = _array(bias)


def _set_vocabularies(spec: Any, folder: ModelFolder[TranslatorDescription]) -> None:
    tokenizer = Tokenizer.from_json(folder.tokenizer_json)
    spec.register_source_vocabulary(_unique(tokenizer.source.vocabulary))
    spec.register_target_vocabulary(_unique(tokenizer.target.vocabulary))
    spec.config.unk_token = tokenizer.target_piece(folder.description.special_ids.unk)
    spec.config.bos_token = tokenizer.target_piece(folder.description.special_ids.bos)
    spec.config.eos_token = tokenizer.target_piece(folder.description.special_ids.eos)
    spec.config.decoder_start_token = tokenizer.target_piece(folder.description.special_ids.bos)
    spec.config.add_source_eos = True


def _unique(vocabulary: tuple[str, ...]) -> list[str]:
    """Tell apart pieces spelled alike, since CTranslate2 knows a piece by its spelling; the first keeps its name."""
    first = {piece: index for index, piece in reversed(list(enumerate(vocabulary)))}
    return [piece if first[piece] == index else f"{piece} ({index})" for index, piece in enumerate(vocabulary)]


def _table(positions: Positions, dim: int) -> Tensor:
    if isinstance(positions, LearnedPositions):
        return positions.embedding.weight
    zeros = torch.zeros(1, _MAX_POSITIONS, dim)
    if isinstance(positions, SinusoidalPositions):
        table: Tensor = positions(zeros)[0]
        return table
    return zeros[0]


def _set_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight = _array(linear.weight)
    spec.bias = _array(linear.bias)


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma = _array(norm.weight)
    spec.beta = _array(norm.bias)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().float().numpy()
