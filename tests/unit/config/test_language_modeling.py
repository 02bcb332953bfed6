"""Runs that learn what comes next: what goes together in their description, and what does not."""

import pytest

from heedful.config.language_modeling import LanguageModelConfig, LanguageModelRun, TransformerXLConfig
from heedful.config.load import dump_toml, parse_any
from heedful.errors import ConfigError

TEXT = """
task = "language_modeling"
name = "text"
[data]
train = ["train.txt"]
validation = ["validation.txt"]
"""
SPLIT = """
task = "language_modeling"
name = "split"
data = { kind = "split", path = "enwik8.xz" }
"""


@pytest.mark.parametrize("text", [TEXT, SPLIT])
def test_a_description_comes_back_as_it_was(text: str) -> None:
    run = parse_any(text)
    assert isinstance(run, LanguageModelRun)
    assert parse_any(dump_toml(run)) == run


def test_the_defaults_are_the_paper_s_small_model() -> None:
    run = parse_any(SPLIT)
    assert isinstance(run, LanguageModelRun)
    assert isinstance(run.model, TransformerXLConfig)
    assert (run.model.num_layers, run.model.dim, run.training.segment_len, run.training.memory_len) == (
        12,
        512,
        512,
        512,
    )
    assert run.training.label_smoothing == 0.0
    assert run.data.train_bytes == 90_000_000


def test_texts_side_by_side_are_the_budget_over_the_segment() -> None:
    run = parse_any(TEXT, ["training.batch_tokens=1000", "training.segment_len=100"])
    assert isinstance(run, LanguageModelRun)
    assert run.training.num_streams == 10


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (
            ["training.batch_tokens=100"],
            "must be at least `training.segment_len`, 512, but is 100",
        ),
        (["model.kind=language_model"], "`training.memory_len` must be 0"),
        (
            ["model.kind=language_model", "model.context_len=64", "training.memory_len=0"],
            "`training.segment_len` must be at most `model.context_len`, 64, but is 512",
        ),
        (["training.regularizer.kind=r_drop"], "`training.regularizer.kind` must be"),
        (["model.num_heads=7"], "512 is no multiple of 7"),
        (["model.clamp_length=7"], "clamp_len"),
        (["tokenizer.kind=characters"], "bytes"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(overrides: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_any(TEXT, overrides)


def test_a_plain_model_needs_positions_for_its_context() -> None:
    with pytest.raises(ValueError, match=r"`positions.max_len` must be at least `context_len`, 512, but is 64"):
        LanguageModelConfig.model_validate({"kind": "language_model", "positions": {"kind": "learned", "max_len": 64}})
