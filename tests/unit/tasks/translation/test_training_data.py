from pathlib import Path

import pytest

from heedful.config.load import parse_config
from heedful.config.translation import TranslationRun
from heedful.errors import UserError
from heedful.storage.model_folder import save_model_folder
from heedful.tasks.translation.data import corpus_weights, find_tokenizer
from tests.support.tiny_models import make_model


def config_with(**settings: str) -> TranslationRun:
    overrides = [f"{name.replace('__', '.')}={value}" for name, value in settings.items()]
    return parse_config(
        """
        name = "x"
        [data]
        source_language = "en"
        target_language = "de"
        train = [
            { source = "a", target = "b" },
            { source = "c", target = "d", target_language = "zh" },
            { source = "e", target = "f", target_language = "zh", weight = 0.5 },
        ]
        validation = [{ source = "v", target = "w" }]
        """,
        overrides,
    )


def test_without_a_temperature_the_weights_are_those_of_the_config() -> None:
    assert corpus_weights(config_with().data, [1000, 10, 20]) == [1.0, 1.0, 0.5]


def test_a_temperature_draws_a_small_direction_as_if_it_were_larger() -> None:
    # Chinese has 10 + 20 / 2 = 20 pairs of 2,000; at temperature 2 it is drawn as sqrt(20 / 2,000) of the largest.
    weights = corpus_weights(config_with(data__temperature="2").data, [2000, 10, 20])
    assert weights[0] == 1.0
    assert weights[1] == pytest.approx(10.0)
    assert weights[2] == pytest.approx(5.0)
    assert (weights[1] * 10 + weights[2] * 20) / 2000 == pytest.approx((20 / 2000) ** 0.5)


def test_a_temperature_between_registers_is_within_each_direction() -> None:
    config = config_with(data__register_temperature="2").data
    train = [
        corpus.model_copy(update={"in_register": name, "target_language": "zh"})
        for corpus, name in zip(config.train, ("formal", "everyday", "everyday"), strict=True)
    ]
    other = config.train[0].model_copy(update={"in_register": "formal"})
    data = config.model_copy(update={"train": [*train, other]})
    weights = corpus_weights(data, [2000, 10, 20, 5])
    assert weights == pytest.approx([1.0, 10.0, 5.0, 1.0])
    # Then the directions: into German there are 5 pairs of 2,200.
    evened = corpus_weights(data.model_copy(update={"temperature": 2}), [2000, 10, 20, 5])
    assert evened == pytest.approx([1.0, 10.0, 5.0, (2200 / 5) ** 0.5])


def test_a_tokenizer_without_a_register_is_refused(tmp_path: Path) -> None:
    save_model_folder(tmp_path / "model", make_model(languages=("de", "zh")))
    config = config_with(tokenizer__take_from=str(tmp_path / "model"))
    train = [config.data.train[0].model_copy(update={"in_register": "formal"}), *config.data.train[1:]]
    config = config.model_copy(update={"data": config.data.model_copy(update={"train": train})})
    with pytest.raises(UserError, match='must know the register "formal" for "de", but knows no registers'):
        find_tokenizer(config, tmp_path / "no run", lambda _: None)


def test_a_tokenizer_that_exists_is_taken_from_a_folder_or_a_file(tmp_path: Path) -> None:
    folder = make_model(languages=("de", "zh"))
    save_model_folder(tmp_path / "model", folder)
    said: list[str] = []
    for given in (tmp_path / "model", tmp_path / "model" / "tokenizer.json"):
        tokenizer = find_tokenizer(config_with(tokenizer__take_from=str(given)), tmp_path / "no run", said.append)
        assert tokenizer.to_json() == folder.tokenizer_json
    assert said[0] == f"Taking the tokenizer {tmp_path / 'model' / 'tokenizer.json'}."


def test_a_tokenizer_without_the_tag_of_a_language_is_refused(tmp_path: Path) -> None:
    save_model_folder(tmp_path / "model", make_model(languages=("de", "en")))
    config = config_with(tokenizer__take_from=str(tmp_path / "model"))
    with pytest.raises(UserError, match='must know the target language "zh", but knows de, en'):
        find_tokenizer(config, tmp_path / "no run", lambda _: None)
