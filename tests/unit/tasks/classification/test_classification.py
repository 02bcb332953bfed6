"""A classifier in use: labels, probabilities, influences with their places, long documents, its folder."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import heedful
from heedful.errors import ModelFolderError
from heedful.files import write_manifest
from heedful.storage.descriptions import ClassifierDescription, TranslatorDescription
from heedful.storage.model_folder import load_model_folder, save_model_folder
from heedful.tasks.classification.classifier import Classifier, classifier_of
from tests.support.classifier_folders import LABELS, make, make_folder
from tests.support.tiny_models import save_model

NGRAMS: dict[str, Any] = {
    "ngram_embedding": {"up_to": 2, "num_buckets": 100},
    "naive_bayes": {"up_to": 3, "num_buckets": 1000},
}


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return make(**NGRAMS)


def test_one_text_gives_one_label_and_a_list_a_list(classifier: Classifier) -> None:
    label = classifier.classify("a truly good film")
    assert label in LABELS
    assert classifier.classify(["a truly good film", ""]) == [label, None]


def test_probabilities_are_those_of_the_mean_of_both_paths(classifier: Classifier) -> None:
    (found,) = classifier.classify_detailed(["a truly bad film"])
    ids = torch.tensor([[1, *classifier.tokenizer.encode_source("a truly bad film")]])
    expected = classifier.model(ids).softmax(dim=-1)[0].tolist()
    assert found.probabilities == pytest.approx(dict(zip(LABELS, expected, strict=True)), abs=1e-6)
    assert list(found.probabilities.values()) == pytest.approx(sorted(expected, reverse=True), abs=1e-6)
    assert found.label == next(iter(found.probabilities))
    assert found.probability == pytest.approx(max(expected))
    assert sum(found.probabilities.values()) == pytest.approx(1)


def test_of_an_empty_text_nothing_is_said(classifier: Classifier) -> None:
    (found,) = classifier.classify_detailed([" \t"], explain=True)
    assert (found.label, found.probability, found.probabilities, found.words) == (None, None, {}, [])


def test_a_text_is_classified_alike_in_any_company(classifier: Classifier) -> None:
    texts = ["good", "a truly bad film " * 30, "it's 很好", "the end . " * 5]
    together = classifier.classify_detailed(texts)
    for text, found in zip(texts, together, strict=True):
        assert classifier.classify_detailed([text])[0].probabilities == pytest.approx(found.probabilities, abs=1e-6)
    assert [found.probabilities for found in classifier.classify_lines(iter(texts))] == [
        pytest.approx(found.probabilities, abs=1e-6) for found in together
    ]


@settings(deadline=None, max_examples=30)
@given(st.text(max_size=60))
def test_words_stand_where_they_say(text: str) -> None:
    words = SHARED.classify_detailed([text], explain=True)[0].words
    assert all(text[it.start : it.end] == it.word and it.word.strip() for it in words)
    assert [it.start for it in words] == sorted(it.start for it in words)
    if text.strip():
        covered = {at for it in words for at in range(it.start, it.end)}
        assert {at for at, character in enumerate(text) if not character.isspace() and character != "_"} <= covered | {
            at for at, character in enumerate(text) if not character.isprintable() or character == "_"
        }


SHARED = make(**NGRAMS)


def test_chinese_characters_are_words_of_their_own(classifier: Classifier) -> None:
    (found,) = classifier.classify_detailed(["it's 很好 ."], explain=True)
    assert [it.word for it in found.words] == ["it's", "很", "好", "."]


def test_influences_of_a_linear_model_add_up_to_its_logit() -> None:
    """Without layers mean pooling is linear in its input: what each word loses is then what it adds."""
    linear = {"num_layers": 0, "layer": {"kind": "attention"}, "positions": {"kind": "none"}}
    classifier = make(**linear, naive_bayes=NGRAMS["naive_bayes"])
    text = "a truly bad film"
    number = 1
    model = classifier.model
    with torch.no_grad():
        model.output.bias.zero_()
        assert model.naive_bayes is not None
        model.naive_bayes.bias.zero_()
    ids = torch.tensor([[1, *classifier.tokenizer.encode_source(text)]])
    is_end = torch.ones_like(ids, dtype=torch.bool)
    is_end[:, 1:-1] = False
    encoder, encoder_at_ends = model.path_logits(ids)[0], model.path_logits(ids, is_end)[0]
    added = model.naive_bayes.contributions(ids, ids != model.pad_id)[0, 1:-1].sum(dim=0)
    inside = model.decide([(encoder - encoder_at_ends)[0], added])
    words = classifier.influences(text, number)
    assert [it.word for it in words] == text.split()
    assert sum(it.influence for it in words) == pytest.approx((inside[number] - inside.mean()).item(), abs=1e-5)


def test_an_influence_is_what_the_logit_loses_when_the_word_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = make(ngram_embedding=NGRAMS["ngram_embedding"])
    text = "a truly unheard-of film"
    number = 2
    encoding = classifier.tokenizer.trace_source(text)
    ids = torch.tensor([[classifier.tokenizer.bos_id, *encoding.ids, classifier.tokenizer.eos_id]])

    @torch.no_grad()
    def above_mean(start: int, end: int) -> float:
        keep = torch.tensor([[True, *(not (low < end and high > start) for low, high in encoding.offsets), True]])
        (logits,) = classifier.model.path_logits(ids, keep)
        return float(logits[0, number] - logits[0].mean())

    words = classifier.influences(text, number)
    assert [it.word for it in words] == text.split()
    for word in words:
        lost = above_mean(0, 0) - above_mean(word.start, word.end)
        assert word.influence == pytest.approx(lost, abs=1e-5)
        others = [classifier.influences(text, other)[words.index(word)].influence for other in range(3)]
        assert list(word.by_label.values()) == pytest.approx(others)
        assert list(word.by_label) == list(classifier.labels)
    monkeypatch.setattr(
        "heedful.tasks.classification.classifier._MOST_READ", 2 * ids.size(1)
    )  # two passes for four words
    together = [it.influence for it in classifier.influences(text, number)]
    lost = above_mean(0, 0) - above_mean(words[0].start, words[1].end)
    assert together[:2] == pytest.approx([lost / 2] * 2, abs=1e-5)


def test_an_explanation_ends_between_two_passes_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    class LeftError(Exception):
        pass

    def leave() -> None:
        raise LeftError

    with pytest.raises(LeftError):
        make().classify_detailed(["a truly good film"], explain=True, before_pass=leave)
    assert make().classify_detailed(["a truly good film"], before_pass=leave)[0].words == []


def test_the_word_that_decides_has_the_largest_influence() -> None:
    classifier = make(**NGRAMS)
    model = classifier.model
    bad = classifier.tokenizer.encode_source("bad")[:-1]
    with torch.no_grad():
        assert model.naive_bayes is not None
        model.naive_bayes.factors.zero_()
        ids = torch.tensor([bad])
        buckets = model.naive_bayes.buckets(ids, ids != 0)
        model.naive_bayes.factors[buckets[buckets > 0]] = 50.0
        model.naive_bayes.ratios[buckets[buckets > 0]] = torch.tensor([1.0, -0.5, -0.5])
    (found,) = classifier.classify_detailed(["a truly bad film"], explain=True)
    assert found.label == "neg"
    assert max(found.words, key=lambda it: it.influence).word == "bad"


def test_windows_read_everything_head_and_tail_say_what_they_do_not() -> None:
    long = "a truly good film " * 20
    windows = make(long_documents={"kind": "windows", "length": 8}).classify_detailed([long])[0]
    assert windows.num_tokens > 40
    assert windows.num_unread == 0
    cut = make(long_documents={"kind": "head_and_tail", "head": 6, "tail": 4})
    (found,) = cut.classify_detailed([long], explain=True)
    assert found.num_unread == found.num_tokens - 10
    influences = [it.influence for it in found.words]
    assert influences[0] != 0
    assert influences[-1] != 0
    assert not any(influences[10:-10]), "what was not read moved nothing"


def test_a_folder_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = make_folder(**NGRAMS)
    save_model_folder(tmp_path / "model", folder)
    again = load_model_folder(tmp_path / "model", ClassifierDescription)
    assert again.description == folder.description
    text = "a truly good film"
    loaded = heedful.load(tmp_path / "model", device="cpu")
    assert isinstance(loaded, Classifier)
    assert loaded.classify_detailed([text]) == classifier_of(folder, torch.device("cpu")).classify_detailed([text])


def test_folders_of_another_task_are_refused_with_a_sentence(tmp_path: Path) -> None:
    save_model_folder(tmp_path / "labels", make_folder())
    with pytest.raises(
        ModelFolderError, match=r"must hold a translator here, but holds a classifier. Use it with heedful classify."
    ):
        load_model_folder(tmp_path / "labels", TranslatorDescription)
    with pytest.raises(
        ModelFolderError, match=r"must hold a classifier here, but holds a translator. Use it with heedful translate."
    ):
        load_model_folder(save_model(tmp_path / "words"), ClassifierDescription)


def test_a_label_too_few_does_not_fit_the_weights(tmp_path: Path) -> None:
    save_model_folder(tmp_path / "model", make_folder())
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    config["labels"] = ["neg", "pos"]
    path.write_text(json.dumps(config))
    manifest = tmp_path / "model" / "manifest.json"
    manifest.unlink()
    write_manifest(tmp_path / "model", {"kind": "model"})
    with pytest.raises(ModelFolderError, match=r"`output.weight` must have the shape \(2, 16\), but has \(3, 16\)"):
        load_model_folder(tmp_path / "model", ClassifierDescription)
