"""Distillation as one config: a run whose targets are a teacher's (`data.distillation`), made ready to be trained.

Three stages, each of which finds what it has done already: the teacher is trained, or gone on with; it translates the
training corpora (distill.py); the run goes on with these in their place. Where the translations lie is a function of
the teacher's weights, the corpora and the search, so runs share them and none takes those of another teacher.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from heedful.config.data import Corpus, NoDistillation, TeacherDistillation, TsvCorpus
from heedful.config.load import load_config
from heedful.config.translation import TranslationRun
from heedful.data.file_identity import FileIdentities
from heedful.data.readers import corpus_files
from heedful.errors import UserError
from heedful.files import MANIFEST
from heedful.storage.locate import find_model_folder
from heedful.tasks.run_folder import MODEL, Say, run_folder_of
from heedful.tasks.translation.data import direction_of
from heedful.tasks.translation.distill import distill, distilled_path
from heedful.tasks.translation.load import load_translator

Train = Callable[[TranslationRun], Path]
"""Trains a run, or goes on with it, and returns its folder."""


def with_distilled_data(run: TranslationRun, *, train: Train, device: str | None, say: Say) -> TranslationRun:
    """Return the run that learns from its teacher's translations, after they are made."""
    wanted = run.data.distillation
    if isinstance(wanted, NoDistillation):
        return run
    teacher = find_model_folder(_teacher_folder(run, wanted, train, say))
    out = Path(run.runs_folder) / "distilled" / _key(run, wanted, teacher)
    paths = [distilled_path(out, number, corpus, run.data) for number, corpus in enumerate(run.data.train)]
    if not all(path.exists() for path in paths):
        distill(run.data, load_translator(teacher, device=device, say=say), out, beam_size=wanted.beam_size, say=say)
    corpora = [_distilled(corpus, path, run) for corpus, path in zip(run.data.train, paths, strict=True)]
    data = run.data.model_copy(update={"train": corpora, "distillation": NoDistillation()})
    return run.model_copy(update={"data": data})


def _teacher_folder(run: TranslationRun, wanted: TeacherDistillation, train: Train, say: Say) -> Path:
    """Return the folder of the teacher, trained if it is not yet."""
    if not wanted.teacher.endswith(".toml"):
        return Path(wanted.teacher)
    teacher = load_config(wanted.teacher)
    folder = run_folder_of(teacher)
    if folder == run_folder_of(run):
        raise UserError(f"`data.distillation.teacher` must be another run, but {wanted.teacher} is {folder}, too.")
    if (folder / MODEL / MANIFEST).exists():
        return folder
    say(f"First the teacher, {teacher.name}.")
    return train(with_distilled_data(teacher, train=train, device=None, say=say))


def _key(run: TranslationRun, wanted: TeacherDistillation, teacher: Path) -> str:
    """Name what a teacher makes of corpora by all that decides it."""
    identities = FileIdentities()
    parts = {
        "teacher": identities.of(teacher / MANIFEST).sha256,
        "beam_size": wanted.beam_size,
        "corpora": [[identities.of(path).sha256 for path in corpus_files(corpus)] for corpus in run.data.train],
        "settings": [
            corpus.model_dump(mode="json", exclude={"source", "target", "path", "weight"}) for corpus in run.data.train
        ],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _distilled(corpus: Corpus, path: Path, run: TranslationRun) -> TsvCorpus:
    source_language, target_language = direction_of(corpus, run.data)
    return TsvCorpus(
        kind="tsv",
        path=str(path),
        weight=corpus.weight,
        in_register=corpus.in_register,
        source_language=source_language,
        target_language=target_language,
    )
