"""The names of a Marian model's tensors in Hugging Face's library, and ours. Nothing else differs but the packing.

Both directions are plain functions on dictionaries of tensors, so that they carry gradients as well as weights.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

_SIMPLE_NAMES = {
    "self_attn.out_proj": "self_attention.output",
    "self_attn_layer_norm": "self_attention_residual.norm",
    "encoder_attn.out_proj": "cross_attention.output",
    "encoder_attn_layer_norm": "cross_attention_residual.norm",
    "fc1": "feed_forward.expand",
    "fc2": "feed_forward.contract",
    "final_layer_norm": "feed_forward_residual.norm",
}
_PACKED_NAMES = {
    "self_attention.query_key_value": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "cross_attention.query": ("encoder_attn.q_proj",),
    "cross_attention.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
}


def layers_from_marian(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename and pack the tensors of all layers; embeddings, positions and biases of logits are left out."""
    ours: dict[str, Tensor] = {}
    for name, tensor in theirs.items():
        stack, number, rest = _split_name(name, prefix="model.")
        if stack is None:
            continue
        block, kind = rest.rsplit(".", 1)
        place = f"{stack}.layers.{number}."
        if block in _SIMPLE_NAMES:
            ours[f"{place}{_SIMPLE_NAMES[block]}.{kind}"] = tensor
            continue
        for packed, blocks in _PACKED_NAMES.items():
            if block == blocks[0]:
                parts = [theirs[f"model.{place}{part}.{kind}"] for part in blocks]
                ours[f"{place}{packed}.{kind}"] = torch.cat(parts)
    return ours


def layers_to_marian(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Undo `layers_from_marian`."""
    theirs: dict[str, Tensor] = {}
    simple = {ours_name: their_name for their_name, ours_name in _SIMPLE_NAMES.items()}
    for name, tensor in ours.items():
        stack, number, rest = _split_name(name, prefix="")
        if stack is None:
            continue
        block, kind = rest.rsplit(".", 1)
        place = f"model.{stack}.layers.{number}."
        blocks = _PACKED_NAMES.get(block) or (simple[block],)
        for part, piece in zip(blocks, tensor.chunk(len(blocks)), strict=True):
            theirs[f"{place}{part}.{kind}"] = piece.contiguous()
    return theirs


def _split_name(name: str, *, prefix: str) -> tuple[str | None, str, str]:
    """Cut "encoder.layers.3.fc1.weight" into "encoder", "3" and "fc1.weight"; None when it is no layer's tensor."""
    parts = name.removeprefix(prefix).split(".", 3)
    if not name.startswith(prefix) or len(parts) < 4 or parts[1] != "layers":
        return None, "", ""
    return parts[0], parts[2], parts[3]
