"""Placeholder."""

from tokenizers import Tokenizer as Segmenter
from tokenizers import models, pre_tokenizers, trainers


def learn_unigram(counts: dict[str, int], alphabet: list[str], room: int) -> list[tuple[str, float]]:
    """Learn."""
    segmenter = Segmenter(models.Unigram())
    segmenter.pre_tokenizer = pre_tokenizers.Split("\U0010ffff", "removed")
    trainer = trainers.UnigramTrainer(
        vocab_size=room,
        show_progress=False,
        initial_alphabet=alphabet,
        unk_token="\U0010ffff",
        special_tokens=["\U0010ffff"],
    )
    segmenter.train_from_iterator(((w + "\U0010ffff") * c for w, c in counts.items()), trainer)
    import json

    return [(p, s) for p, s in json.loads(segmenter.to_str())["model"]["vocab"] if p != "\U0010ffff"]
