"""Which schema a run's description is read by: its `task` decides."""

from pathlib import Path

import pytest

from heedful.config.classification import ClassificationRun
from heedful.config.load import dump_toml, load_any, load_config, parse_any, parse_config
from heedful.config.translation import TranslationRun
from heedful.errors import ConfigError, UserError

LABELS = """
task = "classification"
name = "labels"
[[data.train]]
path = "train.jsonl"
"""
PAIRS = """
name = "pairs"
[[data.train]]
source = "a"
target = "b"
[[data.validation]]
source = "a"
target = "b"
"""


def test_the_task_of_a_file_decides_what_it_describes() -> None:
    assert isinstance(parse_any(LABELS), ClassificationRun)
    assert isinstance(parse_any(PAIRS), TranslationRun)


def test_a_task_that_does_not_exist_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r'`task` must be one of .*, but is "clasification". Did you mean "classific'):
        parse_any(LABELS.replace("classification", "clasification"))


def test_where_only_translation_will_do_another_task_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.toml"
    path.write_text(LABELS)
    assert load_any(path).name == "labels"
    with pytest.raises(UserError, match='must describe a translation run here, but its `task` is "classification"'):
        load_config(path)


def test_an_override_can_be_the_task() -> None:
    assert isinstance(
        parse_any(LABELS.replace('task = "classification"', ""), ["task=classification"]), ClassificationRun
    )


def test_a_resolved_description_comes_back_the_same() -> None:
    config = parse_any(
        LABELS, ['model.positions.kind="learned"', "model.naive_bayes.up_to=2", "model.attention.kind=basic"]
    )
    assert parse_any(dump_toml(config)) == config


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("model.dim=30", "`dim` must be a multiple of `attention.num_heads`, but 30 is no multiple of 4."),
        ("model.positions={kind='learned', max_len=100}", "`positions.max_len` must be at least 512"),
        ("tokenizer.dropout=0.1", "`tokenizer.dropout` must be 0 for classification; take `model.token_dropout`."),
        ("model.pooling=median", '`model.pooling` must be one of "mean", "max", "first" or "mean_max"'),
        ("data.train.0.kind=xml", '`data.train.0.kind` must be one of "jsonl", "csv", "tsv", "folders", but is "xml".'),
        (
            "model.naive_bayes.upto=2",
            "`model.naive_bayes.upto` is not a setting. Did you mean `model.naive_bayes.up_to`?",
        ),
    ],
)
def test_what_does_not_fit_together_is_said(override: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_any(LABELS, [override])
    assert sentence in str(caught.value)


def test_a_preset_of_translation_is_unknown_to_classification() -> None:
    with pytest.raises(ConfigError, match=r"`model.preset` is not a setting"):
        parse_any(LABELS, ["model.preset=transformer_tiny"])


def test_translation_refuses_what_belongs_to_labels() -> None:
    with pytest.raises(ConfigError, match=r"`model.pooling` is not a setting"):
        parse_config(PAIRS, ["model.pooling=max"])
