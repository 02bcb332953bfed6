"""The benchmarks' model as Hugging Face's Marian: the same weights, loaded and checked."""

import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from heedful.interop.marian_weights import layers_to_marian
from heedful.models.transformer import Transformer
from heedful.storage.model_folder import weights_of
from successor import BOS, EOS, PAD, UNK


def marian_of(model: Transformer) -> MarianMTModel:
    """Return `MarianMTModel` with the weights of a post-norm model whose tables are one."""
    first = model.encoder.layers[0]
    config = MarianConfig(
        vocab_size=model.output_projection.weight.size(0),
        d_model=model.dim,
        encoder_layers=len(model.encoder.layers),
        decoder_layers=len(model.decoder.layers),
        encoder_attention_heads=model.num_heads,
        decoder_attention_heads=model.num_heads,
        encoder_ffn_dim=first.feed_forward.expand.out_features,
        decoder_ffn_dim=first.feed_forward.expand.out_features,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        max_position_embeddings=512,
    )
    theirs = MarianMTModel(config).eval()
    weights = weights_of(model)
    state = layers_to_marian(weights) | {"model.shared.weight": weights["source_embedding.embedding.weight"]}
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    assert not any(".layers." in name for name in missing), missing
    theirs.tie_weights()
    return theirs


@torch.inference_mode()
def generated(theirs: MarianMTModel, ids: Tensor, mask: Tensor, *, beam_size: int, length: int) -> list[list[int]]:
    """Return what `generate` writes for ids where mask, both [batch, source_len]: `length` tokens each."""
    output = theirs.generate(
        input_ids=ids,
        attention_mask=mask.long(),
        num_beams=beam_size,
        do_sample=False,
        min_new_tokens=length,
        max_new_tokens=length,
        suppress_tokens=[PAD, BOS, UNK],
    )
    written: list[list[int]] = output[:, 1:].tolist()
    return written
