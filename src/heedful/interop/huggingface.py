"""Our translators for Hugging Face's library: AutoModelForSeq2SeqLM and AutoTokenizer read what is written here.

A post-norm model is a Marian model. One with the norms before its blocks is what the library calls Pegasus: the same
sinusoids, the same scaled embeddings and a bias on the logits, with a norm at the end of each stack.
"""

import json
from pathlib import Path

from safetensors.torch import save
from torch import Tensor

from heedful.config.models import SinusoidalPositions
from heedful.errors import UserError
from heedful.files import publish_folder
from heedful.interop.fast_tokenizer import can_be_fast, write_fast_tokenizer
from heedful.interop.marian import MAX_POSITIONS, exportable, marian_config, weights_to_marian
from heedful.interop.marian_tokenizer import can_be_sentencepiece, write_marian_tokenizer
from heedful.interop.residual_basis import halves_from_interleaved
from heedful.nn.positions import sinusoidal_table
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import ModelFolder
from heedful.text.tokenizer import Tokenizer


def export_huggingface(folder: ModelFolder[TranslatorDescription], out: Path) -> str | None:
    """Write a translator for Hugging Face's library at `out`, which must not exist yet.

    Return why AutoTokenizer cannot read its tokenizer, None when it can; text must then be cut into tokens by Heedful,
    by heedful_tokenizer.json.
    """
    description = folder.description
    model, tokenizer = exportable(description.model), Tokenizer.from_json(folder.tokenizer_json)
    weights = dict(folder.weights)
    if model.positions == SinusoidalPositions(layout="interleaved"):
        weights = halves_from_interleaved(weights, model.dim)
    config, tensors = marian_config(folder, model), weights_to_marian(weights, folder)
    if model.norm == "pre":
        config, tensors = _as_pegasus(config, tensors, weights, folder)
    generation = _generation_config(description, tokenizer)

    def fill(partial: Path) -> None:
        for name, content in (("config.json", config), ("generation_config.json", generation)):
            (partial / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        (partial / "model.safetensors").write_bytes(save(tensors, metadata={"format": "pt"}))
        (partial / "README.md").write_text(_card(folder, tokenizer), encoding="utf-8")
        # Under a name of its own: Hugging Face takes every tokenizer.json for one of theirs.
        (partial / "heedful_tokenizer.json").write_text(folder.tokenizer_json, encoding="utf-8")
        if can_be_sentencepiece(tokenizer) and model.norm == "post":
            write_marian_tokenizer(tokenizer, partial, description.source_language, description.target_language)
        elif can_be_fast(tokenizer):
            write_fast_tokenizer(tokenizer, partial)

    publish_folder(out, fill)
    if can_be_fast(tokenizer) or (can_be_sentencepiece(tokenizer) and model.norm == "post"):
        return None
    return "its two sides have vocabularies of their own, or its normalisation is none of theirs"


def _as_pegasus(
    config: dict[str, object],
    tensors: dict[str, Tensor],
    weights: dict[str, Tensor],
    folder: ModelFolder[TranslatorDescription],
) -> tuple[dict[str, object], dict[str, Tensor]]:
    description = folder.description
    if description.source_vocab_size != description.target_vocab_size:
        raise UserError(
            "A pre-norm model of Hugging Face's library must have one size of vocabulary, but this one has "
            f"{description.source_vocab_size:,} and {description.target_vocab_size:,}."
        )
    config = {**config, "architectures": ["PegasusForConditionalGeneration"], "model_type": "pegasus"}
    for name in ("decoder_vocab_size", "static_position_embeddings", "share_encoder_decoder_embeddings"):
        del config[name]
    for stack in ("encoder", "decoder"):
        for kind in ("weight", "bias"):
            tensors[f"model.{stack}.layer_norm.{kind}"] = weights[f"{stack}.final_norm.{kind}"]
        tensors[f"model.{stack}.embed_positions.weight"] = sinusoidal_table(
            MAX_POSITIONS, description.model.dim, "halves"
        )
    if description.model.tying != "three_way":  # of the three tables of theirs all are tied, or none
        config["tie_word_embeddings"] = False
        tensors["model.shared.weight"] = tensors["model.encoder.embed_tokens.weight"].clone()
        tensors.setdefault("lm_head.weight", tensors["model.decoder.embed_tokens.weight"].clone())
    return config, tensors


def _generation_config(description: TranslatorDescription, tokenizer: Tokenizer) -> dict[str, object]:
    special, decoding = description.special_ids, description.decoding
    return {
        "pad_token_id": special.pad,
        "bos_token_id": special.bos,
        "eos_token_id": special.eos,
        "decoder_start_token_id": special.bos,
        "num_beams": decoding.beam_size,
        "max_new_tokens": decoding.max_source_tokens + decoding.extra_tokens,
        "suppress_tokens": sorted({special.pad, special.bos, tokenizer.unk_id} - {special.eos}),
    }


def _card(folder: ModelFolder[TranslatorDescription], tokenizer: Tokenizer) -> str:
    description = folder.description
    languages = sorted({description.source_language, description.target_language, *description.languages})
    licence = description.facts.get("licence")
    front = ["---", "library_name: transformers", "pipeline_tag: translation", "language:"]
    front += [f"- {language}" for language in languages]
    front += [f"license: {licence}"] if isinstance(licence, str) and " " not in licence else []
    tag = "".join(f"{tokenizer.source_piece(index)} " for index in list(tokenizer.language_ids.values())[:1])
    usage = (
        "```python\nfrom transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n\n"
        'tokenizer, model = AutoTokenizer.from_pretrained("."), AutoModelForSeq2SeqLM.from_pretrained(".")\n'
        f'batch = tokenizer(["{tag}Good morning."], padding=True, return_tensors="pt")\n'
        "print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))\n```\n"
    )
    return "\n".join([*front, "---", "", folder.card]) + "\n## With Transformers\n\n" + usage
