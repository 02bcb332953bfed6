"""Scoring and tuning a model of two directions: small, untrained, and as real as any other to the code under test."""

from pathlib import Path

import pytest
import torch

from heedful.config.data import LineCorpus, TokenizerConfig
from heedful.config.models import TransformerConfig
from heedful.config.training import DecodingConfig
from heedful.evaluation.scores import bleu, compare_systems, score_corpus
from heedful.models import build_model
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, load_model_folder, save_model_folder, weights_of
from heedful.tasks.translation.calibration import NO_CALIBRATION
from heedful.tasks.translation.evaluate import evaluate_translation, mean_scores
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.test_sets import TestSentences, TestSet
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.tune import Direction, best_cell, score_grid, write_settings
from heedful.text.learning import learn_tokenizer

ENGLISH = ["a small house", "the river ran", "nobody knows"]
GERMAN = ["ein kleines haus", "der fluss floss", "niemand weiss"]


def model_folder(path: Path, seed: int) -> Path:
    """Write a model with random weights that goes both ways between English and German."""
    text = [*ENGLISH, *GERMAN]
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=300), text, text, ["de", "en"])
    size = tokenizer.source_vocab_size
    config = TransformerConfig(dim=16, num_heads=2, hidden_dim=16, num_encoder_layers=1, num_decoder_layers=1)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build_model(config, source_vocab_size=size, target_vocab_size=size, pad_id=tokenizer.pad_id)
    folder = ModelFolder(
        TranslatorDescription(
            model=config,
            special_ids=SpecialIds.of(tokenizer),
            source_vocab_size=size,
            target_vocab_size=size,
            source_language="en",
            target_language="de",
            languages=tokenizer.languages,
            directions=(("en", "de"), ("de", "en")),
            decoding=DecodingConfig(beam_size=3, length_penalty=0.6, extra_tokens=4),
        ),
        weights_of(model),
        tokenizer.to_json(),
    )
    save_model_folder(path, folder)
    return path


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("models")
    return [model_folder(root / str(seed), seed) for seed in (1, 2)]


def load(path: Path) -> Translator:
    return load_translator(path, device="cpu", quantize="none")


def sentences(source_language: str, target_language: str) -> TestSentences:
    corpus = LineCorpus(source="unused", target="unused")
    sides = {"en": ENGLISH, "de": GERMAN}
    references = [[line, line.upper()] for line in sides[target_language]]
    return TestSentences(
        TestSet("both", corpus, "char", source_language, target_language), sides[source_language], references
    )


def test_each_direction_is_translated_with_its_languages_and_scored(folders: list[Path]) -> None:
    translator = load(folders[0])
    evaluations = []
    for source_language, target_language in (("en", "de"), ("de", "en")):
        asked = sentences(source_language, target_language)
        evaluation = evaluate_translation(translator, asked, beam_size=2)
        expected = translator.translate(list(asked.sources), from_=source_language, to=target_language, beam_size=2)
        assert list(evaluation.translations) == expected
        assert evaluation.scores == score_corpus(expected, asked.references, tokenize="char")
        assert not evaluation.comparisons
        assert sum(evaluation.warnings.values()) >= evaluation.num_warned
        evaluations.append(evaluation)
    means = mean_scores(evaluations)
    assert list(means) == ["BLEU", "chrF2", "TER"]
    assert means["chrF2"] == pytest.approx(sum(it.scores[1].value for it in evaluations) / 2)


def test_the_other_model_is_the_baseline(folders: list[Path]) -> None:
    system, baseline = (load(path) for path in folders)
    asked = sentences("en", "de")
    evaluation = evaluate_translation(system, asked, against=baseline)
    texts, others = (it.translate(ENGLISH, from_="en", to="de") for it in (system, baseline))
    assert texts != others
    assert evaluation.comparisons == compare_systems(others, texts, asked.references, tokenize="char")
    assert evaluation.scores == [comparison.system for comparison in evaluation.comparisons]
    assert list(evaluation.translations) == texts


def test_a_cell_of_the_grid_is_what_the_written_model_gets(folders: list[Path], tmp_path: Path) -> None:
    translator = load(folders[0])
    directions = [
        Direction("there", "en", "de", "char", ENGLISH, GERMAN),
        Direction("back", "de", "en", "char", GERMAN, ENGLISH),
    ]
    cells = list(score_grid(translator, directions, beams=[1, 3], length_penalties=[0.0, 2.0]))
    assert [(cell.beam_size, cell.length_penalty) for cell in cells] == [(1, 0.0), (1, 2.0), (3, 0.0), (3, 2.0)]
    assert cells[0].bleu_of == cells[1].bleu_of
    assert (translator.decoding.beam_size, translator.decoding.length_penalty) == (3, 0.6)  # as it was
    for number, cell in enumerate(cells):
        path = model_folder(tmp_path / str(number), 1)
        assert write_settings(path, cell, NO_CALIBRATION) == path
        assert load_model_folder(path, TranslatorDescription).description.decoding.extra_tokens == 4
        written = load(path)
        for it in directions:
            texts = written.translate(it.sources, from_=it.source_language, to=it.target_language)
            assert cell.bleu_of[it.title] == bleu(texts, it.references, tokenize="char")
    assert best_cell(cells, translator.decoding).bleu == pytest.approx(max(cell.bleu for cell in cells), abs=0.005)
