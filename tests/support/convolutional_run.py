"""A convolutional model that has learned the small corpus."""

from pathlib import Path

from tests.support.commands import Command
from tests.support.small_run import CONFIG, write_corpus

TEXT = "ten houses"
_MODEL = """[model]
kind = "convolutional"
dim = 64
num_encoder_layers = 2
num_decoder_layers = 2
dropout = 0.0

"""


def trained(heedful: Command, root: Path) -> Path:
    """Train in `root`, by convolutional.toml there, and return the run's folder."""
    write_corpus(root)
    before, after = CONFIG.index("[model]"), CONFIG.index("[training]")
    text = CONFIG[:before].replace('"small"', '"convolutional"') + _MODEL + CONFIG[after:]
    (root / "convolutional.toml").write_text(text.replace("every_steps = 120", "every_steps = 60"))
    result = heedful("train", "convolutional.toml", cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    return root / "runs" / "convolutional"
