"""One file over HTTP, against a real server with every fault a server can have."""

import json
import multiprocessing
import resource
import socket
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from heedful.corpora.download import BackOff, download
from heedful.errors import HeedfulError
from tests.support.publisher import File, Publisher, publishing

CONTENT = bytes(range(256)) * 2000
IMPATIENT = BackOff(num_retries=2, first_wait=0.01, timeout=5)


@dataclass
class Ears:
    begun: list[tuple[str, int, int | None]] = field(default_factory=list)
    done: int = 0
    sentences: list[str] = field(default_factory=list)

    def begin(self, name: str, done: int, total: int | None) -> None:
        self.begun.append((name, done, total))

    def advance(self, done: int) -> None:
        self.done = done

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


def fetch(
    publisher: Publisher, folder: Path, *, max_bytes: int = 10**7, back_off: BackOff = IMPATIENT
) -> tuple[Path, Ears]:
    ears = Ears()
    path = folder / "corpus.zip"
    download(f"{publisher.url}/corpus.zip", path, max_bytes=max_bytes, listener=ears, back_off=back_off)
    return path, ears


def fetch_unwillingly(publisher: Publisher, folder: Path, **settings: int) -> str:
    with pytest.raises(HeedfulError) as caught:
        fetch(publisher, folder, back_off=BackOff(num_retries=0, timeout=5), **settings)
    assert not (folder / "corpus.zip").exists()
    return str(caught.value)


def test_a_file_arrives_whole_and_leaves_no_part(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT)}) as publisher:
        path, ears = fetch(publisher, tmp_path)
    assert path.read_bytes() == CONTENT
    assert ears.begun == [("corpus.zip", 0, len(CONTENT))]
    assert ears.done == len(CONTENT)
    assert not (tmp_path / "corpus.zip.part").exists()
    assert publisher.requests[0][1]["User-Agent"].startswith("Mozilla/5.0 (compatible; heedful/")


def test_a_file_that_is_here_is_not_fetched_again(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT)}) as publisher:
        fetch(publisher, tmp_path)
        fetch(publisher, tmp_path)
        assert len(publisher.requests) == 1


def test_a_cut_connection_is_taken_up_where_it_broke(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT, cut_after=[100_000, 200_000])}) as publisher:
        path, ears = fetch(publisher, tmp_path)
        assert publisher.ranges == [None, "bytes=100000-", "bytes=300000-"]
        assert publisher.requests[1][1]["If-Range"] == '"1"'
    assert path.read_bytes() == CONTENT
    assert ears.begun[-1] == ("corpus.zip", 300_000, len(CONTENT))
    assert ears.sentences[0] == (
        "corpus.zip: the connection was cut after 100,000 of 512,000 bytes. Trying again in 1 s."
    )


def test_patience_lasts_while_the_file_grows(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT, cut_after=[60_000] * 8)}) as publisher:
        path, _ = fetch(publisher, tmp_path, back_off=BackOff(num_retries=1, first_wait=0.01))
        assert len(publisher.requests) == 9
    assert path.read_bytes() == CONTENT


def test_another_process_goes_on_with_the_part_of_this_one(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT, cut_after=[100_000])}) as publisher:
        sentence = fetch_unwillingly(publisher, tmp_path)
        assert "What has arrived is kept." in sentence
        assert (tmp_path / "corpus.zip.part").read_bytes() == CONTENT[:100_000]
        path, _ = fetch(publisher, tmp_path)
        assert publisher.ranges == [None, "bytes=100000-"]
    assert path.read_bytes() == CONTENT


def test_a_part_that_is_whole_needs_only_its_name(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT)}) as publisher:
        path, _ = fetch(publisher, tmp_path)
        path.rename(tmp_path / "corpus.zip.part")
        fetch(publisher, tmp_path)
        assert len(publisher.requests) == 1
    assert path.read_bytes() == CONTENT


def test_a_server_that_cannot_resume_sends_everything_again(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT, supports_range=False, cut_after=[100_000])}) as publisher:
        path, ears = fetch(publisher, tmp_path)
    assert path.read_bytes() == CONTENT
    assert "corpus.zip: the server cannot resume, so the download begins again." in ears.sentences


@pytest.mark.parametrize("ignores_if_range", [False, True])
@pytest.mark.parametrize("size", [50_000, len(CONTENT), len(CONTENT) + 7])
def test_a_file_that_changed_meanwhile_is_never_a_mixture(tmp_path: Path, size: int, ignores_if_range: bool) -> None:
    newer = (b"newer" * len(CONTENT))[:size]
    with publishing({"corpus.zip": File(CONTENT, cut_after=[100_000])}) as publisher:
        fetch_unwillingly(publisher, tmp_path)
        publisher.files["corpus.zip"] = File(newer, etag='"2"', ignores_if_range=ignores_if_range)
        path, ears = fetch(publisher, tmp_path)
    assert path.read_bytes() == newer
    assert any("changed" in sentence or "another version" in sentence for sentence in ears.sentences)


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_validator_a_part_is_not_trusted(tmp_path: Path, etag: str | None) -> None:
    with publishing({"corpus.zip": File(CONTENT, etag=etag, cut_after=[100_000])}) as publisher:
        path, _ = fetch(publisher, tmp_path)
        assert publisher.ranges == [None, None]
    assert path.read_bytes() == CONTENT


def test_a_note_that_cannot_be_read_means_beginning_again(tmp_path: Path) -> None:
    (tmp_path / "corpus.zip.part").write_bytes(b"from somewhere")
    (tmp_path / "corpus.zip.json").write_text("{")
    with publishing({"corpus.zip": File(CONTENT)}) as publisher:
        path, _ = fetch(publisher, tmp_path)
    assert path.read_bytes() == CONTENT


def test_a_part_from_another_address_is_not_continued(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT, cut_after=[100_000])}) as first:
        fetch_unwillingly(first, tmp_path)
    with publishing({"corpus.zip": File(CONTENT[::-1])}) as second:
        path, _ = fetch(second, tmp_path)
        assert second.ranges == [None]
    assert path.read_bytes() == CONTENT[::-1]
    assert json.loads((tmp_path / "corpus.zip.json").read_text())["url"] == f"{second.url}/corpus.zip"


def test_a_length_nobody_told_is_no_obstacle(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT, says_length=False)}) as publisher:
        path, ears = fetch(publisher, tmp_path)
    assert path.read_bytes() == CONTENT
    assert ears.begun == [("corpus.zip", 0, None)]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(tmp_path: Path, status: int) -> None:
    with publishing({"corpus.zip": File(CONTENT, first_answers=[(status, {"Retry-After": "0"})])}) as publisher:
        path, ears = fetch(publisher, tmp_path)
    assert path.read_bytes() == CONTENT
    assert ears.sentences[0].startswith(f"corpus.zip: the server answers {status} ")


def test_a_server_that_stays_busy_ends_in_a_sentence(tmp_path: Path) -> None:
    with publishing({"corpus.zip": File(CONTENT, first_answers=[(503, {})] * 3)}) as publisher:
        with pytest.raises(HeedfulError, match="could not be fetched: the server answers 503 Service Unavailable"):
            fetch(publisher, tmp_path)
        assert len(publisher.requests) == 3


@pytest.mark.parametrize(("status", "phrase"), [(403, "403 Forbidden"), (404, "404 Not Found"), (410, "410 Gone")])
def test_what_will_not_pass_is_not_tried_again(tmp_path: Path, status: int, phrase: str) -> None:
    with publishing({"corpus.zip": File(CONTENT, first_answers=[(status, {})])}) as publisher:
        with pytest.raises(HeedfulError, match=rf"the server answers {phrase}\. .*`--from URL`"):
            fetch(publisher, tmp_path)
        assert len(publisher.requests) == 1


def test_a_redirection_is_followed_but_never_to_a_file_of_this_machine(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    with publishing({"elsewhere": File(CONTENT)}) as publisher:
        publisher.files["corpus.zip"] = File(b"", first_answers=[(302, {"Location": f"{publisher.url}/elsewhere"})])
        path, _ = fetch(publisher, tmp_path)
        assert path.read_bytes() == CONTENT
        path.unlink()
        publisher.files["corpus.zip"] = File(b"", first_answers=[(302, {"Location": secret.as_uri()})])
        assert "302" in fetch_unwillingly(publisher, tmp_path)


def test_nobody_at_the_address_is_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    sentence = fetch_unwillingly(Publisher(f"http://127.0.0.1:{port}"), tmp_path)
    assert "could not be fetched: the server does not answer (Connection refused)." in sentence


def test_a_server_that_falls_silent_is_left(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        publisher = Publisher(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(HeedfulError, match=r"the server does not answer \(it took too long\)"):
            fetch(publisher, tmp_path, back_off=BackOff(num_retries=0, timeout=0.1))


@pytest.mark.parametrize("says_length", [True, False])
def test_a_file_without_end_does_not_fill_the_disk(tmp_path: Path, says_length: bool) -> None:
    with publishing({"corpus.zip": File(CONTENT, says_length=says_length)}) as publisher:
        sentence = fetch_unwillingly(publisher, tmp_path, max_bytes=300_000)
    assert "must have at most 300,000 bytes, but has more" in sentence
    assert not (tmp_path / "corpus.zip.part").exists()


def fetch_with_little_room(url: str, folder: Path, room: int, answer: "multiprocessing.Queue[str]") -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    answer.put(fetch_unwillingly(Publisher(url), folder))


def test_a_full_disk_is_a_sentence_and_costs_nothing(tmp_path: Path) -> None:
    processes = multiprocessing.get_context("spawn")
    answer = processes.Queue()
    with publishing({"corpus.zip": File(CONTENT)}) as publisher:
        process = processes.Process(target=fetch_with_little_room, args=(publisher.url, tmp_path, 100_000, answer))
        process.start()
        sentence = answer.get(timeout=60)
        process.join()
        assert f"{tmp_path / 'corpus.zip'} could not be written: File too large. Free some space" in sentence
        assert (tmp_path / "corpus.zip.part").read_bytes() == CONTENT[:100_000]
        path, _ = fetch(publisher, tmp_path)
        assert publisher.ranges == [None, "bytes=100000-"]
    assert path.read_bytes() == CONTENT
