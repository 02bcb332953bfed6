"""The view "translate" in a real browser: what it shows is what the server answers, and it can be used in every way."""

import itertools
import json
import math
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import Request, urlopen

import pytest
from benchmarks.load import ServerProcess

from heedful.text.words import HAN, UNSPACED, begins_word
from tests.support.page_marks import marks_what_differs

pytestmark = pytest.mark.browser

SENTENCE = "Where is the nearest station, please? I would like to buy a ticket."
READY = '.pane.target[aria-busy="false"]'


def asked(server: ServerProcess, q: str, target: str, **more: Any) -> dict[str, Any]:
    body = json.dumps({"q": q, "source": "auto", "target": target, "details": True, **more}).encode()
    with urlopen(Request(f"{server.url}/translate", body, {"content-type": "application/json"})) as response:
        return json.load(response)


def output(page: Any) -> str:
    """The translation on screen, once it is whole."""
    page.wait_for_selector(f"{READY} .output")
    return "\n".join(page.locator(".output p").all_text_contents())


def shown_probability(label: str) -> float:
    return float(re.search(r"([\d.]+) %", label)[1])


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_it_greets_with_a_translation_and_fits(
    bundled_server: ServerProcess, visited: Callable[..., Any], width: int, scheme: str
) -> None:
    with visited(bundled_server, width=width, color_scheme=scheme) as page:
        assert output(page) == asked(bundled_server, page.input_value("textarea"), "de")["translatedText"]
        assert page.inner_text(".detected") == "detected: English"
        assert page.locator(".examples button").count() == 6
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_words_say_the_probabilities_of_their_pieces(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    answer = asked(bundled_server, SENTENCE, "de")
    units = answer["details"]
    assert len(units) == 2, "sentences are translated one by one"
    with visited(bundled_server, f"?text={quote(SENTENCE)}&target=de") as page:
        assert output(page) == answer["translatedText"]
        shown = page.locator(".output .sure")
        assert "".join(shown.all_inner_texts()) == answer["translatedText"].replace(" ", "")
        product = math.prod(shown_probability(one.get_attribute("aria-label")) / 100 for one in shown.all())
        log_prob = sum(sum(unit["tokenLogProbs"][:-1]) for unit in units)  # the end symbol is no word
        assert math.log(product) == pytest.approx(log_prob, abs=0.01 * shown.count())
        unit, number = next(
            (unit, number)
            for unit in units
            for number, token in enumerate(unit["tokens"])
            if not token.startswith("▁") and token.isalpha()
        )
        pair = sum(unit["tokenLogProbs"][number - 1 : number + 1])
        word = (unit["tokens"][number - 1] + unit["tokens"][number]).lstrip("▁")
        label = page.locator(".output .sure", has_text=word).get_attribute("aria-label")
        assert shown_probability(label) == pytest.approx(100 * math.exp(pair), abs=0.5)
        page.locator(".output .sure", has_text=word).hover()
        assert page.inner_text(".told") == label


def test_words_say_how_often_they_are_right_and_a_diagram_how_reliable_that_is(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    (unit,) = asked(bundled_server, "Where is the nearest station, please?", "de")["details"]
    with visited(bundled_server, "?target=de") as page:
        assert output(page) == unit["text"]
        shown = page.locator(".output .sure")
        assert shown.count() == len(unit["wordConfidences"])
        for one, confidence in zip(shown.all(), unit["wordConfidences"], strict=True):
            said = re.findall(r"([\d.]+) %", one.get_attribute("aria-label"))[-1]
            assert float(said) == pytest.approx(100 * confidence, abs=0.51)
            assert one.get_attribute("data-level") == str(sum(confidence < least for least in (0.75, 0.5, 0.25)))
        models = page.evaluate("fetch('/api/models').then((answer) => answer.json())")
        bins = models[0]["reliability"]["en-de"]
        page.locator(".reliability summary").click()
        assert page.locator(".diagram circle").count() == len(bins)
        first = bins[0]
        said, right = f"{100 * first['confidence']:.0f} %", f"{100 * first['right']:.0f} %"
        told = page.locator(".diagram circle title").first.text_content()
        assert told == f"said {said}: {right} of {first['words']} words were right"


def test_chinese_is_shaded_token_by_token(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    (unit,) = asked(bundled_server, "Where is the nearest station, please?", "zh")["details"]
    with visited(bundled_server, "?target=zh", locale="zh-CN") as page:
        assert output(page) == unit["text"]
        pieces = [token.lstrip("▁") for token in unit["tokens"][:-1]]
        assert page.locator(".output .sure").all_inner_texts() == [piece for piece in pieces if piece]
        assert page.inner_text("h1") == "翻译，并看懂翻译。"
        assert page.inner_text(".detected") == "识别为英语"


def test_the_keyboard_goes_through_the_words(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(bundled_server) as page:
        output(page)
        page.locator('.output [tabindex="0"]').focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        second = page.locator(".output .sure").nth(2)
        assert second.get_attribute("aria-current") == "true"
        assert page.inner_text(".told") == second.get_attribute("aria-label")
        page.keyboard.press("ArrowLeft")
        assert page.locator(".output .sure").nth(1).get_attribute("aria-current") == "true"


def test_typing_translates_line_by_line_and_the_address_says_it(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    with visited(bundled_server, "?target=fr", width=390) as page:
        output(page)
        page.locator("textarea").fill("")
        page.locator("textarea").press_sequentially("Nobody knew why.", delay=5)
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.locator("textarea").press_sequentially("Where are you?", delay=5)
        expected = asked(bundled_server, "Nobody knew why.\n\nWhere are you?", "fr")["translatedText"]
        assert expected.count("\n") == 2
        page.locator(".output p", has_text=expected.split("\n")[2]).wait_for()
        assert output(page) == expected
        assert "Where+are+you" in page.url
        page.get_by_role("button", name="Clear").click()
        page.wait_for_selector(".output", state="detached")
        assert page.input_value("textarea") == ""


def test_other_translations_can_be_seen(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    answer = asked(bundled_server, SENTENCE, "de", alternatives=3)
    with visited(bundled_server, f"?text={quote(SENTENCE)}&target=de") as page:
        output(page)
        rows = page.locator(".others button > span:first-child").all_text_contents()
        assert rows == [answer["translatedText"], *answer["alternatives"]]
        page.locator(".others button").nth(2).click()
        assert output(page) == answer["alternatives"][1]
        assert marks_what_differs(page, ".output", answer["translatedText"])
        page.locator(".others button").nth(0).focus()
        page.keyboard.press("Enter")
        assert output(page) == answer["translatedText"]


def test_swapping_swaps_texts_and_languages(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(bundled_server) as page:
        before = output(page)
        page.get_by_role("button", name="Swap").click()
        assert page.input_value("textarea") == before
        assert page.get_by_label("Translate from").input_value() == "de"
        assert page.get_by_label("Translate into").input_value() == "en"
        expected = asked(bundled_server, before, "en", source="de")["translatedText"]
        page.locator(".output p", has_text=expected).wait_for()


def test_examples_in_six_directions(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(bundled_server, "?language=zh") as page:
        output(page)
        page.locator(".examples button", has_text="法语 → 英语").click()
        page.locator(".detected", has_text="识别为法语").wait_for()
        assert output(page) == asked(bundled_server, page.input_value("textarea"), "en")["translatedText"]


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("en", "This seems to be Spanish, which the model does not know."),
        ("zh-CN", "这似乎是西班牙语，模型不会这种语言。"),
    ],
)
def test_a_language_the_model_does_not_know_is_said_and_left_as_it_is(
    bundled_server: ServerProcess, visited: Callable[..., Any], locale: str, said: str
) -> None:
    sentence = "¿Dónde está la estación?"
    for text in (sentence, " ".join([sentence] * 30)):
        with visited(bundled_server, f"?text={quote(text)}&target=de", locale=locale) as page:
            assert output(page) == text
            assert page.inner_text(".detected") == said
            assert page.locator(".notice").count() == 1
            page.locator("button.swap").click()
            page.wait_for_function("() => document.querySelector('main select').value === 'de'")


def test_text_from_right_to_left_is_set_so(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(bundled_server, f"?text={quote('أين المحطة؟')}&target=de") as page:
        assert output(page) == "أين المحطة؟"
        for field in ("textarea", ".output"):
            assert page.locator(field).evaluate("element => getComputedStyle(element).direction") == "rtl"


def test_copies_the_translation_and_the_command(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(
        bundled_server, f"?text={quote(chr(39) + SENTENCE)}", permissions=["clipboard-read", "clipboard-write"]
    ) as page:
        text = output(page)
        page.get_by_role("button", name="Copy", exact=True).click()
        page.get_by_role("button", name="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == text
        page.get_by_text("The same from the command line").click()
        page.get_by_role("button", name="Copy the command").click()
        page.get_by_role("button", name="Copied").last.wait_for()
        command = page.evaluate("navigator.clipboard.readText()")
        assert command == page.inner_text(".curl code")
        body = json.loads(command.split(" -d ", 1)[1].strip("'").replace("'\\''", "'"))
        assert body["q"] == "'" + SENTENCE
        assert command.startswith(f"curl {bundled_server.url}/translate ")


def test_a_warning_is_said_in_words_of_the_page(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    german = "Ich habe meinen Schlüssel im Büro vergessen."
    with visited(bundled_server, f"?text={quote(german)}&target=zh&language=zh") as page:
        output(page)
        assert "pivot" in {warning["code"] for warning in asked(bundled_server, german, "zh")["warnings"]}
        assert "经过了第三种语言" in page.inner_text(".pane.target")
    with visited(bundled_server, f"?text={quote(german)}&target=de") as page:
        page.get_by_role("button", name="Translate it into English").click()
        page.locator('.output[lang="en"]', has_text="key").wait_for()
        assert page.get_by_label("Translate into").input_value() == "en"


def test_a_long_text_comes_sentence_by_sentence_and_keeps_its_lines(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    line = "The rain has finally stopped. Nobody knew why the lights went out. I forgot my keys in the car. "
    with visited(bundled_server) as page:
        output(page)
        page.locator("textarea").fill(f"{line * 4}\n\n{line * 4}")
        page.wait_for_selector(".pane.target .output.long")
        page.wait_for_selector(READY, timeout=20_000)
        lines = output(page).split("\n")
        assert [bool(one.strip()) for one in lines] == [True, False, True]
        assert lines[0] == lines[2]
        assert "24 sentences" in page.inner_text(".pane.target .under")


def test_refusals_are_sentences(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(bundled_server, allow="413") as page:
        output(page)
        page.locator("textarea").fill("x" * 20_001)
        said = page.locator(".refusal")
        said.wait_for()
        assert said.inner_text() == "This is too much at once. `q` must have at most 20,000 characters, but has 20,001."
    with visited(bundled_server, "?language=zh", allow="413") as page:
        output(page)
        page.locator("textarea").fill("x" * 20_001)
        said = page.locator(".refusal")
        said.wait_for()
        assert said.inner_text() == "一次提交的内容太多。服务器说：最多 20,000 个字符。"
    with visited(bundled_server, f"?language=zh&view=attention&text={'x' * 1_001}", allow="413") as page:
        said = page.locator(".refusal")
        said.wait_for()
        assert said.inner_text() == "无法显示：最多 1,000 个字符。"
    with visited(bundled_server, "?language=zh", allow="429") as page:
        output(page)
        refusals = iter([{"status": 429, "headers": {"retry-after": "1"}, "json": {"error": "Too many are waiting."}}])
        page.route(
            "**/translate", lambda route: route.fulfill(**one) if (one := next(refusals, None)) else route.continue_()
        )
        page.locator("textarea").fill("Where are you?")
        page.wait_for_selector(".refusal")
        assert page.inner_text(".refusal") == "服务器目前忙不过来，1 秒后会再次请求。"
        page.wait_for_selector(".refusal", state="detached")
        assert output(page) == asked(bundled_server, "Where are you?", "de")["translatedText"]


def test_looking_inside_takes_the_sentence_along(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(bundled_server, f"?text={quote(SENTENCE)}&target=zh") as page:
        output(page)
        page.get_by_role("link", name="Look inside").click()
        page.wait_for_selector("main.attention")
        query = parse_qs(urlsplit(page.url).query)
        assert query == {"view": ["attention"], "text": [SENTENCE], "target": ["zh"]}


def test_the_back_button_leads_to_the_text_before(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(bundled_server, f"?text={quote(SENTENCE)}&target=zh") as page:
        before = output(page)
        page.get_by_role("link", name="Positions").click()
        page.wait_for_selector("main.positions canvas")
        page.go_back()
        page.wait_for_selector("main.translate")
        assert output(page) == before
        page.go_forward()
        page.wait_for_selector("main.positions canvas")


def test_the_translation_is_announced_and_nothing_else(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    with visited(bundled_server, "?text=&target=de", locale="en-US") as page:
        page.evaluate(
            """() => {
                window.announced = [];
                const live = (node) => (node.nodeType === 1 ? node : node.parentElement)
                    ?.closest('[aria-live="polite"], [role="status"]');
                const hear = (records) => records.forEach(({ target }) => {
                    const text = live(target)?.textContent.trim();
                    if (text && window.announced.at(-1) !== text) window.announced.push(text);
                });
                const seen = { subtree: true, childList: true, characterData: true };
                new MutationObserver(hear).observe(document.querySelector("main"), seen);
            }"""
        )
        page.locator("textarea").press_sequentially("Where are you?", delay=60)
        expected = asked(bundled_server, "Where are you?", "de")["translatedText"]
        page.locator(".output p", has_text=expected).wait_for()
        page.wait_for_timeout(100)
        assert page.evaluate("window.announced") == [expected]
        other = page.locator(".others button").nth(1)
        other.click()
        page.wait_for_timeout(100)
        assert page.evaluate("window.announced") == [expected, other.locator("> span").first.text_content()]


WORDS = """async ([codes, pairs]) => {
  const { HAN, UNSPACED, beginsWord } = await import("/web/word_bounds.js");
  const [han, unspaced] = [HAN, UNSPACED].map((inside) => new RegExp(`^[${inside}]$`, "u"));
  return [
    codes.map((code) => String.fromCodePoint(code)).map((one) => [han.test(one), unspaced.test(one)]),
    pairs.map(([before, piece]) => beginsWord(before, piece)),
  ];
}"""


def test_the_page_has_the_words_of_the_package(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    """A few characters of every block of the planes that have letters, and those beside every bound."""
    bounds = [ord(bound) + step for bound in {*HAN, *UNSPACED} for step in (-1, 0, 1)]
    codes = [code for code in {*range(32, 0x40000, 61), *bounds} if not 0xD800 <= code < 0xE000]
    ends = ["a", ".", "▁", "▁a", "5", "山", "。", "あ", "한", "ｱ", "\U00020000", "\U0001b000", "😀", "<0xE4>", "’", "½"]
    pairs = list(itertools.product(ends, ends))
    with visited(bundled_server) as page:
        classes, begins = page.evaluate(WORDS, [codes, pairs])
    expected = [[bool(re.match(f"[{inside}]", chr(code))) for inside in (HAN, UNSPACED)] for code in codes]
    assert [chr(code) for code, one, other in zip(codes, classes, expected, strict=True) if one != other] == []
    assert [pair for pair, found in zip(pairs, begins, strict=True) if found != begins_word(*pair)] == []
