"""The routes of files: one is sent, translated and kept for a while; its address is answered, as LibreTranslate does.

Text of a file passes the same admission, queue and deadline as any other text. Knows formats by their table only.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from starlette.datastructures import URL
from starlette.responses import JSONResponse, Response

from heedful.documents.document import Document, Passage
from heedful.documents.files import settle_source
from heedful.documents.formats import format_of
from heedful.documents.safeguard import Translated, in_rounds
from heedful.serving.answers import TranslatedFile, TranslateFileRequest
from heedful.serving.bodies import BadRequestError
from heedful.serving.callers import current_caller
from heedful.serving.kept_files import KeptFiles
from heedful.serving.openapi import BINARY
from heedful.serving.request_queue import RefusedError
from heedful.serving.routing import Api, Server
from heedful.serving.translating import TranslationEngine
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translated import assemble_all

_BYTES_LIKE_A_CHARACTER = 64  # a file is read so much more quickly than a text is planned
_PASSAGES_AT_ONCE = 128
_LONGEST_NAME = 120


class _Located(Response):
    """An answer with an address on this server, as its client knows the server."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the answer."""
        url = URL(scope=scope).replace(path=self._path, query="", fragment="")
        await JSONResponse({"translatedFileUrl": str(url)})(scope, receive, send)


def add_files(api: Api) -> None:
    """Add the routes."""
    server = api.server
    kept = KeptFiles(server.limits)

    @api.post("/translate_file", TranslateFileRequest, gives=TranslatedFile, tag="translate", work=TranslationEngine)
    async def translate_file(asked: TranslateFileRequest) -> Response:
        """Translate a file, sent in a multipart form, and say where the translation can be fetched for a while."""
        try:
            async with asyncio.timeout(server.limits.deadline_seconds):
                path = await _translate_file(server, kept, asked)
        except TimeoutError:
            raise RefusedError("late", "The file was not done in time. Try again later, with less text.", 2) from None
        return _Located(path)

    @api.get("/download_file/{secret}", gives=BINARY, tag="translate")
    async def download_file(secret: str) -> Response:
        """Fetch a translated file; its address is the key to it."""
        file = kept.find(secret)
        if file is None:
            raise BadRequestError("There is no such file any more. Translate it again.", 404)
        disposition = f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"
        return Response(file.content, media_type=file.media_type, headers={"content-disposition": disposition})


async def _translate_file(server: Server, kept: KeptFiles, asked: TranslateFileRequest) -> str:
    """Translate and keep a file; return the path of its address."""
    name, data = PurePath(asked.file.name.replace("\\", "/")).name, asked.file.content
    kind = format_of(name)
    source = None if asked.source == "auto" else asked.source
    wanted = TranslationRequest(source, asked.target)
    engine = server.engines.find_translator(None, wanted)
    directions = engine.translator.directions

    def read() -> tuple[Document, str | None]:
        document = _bounded(kind.read(data, asked.target), server.limits.max_characters)
        return document, settle_source(directions, document.passages, wanted, asked.target, "The file")

    # Never in passing: a small archive may unpack to much.
    cost = server.limits.max_characters_in_passing + 1 + len(data) // _BYTES_LIKE_A_CHARACTER
    document, found = await server.preparation.prepare(read, cost)
    wanted = TranslationRequest(found, asked.target)
    done: list[Translated] = []
    for start in range(0, len(document.passages), _PASSAGES_AT_ONCE):
        done += await translate_passages(server, engine, document.passages[start : start + _PASSAGES_AT_ONCE], wanted)
    written = await server.preparation.render(lambda: document.write([one.segments for one in done]), len(data))
    ending = PurePath(name).suffix
    shown = f"{PurePath(name).stem[:_LONGEST_NAME]}.{asked.target}{ending}"
    client = current_caller().client
    return f"/download_file/{kept.keep(shown, kind.media_type, written, client, f'.{asked.target}{ending.lower()}')}"


def _bounded(document: Document, limit: int) -> Document:
    """Refuse more text than one request may have."""
    num_characters = sum(len(segment) for passage in document.passages for segment in passage.segments)
    if num_characters > limit:
        raise BadRequestError(
            f"`file` must have at most {limit:,} characters of text, but has {num_characters:,}.", 413
        )
    return document


async def translate_passages(
    server: Server, engine: TranslationEngine, passages: Sequence[Passage], wanted: TranslationRequest
) -> list[Translated]:
    """Have the texts of passages translated, in as many rounds as they need."""
    rounds = in_rounds(passages)
    planner = engine.translator.planner
    try:
        texts = next(rounds)
        while True:
            work = partial(planner.plan, texts, wanted)
            plans = await server.preparation.prepare(work, sum(map(len, texts)))
            found = assemble_all(plans, await engine.translate(plans, wanted))
            texts = rounds.send([one.text for one in found])
    except StopIteration as end:
        done: list[Translated] = end.value
        return done
