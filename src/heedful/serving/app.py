"""The routes: what each takes, which model does it, and what it answers.

LibreTranslate's `/translate`, `/languages` and `/detect`, so that its clients work; ours under `/api/`; and what
operators ask for. Routes that look into models are in trace_routes.py, those of runs in following.py, the page's files
in pages.py. Checks that hold for every request are in guard.py.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from heedful import __version__
from heedful.errors import HeedfulError
from heedful.serving.answers import (
    ClassifyRequest,
    DetectedLanguage,
    DetectRequest,
    Failure,
    GenerateRequest,
    Labelled,
    Language,
    ServedModel,
    State,
    StreamRequest,
    TranslateAnswer,
    TranslateRequest,
)
from heedful.serving.bodies import JSON, check_characters
from heedful.serving.connections import Turnstile
from heedful.serving.engines import Engines
from heedful.serving.following import add_runs
from heedful.serving.guard import Access, Admission, App, Guard
from heedful.serving.labelling import LabellingEngine
from heedful.serving.measures import CONTENT_TYPE
from heedful.serving.pages import add_pages
from heedful.serving.refusals import Refusal, describe, refuse
from heedful.serving.rendering import answer_of, label_of, languages_of, percent, piece_of, server_sent, stream_event
from heedful.serving.request_queue import RefusedError
from heedful.serving.routing import EVENTS, EventStream, Server, body_of, ending_with_error, takes
from heedful.serving.trace_routes import add_other_traces, add_traces
from heedful.serving.translating import SentenceDone, TranslationEngine, Written
from heedful.serving.workplace import Workplace
from heedful.serving.writing import Piece, Wish, WritingEngine
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translated import assemble_all
from heedful.text.language_detection import detect

_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"description": meaning, "content": {JSON: {"schema": Failure.model_json_schema()}}}
    for status, meaning in {
        400: "Something in the request must be mended; the sentence says what.",
        401: "The API key is missing or wrong.",
        403: "Asked under another name, or by a page of another origin.",
        404: "There is nothing of that name.",
        413: "Too much in one request.",
        415: "A body that is neither JSON nor a form, or that is compressed.",
        429: "Too many requests are waiting; `Retry-After` says when to come again.",
        503: "The answer would come too late, or the server is ending; `Retry-After` says when to come again.",
    }.items()
}

_WORK: dict[str, type[Workplace]] = {
    "/translate": TranslationEngine,
    "/api/translate/stream": TranslationEngine,
    "/api/trace": TranslationEngine,
    "/api/trace/ablation": TranslationEngine,
    "/api/trace/attribution": TranslationEngine,
    "/api/trace/cell": TranslationEngine,
    "/api/trace/heads": TranslationEngine,
    "/api/positions": TranslationEngine,
    "/api/classify": LabellingEngine,
    "/api/classify/trace": LabellingEngine,
    "/api/generate": WritingEngine,
    "/api/text/trace": WritingEngine,
}
"""The routes that need a model, and of which kind: they are refused at once when all of these are busy."""


def make_app(server: Server, access: Access) -> App:
    """Return the application with its checks."""
    app = FastAPI(
        title="Heedful",
        version=__version__,
        description="Translation by your own models. The first three routes speak LibreTranslate's language.",
        docs_url=None,
        redoc_url=None,
        responses=_FAILURES,
    )
    _add_libretranslate(app, server)
    _add_own(app, server)
    add_traces(app, server)
    _add_other_tasks(app, server)
    add_other_traces(app, server)
    add_runs(app, server)
    _add_operations(app, server)
    add_pages(app)
    app.add_exception_handler(HTTPException, _tell_http)
    for kind in (HeedfulError, Exception):
        app.add_exception_handler(kind, _tell)
    return Guard(app, access, server.limits, server.measures, _admissions(server.engines), server.preparation)


def make_turnstile(server: Server) -> Turnstile:
    """Return what connections ask before they read a request: the same checks, at a fraction of the cost."""
    admissions = _admissions(server.engines)

    def refusal_of(path: str, client: str) -> Refusal | None:
        if (check_open := admissions.get(path)) is None:
            return None
        try:
            check_open(client)
        except RefusedError as failure:
            refusal = describe(failure)
            server.measures.on_request(path, refusal.status, 0.0)
            return refusal
        return None

    return refusal_of


def _admissions(engines: Engines) -> dict[str, Admission]:
    return {path: partial(engines.check_open, kind) for path, kind in _WORK.items()}


def _add_libretranslate(app: FastAPI, server: Server) -> None:
    @app.post("/translate", response_model=TranslateAnswer, openapi_extra=takes(TranslateRequest), tags=["translate"])
    async def translate(request: Request) -> Response:
        """Translate a text or a list of texts."""
        asked = await body_of(TranslateRequest, request, server)
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        check_characters(texts, server.limits.max_characters)
        source = None if asked.source == "auto" else asked.source
        wanted = TranslationRequest(source, asked.target, asked.beam, asked.alternatives + 1)
        engine = server.engines.find_translator(asked.model, wanted)
        engine.check_open()
        num_characters = sum(map(len, texts))
        planner = engine.translator.planner
        plans = await server.preparation.prepare(lambda: planner.plan(texts, wanted), num_characters)
        done = await engine.translate(plans, wanted)
        return await server.preparation.render(
            lambda: JSONResponse(answer_of(asked, assemble_all(plans, done))), num_characters
        )

    @app.get("/languages", response_model=list[Language], tags=["translate"])
    async def languages() -> Response:
        """List the languages, and what each can be translated into."""
        translators = server.engines.of_kind(TranslationEngine)
        pairs = [pair for engine in translators for pair in engine.translator.directions.pairs]
        return JSONResponse(languages_of(pairs))

    @app.post("/detect", response_model=list[DetectedLanguage], openapi_extra=takes(DetectRequest), tags=["translate"])
    async def detect_language(request: Request) -> Response:
        """Say which languages a text, or the texts of a list together, are probably in, the most probable first.

        These may be languages that no model translates from; `und` is one that has no name here.
        """
        asked = await body_of(DetectRequest, request, server)
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        check_characters(texts, server.limits.max_characters)
        text = "\n".join(texts)
        first, *others = await server.preparation.prepare(lambda: detect(text), len(text))
        return JSONResponse(
            [
                {"language": found.language, "confidence": percent(found.confidence)}
                for found in (first, *(other for other in others if percent(other.confidence) > 0))
            ]
        )


def _add_own(app: FastAPI, server: Server) -> None:
    @app.get("/api/models", response_model=list[ServedModel], tags=["heedful"])
    async def models() -> Response:
        """List the models of this server; the first is the default."""
        rows = [{**_served(engine), **server.engines.facts[engine.id]} for engine in server.engines]
        runs = await asyncio.to_thread(lambda: [server.runs.of_model(row["id"]) for row in rows])
        return JSONResponse([{**row, "run": run} for row, run in zip(rows, runs, strict=True)])

    @app.post(
        "/api/translate/stream",
        openapi_extra=takes(StreamRequest),
        response_class=EventStream,
        responses=EVENTS,
        tags=["heedful"],
    )
    async def stream(request: Request) -> Response:
        """Translate sentence by sentence, as server-sent events.

        `sentence` has a finished sentence; with `beam` 1 each is preceded by its `token` events, which have the
        text so far. The last event is `done`, with the whole text, or `error`.
        """
        asked = await body_of(StreamRequest, request, server)
        check_characters([asked.q], server.limits.max_characters)
        source = None if asked.source == "auto" else asked.source
        wanted = TranslationRequest(source, asked.target, asked.beam)
        engine = server.engines.find_translator(asked.model, wanted)
        engine.check_open()
        (plan,) = await server.preparation.prepare(
            lambda: engine.translator.planner.plan([asked.q], wanted), len(asked.q)
        )
        events = engine.stream(plan, wanted)
        first = await anext(events, None)  # a refusal comes before the first event, with its own status
        return EventStream(ending_with_error(_told(first, events)))


def _add_other_tasks(app: FastAPI, server: Server) -> None:
    answer = Labelled | list[Labelled]

    @app.post("/api/classify", response_model=answer, openapi_extra=takes(ClassifyRequest), tags=["heedful"])
    async def classify(request: Request) -> Response:
        """Put a label on a text or on each of a list."""
        asked = await body_of(ClassifyRequest, request, server)
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        check_characters(texts, server.limits.max_characters)
        engine = server.engines.find(LabellingEngine, asked.model)
        engine.check_open()
        num_characters = sum(map(len, texts))
        counts = await server.preparation.prepare(lambda: engine.count_tokens(texts), num_characters)
        found = await engine.classify(texts, counts, explain=asked.explain)

        def render() -> Response:
            answers = [label_of(one, explain=asked.explain) for one in found]
            return JSONResponse(answers[0] if isinstance(asked.q, str) else answers)

        return await server.preparation.render(render, num_characters)

    @app.post(
        "/api/generate",
        openapi_extra=takes(GenerateRequest),
        response_class=EventStream,
        responses=EVENTS,
        tags=["heedful"],
    )
    async def generate(request: Request) -> Response:
        """Let a language model go on with a text, as server-sent events: `text` as it comes, then `done` or `error`."""
        asked = await body_of(GenerateRequest, request, server)
        check_characters([asked.prompt], server.limits.max_characters, "prompt")
        engine = server.engines.find(WritingEngine, asked.model)
        wish = Wish(asked.prompt, asked.maxTokens, asked.temperature, asked.topK, asked.topP, asked.seed, asked.top)
        pieces = engine.write(wish)
        first = await anext(pieces, None)
        return EventStream(ending_with_error(_written(first, pieces)))


def _add_operations(app: FastAPI, server: Server) -> None:
    @app.get("/health", response_model=State, tags=["operations"])
    async def health() -> Response:
        """Say that the process lives; needs no key."""
        return JSONResponse({"status": "ok"})

    @app.get("/ready", response_model=State, tags=["operations"])
    async def ready() -> Response:
        """Say whether a request would be admitted now: 503 when the queue is full or the server is ending."""
        if server.engines.is_ready:
            return JSONResponse({"status": "ready"})
        refusal = refuse(503, "The server admits nothing at the moment.", {"retry-after": "1"})
        return Response(refusal.body, refusal.status, refusal.headers)

    @app.get("/metrics", response_class=Metrics, tags=["operations"])
    async def metrics() -> Response:
        """Give the counters, for Prometheus."""
        return Metrics(server.measures.page(server.engines))


class Metrics(Response):
    """Prometheus' text format."""

    media_type = CONTENT_TYPE


async def _told(
    first: Written | SentenceDone | None, rest: AsyncIterator[Written | SentenceDone]
) -> AsyncIterator[bytes]:
    """Write the events of a translation."""
    texts: list[str] = []
    event = first
    while event is not None:
        yield stream_event(event, len(texts))
        if isinstance(event, SentenceDone):
            texts.append(event.before + event.unit.text)
        event = await anext(rest, None)
    yield server_sent("done", {"translatedText": "".join(texts)})


async def _written(first: Piece | None, rest: AsyncIterator[Piece]) -> AsyncIterator[bytes]:
    """Write what a language model writes."""
    texts: list[str] = []
    piece = first
    while piece is not None:
        texts.append(piece.text)
        yield server_sent("text", piece_of(piece))
        piece = await anext(rest, None)
    yield server_sent("done", {"text": "".join(texts)})


def _served(engine: Workplace) -> dict[str, Any]:
    pairs = engine.translator.directions.pairs if isinstance(engine, TranslationEngine) else ()
    labels = engine.classifier.labels if isinstance(engine, LabellingEngine) else ()
    return {
        "id": engine.id,
        "task": engine.task,
        "directions": [list(pair) for pair in pairs],
        "labels": list(labels),
        "beam": engine.translator.decoding.beam_size if isinstance(engine, TranslationEngine) else None,
    }


async def _tell(_: Request, failure: Exception) -> Response:
    refusal = describe(failure)
    return Response(refusal.body, refusal.status, refusal.headers)


async def _tell_http(_: Request, failure: Exception) -> Response:
    """Say what FastAPI found: no such route, or not with this method."""
    assert isinstance(failure, HTTPException)
    sentences = {404: "There is nothing at this address.", 405: "This address does not take that method."}
    refusal = refuse(
        failure.status_code, sentences.get(failure.status_code, str(failure.detail)), dict(failure.headers or {})
    )
    return Response(refusal.body, refusal.status, refusal.headers)
