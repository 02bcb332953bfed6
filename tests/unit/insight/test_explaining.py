"""Every task explains itself, and its explanation says the same as JSON, on a terminal and in the page."""

import json
import math
import re
from pathlib import Path

import pytest
import torch

from heedful.cli.explain import explain
from heedful.config.language_modeling import TransformerXLConfig
from heedful.errors import HeedfulError
from heedful.insight.explaining import EXPLAINERS, ExplainRequest
from heedful.insight.forced_pair import MAX_TOKENS
from heedful.insight.html import render_payload
from heedful.insight.terminal import spelled
from heedful.tasks.language_modeling.model import TextModel, load_text_model
from heedful.tasks.table import TASKS
from tests.support.classifier_folders import make
from tests.support.language_model_folders import write_language_model
from tests.support.small_models import SENTENCE, small_translator

TEXT = "the old man and the sea and the boat"
REVIEW = "a truly good film , but the end is bad ."


@pytest.fixture(scope="module")
def text_model(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    folder = tmp_path_factory.mktemp("model") / "memory"
    shape = TransformerXLConfig(kind="transformer_xl", dim=16, num_heads=2, hidden_dim=32, num_layers=2)
    write_language_model(folder, shape, memory_len=24)
    return load_text_model(folder, device="cpu")


def test_every_task_can_be_explained() -> None:
    assert EXPLAINERS.keys() == TASKS.keys()


def test_a_translation_is_told_token_by_token() -> None:
    translator = small_translator()
    found = EXPLAINERS["translation"](translator, SENTENCE, ExplainRequest())
    assert found.answer == found.lines[0] == translator.translate(SENTENCE)
    table = found.lines[4 : 4 + len(found.payload["target"]["tokens"])]
    for line, token, step in zip(table, found.payload["target"]["tokens"], found.payload["steps"], strict=True):
        assert line.startswith(spelled(token["text"]))
        assert f"{math.exp(step['logProb']):.1%}"[:-2] in line
    rests = [max(row) for row in found.payload["attribution"]]
    assert f"{rests[0]:+.2f}" in table[0]


def test_a_label_is_told_with_the_words_that_speak_for_each() -> None:
    classifier = make(num_layers=2)
    found = EXPLAINERS["classification"](classifier, REVIEW, ExplainRequest())
    (decision,) = classifier.classify_detailed([REVIEW], explain=True)
    assert found.answer == found.lines[0] == f"{decision.label} {decision.probability:.4f}"
    assert json.loads(json.dumps(found.payload))["words"][2]["byLabel"].keys() == set(classifier.labels)
    for label in classifier.labels:
        strongest = max(decision.words, key=lambda word: word.by_label[label])
        assert f"for “{label}”:  {strongest.word} {strongest.by_label[label]:+.2f}" in "\n".join(found.lines)
    heads = found.lines[-4:]
    assert [line.split()[:2] for line in heads] == [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]


def test_a_long_text_is_explained_without_its_attention() -> None:
    found = EXPLAINERS["classification"](make(), "good film " * 200, ExplainRequest())
    assert found.payload["attention"] is None
    assert "too long for its attention" in found.warnings[0]
    assert len(found.payload["words"]) == 400


def test_a_text_is_told_symbol_by_symbol(text_model: TextModel) -> None:
    found = EXPLAINERS["language_modeling"](text_model, TEXT, ExplainRequest(num_read=9))
    bits = [-value / math.log(2) for value in found.payload["logProbs"]]
    assert found.answer == f"{sum(bits) / len(bits):.3f} bits per symbol"
    assert found.lines[0] == f"{found.answer} over 8 symbols, after 24 in the memory"
    rows = [line.split() for line in found.lines[3:11]]
    assert [row[0] for row in rows] == [spelled(symbol) for symbol in found.payload["read"][1:]]
    assert [float(row[1]) for row in rows] == pytest.approx(bits, abs=0.006)
    first = found.payload["expected"][-1][0]
    assert found.lines[12].startswith(f"next:  {spelled(first['text'])} {math.exp(first['logProb']):.1%}"[:-1])
    in_memory = [f"{head['memory']:.1%}" for layer in found.payload["reach"] for head in layer]
    assert [line.split()[-1] for line in found.lines[-4:]] == in_memory


def test_nothing_can_be_read_as_well(text_model: TextModel) -> None:
    found = EXPLAINERS["language_modeling"](text_model, "", ExplainRequest())
    assert found.payload["logProbs"] == []
    assert found.lines[0].startswith("next:  ")


def test_no_more_symbols_can_be_asked_for_than_are_shown() -> None:
    (declared,) = explain.__annotations__["symbols"].__metadata__
    assert declared.max == MAX_TOKENS


def test_a_model_of_no_numbers_is_refused_in_a_sentence(tmp_path: Path) -> None:
    write_language_model(tmp_path / "broken")
    model = load_text_model(tmp_path / "broken", device="cpu")
    classifier = make()
    for parameter in (next(model.model.parameters()), classifier.model.output.bias):
        torch.nn.init.constant_(parameter, math.nan)
    with pytest.raises(HeedfulError, match="no usable probabilities"):
        EXPLAINERS["language_modeling"](model, "x", ExplainRequest())
    with pytest.raises(HeedfulError, match="no usable probabilities"):
        EXPLAINERS["classification"](classifier, "good film", ExplainRequest())


HOSTILE = "</script><script>alert(1)</script> \x1b[2J\r\u202e"


@pytest.mark.parametrize("task", ["classification", "language_modeling"])
def test_text_never_becomes_markup_nor_moves_a_cursor(task: str, text_model: TextModel) -> None:
    model = {"classification": make(), "language_modeling": text_model}[task]
    found, ordinary = (EXPLAINERS[task](model, text, ExplainRequest()) for text in (HOSTILE, TEXT))
    page = render_payload(found.payload)
    assert re.findall(r"<[a-z!/]+", page) == re.findall(r"<[a-z!/]+", render_payload(ordinary.payload))
    assert "".join(found.lines).isprintable()


def test_a_token_is_spelled_so_that_it_is_seen() -> None:
    assert [spelled(text) for text in ("▁house", "▁", " ", "a\nb", "\x1b", "很", "")] == [
        "house",
        "␣",
        "␣",
        "a↵b",
        "\\x1b",
        "很",
        "",
    ]
