"""The translator that ships with the package: what everyone can count on the moment it is installed."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from heedful import load
from heedful.demo.bundled import OUT_OF_DOMAIN
from heedful.files import verify_manifest
from heedful.storage.locate import bundled_folder
from heedful.tasks.translation.translator import Translator
from tests.support.commands import Command, environment_of

ROOT = Path(__file__).parents[2]
DIRECTIONS = {("en", "de"), ("en", "fr"), ("en", "zh"), ("de", "en"), ("fr", "en"), ("zh", "en")}

EASY = [
    ("en", "de", "Where is the station?", {"Wo ist der Bahnhof?"}),
    ("en", "de", "I have never been to Paris.", {"Ich war noch nie in Paris.", "Ich bin noch nie in Paris gewesen."}),
    ("en", "fr", "Where is the station?", {"Où est la gare ?", "Où se trouve la gare ?"}),
    ("en", "fr", "He left his umbrella on the train.", {"Il a laissé son parapluie dans le train."}),
    ("en", "zh", "Where is the station?", {"车站在哪里？", "车站在哪儿？", "火车站在哪里？"}),
    ("en", "zh", "The children are playing in the garden.", {"孩子们在花园里玩。", "孩子们正在花园里玩。"}),
    (
        "de",
        "en",
        "Wo ist der Bahnhof?",
        {"Where is the station?", "Where's the station?", "Where is the train station?"},
    ),
    (
        "de",
        "en",
        "Ich habe meine Schlüssel verloren.",
        {"I lost my keys.", "I've lost my keys.", "I have lost my keys."},
    ),
    ("fr", "en", "Elle parle trois langues.", {"She speaks three languages."}),
    ("fr", "en", "J'ai perdu mes clés.", {"I lost my keys.", "I've lost my keys.", "I have lost my keys."}),
    ("zh", "en", "车站在哪里？", {"Where is the station?", "Where's the station?", "Where is the train station?"}),
    ("zh", "en", "她每天早上喝咖啡。", {"She drinks coffee every morning.", "She has coffee every morning."}),
]

BOOKING = [
    ("en", "de", {"Ich möchte morgen Abend einen Tisch für zwei Personen reservieren."}),
    ("en", "fr", {"Je voudrais réserver une table pour deux personnes demain soir."}),
    ("en", "zh", {"我想预订明天晚上两个人的餐桌。", "我想预订明天晚上两人的餐桌。"}),
]

INTO_CHINESE = [
    "Good morning!", "How much does this book cost?", "If it rains tomorrow, we will stay at home.",
    "I don't know what to say.", "He is a teacher.", "My father works in a hospital.", "What time is it now?",
    "I have a dog, a cat and two birds.", "She opened the door and went out.", "Thank you very much!",
]  # fmt: skip

NOISE = [
    ("en", "de", "hjkl fdsa uiop rewq vbnm", "copied"),
    ("en", "zh", "qqqq wwww ;;;; ---- ertyuiop", "leftover_words"),
    ("fr", "en", "àéè çççç qsdfjk mlkjh azerpoiu", "low_confidence"),
    ("zh", "en", "魑魅魍魉饕餮龘靐齉", "low_confidence"),
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load(device="cpu")


def test_easy_sentences_come_out_right_in_all_six_directions(translator: Translator) -> None:
    assert set(translator.directions.pairs) == {(source, target) for source, target, _, _ in EASY} == DIRECTIONS
    wrong = []
    for source, target, text, expected in EASY:
        [found] = translator.translate_detailed([text], from_=source, to=target)
        if found.text not in expected or found.warnings:
            wrong.append((text, found.text, found.warnings))
    assert wrong == []


def test_a_table_is_booked_for_two_people_tomorrow_evening(translator: Translator) -> None:
    text = "I would like to book a table for two people tomorrow evening."
    for source, target, expected in BOOKING:
        assert translator.translate(text, from_=source, to=target) in expected


def test_what_it_refers_to_is_the_animal(translator: Translator) -> None:
    text = "The animal didn't cross the street because it was too tired."
    assert "weil es zu müde war" in translator.translate(text, to="de")
    assert "parce qu'il était trop fatigué" in translator.translate(text, to="fr")


def test_traditional_characters_are_read_like_simplified_ones(translator: Translator) -> None:
    traditional, simplified = ["車站在哪裡？", "請說慢一點。"], ["车站在哪里？", "请说慢一点。"]
    assert translator.translate(traditional, to="en") == translator.translate(simplified, to="en")


def test_chinese_is_simplified_with_its_own_punctuation(translator: Translator) -> None:
    from heedful.text.chinese import simplify

    pytest.importorskip("opencc")
    for text in translator.translate(INTO_CHINESE, from_="en", to="zh"):
        assert simplify(text) == text
        assert re.fullmatch(r"[\u4e00-\u9fff0-9A-Z，、“”：]+[。！？]", text), text


def test_the_language_is_detected_line_by_line(heedful: Command) -> None:
    lines = "Ich habe meine Schlüssel verloren.\nOù est la gare ?\n車站在哪裡？\n\n"
    result = heedful("translate", "--json", stdin=lines.encode())
    assert (result.returncode, result.stderr) == (0, b"")
    found = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert [(it["from"], it["to"]) for it in found] == [("de", "en"), ("fr", "en"), ("zh", "en"), (None, None)]
    translations = [it["translation"] for it in found]
    assert all(word in text for word, text in zip(("keys", "station", "station", ""), translations, strict=True))
    assert translations[3] == ""


def test_a_language_it_does_not_know_is_left_as_it_is(heedful: Command) -> None:
    result = heedful("translate", "¿Dónde está la estación?", "--to", "de")
    assert (result.returncode, result.stdout.decode()) == (0, "¿Dónde está la estación?\n")
    assert result.stderr.decode().endswith(
        'line 1: the text seems to be in Spanish ("es"), which this model does not translate from, and was left as it '
        "is. Say the language with --from to translate it anyway.\n"
    )
    result = heedful("explain", "¿Dónde está la estación?", "--to", "de", "--out", "page.html")
    assert result.returncode == 2
    assert result.stderr.decode() == (
        'error: The text must be in one of the model\'s languages, but seems to be in Spanish ("es"), which this model '
        "does not translate from. Say the language with --from to look into it anyway.\n"
    )


def test_it_works_at_once_on_the_command_line_with_alternatives(heedful: Command) -> None:
    result = heedful("translate", "Where is the station?", "--to", "zh")
    assert (result.returncode, result.stderr) == (0, b"")
    assert "车站" in result.stdout.decode()
    result = heedful("translate", "Are you tired?", "--to", "fr", "--json", "--n-best", "4")
    found = json.loads(result.stdout)
    texts = [alternative["text"] for alternative in found["alternatives"]]
    assert len(set(texts)) == 4
    assert any("tu" in text for text in texts)
    assert any("vous" in text for text in texts)
    scores = [alternative["score"] for alternative in found["alternatives"]]
    assert scores == sorted(scores, reverse=True)
    assert found["warning_codes"] == []
    for alternative in found["alternatives"]:
        assert len(alternative["tokens"]) == len(alternative["token_log_probs"])
        assert sum(alternative["token_log_probs"]) == pytest.approx(alternative["log_prob"], abs=1e-3)


def test_what_it_was_not_made_for_is_flagged(translator: Translator) -> None:
    for source, target, text, code in [*NOISE, *((*one, "low_confidence") for one in OUT_OF_DOMAIN)]:
        [found] = translator.translate_detailed([text], from_=source, to=target)
        assert code in {warning.code for warning in found.warnings}, (text, found.text)


def test_a_direction_it_has_not_learned_goes_through_english(translator: Translator) -> None:
    [found] = translator.translate_detailed(["Wo ist der Bahnhof?"], to="fr")
    assert "gare" in found.text
    assert [warning.code for warning in found.warnings] == ["pivot"]


def test_it_is_small_whole_quick_to_load_and_named(heedful: Command) -> None:
    folder = bundled_folder()
    assert folder is not None
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 32_000_000
    verify_manifest(folder)
    script = (
        "import time, torch; started = time.process_time()\n"
        "import heedful; heedful.load(device='cpu'); print(time.process_time() - started)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 3.0, "half a second on an idle machine"
    assert "translator: " in heedful("info").stdout.decode()


def test_an_installation_without_it_says_what_to_do(heedful: Command, tmp_path: Path) -> None:
    bare = shutil.copytree(ROOT / "src" / "heedful", tmp_path / "heedful", ignore=shutil.ignore_patterns("translator"))
    for verb in (["translate", "hello"], ["demo"]):
        result = heedful(*verb, PYTHONPATH=str(bare.parent), cwd=tmp_path)
        assert (result.returncode, result.stdout) == (2, b"")
        assert result.stderr.decode() == (
            "error: A model must be named with --model DIR, because this installation has no bundled one. "
            "Train one with heedful train CONFIG, or try `heedful demo --train`.\n"
        )


def test_its_card_says_where_it_comes_from() -> None:
    folder = bundled_folder()
    assert folder is not None
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card == (ROOT / "docs" / "bundled-model.md").read_text(encoding="utf-8"), "export it again with --card"
    for named in (
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "Europarl",
        "Wikipedia",
        "CC-CEDICT",
        "service-public.fr",
        "https://tatoeba.org",
        "https://www.manythings.org",
        "https://creativecommons.org/licenses/by/2.0/fr/",
    ):
        assert named in card
    for source, target in DIRECTIONS:
        assert f"{source} → {target}" in card


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_what_the_readme_shows_is_what_it_says(translator: Translator, name: str) -> None:
    [block] = re.findall(r"```console\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
    commands = re.findall(r"\$ heedful translate(?: --to (\w\w))? (.*)\n((?:[^$].*\n)+)", block)
    assert len(commands) == block.count("$ ") >= 3
    for target, texts, expected in commands:
        found = translator.translate_detailed(shlex.split(texts), to=target or None)
        said = [translation.text for translation in found]
        said += [f"warning: line {number}: {it}" for number, one in enumerate(found, 1) for it in one.warnings]
        assert said == expected.splitlines()


def test_the_examples_of_its_card_are_real(translator: Translator) -> None:
    card = (ROOT / "docs" / "bundled-model.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| (de|fr|zh|en) \| ([^|]+) \|$", card, re.MULTILINE)
    assert len(rows) == 6
    assert [translator.translate(source, to=target) for source, target, _ in rows] == [text for _, _, text in rows]


def test_the_demonstration_shows_all_directions_and_flags_what_is_beyond_it(heedful: Command) -> None:
    result = heedful("demo")
    assert (result.returncode, result.stderr) == (0, b"")
    text = result.stdout.decode()
    assert "\x1b" not in text
    for title in ("English → German", "English → French", "English → Chinese", "German → English",
                  "French → English", "Chinese → English"):  # fmt: skip
        assert f"\n{title}\n" in text
    assert text.count("warning: the model is unsure of this translation.") == len(OUT_OF_DOMAIN)
    assert max(len(line) for line in text.split("\n")) <= 200
    for name in ("A letter", "News", "A technical text"):
        [part] = re.findall(rf"\n{name}\n((?:  .*\n)+)", text)
        assert [row for row in re.findall(r"(?m)^  (\S.*)$", part) if row != "warning"] == [
            "English", "into German", "into French", "into Chinese", "from German", "from French", "from Chinese",
        ]  # fmt: skip
        assert len(re.findall(r"(?m)^    \S", part)) >= 7
    assert re.search(r"\n  pos \d+%\n    A warm and clever film", text)
    assert re.search(r"\n  neg \d+%\n    What a waste of two hours\.\n", text)
    assert re.search(r"\n  The city was founded in …\n    \S+ .*\w+ \w+", text)
    refused = heedful("demo", "--steps", "5")
    assert refused.returncode == 2
    assert refused.stderr.decode() == ("error: `--steps` must go with --train: the bundled model is trained already.\n")


def test_on_a_terminal_the_demonstration_is_in_colour() -> None:
    ours, theirs = os.openpty()
    environment = {**environment_of(TERM="xterm-256color", COLUMNS="90"), "NO_COLOR": ""}
    with subprocess.Popen([sys.executable, "-m", "heedful", "demo"], stdout=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while block := _read(ours):
            shown += block
    os.close(ours)
    assert process.returncode == 0
    text = shown.decode()
    assert "\x1b[" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "Wo ist der Bahnhof?" in plain
    assert "⚠" in plain


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # so Linux says that the other side has closed
        return b""
