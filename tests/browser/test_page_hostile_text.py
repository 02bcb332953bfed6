"""Hostile text on the server's page: as sentence, token, translation, name of a model and address it stays text.

Two hundred and more payloads are shown by every view that shows text. An observer sits in the page and reports every
element, even a passing one, that the page itself would not make; dialogs and complaints of the console are faults too.
"""

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, product
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import torch
from benchmarks.load import ServerProcess

from heedful.config.data import TokenizerConfig
from heedful.models import build_model
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, save_model_folder, weights_of
from heedful.text.learning import learn_tokenizer
from heedful.text.lines import one_line
from heedful.text.tokenizer import Tokenizer
from tests.support.forked_server import ForkedServer
from tests.support.run_folders import make_run, write
from tests.support.tiny_models import LINES, make_model

pytestmark = pytest.mark.browser

ELEMENTS = [
    "<img id=evil src=x {}>", "<svg id=evil {}>", "<iframe id=evil src=x {}></iframe>", "<body id=evil {}>",
    "<details id=evil open {}>", "<input id=evil autofocus {}>", "<video id=evil src=x {}></video>",
    "<object id=evil data=x {}></object>", "<select id=evil autofocus {}></select>", "<marquee id=evil {}>a</marquee>",
    "<a id=evil href=x {}>a</a>", "<custom-evil {} tabindex=1>",
]  # fmt: skip
HANDLERS = [
    "onerror=alert(1)",
    "onload=alert(1)",
    'onfocus="alert(1)"',
    "ontoggle='alert(1)'",
    "onpointerover=alert`1`",
]
SCRIPTS = [
    "<script>alert({})</script>", "</script><script>alert({})</script>", "<ScRiPt>alert({})</sCrIpT>",
    "<script/src=//evil/{}></script>", "<scr<script>ipt>alert({})</script>", "<script x>alert({})</script y>",
    "<script\t>alert({})</script>", "--><script>alert({})</script>", "]]><script>alert({})</script>",
    "</textarea><script>alert({})</script>", "</title><script>alert({})</script>",
    "</style><script>alert({})</script>", "</noscript><script>alert({})</script>",
]  # fmt: skip
ADDRESSES = [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "&#106;avascript:alert(1)",
    "data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)", "//evil.example/x.js", "blob:https://evil/1",
]  # fmt: skip
CARRIERS = [
    "{}", "<a id=evil href='{}'>a</a>", "<iframe id=evil src='{}'>", "<form id=evil action='{}'><button>a</form>",
    "<meta http-equiv=refresh content='0;url={}'>", "<base href='{}'>", "<embed src='{}'>",
]  # fmt: skip
BREAKERS = [
    "\" onmouseover=alert(1) id=evil x=\"", "' onmouseover=alert(1) id=evil x='", "` onmouseover=alert(1) `",
    '"><img id=evil src=x onerror=alert(1)>', "'><svg id=evil onload=alert(1)>", "></option><img id=evil src=x>",
    '" autofocus onfocus=alert(1) x="', "\\\"><img id=evil src=x onerror=alert(1)>", "--!><img id=evil src=x>",
    "*/alert(1)/*", "\\u003cimg id=evil src=x onerror=alert(1)\\u003e", "\\x3cscript\\x3ealert(1)\\x3c/script\\x3e",
]  # fmt: skip
TEMPLATES = [
    "${alert(1)}", "`${alert(1)}`", "#{alert(1)}", "{{constructor.constructor('alert(1)')()}}", "<%= alert(1) %>",
    "{% debug %}", "[[alert(1)]]", "<${Evil} />", "<//>", "</${Evil}>", "<!--${alert(1)}-->", "...${{onclick:alert}}",
    "$&", "$`", "$'", "$1", "%s%n", "@import 'evil'", "\\", "\\n", "'; alert(1); '", '"; alert(1); "', "');alert(1)//",
]  # fmt: skip
ENTITIES = [
    "&lt;img id=evil src=x onerror=alert(1)&gt;", "&#60;script&#62;alert(1)&#60;/script&#62;", "&#x3c;b id=evil&#x3e;",
    "&amp;lt;script&amp;gt;", "&lt&gt;&quot", "&NewLine;&Tab;javascript&colon;alert(1)",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-", "&lpar;alert&rpar;",
]  # fmt: skip
UNICODE = [
    "＜script＞alert(1)＜/script＞", "‹img id=evil src=x onerror=alert(1)›", "<\u200bscript>alert(1)</script>",
    "<img\u00a0id=evil\u00a0src=x\u00a0onerror=alert(1)>", "\u202e>tpircs/<)1(trela>tpircs<", "<\ufeffimg src=x>",
    "<ſcript>alert(1)</ſcript>", "<img src=x onerror\u2028=alert(1)>", "\u2066<b id=evil>\u2069",
    "<İmg id=evil src=x>",
    "🦆<svg id=evil onload=alert(1)>🦆", "<a\u0300 id=evil>", "﹤img id=evil src=x onerror=alert(1)﹥",
    "\ufffc<b id=evil>",
]  # fmt: skip
STYLES = [
    "<style>*{display:none}</style>", "</style><style>body{background:url(//evil)}</style>",
    "<link rel=stylesheet href=//evil>",
    "<div id=evil style=position:fixed;inset:0>", "<b id=evil style='x:expression(alert(1))'>", "x{}*{color:red}",
    "<style>@import '//evil';</style>", "url(javascript:alert(1))",
    "<p id=evil style=animation-name:x onanimationend=alert(1)>",
]  # fmt: skip
MUTATIONS = [
    "<math><mtext><table><mglyph><style><!--</style><img id=evil title='--&gt;&lt;img src=x onerror=alert(1)&gt;'>",
    "<svg></p><style><a id=evil title='</style><img src=x onerror=alert(1)>'>",
    '<noscript><p title="</noscript><img id=evil src=x onerror=alert(1)>">',
    "<listing>&lt;img src=x onerror=alert(1)&gt;",
    "<form id=evil><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<table><td><img id=evil src=x onerror=alert(1)>", "<xmp></xmp><img id=evil src=x onerror=alert(1)>",
    "<template><img id=evil src=x onerror=alert(1)></template>", "<svg><foreignObject><body onload=alert(1) id=evil>",
    "<svg><use href='data:image/svg+xml,<svg id=evil>'/>", "<svg><animate onbegin=alert(1) attributeName=x id=evil>",
    "<svg><script>alert&#40;1)</script>", "<plaintext>", "<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>",
]  # fmt: skip
VNODES = [
    json.dumps({"type": kind, "props": {"id": "evil", extra: "alert(1)"}, "key": None, "constructor": None, "__v": 1})
    for kind, extra in product(["img", "script", "iframe"], ["onerror", "src", "dangerouslySetInnerHTML"])
]
OBJECTS = [
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "toString",
    '{"__proto__":{"evil":1}}',
    "null",
    "undefined",
    "NaN",
]

PAYLOADS: list[str] = list(
    dict.fromkeys(
        [
            *(element.format(handler) for element, handler in product(ELEMENTS, HANDLERS)),
            *(script.format(number) for number, script in enumerate(SCRIPTS)),
            *(carrier.format(address) for carrier, address in product(CARRIERS, ADDRESSES)),
            *BREAKERS, *TEMPLATES, *ENTITIES, *UNICODE, *STYLES, *MUTATIONS, *VNODES, *OBJECTS,
        ]
    )
)  # fmt: skip

OBSERVER = """() => {
  window.strange = [];
  const own = new Set(`html head title meta link script body noscript div main header footer nav section article aside
    h1 h2 h3 h4 p span a b i em strong small label input select optgroup option button textarea canvas svg g path line
    rect text circle tspan polyline polygon defs marker ol ul li table caption thead tbody tr td th details summary pre
    code kbd mark dl dt dd figure figcaption output progress br hr time sup sub var`.split(/\\s+/));
  const look = (one) => {
    const isStrange = !own.has(one.localName) || one.id === "evil" || one.getAttributeNames().some((name) =>
      name.startsWith("on") || (/^(href|src|action|data|xlink:href)$/.test(name) && /^\\s*(javascript|data|vbscript):/i
      .test(one.getAttribute(name))));
    if (isStrange) window.strange.push(one.outerHTML.slice(0, 200));
  };
  new MutationObserver((records) => records.forEach((record) => {
    if (record.type === "attributes") look(record.target);
    record.addedNodes.forEach((node) => node.nodeType === 1 && [node, ...node.querySelectorAll("*")].forEach(look));
  })).observe(document, { subtree: true, childList: true, attributes: true });
}"""
COUNTS = """() => Object.fromEntries(`script link style meta base img iframe object embed form video svg`.split(" ")
  .map((name) => [name, document.getElementsByTagName(name).length]))"""
GO = """(query) => { history.pushState(null, "", query); dispatchEvent(new PopStateEvent("popstate")); }"""
SETTLED = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 20))"
MOST_TOKENS = 60
"""Of a text to be looked into; what the tag and the end take is left free."""

MODEL_NAME = "<img src=x onerror=alert(1)>"


def batches(fits: Callable[[str], bool]) -> Iterator[str]:
    """Put the payloads into few texts, in an order of chance, so that they stand beside others than their kin."""
    text = ""
    for payload in random.Random(7).sample(PAYLOADS, len(PAYLOADS)):
        longer = f"{text} {payload}" if text else payload
        if text and not fits(longer):
            yield text
            longer = payload
        text = longer
    yield text


def hostile_model() -> tuple[ModelFolder[TranslatorDescription], Tokenizer]:
    """A model whose pieces are markup: its vocabulary was learned from the payloads."""
    lines = [*LINES, *PAYLOADS * 3]
    settings = TokenizerConfig(vocab_size=2000, normalization="none", character_coverage=1.0)
    tokenizer = learn_tokenizer(settings, lines, lines, ("de", "en"))
    size = tokenizer.source_vocab_size
    folder = make_model(languages=("de", "en"))
    model = build_model(
        folder.description.model,
        source_vocab_size=size,
        target_vocab_size=size,
        pad_id=tokenizer.pad_id,
        generator=torch.Generator().manual_seed(3),
    )
    description = folder.description.changed(
        special_ids=SpecialIds.of(tokenizer), source_vocab_size=size, target_vocab_size=size
    )
    return ModelFolder(description, weights_of(model), tokenizer.to_json()), tokenizer


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[tuple[ServerProcess, Tokenizer]]:
    root = tmp_path_factory.mktemp("hostile")
    folder, tokenizer = hostile_model()
    for name in (MODEL_NAME, "${alert(1)}"):
        save_model_folder(root / name, folder)
    run = make_run(root / "runs" / "run", rows=5)
    texts = list(batches(lambda text: len(text) <= 2000))
    rows = [dict.fromkeys(("source", "translation", "reference"), text) for text in texts]
    write(run, "samples.jsonl", [{"step": step, **row} for step in (1, 2) for row in rows])
    models = ("--model", root / MODEL_NAME, "--model", root / "${alert(1)}")
    with ForkedServer(*models, "--runs", root / "runs") as process:
        yield process, tokenizer


def settle(page: Any) -> None:
    """Wait until nothing is on its way and what came is drawn."""
    page.wait_for_load_state("networkidle")
    page.evaluate(SETTLED)


def strange(page: Any) -> list[str]:
    return page.evaluate("window.strange")


def counted_in(page: Any, query: dict[str, str]) -> dict[str, int]:
    """Go where a query leads and count the elements there that could load or run something."""
    page.evaluate(GO, f"?{urlencode(query)}")
    page.evaluate(SETTLED)
    return page.evaluate(COUNTS)


def is_about(text: str, response: Any) -> bool:
    """Say whether a response is a trace of a text, and not one that was asked for before."""
    return response.url.endswith("/api/trace") and json.loads(response.request.post_data)["q"] == text


def test_there_are_more_than_two_hundred_payloads() -> None:
    assert len(PAYLOADS) >= 200
    pieces = {piece for piece in PAYLOADS if "<" in piece}
    assert len(pieces) >= 120


def test_as_sentence_and_as_tokens_it_stays_text(
    hostile: tuple[ServerProcess, Tokenizer], visited: Callable[..., Any]
) -> None:
    server, tokenizer = hostile
    views = ("heads", "attention", "decoding")
    with visited(server, "?view=attention&source=en&target=de&text=hello") as page:
        settle(page)
        page.evaluate(OBSERVER)
        before = {
            view: counted_in(page, {"view": view, "source": "en", "target": "de", "text": "hello"}) for view in views
        }
        texts = batches(lambda text: len(tokenizer.encode_source(text, "de")) <= MOST_TOKENS)
        for text, view in zip(texts, cycle(views)):
            forced = tokenizer.encode_target(text)[:-1]  # all but the end
            query = {"source": "en", "target": "de", "text": text, "prefix": ",".join(map(str, forced)), "beam": "1"}
            with page.expect_response(partial(is_about, text)) as answered:
                page.evaluate(GO, f"?{urlencode({'view': view, **query})}")
            target = answered.value.json()["target"]
            piece = max((token["text"] for token in target["tokens"]), key=len).replace("▁", "")
            counts = counted_in(page, {"view": view, **query})
            assert {**counts, "svg": 0} == {**before[view], "svg": 0}
            assert piece in page.locator("main").text_content()
            if view == "heads":
                assert page.locator(".outcome .row:first-child .text").text_content() == target["text"]
            assert target["text"].startswith(one_line(tokenizer.decode_target(forced)))
        assert strange(page) == []


def test_as_translation_it_stays_text(hostile: tuple[ServerProcess, Tokenizer], visited: Callable[..., Any]) -> None:
    """The server's own answers, in which every text is a payload, as from a model that was trained to harm."""
    server, _ = hostile
    with visited(server, "?source=en&target=de&text=hello", width=390) as page:
        settle(page)
        page.evaluate(OBSERVER)
        before = page.evaluate(COUNTS)
        page.locator(".curl summary").click()

        def answer(route: Any) -> None:
            real = route.fetch().json()
            text = json.loads(route.request.post_data)["q"]
            (unit,) = real["details"]
            words = text.split(" ")
            unit |= {"text": text, "tokens": [*(f"▁{word}" for word in words), "</s>"]}
            unit |= {"tokenLogProbs": [-0.1 * (number % 30) for number in range(len(words) + 1)]}
            unit["warnings"] = [{"code": text, "message": text}, {"code": "constructor", "message": text}]
            route.fulfill(json=real | {"translatedText": text, "alternatives": [text[::-1], *words[:3]]})

        page.route("**/translate", answer)
        for text in batches(lambda text: len(text) <= 600):  # of a longer one the sentences come one by one
            with page.expect_response("**/translate"):
                page.evaluate(GO, f"?{urlencode({'source': 'en', 'target': 'de', 'text': text})}")
            page.locator('.pane.target[aria-busy="false"]').wait_for()
            page.evaluate(SETTLED)
            assert page.locator("textarea").input_value() == text
            assert "".join(page.locator(".output p").all_text_contents()) == text
            assert (
                json.dumps(text, ensure_ascii=False).replace("'", "'\\''") in page.locator(".curl code").text_content()
            )
            page.locator(".others button").nth(1).click()
        assert strange(page) == []
        assert page.evaluate(COUNTS) == before


def test_as_name_of_a_model_or_in_a_run_it_stays_text(
    hostile: tuple[ServerProcess, Tokenizer], visited: Callable[..., Any]
) -> None:
    server, _ = hostile
    with visited(server, "?text=hello&source=en&target=de") as page:
        settle(page)
        page.evaluate(OBSERVER)
        ids = page.locator(".model option").all_text_contents()
        assert ids == ["img-src-x-onerror-alert-1", "alert-1"]
        page.evaluate(GO, "?view=training")
        page.locator(".samples").wait_for()
        written = page.locator(".samples").text_content()
        assert all(payload in written for payload in PAYLOADS)
        assert strange(page) == []

    def named(route: Any) -> None:
        """Models under the names that ids are made of: were they ever sent as they are, they would still be text."""
        model = route.fetch().json()[0]
        route.fulfill(json=[model | {"id": payload} for payload in PAYLOADS])

    with visited(server, "?view=positions", allow="400") as page:
        page.route("**/api/models", named)
        page.reload()
        page.wait_for_selector(".model option", state="attached")
        settle(page)
        assert page.locator(".model option").all_text_contents() == PAYLOADS
        assert page.locator("#evil, [onerror], [onload]").count() == 0
        assert page.evaluate(COUNTS)["img"] == 0


def test_in_the_address_it_stays_text(hostile: tuple[ServerProcess, Tokenizer], visited: Callable[..., Any]) -> None:
    server, _ = hostile
    names = ("model", "source", "target", "kind", "layer", "head", "step", "held", "mass", "shading", "prefix", "off")
    more = ("run", "runs", "checkpoint", "chapter", "language", "side", "position", "dimension", "order", "beam")
    views = ("translate", "attention", "decoding", "positions", "heads", "training", "learn")
    with visited(server, "?text=hello", allow="400") as page:
        settle(page)
        page.evaluate(OBSERVER)
        before = page.evaluate(COUNTS)
        for number, start in enumerate(range(0, len(PAYLOADS), 4)):
            four = cycle(PAYLOADS[start : start + 4])
            query = {name: next(four) for name in ("text", *names, *more)}
            page.evaluate(GO, f"?{urlencode({'view': views[number % len(views)], **query})}")
            page.evaluate(SETTLED)
        page.evaluate(GO, f"?{urlencode({'view': PAYLOADS[0], 'text': 'hello', 'source': 'en', 'target': 'de'})}")
        settle(page)
        assert strange(page) == []
        assert page.evaluate(COUNTS) == before
    for payload in random.Random(5).sample(PAYLOADS, 4):
        address = "&".join(f"{name}={quote(payload)}" for name in ("view", "text", *names, *more))
        with visited(server, f"?{address}", allow="400") as page:
            settle(page)
            assert page.locator("#evil, [onerror], [onload], main img, main iframe, main script").count() == 0
            assert page.locator("textarea").input_value() == payload
