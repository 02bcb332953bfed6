"""Reading a run: precedence, exact sentences, and a resolved file that gives the same run back."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config import PRESETS, TranslationRun, changed_settings, dump_toml, load_config, parse_config
from heedful.errors import ConfigError, UserError

SMALLEST = """
name = "small"
[data]
train = [{ source = "a.en", target = "a.de" }]
validation = [{ source = "b.en", target = "b.de" }]
"""


def problems_of(text: str, overrides: list[str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, overrides or [])
    return caught.value.problems


def test_an_override_wins_over_the_file_and_the_file_over_the_preset() -> None:
    text = SMALLEST + '[model]\npreset = "transformer_tiny"\nnum_heads = 2\ndropout = 0.2\n'
    model = parse_config(text, ["model.dropout=0.1"]).model
    assert (model.dim, model.num_heads, model.dropout) == (128, 2, 0.1)


def test_an_override_reaches_into_lists_and_free_names() -> None:
    text = SMALLEST + '[data.test]\nnews = { source = "n.en", target = "n.de" }\n'
    config = parse_config(text, ["data.train.0.weight=2.5", "data.test.news.source=other.en", "name=other"])
    assert config.data.train[0].weight == 2.5
    assert config.data.test["news"].source == "other.en"
    assert config.name == "other"


def test_a_table_without_a_kind_is_of_the_default_kind() -> None:
    config = parse_config(SMALLEST, ["training.schedule.warmup_steps=7"])
    assert config.training.schedule.kind == "paper"
    assert config.training.schedule.warmup_steps == 7


def test_every_problem_is_reported_at_once_by_the_path_a_user_would_write() -> None:
    text = """
        name = "a b"
        tokenzer = {}
        [data]
        train = []
        validation = [{ kind = "linez" }, { source = "x" }]
        [model]
        dimm = 4
        [training]
        batch_tokens = "8"
        schedule = { kind = "inverse_sqrt", peak = 0 }
        [decoding]
        beam_size = 0
        [validation]
        metric = "blue"
    """
    assert problems_of(text, ["nonsense"]) == [
        "the override `nonsense` must have the form section.key=value.",
        '`name` must be letters, digits, `.`, `_` and `-`, with a letter or digit first, but is "a b".',
        "`data.train` must have at least 1, but has 0.",
        '`data.validation.0.kind` must be one of "lines", "tsv", "jsonl", "shards", but is "linez". '
        'Did you mean "lines"?',
        "`data.validation.1.target` must be given, but is missing.",
        "`model.dimm` is not a setting. Did you mean `model.dim`?",
        '`training.batch_tokens` must be a whole number, but is "8".',
        "`training.schedule.peak` must be greater than 0.0, but is 0.",
        '`validation.metric` must be one of "loss" or "bleu", but is "blue". Did you mean "bleu"?',
        "`decoding.beam_size` must be at least 1, but is 0.",
        "`tokenzer` is not a setting. Did you mean `tokenizer`?",
    ]


def test_a_split_named_like_a_kind_is_still_a_name() -> None:
    text = SMALLEST + '[data.test]\nlines = { source = "n.en", target = 2 }\n'
    assert problems_of(text) == ["`data.test.lines.target` must be text in quotes, but is 2."]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("training.max_steps=true", "`training.max_steps` must be a whole number, but is true."),
        ("training.clip_norm=inf", "`training.clip_norm` must be a finite number, but is inf."),
        ("model.preset=huge", '`model.preset` must be the name of a preset, but is "huge".'),
        ("model.prest=huge", "`model.prest` is not a setting. Did you mean `model.preset`?"),
        ("seed.x.y=1", "the override `seed.x.y=1` must name a setting, but `seed` has no `x`."),
        (
            "data.train.7.weight=1",
            "the override `data.train.7.weight=1` must name a setting, but `data.train` has no `7`.",
        ),
        ("model.dim=130", "In `model`: `dim` must be a multiple of `num_heads`, but 130 is no multiple of 8."),
    ],
)
def test_the_sentence_for_a_bad_override(override: str, sentence: str) -> None:
    assert problems_of("seed = 1\n" + SMALLEST, [override])[0].startswith(sentence)


def test_a_file_that_is_missing_is_answered_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALLEST)
    with pytest.raises(UserError) as caught:
        load_config(tmp_path / "smal.toml")
    assert str(caught.value) == (
        f"The configuration {tmp_path}/smal.toml must exist, but there is no such file. "
        f"Did you mean {tmp_path}/small.toml?"
    )


def test_a_file_that_is_no_toml_says_where(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("name = \n")
    with pytest.raises(ConfigError, match=r"it is not valid TOML: .*line 1"):
        load_config(path)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_resolved_file_gives_the_same_run_back(name: str) -> None:
    config = parse_config(
        SMALLEST, [f"model.preset={name}", "training.clip_norm=1.5", "training.regularizer.kind=simcut"]
    )
    assert parse_config(dump_toml(config)) == config


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_survives_the_resolved_file(path: str, split: str) -> None:
    corpus = {"kind": "lines", "source": path, "target": path}
    config = TranslationRun.model_validate(
        {"name": "x", "data": {"train": [corpus], "validation": [corpus], "test": {split: corpus}}}
    )
    assert parse_config(dump_toml(config)) == config


def test_changed_settings_are_named_with_both_values() -> None:
    before = parse_config(SMALLEST)
    after = parse_config(SMALLEST, ["training.max_steps=5", "training.clip_norm=1.0"])
    assert changed_settings(before, after) == {"training.max_steps": (100_000, 5), "training.clip_norm": (None, 1.0)}
