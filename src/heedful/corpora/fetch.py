"""Fetching a public corpus: download, check, lay out, and write down where it came from.

`OUT/NAME/` appears in one step when everything in it is whole. Until then downloads wait in `OUT/.download-NAME/`, so
that a broken one goes on where it stopped. `provenance.json` says what was fetched and what was made of it; with it a
second call can see, without the network, that there is nothing to do.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from heedful.corpora.archives import check_pin
from heedful.corpora.catalogue import PUBLIC_CORPORA, Download, PublicCorpus
from heedful.corpora.download import NO_ROOM, BackOff, Listener, download
from heedful.errors import HeedfulError, MissingFileError, UserError
from heedful.files import publish_folder, sha256_file, write_new, writing

PROVENANCE = "provenance.json"
NOTICE = "NOTICE.txt"


def data_folder() -> Path:
    """Return where configs look for `data/…`: the folder named in HEEDFUL_DATA, or `data`."""
    return Path(os.environ.get("HEEDFUL_DATA") or "data")


def in_words(error: HeedfulError) -> str:
    """Return the sentence of an error; where a file is missing because its public corpus is, with how to fetch that."""
    if isinstance(error, MissingFileError):
        for corpus in PUBLIC_CORPORA:
            folder = data_folder() / corpus.name
            if error.path.is_relative_to(folder) and not folder.exists():
                return f"{error.lead} Fetch the corpus: heedful data {corpus.name}"
    return str(error)


def fetch_corpus(
    corpus: PublicCorpus, out: Path, *, listener: Listener, mirror: str | None = None, back_off: BackOff | None = None
) -> bool:
    """Fetch a corpus into `out/NAME`; return False when it was there already, whole."""
    if mirror is not None and urlsplit(mirror).scheme not in ("http", "https"):
        raise UserError(f"`--from` must be an address that begins with http:// or https://, but is {mirror}.")
    folder = out / corpus.name
    if folder.exists():
        verify_corpus(folder)
        return False
    waiting = out / f".download-{corpus.name}"
    with alone_in(waiting):
        for stale in out.glob(f".{corpus.name}.partial-*"):
            shutil.rmtree(stale, ignore_errors=True)
        fetched = [_fetch(item, waiting, mirror, listener, back_off or BackOff()) for item in corpus.downloads]
        listener.say(f"Everything is here. {folder} is being laid out.")
        publish_folder(folder, lambda partial: _lay_out(corpus, waiting, partial, fetched))
        shutil.rmtree(waiting, ignore_errors=True)
    return True


def verify_corpus(folder: Path) -> None:
    """Refuse a folder that this command has not made, or that is no longer as it made it."""
    remedy = "Move the folder away and run the command again, or choose another `--out`."
    try:
        files = json.loads((folder / PROVENANCE).read_bytes())["files"]
        recorded = {str(name): str(facts["sha256"]) for name, facts in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{folder} must not exist yet or come from `heedful data`, but it holds no readable {PROVENANCE}. {remedy}"
        ) from None
    for name, sha256 in recorded.items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{folder} must hold {name}, but the file is missing. {remedy}")
        if sha256_file(path) != sha256:
            raise UserError(f"{path} has been altered since it was fetched: its sha256 is another. {remedy}")


def _fetch(
    item: Download, waiting: Path, mirror: str | None, listener: Listener, back_off: BackOff
) -> dict[str, object]:
    """Bring one file here and check it; return what is to be remembered of it."""
    path = waiting / item.name
    url = item.address(mirror)
    version = download(url, path, max_bytes=item.max_bytes, listener=listener, back_off=back_off)
    if item.pin is not None:
        try:
            check_pin(path, item.pin)
        except HeedfulError as error:
            # Kept, it would be found wanting again at every run.
            path.unlink()
            raise HeedfulError(
                f"{error} It came from {version.url} and was removed; nothing was laid out. Run the command again. If "
                "that does not help, the publisher has changed the file, or something on the way alters it."
            ) from error
    return {
        "url": version.url,
        "bytes": path.stat().st_size,
        "sha256": sha256_file(path),
        "validator": version.validator,
        "checked_against_a_pinned_checksum": item.pin is not None,
    }


def _lay_out(corpus: PublicCorpus, waiting: Path, folder: Path, fetched: list[dict[str, object]]) -> None:
    with writing(folder, remedy=NO_ROOM):
        try:
            corpus.lay_out(waiting, folder)
        except HeedfulError as error:
            # What cannot be read is not worth keeping; the next run fetches it again.
            shutil.rmtree(waiting, ignore_errors=True)
            raise HeedfulError(f"{error} The downloads were removed; nothing was laid out.") from error
        write_new(folder / NOTICE, _notice(corpus).encode())
        made = sorted(path for path in folder.rglob("*") if path.is_file())
        files = {
            path.relative_to(folder).as_posix(): {"sha256": sha256_file(path), "bytes": path.stat().st_size}
            for path in made
        }
        provenance = {
            "corpus": corpus.name,
            "source": corpus.source,
            "licence": corpus.licence,
            "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "downloads": fetched,
            "files": files,
        }
        write_new(folder / PROVENANCE, json.dumps(provenance, indent=1, ensure_ascii=False).encode() + b"\n")


def _notice(corpus: PublicCorpus) -> str:
    return f"{corpus.name}: {corpus.description}\n\nSource: {corpus.source}\nLicence: {corpus.licence}\n"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes from writing the same partial files; the lock ends with the process."""
    with writing(folder, remedy=NO_ROOM):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            f"{folder} is in use by another command that fetches the same. Wait until that one is done."
        ) from None
    except OSError as error:  # a network disk whose server keeps no locks
        raise HeedfulError(
            f"{folder} could not be locked: {error.strerror}. Choose an `--out` on a disk whose files can be locked."
        ) from error
