"""Mojibake: UTF-8 that was once read in another encoding ("GrÃ¼ÃŸe"), and what it said before.

A text is taken for mojibake when its bytes in one of the usual encodings are valid UTF-8 as a whole, which hardly
happens by chance, and what they then say is plausible; or when it holds one of the sequences that nothing else
produces, such as "Ã¼" and "â€™". This file knows characters; it knows nothing of corpora.
"""

import re

_ENCODINGS = ("cp1252", "mac_roman", "cp437", "cp1250", "cp1251")
"""What UTF-8 is usually mistaken for; Latin-1 is the first with its five holes filled."""

_HOLES = dict.fromkeys((0x81, 0x8D, 0x8F, 0x90, 0x9D))
_AS_BYTES = {ord(bytes([byte]).decode("cp1252")): byte for byte in range(256) if byte not in _HOLES} | {
    byte: byte for byte in (*range(0x80, 0xA0),)
}
_CONTINUATION = "".join(
    sorted(
        {bytes([byte]).decode("cp1252", errors="ignore") for byte in range(0x80, 0xC0)} | {*map(chr, range(128, 192))}
    )
)
_CERTAIN = re.compile(f"(?:Ã[{re.escape(_CONTINUATION)}]|â€[{re.escape(_CONTINUATION)}]|Â[\u00a0-\u00bf]|ï¿½)+")
_LATIN_OR_MARK = re.compile("[\u0080-\u024f\u1e00-\u1eff\u2010-\u203a\u20ac\u2122\u2026\ufb00-\ufb06]")
_MOST_ROUNDS = 3
"""How often a text is taken back: each reader on its way may have made the mistake once more."""


def without_mojibake(text: str) -> str:
    """Return what a text said before it was misread, or the text itself where it is sound."""
    for _ in range(_MOST_ROUNDS):
        restored = _restored(text)
        if restored == text:
            break
        text = restored
    return text


def has_mojibake(text: str) -> bool:
    """Say whether a text was misread."""
    return not text.isascii() and without_mojibake(text) != text


def _restored(text: str) -> str:
    if text.isascii():
        return text
    for encoding in _ENCODINGS:
        if (whole := _reread(text, encoding)) is not None and _is_plausible(whole):
            return whole
    return _CERTAIN.sub(_restored_run, text)


def _restored_run(run: re.Match[str]) -> str:
    restored = _reread(run[0], _ENCODINGS[0])
    return run[0] if restored is None or (not restored.isprintable() and restored.strip()) else restored


def _reread(text: str, encoding: str) -> str | None:
    """Return what the bytes of a text say in UTF-8, None where they say nothing."""
    try:
        if encoding == "cp1252":
            return bytes(_AS_BYTES.get(ord(character), 256) for character in text).decode("utf-8")
        return text.encode(encoding).decode("utf-8")
    except ValueError:  # no such byte, no such character, no UTF-8
        return None


def _is_plausible(text: str) -> bool:
    """Say whether letters beyond ASCII are Latin ones and marks, or another script's that the text is mainly in.

    "é »" in French is one Chinese character when its three bytes are read as UTF-8.
    """
    beyond = [character for character in text if not character.isascii()]
    others = [character for character in beyond if not _LATIN_OR_MARK.match(character)]
    num_latin = sum(character.isalpha() for character in text) - sum(character.isalpha() for character in others)
    return 2 * len(others) >= num_latin or not others
