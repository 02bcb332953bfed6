"""What the engine is handed when it is made: the weights of a model, as bytes and floats that C++ can read.

The structures are those of engine.h. Nothing here computes anything but the rounding of weights to bytes.
"""

import ctypes
from ctypes import POINTER, c_float, c_int8, c_int32, c_int64

import torch
from torch import Tensor, nn

from heedful.engines.int8.library import NativeUnavailableError
from heedful.models.drafter import Drafter
from heedful.models.transformer import Transformer
from heedful.nn.feed_forward import ACTIVATIONS
from heedful.nn.layers import DecoderLayer, EncoderLayer, PreNormResidual
from heedful.storage.quantized_weights import QuantizedWeights, quantize_rows


class LinearWeights(ctypes.Structure):
    """A linear map as the engine takes it: bytes row by row, a scale and a bias for each of its outputs."""

    _fields_ = (
        ("weights", POINTER(c_int8)),
        ("scales", POINTER(c_float)),
        ("bias", POINTER(c_float)),
        ("outputs", c_int32),
        ("inputs", c_int32),
    )


class _NormWeights(ctypes.Structure):
    _fields_ = (("gain", POINTER(c_float)), ("shift", POINTER(c_float)))


class EngineSpec(ctypes.Structure):
    """All that an engine is made from."""

    _fields_ = (
        *((name, c_int32) for name in ("dim", "num_heads", "num_encoder_layers", "num_decoder_layers")),
        *((name, c_int32) for name in ("pre_norm", "activation", "threads")),
        ("norm_epsilon", c_float),
        ("embedding_scale", c_float),
        ("linears", POINTER(LinearWeights)),
        ("norms", POINTER(_NormWeights)),
        ("source_tied", c_int32),
        ("target_tied", c_int32),
        ("drafter_linears", POINTER(LinearWeights)),
        ("drafter_norms", POINTER(_NormWeights)),
        ("drafter_tokens", POINTER(c_int64)),
    )


def check_shapes(model: Transformer, lanes: int) -> None:
    """Refuse a model that the engine cannot compute, `lanes` numbers at a time."""
    layer = model.encoder.layers[0]
    assert isinstance(layer, EncoderLayer)
    widths = {
        "dim": model.dim,
        "hidden_dim": layer.feed_forward.expand.out_features,
        "dim / num_heads": model.dim // model.num_heads,
    }
    for name, width in widths.items():
        if width % lanes:
            raise NativeUnavailableError(
                f"The int8 engine needs `{name}` to be a multiple of {lanes} on this processor, but it is {width}."
            )


def is_computable(drafter: Drafter, lanes: int) -> bool:
    """Say whether the engine can compute a drafter, `lanes` numbers at a time."""
    return drafter.shape.hidden_dim % lanes == 0 and drafter.shape.rank % lanes == 0


def _floats(tensor: Tensor, alive: list[Tensor]) -> "ctypes._Pointer[c_float]":
    """Point to any tensor, such as [dim], as floats that `alive` keeps."""
    alive.append(tensor.detach().float().cpu().contiguous())
    return ctypes.cast(alive[-1].data_ptr(), POINTER(c_float))


def _linear(matrix: Tensor, scales: Tensor, bias: Tensor | None, alive: list[Tensor]) -> LinearWeights:
    """Describe a layer by its bytes, such as [dim, dim], their scales [dim] and its bias [dim]."""
    alive.append(matrix)
    bytes_at = ctypes.cast(matrix.data_ptr(), POINTER(c_int8))
    return LinearWeights(
        bytes_at, _floats(scales, alive), None if bias is None else _floats(bias, alive), *matrix.shape
    )


def _norm(layer: nn.LayerNorm, alive: list[Tensor]) -> _NormWeights:
    return _NormWeights(_floats(layer.weight, alive), _floats(layer.bias, alive))


def describe_drafter(spec: EngineSpec, drafter: Drafter, alive: list[Tensor]) -> None:
    """Add what guesses to what is told the engine."""
    attention = (drafter.join, drafter.query, drafter.output)
    linears = (*attention, drafter.expand, drafter.contract, drafter.narrow, drafter.widen)
    norms = (drafter.look_norm, drafter.think_norm, drafter.final_norm)
    assert all(norm.eps == 1e-5 for norm in norms), "kDrafterEpsilon in search.h"
    described = [_linear(*quantize_rows(linear.weight), linear.bias, alive) for linear in linears]
    spec.drafter_linears = (LinearWeights * len(linears))(*described)
    spec.drafter_norms = (_NormWeights * len(norms))(*(_norm(norm, alive) for norm in norms))
    alive.append(drafter.token_ids.cpu().contiguous())
    spec.drafter_tokens = ctypes.cast(alive[-1].data_ptr(), POINTER(c_int64))


def describe(
    model: Transformer, quantized: QuantizedWeights | None, alive: list[Tensor], threads: int | None
) -> EngineSpec:
    """Describe a model; `alive` keeps what the description points to, which must outlive it."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}

    def linear(weight: Tensor, bias: Tensor | None) -> LinearWeights:
        matrix, scales = quantize_rows(weight) if quantized is None else quantized.matrix(names[id(weight)])
        return _linear(matrix, scales, bias, alive)

    modules: list[nn.Linear] = []
    norms: list[nn.LayerNorm] = []
    for layer in (*model.encoder.layers, *model.decoder.layers):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        modules += [layer.self_attention.query_key_value, layer.self_attention.output]
        norms.append(layer.self_attention_residual.norm)
        if isinstance(layer, DecoderLayer):
            cross = layer.cross_attention
            modules += [cross.query, cross.key_value, cross.output]
            norms.append(layer.cross_attention_residual.norm)
        modules += [layer.feed_forward.expand, layer.feed_forward.contract]
        norms.append(layer.feed_forward_residual.norm)
    norms += [final for final in (model.encoder.final_norm, model.decoder.final_norm) if final is not None]

    projection = model.output_projection
    linears = [linear(module.weight, module.bias) for module in modules]
    linears.append(linear(projection.weight, projection.bias))
    tables = [model.source_embedding.weight, model.target_embedding.weight]
    linears += [linear(table, None) for table in tables if table is not projection.weight]
    first = model.encoder.layers[0]
    assert isinstance(first, EncoderLayer)
    return EngineSpec(
        dim=model.dim,
        num_heads=model.num_heads,
        num_encoder_layers=len(model.encoder.layers),
        num_decoder_layers=len(model.decoder.layers),
        pre_norm=isinstance(first.self_attention_residual, PreNormResidual),
        activation=list(ACTIVATIONS.values()).index(first.feed_forward.activation),
        threads=threads or torch.get_num_threads(),
        norm_epsilon=norms[0].eps,
        embedding_scale=model.source_embedding.scale,
        linears=(LinearWeights * len(linears))(*linears),
        norms=(_NormWeights * len(norms))(*(_norm(layer, alive) for layer in norms)),
        source_tied=tables[0] is projection.weight,
        target_tied=tables[1] is projection.weight,
    )
