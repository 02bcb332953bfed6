"""The routes: what each takes, which model does it, and what it answers.

LibreTranslate's `/translate`, `/languages` and `/detect`, so that its clients work; ours under `/api/`; and what
operators ask for. Routes that look into models are in trace_routes.py, those of runs in following.py, the page's files
in pages.py, the rest of LibreTranslate's in libretranslate.py and file_routes.py. Checks that hold for every request
are in guard.py.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response

from heedful.decoding import Parallel
from heedful.decoding.continuation import SamplingRequest
from heedful.insight.wire import to_json
from heedful.serving.answers import (
    ClassifyRequest,
    DetectedLanguage,
    DetectRequest,
    GenerateRequest,
    Labelled,
    Language,
    ServedModel,
    State,
    StreamRequest,
    TranslateAnswer,
    TranslateRequest,
)
from heedful.serving.file_routes import add_files
from heedful.serving.following import add_runs
from heedful.serving.guard import Access, App, Guard
from heedful.serving.html_texts import translate_html
from heedful.serving.labelling import LabellingEngine
from heedful.serving.libretranslate import add_surroundings
from heedful.serving.measures import CONTENT_TYPE
from heedful.serving.openapi import EVENTS, TEXT
from heedful.serving.pages import add_pages
from heedful.serving.refusals import refuse
from heedful.serving.rendering import (
    answer_of,
    label_of,
    languages_of,
    percent,
    piece_of,
    reliability_of,
    server_sent,
    stream_event,
)
from heedful.serving.routing import Api, EventStream, Server, ending_with_error
from heedful.serving.trace_routes import add_other_traces, add_traces
from heedful.serving.translating import SentenceDone, TranslationEngine, Written
from heedful.serving.wanted import glossary_of, wanted_by
from heedful.serving.workplace import Workplace
from heedful.serving.writing import Piece, WritingEngine
from heedful.tasks.translation.glossary import Glossary
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translated import about_the_way, assemble_all
from heedful.tasks.translation.translator import Translator
from heedful.text.language_detection import detect


def make_api(server: Server) -> Api:
    """Return the routes."""
    api = Api(server)
    _add_libretranslate(api)
    add_files(api)
    add_surroundings(api)
    _add_own(api)
    add_traces(api)
    _add_other_tasks(api)
    add_other_traces(api)
    add_runs(api)
    _add_operations(api)
    add_pages(api)
    return api


def make_app(api: Api, access: Access) -> App:
    """Return the application: the routes behind their checks."""
    return Guard(api.router(), access, api.server.limits, api.server.measures, api.paths, api.server.preparation)


def _add_libretranslate(api: Api) -> None:
    server = api.server

    @api.post("/translate", TranslateRequest, gives=TranslateAnswer, tag="translate", work=TranslationEngine)
    async def translate(asked: TranslateRequest) -> Response:
        """Translate a text or a list of texts."""
        wanted = wanted_by(asked)
        engine = server.engines.find_translator(asked.model, wanted)
        if asked.format == "html":
            return await translate_html(server, engine, asked, wanted)
        num_characters = sum(map(len, asked.texts))
        planner = engine.translator.planner
        plans = await server.preparation.prepare(lambda: planner.plan(asked.texts, wanted), num_characters)
        done = await engine.translate(plans, wanted)
        return await server.preparation.render(
            lambda: JSONResponse(answer_of(asked, assemble_all(plans, done))), num_characters
        )

    @api.get("/languages", gives=list[Language], tag="translate")
    async def languages() -> Response:
        """List the languages, and what each can be translated into."""
        translators = server.engines.of_kind(TranslationEngine)
        pairs = [pair for engine in translators for pair in engine.translator.directions.pairs]
        return JSONResponse(languages_of(pairs))

    @api.post("/detect", DetectRequest, gives=list[DetectedLanguage], tag="translate")
    async def detect_language(asked: DetectRequest) -> Response:
        """Say which languages a text, or the texts of a list together, are probably in, the most probable first.

        These may be languages that no model translates from; `und` is one that has no name here.
        """
        text = "\n".join(asked.texts)
        first, *others = await server.preparation.prepare(lambda: detect(text), len(text))
        return JSONResponse(
            [
                {"language": found.language, "confidence": percent(found.confidence)}
                for found in (first, *(other for other in others if percent(other.confidence) > 0))
            ]
        )


def _add_own(api: Api) -> None:
    server = api.server

    @api.get("/api/models", gives=list[ServedModel])
    async def models() -> Response:
        """List the models of this server; the first is the default."""
        rows = [{**_served(engine), **server.engines.facts[engine.id]} for engine in server.engines]
        runs = await asyncio.to_thread(lambda: [server.runs.of_model(row["id"]) for row in rows])
        return JSONResponse([{**row, "run": run} for row, run in zip(rows, runs, strict=True)])

    @api.post("/api/translate/stream", StreamRequest, gives=EVENTS, work=TranslationEngine)
    async def stream(asked: StreamRequest) -> Response:
        """Translate sentence by sentence, as server-sent events.

        `sentence` has a finished sentence; with `beam` 1 each is preceded by its `token` events, which have the
        text so far. The last event is `done`, with the whole text, or `error`.
        """
        source = None if asked.source == "auto" else asked.source
        wanted = TranslationRequest(source, asked.target, asked.beam, glossary=glossary_of(asked.glossary))
        engine = server.engines.find_translator(asked.model, wanted)
        (plan,) = await server.preparation.prepare(
            lambda: engine.translator.planner.plan([asked.q], wanted), len(asked.q)
        )
        events = engine.stream(plan, wanted)
        about = to_json(about_the_way(plan))
        first = await anext(events, None)  # a refusal comes before the first event, with its own status
        return EventStream(ending_with_error(_told(first, events, about, wanted.glossary)))


def _add_other_tasks(api: Api) -> None:
    server = api.server

    @api.post("/api/classify", ClassifyRequest, gives=Labelled | list[Labelled], work=LabellingEngine)
    async def classify(asked: ClassifyRequest) -> Response:
        """Put a label on a text or on each of a list."""
        engine = server.engines.find(LabellingEngine, asked.model)
        num_characters = sum(map(len, asked.texts))
        counts = await server.preparation.prepare(lambda: engine.count_tokens(asked.texts), num_characters)
        found = await engine.classify(asked.texts, counts, explain=asked.explain)

        def render() -> Response:
            answers = [label_of(one, explain=asked.explain) for one in found]
            return JSONResponse(answers[0] if isinstance(asked.q, str) else answers)

        return await server.preparation.render(render, num_characters)

    @api.post("/api/generate", GenerateRequest, gives=EVENTS, work=WritingEngine)
    async def generate(asked: GenerateRequest) -> Response:
        """Let a language model go on with a text, as server-sent events: `text` as it comes, then `done` or `error`."""
        engine = server.engines.find(WritingEngine, asked.model)
        request = SamplingRequest(asked.max_tokens, asked.temperature, asked.top_k, asked.top_p, asked.seed)
        pieces = engine.write(asked.prompt, request, asked.top)
        first = await anext(pieces, None)
        return EventStream(ending_with_error(_written(first, pieces)))


def _add_operations(api: Api) -> None:
    server = api.server

    @api.get("/health", gives=State, tag="operations")
    async def health() -> Response:
        """Say that the process lives; needs no key."""
        return JSONResponse({"status": "ok"})

    @api.get("/ready", gives=State, tag="operations")
    async def ready() -> Response:
        """Say whether a request would be admitted now: 503 when the queue is full or the server is ending."""
        if server.engines.is_ready:
            return JSONResponse({"status": "ready"})
        refusal = refuse(503, "The server admits nothing at the moment.", {"retry-after": "1"})
        return Response(refusal.body, refusal.status, refusal.headers)

    @api.get("/metrics", gives=TEXT, tag="operations")
    async def metrics() -> Response:
        """Give the counters, for Prometheus."""
        return Response(server.measures.page(server.engines), media_type=CONTENT_TYPE)


async def _told(
    first: Written | SentenceDone | None,
    rest: AsyncIterator[Written | SentenceDone],
    about: Any,
    glossary: Glossary,
) -> AsyncIterator[bytes]:
    """Write the events of a translation, and in the end what is to be said `about` all of it."""
    texts: list[str] = []
    event = first
    while event is not None:
        yield stream_event(event, len(texts), glossary)
        if isinstance(event, SentenceDone):
            texts.append(event.before + event.unit.text)
        event = await anext(rest, None)
    yield server_sent("done", {"translatedText": "".join(texts), "warnings": about})


async def _written(first: Piece | None, rest: AsyncIterator[Piece]) -> AsyncIterator[bytes]:
    """Write what a language model writes."""
    texts: list[str] = []
    piece = first
    while piece is not None:
        texts.append(piece.text)
        yield server_sent("text", piece_of(piece))
        piece = await anext(rest, None)
    yield server_sent("done", {"text": "".join(texts)})


def _beam_of(translator: Translator) -> int | None:
    return None if isinstance(translator.generator, Parallel) else translator.decoding.beam_size


def _served(engine: Workplace) -> dict[str, Any]:
    pairs = engine.translator.directions.pairs if isinstance(engine, TranslationEngine) else ()
    labels = engine.classifier.labels if isinstance(engine, LabellingEngine) else ()
    return {
        "id": engine.id,
        "task": engine.task,
        "directions": [list(pair) for pair in pairs],
        "labels": list(labels),
        "beam": _beam_of(engine.translator) if isinstance(engine, TranslationEngine) else None,
        "reliability": reliability_of(engine.translator) if isinstance(engine, TranslationEngine) else {},
    }
