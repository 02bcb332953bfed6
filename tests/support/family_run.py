"""A model of a family that is not a Transformer: one that has learned the small corpus, one of drawn weights served."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from benchmarks.load import ServerProcess

from heedful.config.models import ModelConfig
from heedful.models import build_model
from heedful.storage.model_folder import ModelFolder, save_model_folder, weights_of
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.request import TranslationRequest
from tests.support.commands import Command
from tests.support.forked_server import ForkedServer
from tests.support.small_run import CONFIG, write_corpus
from tests.support.tiny_models import make_model
from tests.support.traced_sentence import answer

TEXT = "ten houses"
HOSTILE = [
    "",
    " ",
    "\t",
    "🙂🙂🙂",
    "ten\u2028houses",
    "a\u0000b",
    "ten " * 400,
    "１０ houses",
    "\u202eten",
    "zehn Häuser?!",
]
_NUM_LAYERS = {"recurrent": 1, "convolutional": 2}


def trained(heedful: Command, root: Path, kind: str, *changes: str) -> Path:
    """Train in `root`, by KIND.toml there with some `changes` of settings, and return the run's folder."""
    write_corpus(root)
    layers = "".join(f"num_{side}_layers = {_NUM_LAYERS[kind]}\n" for side in ("encoder", "decoder"))
    model = f'[model]\nkind = "{kind}"\ndim = 64\n{layers}dropout = 0.0\n\n'
    before, after = CONFIG.index("[model]"), CONFIG.index("[training]")
    text = CONFIG[:before].replace('"small"', f'"{kind}"') + model + CONFIG[after:]
    text = text.replace("every_steps = 120", "every_steps = 60").replace("batch_tokens = 2048", "batch_tokens = 1024")
    (root / f"{kind}.toml").write_text(text)
    result = heedful("train", f"{kind}.toml", *changes, cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    return root / "runs" / kind


def ask_about_text(server: ServerProcess, path: str, **fields: object) -> dict[str, Any]:
    """Ask a server for something about TEXT."""
    return answer(server, path, {"q": TEXT, "source": "en", "target": "de", **fields})


def expect_alternatives_prefixes_and_terms(heedful: Command, run: Path, folder: Path) -> None:
    """Ask the model of a run for three outputs of TEXT, for one that begins as is said, and for one with a term."""
    translator = load_translator(run)
    [found] = translator.translate_detailed([TEXT], beam_size=4, n_best=3)
    assert found.alternatives[0].text == "zehn häuser"
    assert len(found.alternatives) == 3
    [forced] = translator.translate_detailed([TEXT], request=TranslationRequest(prefix="drei"))
    assert forced.text.startswith("drei")
    (folder / "terms.tsv").write_text("houses\tbücher\n", encoding="utf-8")
    result = heedful("translate", "--model", run, "--glossary", folder / "terms.tsv", TEXT)
    assert "bücher" in result.stdout.decode().lower()


def expect_a_line_for_any_line(heedful: Command, run: Path) -> None:
    """Give the model of a run hostile lines: each is a line again, and the same whatever it stands beside."""
    lines = "".join(line + "\n" for line in HOSTILE).encode()
    result = heedful("translate", "--model", run, stdin=lines)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.count(b"\n") == len(HOSTILE)
    translator = load_translator(run)
    assert translator.translate([*HOSTILE, TEXT]) == [translator.translate(line) for line in [*HOSTILE, TEXT]]


@contextmanager
def served(config: ModelConfig, folder: Path) -> Iterator[ServerProcess]:
    """`heedful serve` with a model of drawn weights, written into `folder`."""
    tiny = make_model()
    described = tiny.description
    build = partial(build_model, config, pad_id=described.special_ids.pad, generator=torch.Generator().manual_seed(3))
    model = build(source_vocab_size=described.source_vocab_size, target_vocab_size=described.target_vocab_size)
    save_model_folder(folder, ModelFolder(described.changed(model=config), weights_of(model), tiny.tokenizer_json))
    with ForkedServer("--model", str(folder)) as process:
        yield process
