"""What a worker makes of a piece, for each verb: rows in, the bytes of one output file and some counts out.

A worker is told once what the job is, and then given piece after piece; nothing it does depends on other pieces. It may
be a process of this machine, which runs this file, or one of Ray's.
"""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from heedful.config.data import LineCorpus
from heedful.data.cleaning import CleaningReport, clean_pairs
from heedful.data.corpus_faults import languages_of
from heedful.data.processes import Message, serve
from heedful.data.readers import Pair
from heedful.files import JsonValue
from heedful.jobs.plan import texts_of
from heedful.tasks.cleaning import apart_from, noted_lines
from heedful.tasks.translation.corpus_alignment import align_corpus
from heedful.tasks.translation.distill import usable
from heedful.tasks.translation.glossary import read_glossary
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.request import SearchOptions, TranslationRequest
from heedful.tasks.translation.translated import Translation
from heedful.text.lines import one_line

Work = Callable[[Message], Message]
_LINES_AT_ONCE = 1024


def work_of(setup: Message) -> Work:
    """Return what does the pieces of a job."""
    verbs: dict[str, Callable[[dict[str, Any]], Work]] = {
        "translate": _translating,
        "distill": _distilling,
        "clean": _cleaning,
        "align": _aligning,
    }
    settings: Any = setup.facts["settings"]
    return verbs[str(setup.facts["verb"])](settings)


def _request(settings: dict[str, Any]) -> TranslationRequest:
    asked = TranslationRequest(
        settings["source"],
        settings["target"],
        settings["beam"],
        settings["n_best"],
        length_penalty=settings.get("length_penalty"),
        glossary=read_glossary(settings.get("glossary", []), "The glossary"),
        register=settings.get("register"),
        check=settings.get("check", False),
    )
    chosen = SearchOptions(**settings.get("way", {}))
    return chosen.request(asked, lambda name: "--" + name.replace("_", "-"))


def _translator(settings: dict[str, Any]) -> Callable[[list[str]], list[Translation]]:
    translator = load_translator(
        settings["models"] or None,
        device=settings["device"],
        quantize=settings["quantize"],
        fast=settings.get("fast", False),
    )
    request = _request(settings)
    translator.directions.check(request.source, request.target)

    def translate(texts: list[str]) -> list[Translation]:
        starts = range(0, len(texts), _LINES_AT_ONCE)
        groups = (texts[start : start + _LINES_AT_ONCE] for start in starts)
        return [done for group in groups for done in translator.translate_detailed(group, request=request)]

    return translate


def _translating(settings: dict[str, Any]) -> Work:
    translate = _translator(settings)

    def work(piece: Message) -> Message:
        done = translate(texts_of(piece.parts[0]))
        facts = {"doubtful": sum(bool(one.warnings) for one in done)}
        return Message({**facts}, (_lines(one_line(one.text) for one in done),))

    return work


def _distilling(settings: dict[str, Any]) -> Work:
    translate = _translator(settings)

    def work(piece: Message) -> Message:
        lines, num_left_out = [], 0
        for done in translate(texts_of(piece.parts[0])):
            kept = usable(done)
            num_left_out += not kept
            lines += [f"{one_line(done.source)}\t{one_line(text)}" for text in kept]
        return Message({"pairs": len(lines), "left_out": num_left_out}, (_lines(lines),))

    return work


def _cleaning(settings: dict[str, Any]) -> Work:
    noted = noted_lines([Path(name) for name in settings["against"]])

    def work(piece: Message) -> Message:
        sources, targets = map(texts_of, piece.parts)
        pairs = [Pair(*both, line) for line, both in enumerate(zip(sources, targets, strict=True), start=1)]
        report = CleaningReport()
        languages = languages_of(settings["source"], settings["target"], lambda: pairs)
        cleaned = clean_pairs(lambda: pairs, languages, None, report)
        kept = apart_from(cleaned, lambda pair: (pair.source, pair.target), noted, report)
        lines = [f"{one_line(pair.source)}\t{one_line(pair.target)}" for pair in kept]
        facts: dict[str, JsonValue] = {"read": report.num_read, "kept": report.num_kept}
        facts["repaired"] = {**dict(sorted(report.repaired.items()))}
        facts["left_out"] = {**dict(sorted(report.left_out.items()))}
        return Message(facts, (_lines(lines),))

    return work


def _aligning(settings: dict[str, Any]) -> Work:
    def work(piece: Message) -> Message:
        with tempfile.TemporaryDirectory(prefix="heedful-align-") as name:
            folder = Path(name)
            for side, part in zip(("source", "target"), piece.parts, strict=True):
                (folder / side).write_bytes(_lines(one_line(text) for text in texts_of(part)))
            corpus = LineCorpus(source=str(folder / "source"), target=str(folder / "target"))
            done = align_corpus(corpus, folder / "links", how=settings["symmetrize"], num_rounds=settings["rounds"])
            facts = {"links": done.num_links, "passed_over": done.num_passed_over}
            return Message({**facts}, ((folder / "links").read_bytes(),))

    return work


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", errors="replace")


WORK_MODULE = "heedful.jobs.work"

if __name__ == "__main__":
    serve(work_of)
