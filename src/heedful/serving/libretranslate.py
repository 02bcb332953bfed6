"""What LibreTranslate's API has around translating: settings for other programs' pages, and suggestions.

Translating, detecting and the list of languages are in app.py, files in file_routes.py. Knows no model.
"""

from starlette.responses import JSONResponse, Response

from heedful.documents.formats import FORMATS
from heedful.serving.answers import FrontendSettings, Success, SuggestRequest
from heedful.serving.bodies import BadRequestError
from heedful.serving.routing import Api
from heedful.serving.translating import TranslationEngine
from heedful.text.language_names import language_name

_TYPING_MILLISECONDS = 500  # how long LibreTranslate's page waits for its user to go on


def add_surroundings(api: Api) -> None:
    """Add the routes."""
    server = api.server

    @api.get("/frontend/settings", gives=FrontendSettings, tag="translate")
    async def frontend_settings() -> Response:
        """Say what a page in front of this server must know; needs no key."""
        engines = server.engines.of_kind(TranslationEngine)
        first = next((into for engine in engines for _, into in engine.translator.directions.pairs), None)
        return JSONResponse(
            {
                "charLimit": server.limits.max_characters,
                "frontendTimeout": _TYPING_MILLISECONDS,
                "apiKeys": server.needs_key,
                "keyRequired": server.needs_key,
                "suggestions": server.suggestions is not None,
                "filesTranslation": True,
                "supportedFilesFormat": [suffix for kind in FORMATS for suffix in kind.suffixes],
                "language": {
                    "source": {"code": "auto", "name": "Auto Detect"},
                    "target": None if first is None else {"code": first, "name": language_name(first)},
                },
            }
        )

    @api.post("/suggest", SuggestRequest, gives=Success, tag="translate")
    async def suggest(asked: SuggestRequest) -> Response:
        """Suggest a better translation, where the server was started with a folder for suggestions."""
        kept = server.suggestions
        if kept is None:
            raise BadRequestError("This server keeps no suggestions. Start it with --suggestions DIR.", 403)
        fields = asked.model_dump(exclude={"api_key"})
        # Never in passing: a disk may let everybody wait.
        cost = server.limits.max_characters_in_passing + 1
        await server.preparation.prepare(lambda: kept.add(fields), cost)
        return JSONResponse({"success": True})
