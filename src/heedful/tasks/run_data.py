"""Which files a run learns from and is judged on, recorded when it begins so that it goes on with the same ones.

`data.json` in the run folder has size and sha256 of every training and validation file, under the name the
configuration has for it: data that moved as a whole (HEEDFUL_DATA, another working folder) is still the same. Test sets
decide nothing in a run and are not in it. Knows files and settings, no text.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from heedful.config.classification import ClassificationRun
from heedful.config.data import ShardCorpus
from heedful.config.language_modeling import LanguageModelRun, TextFiles
from heedful.config.load import AnyRun
from heedful.config.translation import TranslationRun
from heedful.data.addresses import identity_of
from heedful.data.file_identity import FileIdentities, FileIdentity
from heedful.data.labelled import document_files
from heedful.data.paths import resolve_data_path
from heedful.data.readers import corpus_file_names
from heedful.errors import UserError, count_of
from heedful.files import write_atomic
from heedful.tasks.run_folder import Say, has_begun

DATA = "data.json"
_MOST_NAMED = 10  # changed files that are told one by one; of a folder of documents it could be thousands


def identify_data(config: AnyRun, identities: FileIdentities) -> dict[str, FileIdentity]:
    """Return what each training and validation file of a run is, by its name in the configuration."""
    found = {name: identities.of(resolve_data_path(name)) for name in _file_names(config)}
    return found | {name: FileIdentity(*identity_of(name)) for name in _shards(config)}


def check_run_data(folder: Path, found: Mapping[str, FileIdentity], *, say: Say) -> None:
    """Refuse to go on with the run in `folder` when its data is not what it began with."""
    if not has_begun(folder):
        return
    if not (folder / DATA).exists():
        say(f"The run {folder} began without a record of its data: from now on it has one, and takes no other data.")
        return
    recorded = _read_record(folder / DATA)
    changed = [name for name in sorted({*recorded, *found}) if recorded.get(name) != found.get(name)]
    if not changed:
        return
    lines = [f"  - {name} {_change(recorded.get(name), found.get(name))}" for name in changed[:_MOST_NAMED]]
    if len(changed) > _MOST_NAMED:
        lines.append(f"  - and {count_of(len(changed) - _MOST_NAMED, 'file')} more")
    these, files = ("this file has", "file") if len(changed) == 1 else ("these files have", "files")
    raise UserError(
        "\n".join(
            [
                f"The run {folder} can only go on with the data it began with, but {these} changed:",
                *lines,
                f"Put the old {files} back, or start a new run with another name: name=...",
            ]
        )
    )


def write_run_data(folder: Path, found: Mapping[str, FileIdentity]) -> None:
    """Record the data of a run that begins; of one that goes on it has been checked to be the same."""
    listing = {name: asdict(identity) for name, identity in found.items()}
    write_atomic(folder / DATA, json.dumps({"files": listing}, indent=1, ensure_ascii=False).encode() + b"\n")


def _file_names(config: AnyRun) -> list[str]:
    match config:
        case TranslationRun(data=data):
            corpora = [one for one in (*data.train, *data.validation) if not isinstance(one, ShardCorpus)]
            return [name for corpus in corpora for name in corpus_file_names(corpus)]
        case ClassificationRun(data=labelled):
            return [name for corpus in (*labelled.train, *labelled.validation) for name in document_files(corpus)]
        case LanguageModelRun(data=text):
            return [*text.train, *text.validation] if isinstance(text, TextFiles) else [text.path]


def _shards(config: AnyRun) -> list[str]:
    """Return the addresses of shards: known by their size and their first and last bytes, or it would take hours."""
    if not isinstance(config, TranslationRun):
        return []
    corpora = [one for one in (*config.data.train, *config.data.validation) if isinstance(one, ShardCorpus)]
    return [name for corpus in corpora for name in corpus_file_names(corpus)]


def _read_record(path: Path) -> dict[str, FileIdentity]:
    try:
        files = json.loads(path.read_bytes())["files"]
        return {name: FileIdentity(**identity) for name, identity in files.items()}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} must list the files the run began with, but does not. "
            "If you know that the data is the same, remove it: it is then written anew."
        ) from error


def _change(before: FileIdentity | None, after: FileIdentity | None) -> str:
    had = "was not there" if before is None else f"had {_described(before)}"
    return f"{had} and {'is gone' if after is None else f'has {_described(after)}'}"


def _described(identity: FileIdentity) -> str:
    return f"{count_of(identity.num_bytes, 'byte')} with the sha256 {identity.sha256[:16]}…"
