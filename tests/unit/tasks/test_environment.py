"""What is said of the bundled model in environment.json: true of the weights, and had without reading them."""

import subprocess
import sys

from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import bundled_folder
from heedful.storage.model_folder import load_model_folder
from heedful.tasks.environment import describe_environment
from heedful.tasks.translation.load import directions_of

OPENED = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from heedful.tasks.environment import describe_environment
describe_environment()
print("\\n".join(name for name in opened if "assets/translator" in name))
"""


def test_the_bundled_model_is_described_as_its_weights_are() -> None:
    path = bundled_folder()
    assert path is not None
    folder = load_model_folder(path, TranslatorDescription)
    pairs = ", ".join(f"{source}→{target}" for source, target in directions_of(folder.description).pairs)
    num_parameters = sum(tensor.numel() for tensor in folder.weights.values())
    num_bytes = sum(file.stat().st_size for file in path.iterdir())
    expected = f"{path.name}: {pairs}; {num_parameters / 1e6:.1f} M parameters, {num_bytes / 1e6:.1f} MB"
    assert describe_environment()["bundled model"] == expected


def test_the_bundled_model_is_described_without_opening_its_weights() -> None:
    done = subprocess.run([sys.executable, "-c", OPENED], capture_output=True, text=True, check=True)
    assert {name.rpartition("/")[2] for name in done.stdout.split()} == {"manifest.json", "config.json"}
