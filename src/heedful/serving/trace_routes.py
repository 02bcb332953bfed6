"""The routes that look into models: traces, cells of attention, positions, for translators, checkpoints and the others.

All of it runs on the thread that owns the model, in its queue and within the deadline, like everything else. What there
is to see is made in insight/.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from starlette.responses import JSONResponse, Response

from heedful.insight.ablation import Head, ablate, head_changes
from heedful.insight.attention_cell import open_cell
from heedful.insight.attribution import attribute
from heedful.insight.classification_trace import trace_classification
from heedful.insight.forced_pair import ForcedPair, forced_pair
from heedful.insight.parallel_trace import has_steps, parallel_payload, refinement_payload
from heedful.insight.payload import to_payload
from heedful.insight.text_trace import trace_text
from heedful.insight.trace import trace_translation
from heedful.insight.view_payloads import cell_payload, classification_payload, positions_payload, text_payload
from heedful.insight.wire import to_json
from heedful.serving.bodies import BadRequestError
from heedful.serving.labelling import LabellingEngine
from heedful.serving.routing import Api, Server
from heedful.serving.trace_requests import (
    AblationRequest,
    CellRequest,
    ClassifyTraceRequest,
    OneSentence,
    PositionsQuery,
    TextTraceRequest,
    TracedRequest,
    TraceRequest,
)
from heedful.serving.translating import TranslationEngine
from heedful.serving.wanted import glossary_of
from heedful.serving.workplace import Check
from heedful.serving.writing import WritingEngine
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator

Inspection = Callable[[Translator, Check], Any]
"""Looks into a translator; asks between its parts whether to go on."""


def add_traces(api: Api) -> None:
    """Add the routes for translators and their checkpoints."""
    server = api.server

    @api.post("/api/trace", TraceRequest, work=TranslationEngine)
    async def trace(asked: TraceRequest) -> Response:
        """Translate one sentence and show how: tokens, attention, and the beam."""
        _check_length(asked.q + (asked.hypothesis or ""), server)
        languages = _wanted(asked)

        return await _look(server, asked, lambda translator, _: _traced(translator, asked, languages), languages)

    @api.post("/api/trace/attribution", TracedRequest, work=TranslationEngine)
    async def attribution(asked: TracedRequest) -> Response:
        """Say which source tokens each token of a translation rests on."""
        _check_length(asked.q, server)

        def inspect(translator: Translator, check: Check) -> dict[str, Any]:
            found = attribute(translator.readable_model, _pair(translator, asked), before_pass=check)
            return {"attribution": to_json(found.by_token)}

        return await _look(server, asked, inspect)

    @api.post("/api/trace/heads", TracedRequest, work=TranslationEngine)
    async def heads(asked: TracedRequest) -> Response:
        """Say what a translation loses without each head."""
        _check_length(asked.q, server)

        def inspect(translator: Translator, check: Check) -> dict[str, Any]:
            changes = head_changes(translator, _pair(translator, asked), before_pass=check)
            return {"heads": to_json(changes)}

        return await _look(server, asked, inspect)

    @api.post("/api/trace/ablation", AblationRequest, work=TranslationEngine)
    async def ablation(asked: AblationRequest) -> Response:
        """Translate the sentence of a trace again with heads switched off."""
        _check_length(asked.q, server)
        off = {Head(*place) for place in asked.heads_off}

        def inspect(translator: Translator, _: Check) -> Any:
            pair = replace(_pair(translator, asked), num_forced=asked.prefix)
            return to_json(ablate(translator, pair, off, beam_size=asked.beam))

        return await _look(server, asked, inspect)

    @api.post("/api/trace/cell", CellRequest, work=TranslationEngine)
    async def cell(asked: CellRequest) -> Response:
        """Open one cell of an attention map: query, key, their product, and the softmax of the row."""
        _check_length(asked.q, server)

        def inspect(translator: Translator, _: Check) -> Any:
            place = {name: getattr(asked, name) for name in ("layer", "head", "row", "column")}
            return cell_payload(open_cell(translator.readable_model, _pair(translator, asked), asked.kind, **place))

        return await _look(server, asked, inspect)

    @api.get("/api/positions", PositionsQuery)
    async def positions(asked: PositionsQuery) -> Response:
        """Give the table a translator adds to its embeddings, and how alike its rows are."""
        engine = server.engines.find(TranslationEngine, asked.model)
        return await _show(
            server,
            await engine.alone(
                lambda _: positions_payload(engine.translator.readable_model, asked.length, asked.side), asked.length
            ),
        )


def add_other_traces(api: Api) -> None:
    """Add the routes for classifiers and language models."""
    server = api.server

    @api.post("/api/classify/trace", ClassifyTraceRequest, work=LabellingEngine)
    async def classify(asked: ClassifyTraceRequest) -> Response:
        """Put a label on one text and show what moved the decision and where the heads look."""
        _check_length(asked.q, server)
        engine = server.engines.find(LabellingEngine, asked.model)
        return await _show(
            server,
            await engine.alone(
                lambda check: classification_payload(
                    trace_classification(engine.classifier, asked.q, before_pass=check)
                ),
                len(asked.q),
            ),
        )

    @api.post("/api/text/trace", TextTraceRequest, work=WritingEngine)
    async def read(asked: TextTraceRequest) -> Response:
        """Let a language model read a text and show where it looks, into its memory too, and what it expects."""
        _check_length(asked.q, server, server.limits.max_text_trace_characters)
        engine = server.engines.find(WritingEngine, asked.model)
        return await _show(
            server,
            await engine.alone(
                lambda _: text_payload(trace_text(engine.writer, asked.q, num_read=asked.num_read)), len(asked.q)
            ),
        )


async def _show(server: Server, found: dict[str, Any]) -> Response:
    """Write what was found as JSON, which is long: every head looks from everywhere to everywhere."""
    return await server.preparation.render(lambda: JSONResponse(found), server.limits.max_characters)


async def _look(
    server: Server, asked: OneSentence, inspect: Inspection, languages: TranslationRequest | None = None
) -> Response:
    """Find the model that is asked for, with `languages` one that has them, and look into it when it is its turn."""
    num_tokens = max(1, len(asked.q) // 2)
    if (asked.run is None) != (asked.checkpoint is None):
        raise BadRequestError("`run` and `checkpoint` must be given together, but one is missing.")
    if asked.run is not None and asked.checkpoint is not None:
        run = await asyncio.to_thread(server.runs.find, asked.run)
        if not run.is_traceable:
            raise BadRequestError("`run` must be a run of a translator: checkpoints of others cannot be looked into.")
        found = await server.checkpoints.look_into(run, asked.checkpoint, inspect, num_tokens)
        return await _show(server, {**found, "model": None, "run": run.id, "checkpoint": asked.checkpoint})
    if languages is None:
        engine = server.engines.find(TranslationEngine, asked.model)
    else:
        engine = server.engines.find_translator(asked.model, languages)
    found = await engine.alone(lambda check: inspect(engine.translator, check), num_tokens)
    return await _show(server, {**found, "model": engine.id, "run": None, "checkpoint": None})


def _wanted(asked: TraceRequest) -> TranslationRequest:
    """Return what is to be settled in the plan of a text that is traced."""
    if asked.glossary and (asked.hypothesis or asked.prefix_ids):
        raise BadRequestError("`glossary` must not be given with `hypothesis` or `prefixIds`.")
    source = None if asked.source == "auto" else asked.source
    return TranslationRequest(source, asked.target, glossary=glossary_of(asked.glossary))


def _traced(translator: Translator, asked: TraceRequest, languages: TranslationRequest) -> dict[str, Any]:
    """Trace what is asked for, with steps or without, as the model writes."""
    (plan,) = translator.plan([asked.q], languages)
    if not has_steps(translator):
        if asked.hypothesis or asked.prefix_ids:
            raise BadRequestError("`hypothesis` and `prefixIds` must be left out: this model writes all at once.")
        return parallel_payload(translator, plan, sentence=asked.sentence)
    trace = trace_translation(
        translator,
        plan,
        beam_size=asked.beam,
        sentence=asked.sentence,
        hypothesis=asked.hypothesis,
        prefix_ids=asked.prefix_ids or (),
    )
    refinement = refinement_payload(translator, plan, sentence=asked.sentence)
    return to_payload(trace) if refinement is None else {**to_payload(trace), "refinement": refinement}


def _pair(translator: Translator, asked: TracedRequest) -> ForcedPair:
    return forced_pair(translator, asked.q, asked.target, asked.target_ids)


def _check_length(text: str, server: Server, limit: int | None = None) -> None:
    limit = server.limits.max_trace_characters if limit is None else limit
    if len(text) > limit:
        raise BadRequestError(f"A trace must have at most {limit:,} characters.", 413)
