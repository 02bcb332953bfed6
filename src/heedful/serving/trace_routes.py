"""The routes that look into models: traces, cells of attention, positions, for translators, checkpoints and the others.

All of it runs on the thread that owns the model, in its queue and within the deadline, like everything else. What there
is to see is made in insight/.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from heedful.insight.ablation import Head, ablate, head_changes
from heedful.insight.attention_cell import open_cell
from heedful.insight.attribution import attribute
from heedful.insight.classification_trace import trace_classification
from heedful.insight.forced_pair import ForcedPair, forced_pair
from heedful.insight.payload import rounded, to_payload
from heedful.insight.text_trace import trace_text
from heedful.insight.trace import trace_translation
from heedful.insight.view_payloads import (
    ablation_payload,
    cell_payload,
    classification_payload,
    positions_payload,
    text_payload,
)
from heedful.serving.bodies import BadRequestError
from heedful.serving.labelling import LabellingEngine
from heedful.serving.routing import Server, asks, body_of, query_of, takes
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
from heedful.serving.workplace import Check
from heedful.serving.writing import WritingEngine
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator

Traced = TypeVar("Traced", bound=TracedRequest)
Look = Callable[[Translator, Check], dict[str, Any]]
"""Looks into a translator; asks between its parts whether to go on."""


def add_traces(app: FastAPI, server: Server) -> None:
    """Add the routes for translators and their checkpoints."""

    @app.post("/api/trace", openapi_extra=takes(TraceRequest), tags=["heedful"])
    async def trace(request: Request) -> Response:
        """Translate one sentence and show how: tokens, attention, and the beam."""
        asked = await body_of(TraceRequest, request, server)
        _check_length(len(asked.q) + len(asked.hypothesis or ""), server.limits.max_trace_characters)
        languages = TranslationRequest(None if asked.source == "auto" else asked.source, asked.target)

        def look(translator: Translator, _: Check) -> dict[str, Any]:
            (plan,) = translator.plan([asked.q], languages)
            return to_payload(
                trace_translation(
                    translator,
                    plan,
                    beam_size=asked.beam,
                    sentence=asked.sentence,
                    hypothesis=asked.hypothesis,
                    prefix_ids=asked.prefixIds or (),
                )
            )

        return await _look(server, asked, look, languages)

    @app.post("/api/trace/attribution", openapi_extra=takes(TracedRequest), tags=["heedful"])
    async def attribution(request: Request) -> Response:
        """Say which source tokens each token of a translation rests on."""
        asked = await _traced(TracedRequest, request, server)

        def look(translator: Translator, check: Check) -> dict[str, Any]:
            found = attribute(translator.readable_model, _pair(translator, asked), before_pass=check)
            return {"attribution": rounded(found.by_token)}

        return await _look(server, asked, look)

    @app.post("/api/trace/heads", openapi_extra=takes(TracedRequest), tags=["heedful"])
    async def heads(request: Request) -> Response:
        """Say what a translation loses without each head."""
        asked = await _traced(TracedRequest, request, server)

        def look(translator: Translator, check: Check) -> dict[str, Any]:
            changes = head_changes(translator, _pair(translator, asked), before_pass=check)
            return {"heads": {kind: rounded(values) for kind, values in changes.items()}}

        return await _look(server, asked, look)

    @app.post("/api/trace/ablation", openapi_extra=takes(AblationRequest), tags=["heedful"])
    async def ablation(request: Request) -> Response:
        """Translate the sentence of a trace again with heads switched off."""
        asked = await _traced(AblationRequest, request, server)
        off = {Head(*place) for place in asked.headsOff}

        def look(translator: Translator, _: Check) -> dict[str, Any]:
            pair = replace(_pair(translator, asked), num_forced=asked.prefix)
            return ablation_payload(ablate(translator, pair, off, beam_size=asked.beam))

        return await _look(server, asked, look)

    @app.post("/api/trace/cell", openapi_extra=takes(CellRequest), tags=["heedful"])
    async def cell(request: Request) -> Response:
        """Open one cell of an attention map: query, key, their product, and the softmax of the row."""
        asked = await _traced(CellRequest, request, server)

        def look(translator: Translator, _: Check) -> dict[str, Any]:
            place = {name: getattr(asked, name) for name in ("layer", "head", "row", "column")}
            return cell_payload(open_cell(translator.readable_model, _pair(translator, asked), asked.kind, **place))

        return await _look(server, asked, look)

    @app.get("/api/positions", openapi_extra=asks(PositionsQuery), tags=["heedful"])
    async def positions(request: Request) -> Response:
        """Give the table a translator adds to its embeddings, and how alike its rows are."""
        asked = query_of(PositionsQuery, request)
        engine = server.engines.find(TranslationEngine, asked.model)
        return await _show(
            server,
            await engine.alone(
                lambda _: positions_payload(engine.translator.readable_model, asked.length, asked.side), asked.length
            ),
        )


def add_other_traces(app: FastAPI, server: Server) -> None:
    """Add the routes for classifiers and language models."""

    @app.post("/api/classify/trace", openapi_extra=takes(ClassifyTraceRequest), tags=["heedful"])
    async def classify(request: Request) -> Response:
        """Put a label on one text and show what moved the decision and where the heads look."""
        asked = await body_of(ClassifyTraceRequest, request, server)
        _check_length(len(asked.q), server.limits.max_trace_characters)
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

    @app.post("/api/text/trace", openapi_extra=takes(TextTraceRequest), tags=["heedful"])
    async def read(request: Request) -> Response:
        """Let a language model read a text and show where it looks, into its memory too, and what it expects."""
        asked = await body_of(TextTraceRequest, request, server)
        _check_length(len(asked.q), server.limits.max_text_trace_characters)
        engine = server.engines.find(WritingEngine, asked.model)
        return await _show(
            server,
            await engine.alone(
                lambda _: text_payload(trace_text(engine.writer, asked.q, num_read=asked.numRead)), len(asked.q)
            ),
        )


async def _show(server: Server, found: dict[str, Any]) -> Response:
    """Write what was found as JSON, which is long: every head looks from everywhere to everywhere."""
    return await server.preparation.render(lambda: JSONResponse(found), server.limits.max_characters)


async def _look(
    server: Server, asked: OneSentence, look: Look, languages: TranslationRequest | None = None
) -> Response:
    """Find the model that is asked for, with `languages` one that has them, and look into it when it is its turn."""
    num_tokens = max(1, len(asked.q) // 2)
    if (asked.run is None) != (asked.checkpoint is None):
        raise BadRequestError("`run` and `checkpoint` must be given together, but one is missing.")
    if asked.run is not None and asked.checkpoint is not None:
        run = await asyncio.to_thread(server.runs.find, asked.run)
        if not run.is_traceable:
            raise BadRequestError("`run` must be a run of a translator: checkpoints of others cannot be looked into.")
        found = await server.checkpoints.look_into(run, asked.checkpoint, look, num_tokens)
        return await _show(server, {**found, "model": None, "run": run.id, "checkpoint": asked.checkpoint})
    if languages is None:
        engine = server.engines.find(TranslationEngine, asked.model)
    else:
        engine = server.engines.find_translator(asked.model, languages)
    found = await engine.alone(lambda check: look(engine.translator, check), num_tokens)
    return await _show(server, {**found, "model": engine.id, "run": None, "checkpoint": None})


async def _traced(schema: type[Traced], request: Request, server: Server) -> Traced:
    """Read a request about a trace that was made."""
    asked = await body_of(schema, request, server)
    _check_length(len(asked.q), server.limits.max_trace_characters)
    return asked


def _pair(translator: Translator, asked: TracedRequest) -> ForcedPair:
    return forced_pair(translator, asked.q, asked.target, asked.targetIds)


def _check_length(num_characters: int, limit: int) -> None:
    if num_characters > limit:
        raise BadRequestError(f"A trace must have at most {limit:,} characters.", 413)
