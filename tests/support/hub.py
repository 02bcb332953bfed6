"""A hub's side of `heedful get`, on the real server of publisher.py: what there is as JSON, and files by revision."""

import hashlib
import json
from pathlib import Path

import torch

from tests.support.marian_folder import write_marian_folder
from tests.support.publisher import File, Publisher

NAME = "Helsinki-NLP/opus-mt-ka-lo"
REVISION = "0123456789abcdef0123456789abcdef01234567"
INFO = f"api/models/{NAME}/revision/main?blobs=true"
CARD = "---\nlicense: cc-by-4.0\nlanguage:\n- ka\n---\n\n### opus-mt-ka-lo\n\n* dataset: opus\n"
LARGE = ("source.spm", "target.spm", "pytorch_model.bin", "model.safetensors")


def write_published_folder(folder: Path) -> Path:
    """Make a folder as Transformers writes it, with weights in both formats and a card."""
    model = write_marian_folder(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "README.md").write_text(CARD)
    return folder


def offer(publisher: Publisher, folder: Path, without: tuple[str, ...] = ()) -> None:
    """Serve a folder as the hub does: what there is as JSON, and every file under its revision."""
    siblings = []
    for path in sorted(path for path in folder.iterdir() if path.name not in without):
        content = path.read_bytes()
        publisher.files[address(path.name)] = File(content)
        sibling: dict[str, object] = {"rfilename": path.name, "size": len(content), "blobId": git_sha1(content)}
        if path.name in LARGE:
            sibling["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
        siblings.append(sibling)
    answer = {"id": NAME, "sha": REVISION, "siblings": siblings, "cardData": {"license": "cc-by-4.0"}, "tags": []}
    publisher.files[INFO] = File(json.dumps(answer).encode(), etag=None)


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def address(name: str) -> str:
    return f"{NAME}/resolve/{REVISION}/{name}"
