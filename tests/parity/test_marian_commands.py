"""`heedful import` as a process: a Marian folder becomes a model that translates as theirs does and can be trained."""

import tomllib
from pathlib import Path

import pytest
from transformers import MarianMTModel, MarianTokenizer

from tests.support.commands import Command
from tests.support.marian_folder import make_sentences, write_marian_folder

SOURCES = make_sentences(15, seed=9)
CONFIG = """
name = "tuned"

[data]
source_language = "ka"
target_language = "lo"
train = [{ source = "text", target = "text" }]
validation = [{ source = "text", target = "text" }]

[training]
init_from = "imported"
max_steps = 10
log_every = 1
batch_tokens = 512
schedule = { kind = "constant", peak = 1e-3, warmup_steps = 1 }
checkpoint = { every_steps = 10 }
average = { count = 1 }

[validation]
every_steps = 10
"""


def printed(heedful: Command, *arguments: str, cwd: Path, stdin: str = "") -> str:
    """Run the command and return what it prints."""
    done = heedful(*arguments, cwd=cwd, stdin=stdin.encode(), HEEDFUL_CACHE=str(cwd / "cache"))
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, heedful: Command) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    write_marian_folder(folder / "opus")
    printed(heedful, "import", "opus", "--out", "imported", cwd=folder)
    return folder


def test_an_imported_model_translates_as_generate_does(workplace: Path, heedful: Command) -> None:
    model = MarianMTModel.from_pretrained(workplace / "opus").eval()
    tokenizer = MarianTokenizer.from_pretrained(workplace / "opus")
    expected = []
    for source in SOURCES:
        batch = tokenizer(source, return_tensors="pt")
        [ids] = model.generate(
            **batch,
            num_beams=1,
            do_sample=False,
            max_new_tokens=batch["input_ids"].size(1) + 50,
            bad_words_ids=[[tokenizer.pad_token_id], [tokenizer.unk_token_id]],
        )
        expected.append(tokenizer.decode(ids, skip_special_tokens=True))
    stdin = "".join(source + "\n" for source in SOURCES)
    ours = printed(
        heedful, "translate", "--model", "imported", "--beam", "1", "--quantize", "none", cwd=workplace, stdin=stdin
    )
    assert ours.split("\n")[:-1] == expected
    assert len(set(expected)) > 10, "they should say something"


def test_an_imported_model_can_be_trained_further(workplace: Path, heedful: Command) -> None:
    (workplace / "tune.toml").write_text(CONFIG)
    (workplace / "text").write_text("".join(line + "\n" for line in make_sentences(100, seed=2)), encoding="utf-8")
    printed(heedful, "train", "tune.toml", "--device", "cpu", cwd=workplace)
    run = workplace / "runs" / "tuned"
    shape = tomllib.loads((run / "config.toml").read_text())["model"]
    assert (shape["dim"], shape["hidden_dim"], shape["num_decoder_layers"], shape["activation"]) == (32, 48, 3, "swish")
    assert (run / "tokenizer.json").read_bytes() == (workplace / "imported" / "tokenizer.json").read_bytes()
    printed(heedful, "export", str(run), "--format", "huggingface", "--out", "back", cwd=workplace)
    before, after = (MarianMTModel.from_pretrained(workplace / name) for name in ("opus", "back"))
    change = (after.model.shared.weight - before.model.shared.weight).abs().max()
    assert 1e-4 < change < 0.1, "ten small steps away"
