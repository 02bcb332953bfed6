"""The routes that look into models: traces, cells of attention, positions, for translators, checkpoints and the others.

All of it runs on the thread that owns the model, in its queue and within the deadline, like everything else. What there
is to see is made in insight/.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from heedful.insight.ablation import Head, ablate, head_changes
from heedful.insight.attention_cell import open_cell_of
from heedful.insight.attribution import attribute
from heedful.insight.classification_trace import trace_classification
from heedful.insight.payload import to_payload
from heedful.insight.text_trace import trace_text
from heedful.insight.trace import check_ids, read_text, trace_translation
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
    CellRequest,
    ClassifyTraceRequest,
    OneSentence,
    PositionsQuery,
    TextTraceRequest,
    TraceRequest,
)
from heedful.serving.translating import Asked, TranslationEngine
from heedful.serving.workplace import Check
from heedful.serving.writing import WritingEngine
from heedful.tasks.translation.translator import Translator

Look = Callable[[Translator, str | None, str | None, Check], dict[str, Any]]
"""Looks into a translator that goes from one language to another; asks between its parts whether to go on."""


def add_traces(app: FastAPI, server: Server) -> None:
    """Add the routes for translators and their checkpoints."""

    @app.post("/api/trace", openapi_extra=takes(TraceRequest), tags=["heedful"])
    async def trace(request: Request) -> Response:
        """Translate one sentence and show how: tokens, attention, the beam, and what of it rests on what."""
        asked = await body_of(TraceRequest, request, server)
        _check_length(len(asked.q) + len(asked.hypothesis or ""), server.limits.max_trace_characters)
        return await _show(server, await _look(server, asked, lambda *model: _trace(asked, *model)))

    @app.post("/api/trace/cell", openapi_extra=takes(CellRequest), tags=["heedful"])
    async def cell(request: Request) -> Response:
        """Open one cell of an attention map: query, key, their product, and the softmax of the row."""
        asked = await body_of(CellRequest, request, server)
        _check_length(len(asked.q), server.limits.max_trace_characters)
        return await _show(server, await _look(server, asked, lambda *model: _open_cell(asked, *model)))

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


async def _look(server: Server, asked: OneSentence, look: Look) -> dict[str, Any]:
    """Find the model that is asked for, and look into it when it is its turn."""
    source = None if asked.source == "auto" else asked.source
    num_tokens = max(1, len(asked.q) // 2)
    if (asked.run is None) != (asked.checkpoint is None):
        raise BadRequestError("`run` and `checkpoint` must be given together, but one is missing.")
    if asked.run is not None and asked.checkpoint is not None:
        run = await asyncio.to_thread(server.runs.find, asked.run)
        if not run.is_traceable:
            raise BadRequestError("`run` must be a run of a translator: checkpoints of others cannot be looked into.")
        found = await server.checkpoints.look_into(
            run, asked.checkpoint, lambda translator, check: look(translator, source, asked.target, check), num_tokens
        )
        return {**found, "model": None, "run": run.id, "checkpoint": asked.checkpoint}
    engine = server.engines.find_translator(asked.model, source, asked.target)
    engine.check_open()
    (plan,) = await server.preparation.prepare(
        lambda: engine.plan([asked.q], Asked(source, asked.target)), len(asked.q)
    )
    known = source if plan.route.is_unknown else plan.route.source
    found = await engine.alone(lambda check: look(engine.translator, known, plan.route.target, check), num_tokens)
    return {**found, "model": engine.id, "run": None, "checkpoint": None}


def _trace(
    asked: TraceRequest, translator: Translator, source: str | None, target: str | None, check: Check
) -> dict[str, Any]:
    trace = trace_translation(
        translator,
        asked.q,
        to=target,
        from_=source,
        beam_size=asked.beam,
        sentence=asked.sentence,
        hypothesis=asked.hypothesis,
        prefix_ids=asked.prefixIds or (),
    )
    payload = to_payload(
        trace,
        attribution=attribute(translator.readable_model, trace, before_pass=check) if asked.attribution else None,
        changes=head_changes(translator, trace, before_pass=check) if asked.headChanges else None,
    )
    if asked.headsOff:
        off = {Head(*place) for place in asked.headsOff}
        payload["ablation"] = ablation_payload(ablate(translator, trace, off, beam_size=asked.beam))
    return payload


def _open_cell(
    asked: CellRequest, translator: Translator, source: str | None, target: str | None, _: Check
) -> dict[str, Any]:
    check_ids("targetIds", asked.targetIds, translator)
    reading = read_text(translator, asked.q, to=target, from_=source, sentence=asked.sentence, beam_size=asked.beam)
    inputs = [translator.tokenizer.bos_id, *asked.targetIds[:-1]]
    return cell_payload(
        open_cell_of(
            translator.readable_model,
            reading.source_ids,
            inputs,
            asked.kind,
            layer=asked.layer,
            head=asked.head,
            row=asked.row,
            column=asked.column,
        )
    )


def _check_length(num_characters: int, limit: int) -> None:
    if num_characters > limit:
        raise BadRequestError(f"A trace must have at most {limit:,} characters.", 413)
