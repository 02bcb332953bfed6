"""The border between Python and JSON: which names are written in camelCase, and which are data and never change."""

import json
import math
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.insight.beam_tree import BeamNode, BeamTree
from heedful.insight.classification_trace import ClassificationTrace
from heedful.insight.payload import VERSION, to_payload
from heedful.insight.trace import Choice, Step
from heedful.insight.view_payloads import classification_payload
from heedful.insight.wire import Packed, camel_case, from_array, to_json
from heedful.tasks.classification.classifier import Classification, WordInfluence
from heedful.text.tokens import Token, Word
from tests.support.small_models import SENTENCE, small_translator

HOSTILE = ["my_label", "snake_case", "_", "__proto__", "a_b_c", "log_prob", "", "Ä_ö", "top_k", "from_", "10"]


@dataclass(frozen=True)
class Found:
    """What a dataclass of ours looks like."""

    log_prob: float
    by_label: dict[str, Any]
    is_end: bool = False


def test_names_are_written_in_camel_case() -> None:
    wanted = {"text": "text", "log_prob": "logProb", "top_k": "topK", "from_": "from", "is_end_of_it": "isEndOfIt"}
    assert {name: camel_case(name) for name in wanted} == wanted


def test_fields_are_renamed_at_every_depth_and_keys_and_values_never() -> None:
    inner = Found(-1.0, {"snake_case": [Found(-2.0, {})]})
    value = SimpleNamespace(head_changes={"my_use": (inner, None)}, finish_reason="snake_case", ended_at=3)
    deepest = {"logProb": -2.0, "byLabel": {}, "isEnd": False}
    assert to_json(value) == {
        "headChanges": {"my_use": [{"logProb": -1.0, "byLabel": {"snake_case": [deepest]}, "isEnd": False}, None]},
        "finishReason": "snake_case",
        "endedAt": 3,
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda children: st.lists(children) | st.dictionaries(st.text() | st.sampled_from(HOSTILE), children),
)


@given(json_values)
def test_what_is_data_comes_back_as_it_went(value: Any) -> None:
    assert to_json(value, digits=None) == value
    assert to_json(Found(0.0, {"held": value}), digits=None)["byLabel"] == {"held": value}


def test_numbers_are_rounded_and_what_json_cannot_say_is_null() -> None:
    assert to_json([1 / 3, math.nan, -math.inf, 7, True]) == [0.333333, None, None, 7, True]
    assert to_json(1 / 3, digits=None) == 1 / 3
    assert to_json(np.array([[0.1, -np.inf]], dtype=np.float32)) == [[0.1, None]]
    assert to_json(np.float64(0.25)) == 0.25
    json.dumps(to_json({"a": np.ones((2, 2), dtype=np.float32)}), allow_nan=False)


def test_a_packed_array_keeps_its_scale_whole() -> None:
    weights = np.linspace(0, 1 / 3, 64, dtype=np.float32).reshape(4, 4, 4)
    written = json.loads(json.dumps(to_json(Packed(weights))))
    assert written["scale"] == float(weights.max()) / 255
    np.testing.assert_allclose(from_array(written), weights, atol=written["scale"] / 2 + 1e-7)


def test_what_has_no_fields_is_no_json() -> None:
    with pytest.raises(TypeError):
        to_json(object())


def test_labels_and_tokens_of_a_classifier_are_data() -> None:
    probabilities = {label: 1 / len(HOSTILE) for label in HOSTILE}
    words = [WordInfluence(word, 0, len(word), 0.5, probabilities) for word in HOSTILE]
    tokens = tuple(Token(text, number, 0, 1, is_special=not number) for number, text in enumerate(HOSTILE))
    decision = Classification(" ".join(HOSTILE), "my_label", probabilities, 11, 0, words)
    weights = np.zeros((1, 1, 11, 11), dtype=np.float32)
    payload = json.loads(json.dumps(classification_payload(ClassificationTrace(decision, tokens, weights))))
    assert payload["label"] == "my_label"
    assert list(payload["probabilities"]) == HOSTILE
    assert [word["word"] for word in payload["words"]] == HOSTILE
    assert [(token["text"], token["isSpecial"]) for token in payload["tokens"]] == [
        (text, not number) for number, text in enumerate(HOSTILE)
    ]


def test_every_field_of_a_trace_is_in_camel_case_and_its_uses_keep_their_names() -> None:
    translator = small_translator()
    trace = translator.translate(SENTENCE, trace=True)
    renamed = {name: f"{name}_attention" for name in trace.weights}
    uses = tuple(replace(use, name=renamed[use.name]) for use in trace.uses)
    found = {renamed[name]: weights for name, weights in trace.weights.items()}
    changes = {name: weights.mean(axis=(-1, -2)) for name, weights in found.items()}
    payload = json.loads(json.dumps(to_payload(replace(trace, uses=uses, weights=found), changes=changes)))
    assert payload["version"] == VERSION == 3
    assert payload["headChanges"].keys() == payload["entropy"].keys() == found.keys()
    assert [use["name"] for use in payload["attention"]] == list(found)
    assert sorted(name for name in _field_names(payload) if "_" in name) == []
    for kind, written in ((BeamNode, payload["beam"]["nodes"]), (Step, payload["steps"]), (Token, payload["inputs"])):
        assert written[0].keys() == {camel_case(field.name) for field in fields(kind)}
    assert payload["beam"].keys() == {camel_case(field.name) for field in fields(BeamTree)}
    assert payload["steps"][0]["top"][0].keys() == {camel_case(field.name) for field in fields(Choice)}
    assert payload["alignment"]["source"][0].keys() == {field.name for field in fields(Word)}


def _field_names(value: Any, is_data: bool = False) -> set[str]:
    """Collect the names of all fields; those below `headChanges` and `entropy` are names of uses."""
    if isinstance(value, list):
        return set().union(*(_field_names(one) for one in value))
    if not isinstance(value, dict):
        return set()
    below = (_field_names(one, name in ("headChanges", "entropy")) for name, one in value.items())
    return set().union(set() if is_data else value.keys(), *below)
