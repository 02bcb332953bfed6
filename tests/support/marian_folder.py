"""A small Hugging Face Marian folder made from nothing: SentencePiece models and a model that learned a little."""

import json
import random
from pathlib import Path

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel

SYLLABLES = ["ka", "lo", "mi", "ter", "an", "schu", "ø", "ß", "né", "zi", "ro", "bel", "qu"]


def make_sentences(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(200)]
    return [" ".join(rng.choices(words, k=rng.randint(1, 9))) + rng.choice([".", "!", " ?", ""]) for _ in range(count)]


def learn_sentencepiece(path: Path, sentences: list[str]) -> list[str]:
    with path.open("wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=stream,
            vocab_size=150,
            model_type="unigram",
            minloglevel=2,
            num_threads=1,
        )
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(index) for index in range(len(model))]


def write_marian_folder(folder: Path, *, languages: tuple[str, ...] = ()) -> MarianMTModel:
    """Make the folder as OPUS-MT ones are: </s> is 0, <unk> is 1, the pieces of both sides, then <pad>."""
    folder.mkdir(parents=True)
    pieces = learn_sentencepiece(folder / "source.spm", make_sentences(400, seed=1))
    pieces += learn_sentencepiece(folder / "target.spm", make_sentences(400, seed=2))
    named = ["</s>", "<unk>", *(f">>{language}<<" for language in languages)]
    named += sorted(set(pieces) - {"<unk>", "<s>", "</s>"})[:-3]  # three pieces without an id are unknown
    vocabulary = {piece: index for index, piece in enumerate([*named, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    settings = {"source_lang": "ka", "target_lang": "lo", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")

    torch.manual_seed(3)
    pad = vocabulary["<pad>"]
    config = MarianConfig(  # type: ignore[call-arg]
        vocab_size=len(vocabulary),
        d_model=32,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        activation_function="swish",
        scale_embedding=True,
        static_position_embeddings=True,
        max_position_embeddings=128,
        pad_token_id=pad,
        eos_token_id=0,
        bos_token_id=None,
        decoder_start_token_id=pad,
        forced_eos_token_id=None,
        dropout=0.0,
    )
    model = MarianMTModel(config)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:  # the positions are frozen
            torch.nn.init.normal_(parameter, mean=float("norm.weight" in name), std=0.15)
    model.model.shared.weight.data[pad] = 0
    model.final_logits_bias.normal_(std=0.5)
    _teach_to_echo(model, vocab_size=len(vocabulary) - 1)
    model.eval().save_pretrained(folder)
    return model


def _teach_to_echo(model: MarianMTModel, *, vocab_size: int) -> None:
    """Train a little on repeating the input, so that outputs are varied and end where they should, more or less."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(120):
        length = int(torch.randint(2, 12, ()))
        source_ids = torch.randint(2, vocab_size, (16, length))
        source_ids[:, -1] = 0
        loss = model(input_ids=source_ids, labels=source_ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
