"""`heedful review`, and what the bundled model says of its own doubts, as real processes."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Command

SOURCES = [
    "If it rains tomorrow, we will stay at home and read a book.",
    "Where is the station? I have lost my keys.",
    "He did not come to the party.",
    "I have lived in Berlin since 1984.",
    "Do you speak German?",
]
GOOD = [
    "Wenn es morgen regnet, bleiben wir zu Hause und lesen ein Buch.",
    "Wo ist der Bahnhof? Ich habe meine Schlüssel verloren.",
    "Er kam nicht zur Party.",
    "Ich wohne seit 1984 in Berlin.",
    "Sprechen Sie Deutsch?",
]
SPOILT = [
    "Wenn es morgen regnet.",
    "Wo ist der Bahnhof?",
    "Er kam zur Party.",
    "Ich wohne seit 1948 in Hamburg.",
    "Sprechen Sie Deutsch? Ich habe es in der Schule gelernt.",
]
CODES = [{"omission"}, {"omission"}, {"negation"}, {"names", "numbers"}, {"addition"}]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_what_was_left_out_added_or_changed_is_said_line_by_line(heedful: Command, tmp_path: Path) -> None:
    sources = write(tmp_path / "sources", SOURCES)
    spoilt = write(tmp_path / "spoilt", SPOILT)
    result = heedful("review", sources, spoilt, "--from", "en", "--to", "de", "--json")
    rows = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert [expected - set(row["warning_codes"]) for row, expected in zip(rows, CODES, strict=True)] == [set()] * 5
    assert [row["translation"] for row in rows] == SPOILT
    plain = heedful("review", sources, spoilt, "--from", "en", "--to", "de")
    assert plain.stdout.decode().splitlines()[2].startswith("line 3: the translation seems to have lost a negation.")
    assert "5 lines of 5 with a doubt." in plain.stderr.decode()


def test_good_translations_pass(heedful: Command, tmp_path: Path) -> None:
    sources, good = write(tmp_path / "sources", SOURCES), write(tmp_path / "good", GOOD)
    result = heedful("review", sources, good, "--from", "en", "--to", "de")
    assert result.stdout == b""
    assert "0 lines of 5 with a doubt." in result.stderr.decode()


def test_files_that_do_not_fit_are_refused_in_a_sentence(heedful: Command, tmp_path: Path) -> None:
    sources, one = write(tmp_path / "sources", SOURCES), write(tmp_path / "one", GOOD[:1])
    result = heedful("review", sources, one, "--to", "de")
    assert result.returncode == 2
    assert "must have as many lines, but have 5 lines and 1." in result.stderr.decode()
    missing = heedful("review", sources, tmp_path / "nowhere", "--to", "de")
    assert missing.returncode == 2
    assert "nowhere must be a text file that can be read, but: No such file or directory." in missing.stderr.decode()


def test_json_says_how_sure_each_word_is(heedful: Command) -> None:
    result = heedful("translate", "--to", "de", "--json", "--check", "Where is the station?")
    (row,) = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert [word["text"] for word in row["words"]] == ["Wo", "ist", "der", "Bahnhof", "?"]
    for word in row["words"]:
        assert 0 < word["confidence"] < 1
        assert word["confidence"] != pytest.approx(word["probability"], abs=1e-6)
    assert row["warning_codes"] == []
