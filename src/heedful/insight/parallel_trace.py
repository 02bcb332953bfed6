"""A translation that was written all at once, as JSON: what positions say layer by layer, and what they collapse to.

Of a CTC model this is all there is to see. A model with fertilities has an ordinary trace as well, and this beside it.
What positions say is refinement.py's; what becomes of each is decided in decoding/parallel.py.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from heedful.decoding import Fertile, Parallel
from heedful.decoding.parallel import Fate, fates_of
from heedful.errors import UserError
from heedful.insight.refinement import Refinement, trace_refinement
from heedful.insight.trace import read_unit
from heedful.insight.wire import to_json
from heedful.tasks.translation.plan import TextPlan
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import one_line
from heedful.text.tokens import target_tokens


def has_steps(translator: Translator) -> bool:
    """Say whether a translator can be looked into step by step; for one that cannot there is `parallel_payload`."""
    return not isinstance(translator.generator, Parallel)


def refinement_payload(translator: Translator, plan: TextPlan, *, sentence: int = 0) -> Any:
    """Describe how all positions of a sentence were written; None for a model that writes one after the other."""
    if not isinstance(translator.generator, Parallel | Fertile):
        return None
    found = trace_refinement(translator, plan, sentence=sentence)
    return to_json(SimpleNamespace(**vars(found), fates=_fates(translator, found)))


def parallel_payload(translator: Translator, plan: TextPlan, *, sentence: int = 0) -> dict[str, Any]:
    """Describe a translation by a model that has no steps."""
    tokenizer = translator.tokenizer
    reading = read_unit(translator, plan, sentence, None)
    unit = reading.unit
    if unit.wishes.terms:
        raise UserError("Terms must be left out to look into a model that writes all at once: they need steps.")
    found = translator.search_units([unit], TranslationRequest(beam_size=1))[0][0]
    output_ids = [*found.token_ids, tokenizer.eos_id][: len(found.token_log_probs)]
    text = one_line(tokenizer.decode_target(found.token_ids))
    payload = SimpleNamespace(
        format="heedful-parallel",
        source=SimpleNamespace(text=unit.text, language=reading.source_language, tokens=reading.tokens),
        target=SimpleNamespace(
            text=text, language=reading.target_language, tokens=target_tokens(tokenizer, output_ids)
        ),
        attention=[],
        entropy={},
        log_prob=found.log_prob,
        token_log_probs=found.token_log_probs,
        finish_reason=found.finish_reason,
        warnings=reading.warnings + translator.translated(unit, [found]).warnings,
        sentences=reading.sentences,
        sentence=reading.sentence,
    )
    described: dict[str, Any] = to_json(payload)
    return {**described, "refinement": refinement_payload(translator, plan, sentence=sentence)}


def parallel_lines(payload: dict[str, Any]) -> list[str]:
    """Describe it for a terminal: what the positions of each source token say, and what is written of it."""
    refinement = payload["refinement"]
    said = refinement["layers"][-1]["guesses"]
    lines = [payload["target"]["text"], f"log-probability {payload['logProb']:.2f}, one pass", ""]
    for number, token in enumerate(payload["source"]["tokens"]):
        own = [place for place, copy in enumerate(refinement["copies"]) if copy == number]
        spoken = ["·" if said[place]["text"] is None else repr(said[place]["text"])[1:-1] for place in own]
        written = [one for one, place in zip(spoken, own, strict=True) if refinement["fates"][place] == "written"]
        lines.append(f"{repr(token['text'])[1:-1]:<16} {'  '.join(spoken):<32} {'  '.join(written)}".rstrip())
    return lines


def _fates(translator: Translator, found: Refinement) -> Sequence[Fate]:
    """Say what becomes of each position; where there are fertilities, none is blank and none repeats."""
    ids = [guess.id for guess in found.layers[-1].guesses]
    eos_id = translator.tokenizer.eos_id
    if found.fertilities is None:
        return fates_of(ids, translator.tokenizer.pad_id, eos_id, len(ids))
    end = ids.index(eos_id) if eos_id in ids else len(ids)
    return ["written" if place < end else "end" if place == end else "unread" for place in range(len(ids))]
