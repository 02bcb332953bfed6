"""A file in, its translation out: the language settled once for the whole file, progress told, nothing overwritten.

Wires a format, a translator, the safeguard and the journal; it knows none of them from the inside. The output appears
whole or not at all.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heedful.documents.document import DocumentError, Passage, Segments
from heedful.documents.formats import MAX_FILE_BYTES, format_of
from heedful.documents.journal import Journal, journal_path
from heedful.documents.safeguard import KEPT, in_rounds, is_translatable, run_rounds
from heedful.errors import UserError
from heedful.files import JsonValue, write_atomic_new
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator

_AT_ONCE, _CHARACTERS_AT_ONCE = 64, 6_000
_SAMPLE_CHARACTERS = 20_000


@dataclass(frozen=True)
class Summary:
    """What became of a file."""

    output: Path
    num_passages: int
    num_resumed: int
    """Passages an earlier run had finished."""

    num_doubtful: int
    """Passages whose translation came with a warning."""


def output_path(path: Path, target: str) -> Path:
    """Return where the translation of a file goes: "letter.docx" becomes "letter.de.docx" beside it."""
    return path.with_name(f"{path.stem}.{target}{path.suffix}")


def settle_target(directions: Directions, request: TranslationRequest) -> str:
    """Return the language files are translated into, which must be known before one is read."""
    directions.check(request.source, request.target)
    if request.target is not None:
        return request.target
    if len(directions.targets) == 1:
        return directions.targets[0]
    if request.source is None:
        raise UserError("The target language of files must be said. Say it with --to.")
    target = directions.route("text", request.source, None).target
    assert target is not None
    return target


def settle_source(
    directions: Directions, passages: Sequence[Passage], request: TranslationRequest, target: str, name: str
) -> str | None:
    """Return the language of a file: as said, or detected from all of it, since a passage may be a single word."""
    sample = ""
    for passage in passages:
        if len(sample) > _SAMPLE_CHARACTERS:
            break
        sample += KEPT.sub(" ", passage.text[:_SAMPLE_CHARACTERS]) + "\n"
    if not sample.strip():
        return request.source
    route = directions.route(sample, request.source, target)
    if route.is_unknown:
        raise DocumentError(f"{name} {route.found}. Say the language with --from to translate it anyway.")
    if not route.steps:
        raise DocumentError(f'{name} is in "{target}" already. Say its language with --from if that is wrong.')
    return route.source


def translate_file(
    path: Path,
    output: Path,
    translator: Translator,
    request: TranslationRequest,
    *,
    model_name: str = "",
    resume: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Summary:
    """Translate a file; `output` must not exist. A journal beside it lets `resume` go on after a kill."""
    if output.exists():
        raise UserError(f"{output} must not exist yet, but does. Remove it, or name another with --out.")
    target = settle_target(translator.directions, request)
    kind = format_of(path.name)
    if path.stat().st_size > MAX_FILE_BYTES:
        raise DocumentError(f"{path} must have at most {MAX_FILE_BYTES:,} bytes, but has more.")
    data = path.read_bytes()
    try:
        document = kind.read(data, target)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None
    passages = document.passages
    source = settle_source(translator.directions, passages, request, target, str(path))
    request = replace(request, source=source, target=target)
    about: dict[str, JsonValue] = {
        "sha256": hashlib.sha256(data).hexdigest(),
        "request": hashlib.sha256(repr(request).encode()).hexdigest(),
        "model": model_name,
        "passages": len(passages),
    }
    journal = Journal(journal_path(output), about, resume=resume)
    done = {
        number: segments
        for number, segments in journal.done.items()
        if number < len(passages) and len(segments) == len(passages[number].segments)
    }
    num_resumed, num_doubtful = len(done), 0
    on_progress(len(done), len(passages))
    for numbers in _batches(passages, done):
        finished, doubtful = _translate([passages[number] for number in numbers], translator, request)
        num_doubtful += doubtful
        fresh = dict(zip(numbers, finished, strict=True))
        journal.add(fresh)
        done |= fresh
        on_progress(len(done), len(passages))
    write_atomic_new(output, document.write([done[number] for number in range(len(passages))]))
    journal.remove()
    return Summary(output, len(passages), num_resumed, num_doubtful)


def _translate(
    passages: Sequence[Passage], translator: Translator, request: TranslationRequest
) -> tuple[list[Segments], int]:
    doubtful: set[str] = set()

    def translate(texts: list[str]) -> list[str]:
        found = translator.translate_detailed(texts, request=request)
        doubtful.update(one.source for one in found if one.warnings)
        return [one.text for one in found]

    translated = run_rounds(in_rounds(passages), translate)
    return [one.segments for one in translated], sum(not doubtful.isdisjoint(one.sources) for one in translated)


def _batches(passages: Sequence[Passage], done: dict[int, Segments]) -> Iterator[list[int]]:
    """Group the numbers of passages that are left: enough to be quick, so few that a kill costs little."""
    numbers: list[int] = []
    size = 0
    for number, passage in enumerate(passages):
        if number in done:
            continue
        numbers.append(number)
        size += len(passage.text) if is_translatable(passage.text) else 0
        if len(numbers) == _AT_ONCE or size > _CHARACTERS_AT_ONCE:
            yield numbers
            numbers, size = [], 0
    if numbers:
        yield numbers
