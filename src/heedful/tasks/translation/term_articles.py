"""The article before a term, chosen again: one of another gender may need another.

A term takes the place of a word, or is written behind what was written already, and the article before it was that of
the other word: "der Lampe". Where a term is improbable after its article, the translation is asked for once more with
each article of another gender in the same case, all else as it is, and the one stays after which the term and the rest
are likeliest. How likely the article itself is counts for little: before it, the model has the other word in mind. Only
articles right before a term are looked at. Knows words of three languages; what searches is handed in.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from heedful.decoding import Beginning, Hypothesis
from heedful.tasks.translation.plan import Unit
from heedful.text.tokenizer import Tokenizer

Start = tuple[Beginning, Sequence[int]]
"""What was written before, and the tokens that must follow it."""

Form = tuple[int, ...]

_UNLIKELY = -5.0
"""The log-probability of the first token of a term behind an article above which the two are taken to agree."""

_WEIGHT, _LEAST_GAIN = 0.25, 1.5
"""Of the log-probability of an article, beside that of what follows it; what another must gain."""

_KNOWN = -7.0
"""The mean log-probability of the tokens of a term under which it is a word unknown to the model."""

_ROWS = {
    "de": (
        "der die das", "den die das", "dem der", "des der", "zum zur",
        "im in_der", "am an_der", "vom von_der", "beim bei_der", "ins in_den in_die",
        *(row for stem in ("", "k", "m", "d", "s") for row in (
            f"{stem}ein {stem}eine", f"{stem}einen {stem}eine {stem}ein", f"{stem}einem {stem}einer",
            f"{stem}eines {stem}einer",
        )),
        *(row for stem in ("dies", "jed", "jen", "welch") for row in (
            f"{stem}er {stem}e {stem}es", f"{stem}en {stem}e {stem}es", f"{stem}em {stem}er", f"{stem}es {stem}er",
        )),
    ),
    "fr": ("le la l'", "un une", "du de_la de_l'", "au à_la à_l'", "ce cet cette", "mon ma", "ton ta", "son sa"),
    "en": ("a an",),
}  # fmt: skip
"""Articles that differ by gender (or by sound) alone, a case to a row."""

_VOWELS = frozenset("aeiouhyàâæéèêëîïôœù")
"""What French elides an article before; an h is taken for a silent one."""


@dataclass(frozen=True)
class ArticleChooser:
    """Looks at the articles before the terms of translations."""

    tokenizer: Tokenizer
    search: Callable[[Sequence[Unit], Sequence[Start]], list[Hypothesis]]
    """Translates units freely, each from its start on."""

    def choose(self, units: Sequence[Unit], found: list[list[Hypothesis]]) -> None:
        """Replace what was found for units where another article before a term is likelier."""
        rows = [
            (number, variant, form, self._start(variant, found[number][0]))
            for number, unit in enumerate(units)
            for variant, form in self._variants(unit, found[number][0])
        ]
        results = self.search([units[number] for number, *_ in rows], [start for *_, start in rows])
        best = {number: _merit(found[number][0], start) for number, _, _, start in rows}
        for (number, variant, form, start), result in zip(rows, results, strict=True):
            is_whole = result.finish_reason == "eos" and self._text(result) == variant
            if is_whole and _is_known(form, result) and (merit := _merit(result, start)) > best[number] + _LEAST_GAIN:
                found[number], best[number] = [result], merit

    def _variants(self, unit: Unit, found: Hypothesis) -> Iterator[tuple[str, Form]]:
        """Yield a translation with other articles before the first of its terms that is unlikely after its own."""
        text, language = self._text(found), unit.steps[-1].split("-")[0]
        if len(unit.steps) > 1 or language not in _ROWS:
            return
        for term in unit.wishes.term_ids(self.tokenizer):
            for form in term.forms:
                start = _place_of(form, found)
                if start is not None and found.token_log_probs[start] < _UNLIKELY:
                    place = len(self.tokenizer.decode_target(found.token_ids[:start]))
                    others = list(_with_other_articles(text, place, language))
                    yield from ((other, form) for other in others)
                    if others:
                        return

    def _start(self, variant: str, found: Hypothesis) -> Start:
        """Return the tokens of a variant, of which those before the article are as they were."""
        ids = self.tokenizer.encode_target(variant)[:-1]
        pairs = enumerate(zip(ids, found.token_ids, strict=False))
        end = next((place for place, (one, other) in pairs if one != other), 0)
        return Beginning(ids[:end], found.token_log_probs[:end]), ids[end:]

    def _text(self, found: Hypothesis) -> str:
        return self.tokenizer.decode_target(found.token_ids)


def _merit(found: Hypothesis, start: Start) -> float:
    """Weigh a translation from where its article begins."""
    place = len(start[0].token_ids)
    return _WEIGHT * found.token_log_probs[place] + sum(found.token_log_probs[place + 1 :])


def _with_other_articles(text: str, place: int, language: str) -> Iterator[str]:
    """Yield a text with each of the articles that may stand for the one before a place, if there is one."""
    before, rest = text[:place].rstrip(), text[place:].lstrip()
    last = re.search(r"(?:^|\s)((?:\w+\s)?\w+['’]?)$", before)
    if last is None:
        return
    for written in dict.fromkeys((last[1], last[1].split()[-1])):
        lower = written.lower().replace("’", "'").replace(" ", "_")
        others = [one for row in _ROWS[language] if lower in row.split() for one in row.split() if one != lower]
        for other in dict.fromkeys(others):
            if language == "fr" and other.endswith("'") != (rest[:1].lower() in _VOWELS):
                continue
            article = other.replace("_", " ")
            article = article[:1].upper() + article[1:] if written[0].isupper() else article
            yield before[: len(before) - len(written)] + article + ("" if article.endswith("'") else " ") + rest
        if others:
            return


def _is_known(form: Form, found: Hypothesis) -> bool:
    """Say whether the model can write a term after its article: it knows the gender of no other."""
    start = _place_of(form, found)
    return start is not None and sum(found.token_log_probs[start : start + len(form)]) >= _KNOWN * len(form)


def _place_of(form: Form, found: Hypothesis) -> int | None:
    """Return the token at which a form of a term stands; None where it does not."""
    ids, length = found.token_ids, len(form)
    return next((start for start in range(len(ids) - length + 1) if tuple(ids[start : start + length]) == form), None)
