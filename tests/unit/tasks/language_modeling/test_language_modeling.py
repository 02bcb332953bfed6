"""Language models from text to text, in one process: bytes and pieces, the plain model, going on from another."""

from pathlib import Path

import pytest

import heedful
from heedful.config.language_modeling import LanguageModelRun
from heedful.config.load import parse_any
from heedful.errors import ModelFolderError, UserError
from heedful.evaluation.dynamic import Adaptation, mean_squares, score_dynamically
from heedful.storage.descriptions import LanguageModelDescription
from heedful.storage.model_folder import load_model_folder, task_of
from heedful.tasks.language_modeling.evaluate import find_texts, known_text
from heedful.tasks.language_modeling.model import TextModel, load_text_model
from heedful.tasks.language_modeling.train import LanguageModelJob
from heedful.tasks.runs import run_training
from heedful.text.symbols import ByteSymbols, SubwordSymbols
from heedful.training.display import make_display
from heedful.training.durability.journal import Journal

LINES = [f"the {size} {animal} sees {count} stars" for size in ("old", "small") for animal in ("whale", "dog", "cat")
         for count in ("two", "three", "no")] * 12  # fmt: skip


def config_of(folder: Path, *overrides: str) -> LanguageModelRun:
    text = "".join(f"{line}\n" for line in LINES)
    for name, part in (("train", text), ("validation", text[:600]), ("test", text[600:900])):
        (folder / f"{name}.txt").write_text(part)
    run = parse_any(
        f"""
        task = "language_modeling"
        name = "run"
        runs_folder = "{folder}/runs"
        [data]
        train = ["{folder}/train.txt"]
        validation = ["{folder}/validation.txt"]
        test = {{ unseen = "{folder}/test.txt" }}
        [model]
        dim = 32
        num_heads = 2
        hidden_dim = 64
        num_layers = 1
        dropout = 0.0
        [training]
        max_steps = 30
        batch_tokens = 128
        segment_len = 16
        memory_len = 16
        schedule = {{ kind = "constant", peak = 0.01, warmup_steps = 5 }}
        average = {{ count = 1 }}
        checkpoint = {{ every_steps = 15 }}
        [validation]
        every_steps = 15
        sample_len = 10
        max_symbols = 200
        """,
        overrides,
    )
    assert isinstance(run, LanguageModelRun)
    return run


def trained(folder: Path, *overrides: str) -> Path:
    config = config_of(folder, *overrides)
    with make_display(config.training.max_steps) as display:
        return run_training(config, LanguageModelJob.prepare, display=display, device="cpu").run_folder


PLAIN = ("model.kind=language_model", "training.memory_len=0", "model.context_len=32", "model.norm=pre")


@pytest.mark.parametrize(
    ("overrides", "kind"),
    [
        ((), ByteSymbols),
        (("tokenizer.kind=subwords", "tokenizer.vocab_size=320", "training.batch_tokens=64"), SubwordSymbols),
        (PLAIN, ByteSymbols),
        ((*PLAIN, 'model.positions={kind="learned", max_len=32}'), ByteSymbols),
    ],
)
def test_each_kind_learns_scores_and_writes(
    tmp_path: Path, overrides: tuple[int, ...] | tuple[str, str, str, str] | tuple[str, str, str], kind: type
) -> None:
    run = trained(tmp_path, *overrides)
    curve = [record["loss"] for record in Journal(run / "metrics.jsonl").records() if record["kind"] == "validation"]
    assert curve[-1] < curve[0]
    assert task_of(run / "model") == "language_modeling"
    model = heedful.load(run, device="cpu")
    assert isinstance(model, TextModel)
    assert isinstance(model.symbols, kind)
    text = (tmp_path / "test.txt").read_bytes()
    found = model.score(text)
    assert found.num_bytes == len(text)
    assert found.num_symbols == len(model.symbols.encode(text))
    assert found.bits_per_byte < 4.0
    assert model.score(text, rows=3).loss == pytest.approx(found.loss, rel=0.05)
    written = b"".join(model.generate("the old ", max_tokens=60, temperature=0.0))
    assert written == b"".join(model.generate(b"the old ", max_tokens=60, temperature=0.0))  # longer than the window
    assert len(model.symbols.encode(written)) >= 50
    adapted = model.score_dynamically(text, Adaptation("sgd", rate=0.05, decay=0.0))
    assert adapted.nats < found.nats * 1.1


def test_gradients_are_measured_on_text_that_is_read_as_the_text_to_be_scored(tmp_path: Path) -> None:
    """Longer segments have smaller gradients: steps scaled by those would be too large, and were."""
    model = load_text_model(trained(tmp_path), device="cpu")
    text, known = (tmp_path / "test.txt").read_bytes(), (tmp_path / "train.txt").read_bytes()[:600]
    reading = {"memory_len": 40, "segment_len": 8}  # not those of training
    found = model.score_dynamically(text, Adaptation("rms"), training_text=known, **reading)
    reading["start_id"] = model.symbols.start_id
    squares = mean_squares(model.model, model.symbols.encode(known), **reading)
    nats = score_dynamically(model.model, model.symbols.encode(text), Adaptation("rms"), squares=squares, **reading)
    assert found.nats == pytest.approx(nats, rel=1e-6)
    assert found.nats < model.score(text, memory_len=40, segment_len=8).nats


def test_a_run_can_begin_with_the_weights_of_another(tmp_path: Path) -> None:
    first = trained(tmp_path, "name=first")
    second = trained(tmp_path, "name=second", f"training.init_from={first}", "training.max_steps=1")
    third = trained(tmp_path, "name=third", "training.max_steps=1")
    text = (tmp_path / "test.txt").read_bytes()
    losses = [load_text_model(run, device="cpu").score(text).loss for run in (first, second, third)]
    assert losses[1] < 0.7 * losses[2]
    with pytest.raises(UserError, match=r"`model.num_layers` must be 1 as in `training.init_from`, but is 2"):
        trained(tmp_path, "name=fourth", f"training.init_from={first}", "model.num_layers=2")
    assert not (tmp_path / "runs" / "fourth").exists()


def test_texts_are_found_by_the_run_or_by_name(tmp_path: Path) -> None:
    run = trained(tmp_path, "training.max_steps=1")
    text = (tmp_path / "test.txt").read_bytes()
    assert find_texts(run, config=None, file=None, split=None) == {"unseen": text}
    assert find_texts(run / "model", config=None, file=None, split="unseen") == {"unseen": text}
    other = tmp_path / "other.txt"
    other.write_bytes(b"another text")
    assert find_texts(run, config=None, file=other, split=None) == {"other.txt": b"another text"}
    assert (tmp_path / "train.txt").read_bytes().endswith(known_text(run, None))
    with pytest.raises(UserError, match="`--text` and `--split` must not be given together"):
        find_texts(run, config=None, file=other, split="unseen")
    with pytest.raises(UserError, match="must belong to a run"):
        find_texts(tmp_path, config=None, file=None, split=None)
    with pytest.raises(UserError, match="at least one byte"):
        load_text_model(run, device="cpu").score(b"")


def test_a_damaged_or_foreign_folder_is_refused(tmp_path: Path) -> None:
    run = trained(tmp_path, "training.max_steps=1")
    model = run / "model"
    assert load_model_folder(model, LanguageModelDescription).description.memory_len == 16
    weights = bytearray((model / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (model / "model.safetensors").write_bytes(bytes(weights))
    with pytest.raises(ModelFolderError):
        load_text_model(run, device="cpu")
