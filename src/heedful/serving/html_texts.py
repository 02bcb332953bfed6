"""`format=html` of `POST /translate`: markup stays as it is, and moves with the words it is around.

A text is read as the document it is (documents/html.py); its passages pass the same queue as any other text.
"""

from dataclasses import replace
from typing import Any

from starlette.responses import JSONResponse, Response

from heedful.documents.document import Document
from heedful.documents.html import read_source
from heedful.serving.answers import TranslateRequest
from heedful.serving.bodies import BadRequestError
from heedful.serving.file_routes import translate_passages
from heedful.serving.rendering import percent
from heedful.serving.routing import Server
from heedful.serving.translating import TranslationEngine
from heedful.tasks.translation.directions import Route
from heedful.tasks.translation.request import TranslationRequest


async def translate_html(
    server: Server, engine: TranslationEngine, asked: TranslateRequest, wanted: TranslationRequest
) -> Response:
    """Translate texts that are HTML."""
    if asked.alternatives or asked.details or asked.alignment:
        raise BadRequestError('`alternatives`, `details` and `alignment` must be left out with `format` "html".')
    if asked.diverse or asked.prefix or asked.check:
        raise BadRequestError('`diverse`, `prefix` and `check` must be left out with `format` "html".')
    directions = engine.translator.directions
    directions.check(wanted.source, wanted.target)
    num_characters = sum(map(len, asked.texts))

    def read() -> list[tuple[Document, Route]]:
        documents = [read_source(text, asked.target) for text in asked.texts]
        plain = ["\n".join("".join(passage.segments) for passage in document.passages) for document in documents]
        routes = [directions.route(text, wanted.source, wanted.target) for text in plain]
        return list(zip(documents, routes, strict=True))

    read_texts = await server.preparation.prepare(read, num_characters)
    written, detected = [], []
    for (document, route), text in zip(read_texts, asked.texts, strict=True):
        detected.append({"language": route.source or asked.target, "confidence": percent(route.confidence or 0.0)})
        if not route.steps:
            written.append(text)
            continue
        request = replace(wanted, source=route.source)
        done = await translate_passages(server, engine, document.passages, request)
        written.append(document.write([one.segments for one in done]).decode("utf-8"))
    is_one = isinstance(asked.q, str)
    answer: dict[str, Any] = {"translatedText": written[0] if is_one else written}
    if asked.source == "auto":
        answer["detectedLanguage"] = detected[0] if is_one else detected
    return JSONResponse(answer)
