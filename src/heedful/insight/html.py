"""A trace as one HTML file that needs nothing else: no network, no server, no package.

Style and modules of the folder `page` and the payload are put into one document. A file from disk may not import
modules, so each becomes a function whose value is what the module exports. The payload is JSON in which no markup can
begin, and the script shows text only as text; a content security policy in the document forbids every request.
"""

import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from heedful.insight.attribution import Attribution
from heedful.insight.payload import to_payload
from heedful.insight.trace import Trace
from heedful.models.attention_weights import Floats

_PAGES = {
    "heedful-trace": ("explained.js", ("page.css",)),
    "heedful-parallel": ("explained_parallel.js", ("page.css",)),
    "heedful-classification": ("explained_labels.js", ("page.css", "tasks.css")),
    "heedful-reading": ("explained_text.js", ("page.css", "tasks.css")),
}
"""The module that shows a payload, and its styles, by the payload's `format`."""

_ONLY_WITH = {"parallel.js": "refinement"}
"""Modules that show what a payload may lack, and its field: a file is sent around, so it is kept small."""

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w./-]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^ *(?://.*|/\*\*(?s:.*?)\*/)\n", re.MULTILINE)
_INDENT = re.compile("^ +", re.MULTILINE)
_EXPORTED_LIST = re.compile(r"export\{([^}]*)\};?\s*$")  # as minified modules end
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def render_page(
    trace: Trace, *, attribution: Attribution | None = None, changes: Mapping[str, Floats] | None = None
) -> str:
    """Return the whole document of a translation; see `to_payload` for the two that can be added."""
    return render_payload(to_payload(trace, attribution=attribution, changes=changes))


def render_payload(payload: Mapping[str, Any]) -> str:
    """Return the whole document of a trace of any task."""
    main, styles = _PAGES[payload["format"]]
    needless = frozenset(name for name, field in _ONLY_WITH.items() if payload.get(field) is None)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<link rel="icon" href="data:,">
<title>Heedful</title>
<style>
{"".join(map(_read, styles))}</style>
</head>
<body>
<main id="page"></main>
<script type="application/json" id="trace">{embed_json(payload)}</script>
<script>
"use strict";
(() => {{
{_script(main, needless - {main})}}})();
</script>
</body>
</html>
"""


def render_frame(trace: Trace) -> str:
    """Return the document in a frame, as notebooks want it: what is inside can neither see nor change the notebook."""
    document = html.escape(render_page(trace), quote=True)
    style = "width:100%;height:900px;border:0;border-radius:12px"
    return f'<iframe srcdoc="{document}" sandbox="allow-scripts" style="{style}" title="Heedful"></iframe>'


def embed_json(payload: object) -> str:
    """Write JSON that can stand inside a script element, whatever text it holds."""
    text = json.dumps(payload, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _script(main: str, needless: frozenset[str] = frozenset()) -> str:
    """Put a main module and all it imports, each after those it needs, into one script; `needless` ones stay empty."""
    functions: dict[str, str] = {}

    def add(name: str) -> None:
        if name in functions:
            return
        if name in needless:
            functions[name] = f'modules["{name}"] = {{}};\n'
            return
        text = _read(name)
        for _, needed in _IMPORT.findall(text):
            add(needed)
        functions[name] = f'modules["{name}"] = (() => {{\n{_as_function(text)}}})();\n'

    add(main)
    return "const modules = {};\n" + "".join(functions.values())


def _as_function(module: str) -> str:
    """Turn imports into names taken from the modules there are, and exports into the value that is returned."""
    body = _IMPORT.sub(r'const {\1} = modules["\2"];\n', _INDENT.sub("", _COMMENT.sub("", module)))
    exported = _EXPORT.findall(body)
    if listed := _EXPORTED_LIST.search(body):
        names = (pair.strip().split(" as ") for pair in listed[1].split(","))
        exported = [f"{outside}: {inside}" for inside, outside in names]
        body = body[: listed.start()] + "\n"
    return f"{_EXPORT.sub('', body)}return {{ {', '.join(exported)} }};\n"


def _read(name: str) -> str:
    return (resources.files("heedful.insight") / "page" / name).read_text(encoding="utf-8")
