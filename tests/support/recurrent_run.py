"""A recurrent model that has learned the small corpus: the proof that a family is more than one."""

from pathlib import Path

from tests.support.commands import Command
from tests.support.small_run import CONFIG, write_corpus

TEXT = "ten houses"
_MODEL = """[model]
kind = "recurrent"
dim = 64
num_encoder_layers = 1
num_decoder_layers = 1
dropout = 0.0

"""


def trained(heedful: Command, root: Path, *changes: str) -> Path:
    """Train in `root`, by recurrent.toml there with some `changes` of settings, and return the run's folder."""
    write_corpus(root)
    before, after = CONFIG.index("[model]"), CONFIG.index("[training]")
    text = CONFIG[:before].replace('"small"', '"recurrent"') + _MODEL + CONFIG[after:]
    (root / "recurrent.toml").write_text(text.replace("every_steps = 120", "every_steps = 60"))
    result = heedful("train", "recurrent.toml", *changes, cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    return root / "runs" / "recurrent"
