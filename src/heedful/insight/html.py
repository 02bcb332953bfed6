"""A trace as one HTML file that needs nothing else: no network, no server, no package.

Style and script of the folder `page` and the payload are put into one document. The payload is JSON in which no markup
can begin, and the script shows text only as text; a content security policy in the document forbids every request.
"""

import html
import json
import re
from collections.abc import Mapping
from importlib import resources

from heedful.insight.attention_weights import Floats, Kind
from heedful.insight.attribution import Attribution
from heedful.insight.payload import to_payload
from heedful.insight.trace import Trace

_SCRIPTS = ("words.js", "drawing.js", "attention.js", "decoding.js", "main.js")
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def render_page(
    trace: Trace, *, attribution: Attribution | None = None, changes: Mapping[Kind, Floats] | None = None
) -> str:
    """Return the whole document; see `to_payload` for the two that can be added."""
    payload = to_payload(trace, attribution=attribution, changes=changes)
    script = "\n".join(_bare(_read(name)) for name in _SCRIPTS)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<link rel="icon" href="data:,">
<title>Heedful</title>
<style>
{_read("page.css")}</style>
</head>
<body>
<main id="page"></main>
<script type="application/json" id="trace">{embed_json(payload)}</script>
<script>
"use strict";
(() => {{
{script}}})();
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


def _bare(module: str) -> str:
    """Take imports and exports off a module, so that it can stand beside those it imports."""
    return re.sub(r"^export ", "", re.sub(r"^import [^;]*;\n", "", module, flags=re.MULTILINE), flags=re.MULTILINE)


def _read(name: str) -> str:
    return (resources.files("heedful.insight") / "page" / name).read_text(encoding="utf-8")
