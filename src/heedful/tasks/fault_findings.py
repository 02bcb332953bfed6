"""What the doctors of all tasks say about spoilt lines, as sentences; data/corpus_faults.py finds them."""

from collections.abc import Iterator

from heedful.data.corpus_faults import CorpusFaults, FaultLines
from heedful.data.line_faults import Languages, LineFault
from heedful.errors import count_of
from heedful.tasks.diagnosis import Finding, Severity

_MANY = 0.01
"""Share of lines from which a fault spoils a run; fewer are good to know of."""

_CHANCE, _FEWEST = 0.001, 3
"""Share of lines that are taken for another language by chance, and how many say nothing of a corpus."""

_TOGETHER = "`heedful clean` puts them together again."
_REPAIRED = "`heedful clean` puts that right."
_LEFT_OUT = "`heedful clean` leaves them out."
_UNTOUCHED = "`heedful clean` does not touch test corpora."


def fault_findings(setting: str, faults: CorpusFaults, languages: Languages | None = None) -> Iterator[Finding]:
    """Yield what is wrong with a corpus."""
    place = f"`{setting}`"
    is_test = setting.startswith("data.test")
    for shift in faults.shifts:
        where = f"{abs(shift.offset)} {'line' if abs(shift.offset) == 1 else 'lines'}"
        direction = "later" if shift.offset > 0 else "earlier"
        to = "to the end" if shift.last is None else f"to line {shift.last:,}"
        yield Finding(
            "warning",
            f"{place}: from line {shift.first:,} {to} the sides are shifted: the target of a source stands {where} "
            f"{direction}. Has a line been lost or doubled there? {_UNTOUCHED if is_test else _TOGETHER}",
        )
    for fault, lines in faults.by_fault.items():
        is_thinned = fault in ("copy", "exchanged", "other_language")
        looked_at = faults.num_looked_at if is_thinned else faults.num_lines
        share = lines.count / looked_at
        if is_thinned and (share < _CHANCE or lines.count < _FEWEST):
            continue
        is_meant = languages is None and fault in ("markup", "other_language")  # in what is no translation, perhaps
        is_bad = not is_meant and (share >= _MANY or fault in ("mojibake", "exchanged"))
        severity: Severity = "warning" if is_bad else "note"
        of = "" if looked_at == faults.num_lines else f" of the {looked_at:,} looked at"
        number = f"{count_of(lines.count, 'line')}{of} ({share:.1%})"
        mended = _LEFT_OUT if fault in ("copy", "other_language") else _REPAIRED
        remedy = _UNTOUCHED if is_test else mended
        yield Finding(severity, f"{place}: {number} {_words(fault, lines, languages)} ({_places(lines)}). {remedy}")


def near_findings(setting: str, faults: CorpusFaults, noun: str) -> Iterator[Finding]:
    """Yield what of a held-out corpus also stands in training, or nearly."""
    lines = faults.near_training
    if lines.count:
        share = lines.count / faults.num_lines
        severity: Severity = "warning" if share >= _MANY else "note"
        number = f"{count_of(lines.count, noun)} ({share:.1%})"
        have = "has" if lines.count == 1 else "have"
        yield Finding(
            severity,
            f"`{setting}`: {number} {have} a near duplicate in the training corpora ({_places(lines)}); scores "
            "will flatter. `heedful clean` leaves it out of training.",
        )


def _places(lines: FaultLines) -> str:
    return ", ".join(lines.first) + (", ..." if lines.count > len(lines.first) else "")


def _words(fault: LineFault, lines: FaultLines, languages: Languages | None) -> str:
    is_one = lines.count == 1
    match fault:
        case "mojibake":
            return f"{'is' if is_one else 'are'} mojibake, UTF-8 that was read in another encoding"
        case "markup":
            return f"{'has' if is_one else 'have'} markup left in the text"
        case "copy":
            return f"{'is a copy' if is_one else 'are copies'}, the target the same as the source"
        case "exchanged":
            seen = (
                "" if languages is None else f", the source in {languages.target} and the target in {languages.source}"
            )
            return f"{'has' if is_one else 'have'} the sides exchanged{seen}"
        case "other_language":
            named = sorted(lines.details, key=lambda one: (-lines.details[one], one))
            which = ", ".join(named[:4]) + (", ..." if len(named) > 4 else "")
            return f"{'is' if is_one else 'are'} in another language on a side ({which})"
