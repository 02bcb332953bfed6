"""Models of others by name: fetched from a hub, checked file by file, and imported.

A hub is huggingface.co or what HF_ENDPOINT names. Tokens and answers are understood by huggingface_hub;
the bytes come by our own download, which goes on where another process stopped and compares what arrived with the
checksums that the hub tells. Only what a Marian model needs is fetched, from the one revision that was found first.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from huggingface_hub import ModelInfo, get_token

from heedful.corpora.download import NO_ROOM, BackOff, Listener, RefusedError, download
from heedful.corpora.fetch import alone_in
from heedful.errors import HeedfulError, UserError
from heedful.files import sha256_file, writing
from heedful.interop.marian import check_marian_config, import_marian
from heedful.storage.locate import hub_name, models_folder
from heedful.storage.model_folder import save_model_folder

CONFIG, CARD = "config.json", "README.md"
_NEEDED = (CONFIG, "source.spm", "target.spm", "vocab.json")
_USED = (CARD, "tokenizer_config.json", "target_vocab.json")
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""The first that a model has is fetched."""
_LONGEST_ANSWER = 1 << 24
_LARGEST_FILE = 1 << 36


@dataclass(frozen=True)
class HubFile:
    """A file as the hub describes it: its size, and the sha256 of a large one or Git's SHA-1 of a small one."""

    num_bytes: int | None
    sha256: str | None
    git_sha1: str | None

    @property
    def checksum(self) -> str | None:
        """The one to compare with."""
        return self.sha256 or self.git_sha1

    def is_at(self, path: Path) -> bool:
        """Say whether what is at `path` is known to be this file."""
        found = sha256_file(path) if self.sha256 else _git_sha1(path)
        return found == self.checksum


@dataclass(frozen=True)
class HubModel:
    """What a hub says of a model: which revision this is, under what licence, and what files there are."""

    name: str
    revision: str
    licence: str | None
    files: Mapping[str, HubFile]

    @property
    def licence_in_words(self) -> str:
        """The licence, or that none is named."""
        return self.licence or "none is named: ask the publisher before you pass it on"

    @property
    def wanted(self) -> list[str]:
        """The files to fetch, the weights last."""
        weights = next((name for name in _WEIGHTS if name in self.files), None)
        missing = [name for name in _NEEDED if name not in self.files]
        if weights is None or missing:
            lacking = [*missing, *([] if weights else [" or ".join(_WEIGHTS)])]
            raise UserError(
                f"{self.name} must be a Marian model, as those of OPUS-MT are, but it has no {', no '.join(lacking)}."
            )
        return [*_NEEDED, *(name for name in _USED if name in self.files), weights]


def endpoint() -> str:
    """Return the address of the hub: HF_ENDPOINT, or Hugging Face's."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def get_model(
    name: str, out: Path, *, listener: Listener, revision: str = "main", back_off: BackOff | None = None
) -> HubModel:
    """Fetch a Marian model by its name and write it to the new model folder `out`.

    What has arrived of it waits among the fetched models until it is whole, so that a later call goes on from there.
    """
    full = hub_name(name)
    if full is None:
        raise UserError(f"A model on a hub must be named like Helsinki-NLP/opus-mt-en-de, but is {name!r}.")
    waiting = models_folder() / f".download-{full.replace('/', '--')}"
    with alone_in(waiting):
        hub = _Hub(waiting, listener, back_off or BackOff())
        model = hub.describe(full, revision)
        listener.say(f"{full}, revision {model.revision[:12]}. Licence: {model.licence_in_words}.")
        for file in model.wanted:
            hub.fetch(model, file)
            if file == CONFIG:  # before anything large
                check_marian_config(waiting)
        _import(model, waiting, out)
        shutil.rmtree(waiting, ignore_errors=True)
    return model


def _import(model: HubModel, fetched: Path, out: Path) -> None:
    facts = {
        "published at": f"{endpoint()}/{model.name}",
        "revision": model.revision,
        "licence": model.licence_in_words,
    }
    folder = import_marian(fetched, name=model.name, facts=facts)
    if CARD in model.files:
        published = (fetched / CARD).read_text(encoding="utf-8", errors="replace")
        folder = replace(folder, card=f"{folder.card}\n## The card it was published with\n\n{_body(published)}")
    save_model_folder(out, folder)


def _body(card: str) -> str:
    """Return a card without its YAML."""
    parts = card.replace("\r\n", "\n").split("---\n", 2)
    return parts[2].lstrip() if len(parts) == 3 and not parts[0] else card


class _Hub:
    """A hub, and the folder in which what comes from it waits."""

    def __init__(self, waiting: Path, listener: Listener, back_off: BackOff) -> None:
        self._endpoint = endpoint()
        if urlsplit(self._endpoint).scheme not in ("http", "https"):
            raise UserError(f"HF_ENDPOINT must begin with http:// or https://, but is {self._endpoint}.")
        self._waiting = waiting
        self._listener = listener
        self._back_off = back_off
        self._token = get_token()

    def describe(self, name: str, revision: str) -> HubModel:
        """Ask for what there is of a model."""
        path = self._waiting / "model_info.json"
        for stale in (path, path.with_name(f"{path.name}.part")):  # it may have changed since
            stale.unlink(missing_ok=True)
        url = f"{self._endpoint}/api/models/{name}/revision/{quote(revision, safe='')}?blobs=true"
        self._download(url, path, name, _LONGEST_ANSWER)
        try:
            info = ModelInfo(**json.loads(path.read_bytes()))  # type: ignore[no-untyped-call]
            files = {
                sibling.rfilename: HubFile(
                    sibling.size, None if sibling.lfs is None else sibling.lfs.sha256, sibling.blob_id
                )
                for sibling in info.siblings or ()
            }
            card = {} if info.card_data is None else info.card_data.to_dict()  # type: ignore[no-untyped-call]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise HeedfulError(f"{url} must describe a model as a hub does, but does not.") from error
        return HubModel(name, str(info.sha or revision), _licence(card), files)

    def fetch(self, model: HubModel, file: str) -> None:
        """Bring one file here, and refuse it unless it is the one that the hub describes."""
        path, described = self._waiting / file, model.files[file]
        url = f"{self._endpoint}/{model.name}/resolve/{quote(model.revision, safe='')}/{file}"
        if path.exists() and not described.is_at(path):
            path.unlink()  # it was fetched in another revision
        self._download(url, path, model.name, described.num_bytes or _LARGEST_FILE)
        if described.checksum is None:
            self._listener.say(f"{file}: the hub tells no checksum, so it was not compared with any.")
        elif not described.is_at(path):
            path.unlink()  # kept, it would be found wanting again at every run
            raise HeedfulError(
                f"{url} must have the checksum {described.checksum}, but what came has another. It was removed; "
                "nothing was imported. Run the command again. If that does not help, something on the way alters it."
            )

    def _download(self, url: str, path: Path, name: str, max_bytes: int) -> None:
        with writing(path, remedy=NO_ROOM):
            try:
                download(
                    url,
                    path,
                    max_bytes=max_bytes,
                    listener=self._listener,
                    back_off=self._back_off,
                    token=self._token,
                )
            except RefusedError as error:
                raise UserError(self._refusal(name, error.status)) from error

    def _refusal(self, name: str, status: int) -> str:
        """Say why a hub gives nothing out; it hides what is private behind 401 as well as 404."""
        token = "Its token (HF_TOKEN) was shown" if self._token else "No token (HF_TOKEN) was shown"
        if status in (401, 403):
            return (
                f"{name} must be a model that may be fetched from {self._endpoint}, but it answers {status}: there is "
                f"none of that name, or it is private or asks for consent. {token}."
            )
        if status == 404:
            return f"{name} must be a model of {self._endpoint}, in a revision it has, but it answers 404."
        return f"{self._endpoint} must hand out {name}, but answers {status}."


def _licence(card: Mapping[str, object]) -> str | None:
    """Return what the YAML of a card says of the licence; the card is another's, and its words are shown."""
    named = card.get("license")
    if named == "other" and card.get("license_name"):
        named = f"{card['license_name']} {card.get('license_link') or ''}".strip()
    words = ", ".join(map(str, named)) if isinstance(named, list) else str(named or "")
    return "".join(character for character in words if character.isprintable() and character != "|")[:200] or None


def _git_sha1(path: Path) -> str:
    """Return the name that Git has for the content of a file."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
