"""The ways to search as options of the command and as fields of `/translate`: they say the same."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Command
from tests.support.forked_server import ForkedServer
from tests.support.http_client import post
from tests.support.tiny_models import save_model

TEXT = "where is the station"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en"))


def test_command_and_server_say_the_same_with_the_same_options(heedful: Command, folder: Path, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("Station\tGare\nstation\tthe bahnhof\n", encoding="utf-8")
    base = ("translate", "--model", folder, "--from", "en", "--to", "de", "--json")
    asked = {"q": TEXT, "source": "en", "target": "de"}
    cases = [
        (["--sample", "--seed", "7", "--top-k", "20"], {"sample": True, "seed": 7, "topK": 20}),
        (["--sample", "--seed", "7", "--temperature", "0.5"], {"sample": True, "seed": 7, "temperature": 0.5}),
        (["--diverse", "3"], {"diverse": 3}),
        (["--mbr", "6", "--length-penalty", "1"], {"mbr": 6, "lengthPenalty": 1.0}),
        (["--glossary", str(terms)], {"glossary": [["station", "the bahnhof"]]}),
        (["--prefix", "the", "--beam", "2"], {"prefix": "the", "beam": 2}),
    ]
    with ForkedServer("--model", folder) as server:
        for options, fields in cases:
            result = heedful(*base, *options, TEXT)
            assert result.returncode == 0, result.stderr
            said = json.loads(result.stdout)
            status, answer = post(server, "/translate", asked | fields)
            assert status == 200
            assert answer["translatedText"] == said["translation"]
            assert "glossary" not in fields or "the bahnhof" in said["translation"].lower() or said["warning_codes"]
            others = [it["text"] for it in said["alternatives"][1:]]
            assert answer.get("alternatives", []) == others
        status, answer = post(server, "/translate", asked | {"topK": 3})
        assert (status, answer["error"]) == (400, "`topK` must go with `sample`: without it nothing is drawn.")
        status, answer = post(server, "/translate", asked | {"glossary": [["station"]]})
        assert status == 400
        assert answer["error"].startswith("`glossary` must have at least 2 items")
        status, answer = post(server, "/translate", asked | {"glossary": [["a", "b"]] * 201})
        assert status == 400
        status, answer = post(server, "/translate", asked | {"glossary": [["a", "b"]], "sample": True})
        assert (status, answer["error"].split(":")[0]) == (
            400,
            "A glossary must not be given with sampling or diverse search",
        )
        status, answer = post(server, "/translate", asked | {"mbr": 33})
        assert (status, answer["error"]) == (400, "`mbr` must be at most 32.")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--diverse", "3"], b"`--diverse` must go with --json"),
        (["--seed", "3"], b"`--seed` must go with `--sample`"),
        (["--sample", "--beam", "3"], b"A beam must not be given with sampling"),
        (["--glossary", "no-such-file.tsv"], b"The glossary no-such-file.tsv must be a text file that can be read"),
        (["--sample", "--temperature", "0"], b"`temperature` must be greater than 0"),
    ],
)
def test_options_that_contradict_each_other_get_a_sentence(
    heedful: Command, folder: Path, options: list[str], sentence: bytes
) -> None:
    result = heedful("translate", "--model", folder, "--to", "de", *options, TEXT)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert b"Traceback" not in result.stderr
