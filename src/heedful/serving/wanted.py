"""From the fields of `POST /translate` to what is asked of a translator. Knows both shapes, and nothing of HTTP."""

from collections.abc import Sequence

from heedful.insight.wire import camel_case
from heedful.serving.answers import TranslateRequest
from heedful.tasks.translation.glossary import Entry, Glossary
from heedful.tasks.translation.request import SearchOptions, TranslationRequest


def glossary_of(pairs: Sequence[Sequence[str]]) -> Glossary:
    """Make a glossary of pairs of a term and what it becomes."""
    return Glossary(tuple(Entry(source, (target,)) for source, target in pairs))


def wanted_by(asked: TranslateRequest) -> TranslationRequest:
    """Return what a client wants; a `UserError` says what contradicts itself."""
    wanted = TranslationRequest(
        None if asked.source == "auto" else asked.source,
        asked.target,
        asked.beam,
        asked.alternatives + 1,
        length_penalty=asked.length_penalty,
        prefix=asked.prefix,
        glossary=glossary_of(asked.glossary),
        alignment=asked.alignment,
        register=asked.in_register,
        check=asked.check,
    )
    options = SearchOptions(
        sample=asked.sample,
        temperature=asked.temperature,
        top_k=asked.top_k,
        top_p=asked.top_p,
        seed=asked.seed,
        diverse=asked.diverse,
        mbr=asked.mbr,
    )
    return options.request(wanted, camel_case)
