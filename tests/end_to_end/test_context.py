"""Context from the corpus to every entrance: who "it" is was said in the sentence before, and nowhere else."""

import json
import random
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.load import ServerProcess

import heedful as toolkit
from heedful.insight.trace import trace_translation
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from tests.support.commands import Command

CONFIG = """
name = "context"
runs_folder = "runs"

[data]
source_language = "en"
target_language = "de"
train = [{ kind = "tsv", path = "text.tsv" }]
validation = [{ kind = "tsv", path = "validation.tsv" }]
augmentation = { context = 1.0 }

[tokenizer]
vocab_size = 360

[model]
dim = 48
num_heads = 4
hidden_dim = 96
num_encoder_layers = 1
num_decoder_layers = 1
dropout = 0.0

[training]
max_steps = 300
batch_tokens = 1024
schedule = { kind = "cosine", peak = 8e-3, warmup_steps = 20 }
checkpoint = { every_steps = 300, keep_last = 1 }
average = { count = 1 }

[validation]
every_steps = 300
max_sentences = 4
"""
THINGS = {
    "lamp": ("Die Lampe", "Sie"), "door": ("Die Tür", "Sie"), "table": ("Der Tisch", "Er"), "car": ("Der Wagen", "Er"),
    "book": ("Das Buch", "Es"), "house": ("Das Haus", "Es"),
}  # fmt: skip
LOOKS = {"red": "rot", "old": "alt", "new": "neu", "big": "groß"}


def first(thing: str) -> tuple[str, str]:
    return f"The {thing} is here.", f"{THINGS[thing][0]} ist hier."


def second(thing: str, look: str) -> tuple[str, str]:
    return f"It is {look}.", f"{THINGS[thing][1]} ist {LOOKS[look]}."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, heedful: Command) -> Path:
    root = tmp_path_factory.mktemp("context")
    chance = random.Random(1)
    drawn = [(chance.choice(list(THINGS)), chance.choice(list(LOOKS))) for _ in range(600)]
    rows = ["\t".join(pair) + "\n" for thing, look in drawn for pair in (first(thing), second(thing, look))]
    (root / "text.tsv").write_text("".join(rows), encoding="utf-8")
    (root / "validation.tsv").write_text("".join(rows[:8]), encoding="utf-8")
    (root / "context.toml").write_text(CONFIG)
    result = heedful("train", "context.toml", "--device", "cpu", cwd=root, HEEDFUL_CACHE=str(root / "cache"))
    assert result.returncode == 0, result.stderr.decode()
    return root / "runs" / "context" / "model"


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    found = toolkit.load(folder, device="cpu")
    assert isinstance(found, Translator)
    return found


def texts() -> list[tuple[str, str]]:
    both = [(first(thing), second(thing, look)) for thing in THINGS for look in LOOKS]
    return [(f"{one[0]} {other[0]}", f"{one[1]} {other[1]}") for one, other in both]


def _last(text: str) -> str:
    return text.split(". ")[-1]


def test_a_word_is_decided_by_the_sentence_before_it(translator: Translator) -> None:
    assert translator.traits.context_sentences == 1
    made = translator.translate([source for source, _ in texts()])
    assert [_last(one) for one in made] == [_last(expected) for _, expected in texts()]


def test_without_a_model_that_learned_it_nothing_is_handed_over(translator: Translator) -> None:
    single = replace(translator, traits=replace(translator.traits, context_sentences=0))
    made = single.translate([source for source, _ in texts() if source.endswith("red.")])
    assert len({_last(one) for one in made}) == 1, "each is the translation of the sentence alone"
    [plan] = single.plan([texts()[0][0]])
    assert [unit.context for unit in plan.units] == [None, None]
    assert all(unit.read_ids == unit.source_ids for unit in plan.units)


def test_lines_follow_each_other_until_one_is_blank(translator: Translator) -> None:
    lines = "The lamp is here.\nIt is red.\n\nIt is old."
    [plan] = translator.plan([lines])
    assert [unit.context.text if unit.context else None for unit in plan.units] == [None, "The lamp is here. ␞", None]
    alone = translator.translate("It is old.")
    assert translator.translate(lines) == f"Die Lampe ist hier.\nSie ist rot.\n\n{alone}"


def test_what_is_read_is_the_text_as_it_was_learned(translator: Translator) -> None:
    [plan] = translator.plan(["The lamp is here. It is red."])
    learned = translator.tokenizer.encode_source("The lamp is here. ␞ It is red.")
    assert list(plan.units[1].read_ids) == learned


def test_every_entrance_hands_it_over(heedful: Command, folder: Path, translator: Translator, tmp_path: Path) -> None:
    source, expected = next((one, other) for one, other in texts() if translator.translate(one) == other)
    said = heedful("translate", "--model", folder, source)
    assert said.stdout.decode() == expected + "\n", said.stderr.decode()
    (tmp_path / "text.txt").write_text(source + "\n", encoding="utf-8")
    heedful("translate", "--model", folder, tmp_path / "text.txt", "--to", "de", "--out", tmp_path / "made.txt")
    assert (tmp_path / "made.txt").read_text(encoding="utf-8") == expected + "\n"
    looked = trace_translation(translator, translator.plan([source], TranslationRequest())[0], sentence=1)
    assert looked.text == _last(expected)
    assert looked.source.split(" ␞ ") == [source.split(" It")[0], "It" + source.split(" It")[1]]
    with ServerProcess("--model", folder) as server:
        body = json.dumps({"q": source, "source": "en", "target": "de"}).encode()
        for route in ("/translate", "/api/translate/stream"):
            request = urllib.request.Request(server.url + route, body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                heard = answer.read().decode()
            assert _last(expected) in heard, heard
