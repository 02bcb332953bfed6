"""Models fetched by name, from a real server that answers as a hub does, with every fault on the way."""

import json
import multiprocessing
import resource
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from heedful.corpora.download import BackOff
from heedful.errors import HeedfulError, UserError
from heedful.interop.hub import HubModel, get_model
from heedful.interop.marian import import_marian
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import find_model_folder, models_folder
from heedful.storage.model_folder import load_model_folder
from tests.support.hub import INFO, LARGE, NAME, REVISION, address, offer, write_published_folder
from tests.support.publisher import File, Publisher, publishing

IMPATIENT = BackOff(num_retries=1, first_wait=0.01, timeout=5)


@dataclass
class Ears:
    begun: list[tuple[str, int, int | None]] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    def begin(self, name: str, done: int, total: int | None) -> None:
        self.begun.append((name, done, total))

    def advance(self, done: int) -> None: ...

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as Transformers writes it, with weights in both formats and a card."""
    return write_published_folder(tmp_path_factory.mktemp("hub") / "opus")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEEDFUL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no token"))


@pytest.fixture
def hub(marian: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    with publishing() as publisher:
        monkeypatch.setenv("HF_ENDPOINT", publisher.url)
        offer(publisher, marian, without=("pytorch_model.bin",))
        yield publisher


def fetch(out: Path, *, back_off: BackOff = IMPATIENT) -> tuple[HubModel, Ears]:
    ears = Ears()
    return get_model(NAME, out, listener=ears, back_off=back_off), ears


def fetch_unwillingly(out: Path, **settings: BackOff) -> str:
    with pytest.raises(HeedfulError) as caught:
        fetch(out, **settings)
    assert not out.exists()
    return str(caught.value)


def assert_same_model(folder: Path, marian: Path) -> None:
    got, expected = load_model_folder(folder, TranslatorDescription), import_marian(marian)
    assert got.tokenizer_json == expected.tokenizer_json
    assert got.weights.keys() == expected.weights.keys()
    for name, tensor in expected.weights.items():
        assert torch.equal(got.weights[name], tensor), name


def test_a_model_is_fetched_checked_and_imported(hub: Publisher, marian: Path, tmp_path: Path) -> None:
    model, ears = fetch(tmp_path / "got")
    assert_same_model(tmp_path / "got", marian)
    assert ears.sentences == [f"{NAME}, revision 0123456789ab. Licence: cc-by-4.0."]
    card = (tmp_path / "got" / "README.md").read_text()
    assert "| licence | cc-by-4.0 |" in card
    assert f"| published at | {hub.url}/{NAME} |" in card
    assert "* dataset: opus" in card
    assert "language:" not in card
    facts = load_model_folder(tmp_path / "got", TranslatorDescription).description.facts
    assert facts["licence"] == "cc-by-4.0"
    assert facts["revision"] == REVISION == model.revision
    assert [path.split("/")[-1] for path, _ in hub.requests] == ["main?blobs=true", *model.wanted]
    assert not list(models_folder().glob(".download-*")), "what waited is gone"


def test_pickled_weights_are_taken_where_there_are_no_others(hub: Publisher, marian: Path, tmp_path: Path) -> None:
    offer(hub, marian, without=("model.safetensors",))
    model, _ = fetch(tmp_path / "got")
    assert model.wanted[-1] == "pytorch_model.bin"
    assert_same_model(tmp_path / "got", marian)


def test_an_interrupted_fetch_goes_on_where_it_stopped(hub: Publisher, marian: Path, tmp_path: Path) -> None:
    weights = hub.files[address("model.safetensors")]
    weights.cut_after = [1000, 0]
    impatient = BackOff(num_retries=0, timeout=5)
    told = fetch_unwillingly(tmp_path / "got", back_off=impatient)
    assert "run the same command again: it goes on from there" in told
    asked = len(hub.requests)
    weights.cut_after = []
    fetch(tmp_path / "got")
    again = hub.requests[asked:]
    assert [path.split("/")[-1] for path, _ in again] == ["main?blobs=true", "model.safetensors"], "the rest was here"
    assert again[-1][1]["Range"] == "bytes=1000-"
    assert_same_model(tmp_path / "got", marian)


def test_a_new_revision_is_not_mixed_with_an_old_one(hub: Publisher, marian: Path, tmp_path: Path) -> None:
    hub.files[address("model.safetensors")].cut_after = [1000, 0]
    fetch_unwillingly(tmp_path / "got", back_off=BackOff(num_retries=0, timeout=5))
    newer = tmp_path / "newer"
    newer.mkdir()
    for path in marian.iterdir():
        (newer / path.name).write_bytes(path.read_bytes())
    settings = json.loads((newer / "tokenizer_config.json").read_bytes())
    (newer / "tokenizer_config.json").write_text(json.dumps({**settings, "target_lang": "mi"}))
    offer(hub, newer, without=("pytorch_model.bin",))
    fetch(tmp_path / "got")
    assert load_model_folder(tmp_path / "got", TranslatorDescription).description.target_language == "mi"


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.json"])
def test_a_file_of_another_checksum_is_refused_and_fetched_anew(
    hub: Publisher, marian: Path, tmp_path: Path, name: str
) -> None:
    right = hub.files[address(name)].content
    hub.files[address(name)] = File(right[:-1] + bytes([right[-1] ^ 1]))
    assert "must have the checksum" in fetch_unwillingly(tmp_path / "got")
    hub.files[address(name)] = File(right, etag='"2"')
    fetch(tmp_path / "got")
    assert_same_model(tmp_path / "got", marian)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, f"{NAME} must be a model of "),
        (401, "there is none of that name, or it is private or asks for consent. No token (HF_TOKEN) was shown."),
        (403, "it is private or asks for consent"),
        (400, "but answers 400."),
    ],
)
@pytest.mark.parametrize("at", [INFO, address("config.json")], ids=["info", "file"])
def test_a_refusal_is_a_sentence(hub: Publisher, tmp_path: Path, status: int, said: str, at: str) -> None:
    hub.files[at].first_answers = [(status, {})]
    told = fetch_unwillingly(tmp_path / "got")
    assert said in told
    assert hub.url in told


def test_a_hub_that_asks_for_patience_gets_it(hub: Publisher, tmp_path: Path) -> None:
    hub.files[INFO].first_answers = [(429, {"Retry-After": "1"})]
    _, ears = fetch(tmp_path / "got")
    assert ears.sentences[0] == "model_info.json: the server answers 429 Too Many Requests. Trying again in 1 s."


def test_a_token_is_shown_to_the_hub_and_to_nobody_it_redirects_to(
    hub: Publisher, marian: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    weights = address("model.safetensors")
    with publishing({"weights": File(hub.files[weights].content)}) as other:
        hub.files[weights].first_answers = [(302, {"Location": f"{other.url}/weights"})]
        hub.files["renamed"] = hub.files[INFO]
        hub.files[INFO] = File(b"", first_answers=[(307, {"Location": f"{hub.url}/renamed"})])
        fetch(tmp_path / "got")
        assert len(other.requests) == 1
        assert "Authorization" not in other.requests[0][1]
        assert "hf_secret" not in str(other.requests)
    assert {headers.get("Authorization") for _, headers in hub.requests} == {"Bearer hf_secret"}
    assert_same_model(tmp_path / "got", marian)


def test_an_interrupted_redirected_file_goes_on_without_the_token(
    hub: Publisher, marian: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    weights = address("model.safetensors")
    with publishing({"weights": File(hub.files[weights].content, cut_after=[2000])}) as other:
        hub.files[weights].first_answers = [(302, {"Location": f"{other.url}/weights"})] * 2
        fetch(tmp_path / "got")
        assert other.ranges == [None, "bytes=2000-"]
        assert "hf_secret" not in str(other.requests)
    assert_same_model(tmp_path / "got", marian)


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}", b'{"id": "a/b", "siblings": [3]}', b'{"id": 3}'])
def test_an_answer_that_describes_no_model_is_a_sentence(hub: Publisher, tmp_path: Path, answer: bytes) -> None:
    hub.files[INFO] = File(answer, etag=None)
    told = fetch_unwillingly(tmp_path / "got")
    assert "must describe a model as a hub does" in told or "must be a Marian model" in told


def test_another_kind_of_model_is_refused_before_its_weights_are_fetched(
    hub: Publisher, marian: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in marian.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    (other / "config.json").write_text('{"model_type": "t5"}')
    offer(hub, other)
    assert "`model_type` must be 'marian', but is 't5'" in fetch_unwillingly(tmp_path / "got")
    assert len(hub.requests) == 2
    offer(hub, marian, without=LARGE)
    told = fetch_unwillingly(tmp_path / "got")
    assert "it has no source.spm, no target.spm, no model.safetensors or pytorch_model.bin" in told


@pytest.mark.parametrize("name", ["", "../x/y", "a/b/c", "a//b", "/etc/passwd", "a/..", "a b", ".hidden/x", "a/b\n"])
def test_what_can_be_no_name_is_refused(hub: Publisher, tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="must be named like"):
        get_model(name, tmp_path / "got", listener=Ears(), back_off=IMPATIENT)
    assert not hub.requests


def test_the_words_of_a_card_cannot_write_to_the_terminal_or_break_the_table(hub: Publisher, tmp_path: Path) -> None:
    answer = json.loads(hub.files[INFO].content)
    answer["cardData"] = {"license": "other", "license_name": "mine\x1b[31m|\n", "license_link": "LICENSE"}
    hub.files[INFO] = File(json.dumps(answer).encode(), etag=None)
    _, ears = fetch(tmp_path / "got")
    assert ears.sentences[0].endswith("Licence: mine[31m LICENSE.")


def test_no_licence_is_said(hub: Publisher, tmp_path: Path) -> None:
    answer = json.loads(hub.files[INFO].content)
    del answer["cardData"]
    hub.files[INFO] = File(json.dumps(answer).encode(), etag=None)
    _, ears = fetch(tmp_path / "got")
    assert ears.sentences[0].endswith("Licence: none is named: ask the publisher before you pass it on.")


def fetch_on_a_full_disk(out: Path, answers: "multiprocessing.Queue[str]") -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        fetch(out)
    except HeedfulError as error:
        answers.put(str(error))
    else:
        answers.put("nothing was refused")


def test_a_full_disk_is_a_sentence_and_what_came_is_kept(hub: Publisher, marian: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=fetch_on_a_full_disk, args=(tmp_path / "got", answers))
    process.start()
    told = answers.get(timeout=120)
    process.join()
    assert "source.spm could not be written: File too large." in told
    assert "what has arrived is kept" in told
    asked = len(hub.requests)
    fetch(tmp_path / "got")
    again = {path.split("/")[-1]: headers.get("Range") for path, headers in hub.requests[asked:]}
    assert again["source.spm"] == "bytes=20000-"
    assert "config.json" not in again
    assert_same_model(tmp_path / "got", marian)


def test_a_fetched_model_is_found_by_its_name(hub: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = models_folder() / NAME
    fetch(folder)
    monkeypatch.chdir(tmp_path)
    assert find_model_folder(NAME) == find_model_folder("opus-mt-ka-lo") == find_model_folder(Path(NAME)) == folder
    with pytest.raises(UserError, match=r"fetch it first: heedful get Helsinki-NLP/opus-mt-ka-mi"):
        find_model_folder("Helsinki-NLP/opus-mt-ka-mi")
    (tmp_path / "opus-mt-ka-lo").mkdir()
    assert find_model_folder("opus-mt-ka-lo") == Path("opus-mt-ka-lo"), "a path that exists means itself"
