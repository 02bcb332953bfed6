"""Whether a translator guesses ahead (decoding/speculative.py): what `--fast` and `fast=` mean.

Results are the same either way, so time alone decides. A shallow decoder in the int8 engine has little to save: of the
bundled model's work on a sentence a third is reading it; a step takes 0.19 ms, checking four tokens 0.32 ms, guessing
one 0.03 ms. Measured, it is not faster with guesses (RESULTS.md), so nothing is guessed unless that is asked for.
"""

from dataclasses import replace
from typing import Any, TypeVar

from heedful.decoding import (
    Decodable,
    Ensemble,
    Generator,
    Lookup,
    OwnGuesses,
    Recorded,
    Speculative,
    Stepwise,
    searched_model,
)
from heedful.engines.int8.engine import Int8Transformer
from heedful.errors import UserError
from heedful.tasks.translation.translator import Translator

TranslatorT = TypeVar("TranslatorT", bound=Translator)


def with_speed(translator: TranslatorT, fast: bool) -> TranslatorT:
    """Return a translator that guesses ahead, or does not."""
    if isinstance(translator.generator, Recorded):  # which nothing that asks the host for guesses is faster than
        return translator
    model = searched_model(translator.generator)
    if model is not None:
        return replace(translator, generator=generator_of(model, fast))
    if fast:
        raise UserError("`fast` must be left out with a model that writes without steps: there are none to save.")
    return translator


def can_guess(model: Decodable[Any]) -> bool:
    """Say whether a model can check several guesses in one pass."""
    members = model.models if isinstance(model, Ensemble) else [model]
    return all(hasattr(member, "extend_best") and hasattr(member, "rewind") for member in members)


def generator_of(model: Decodable[Any], fast: bool = False) -> Generator:
    """Return what writes with a model: step by step, or with guesses, by its drafter where it has one."""
    if not fast:
        return Stepwise(model)
    if isinstance(model, Int8Transformer) and model.drafter is not None:
        return Speculative(model, OwnGuesses(model), lookahead=model.drafter.shape.num_guesses)
    if not can_guess(model):
        raise UserError(
            "`fast` must be left out with a recurrent model: it reads one token at a time, "
            "so nothing is gained by guessing several."
        )
    return Speculative(model, Lookup())  # type: ignore[arg-type]
