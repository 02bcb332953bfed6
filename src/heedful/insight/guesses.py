"""Speculation, pass by pass: what was guessed, how much of it the model would have written itself, what it wrote.

Made of what a speculative search (decoding/speculative.py) tells its listener. Such a search writes what greedy search
writes, so beside the translation of a beam it may be another one: `Guesses.text` says which.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from heedful.decoding import OwnGuesses, Round, Speculative, searched_model
from heedful.tasks.translation.fast import can_guess, generator_of
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import one_line


@dataclass(frozen=True)
class Guess:
    """A token that was proposed, or written."""

    id: int
    text: str


@dataclass(frozen=True)
class Written(Guess):
    """A token that the model wrote."""

    log_prob: float


@dataclass(frozen=True)
class Pass:
    """What one pass of the model came to."""

    guessed: tuple[Guess, ...]
    """What was proposed to follow everything written before."""

    num_accepted: int
    """How many of them, from the first on, are what the model writes."""

    written: tuple[Written, ...]
    """Those, and the model's own choice after them."""


@dataclass(frozen=True)
class Guesses:
    """A translation that was written with guesses."""

    drafter: Literal["own", "lookup"]
    """Who guessed: what the model folder brings, or what looks up how the same tokens went on before."""

    text: str
    passes: tuple[Pass, ...]

    @property
    def num_tokens(self) -> int:
        """How many passes it would have taken without guesses."""
        return sum(len(one.written) for one in self.passes)


def follow_guesses(translator: Translator, source_ids: Sequence[int], prefix_ids: Sequence[int] = ()) -> Guesses | None:
    """Let a translator write with guesses; None for one that has no steps to save, or reads one token at a time.

    `prefix_ids` are what the translation begins with: they stand in the first pass as what was guessed.
    """
    model = searched_model(translator.generator)
    if model is None or not can_guess(model):
        return None
    rounds: list[Round] = []
    fast = generator_of(model, fast=True)
    assert isinstance(fast, Speculative)
    listening = replace(translator, generator=replace(fast, on_round=rounds.append))
    found = listening.hypothesis(source_ids, beam_size=1, prefix_ids=prefix_ids)
    if found.finish_reason == "error":
        return None
    spell = translator.tokenizer.target_piece
    return Guesses(
        "own" if isinstance(fast.drafter, OwnGuesses) else "lookup",
        one_line(translator.tokenizer.decode_target(found.token_ids)),
        tuple(_pass(one, spell) for one in rounds),
    )


def _pass(one: Round, spell: Callable[[int], str]) -> Pass:
    # A search that ends does not ask whether its end was guessed.
    right = takewhile(lambda pair: pair[0] == pair[1], zip(one.guessed, one.written, strict=False))
    return Pass(
        tuple(Guess(token_id, spell(token_id)) for token_id in one.guessed),
        len(list(right)),
        tuple(
            Written(token_id, spell(token_id), log_prob)
            for token_id, log_prob in zip(one.written, one.log_probs, strict=True)
        ),
    )
