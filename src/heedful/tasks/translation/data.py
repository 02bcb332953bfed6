"""The data of a training run: its tokenizer, its batches, and the pairs it is judged on."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic import JsonValue

from heedful.config.data import Corpus, DataConfig
from heedful.config.translation import TranslationRun
from heedful.data.fertilities import FertilityStream, prepare_fertilities
from heedful.data.file_identity import FileIdentities
from heedful.data.readers import read_pairs
from heedful.data.shard_stream import ShardStream
from heedful.data.store import SubwordDropout, prepare_store
from heedful.data.stream import BatchStream
from heedful.errors import DataError, UserError, count_of
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import load_model_folder
from heedful.tasks.folder_tokenizers import translation_tokenizer
from heedful.tasks.run_folder import TOKENIZER, Say, has_begun
from heedful.tasks.translation.learned_text import learned_text
from heedful.tasks.translation.sharded_data import is_sharded, pairs_to_learn_from, prepare_shards
from heedful.tasks.translation.validate import ValidationPair
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer

_NUM_LOOKED_AT = 1000
"""Pairs of each corpus that say whether its lines are sentences or paragraphs."""


@dataclass(frozen=True)
class TrainingData:
    """Everything a run reads."""

    tokenizer: Tokenizer
    stream: BatchStream | FertilityStream | ShardStream
    num_pairs: int
    """Of shards those that were prepared when the run began."""

    validation: list[ValidationPair]
    learned_text: dict[str, JsonValue]
    """What the training text is like, as learned_text.py says it."""


def prepare_data(config: TranslationRun, folder: Path, *, identities: FileIdentities, say: Say) -> TrainingData:
    """Read, tokenise and batch what the run in `folder` needs; every fault of the data shows here."""
    validation = read_validation(config.data)
    tokenizer = find_tokenizer(config, folder, say)
    if is_sharded(config.data):
        shards = prepare_shards(config, tokenizer, say)
        found = learned_text(tokenizer, _first_sources(config.data))
        return TrainingData(tokenizer, shards, shards.num_pairs, validation, found)
    rate = config.tokenizer.dropout
    dropout = SubwordDropout(rate, config.seed) if rate else None
    store = prepare_store(config.data, tokenizer, dropout=dropout, seed=config.seed, identities=identities, say=say)
    say(store.report.sentence())
    plain = BatchStream(
        store,
        batch_tokens=config.training.batch_tokens,
        seed=config.seed,
        bos_id=tokenizer.bos_id,
        pad_id=tokenizer.pad_id,
        weights=corpus_weights(config.data, [report.num_kept for report in store.reports]),
        max_tokens=config.data.filters.max_tokens,
    )
    stream = FertilityStream(plain, prepare_fertilities(store, say=say)) if config.model.kind == "fertility" else plain
    say(f"An epoch has {stream.num_batches(0):,} batches; validation is on {count_of(len(validation), 'pair')}.")
    made = config.data.augmentation
    num_before = made.context_sentences if made.context else 0
    found = learned_text(tokenizer, _first_sources(config.data), context_sentences=num_before)
    return TrainingData(tokenizer, stream, len(store), validation, found)


def _first_sources(data: DataConfig) -> list[str]:
    """Return the sources of the first pairs of each corpus: enough to know what kind of text it is."""
    return [pair.source for corpus in data.train for pair in islice(read_pairs(corpus), _NUM_LOOKED_AT)]


def corpus_weights(data: DataConfig, sizes: Sequence[int]) -> list[float]:
    """Return how often a pair of each training corpus occurs in an epoch, `sizes` being their numbers of pairs.

    The largest register of each direction keeps the weights of the config, `data.register_temperature` repeats the
    pairs of the others. Of the directions then the largest stays as it is, `data.temperature` repeats the others.
    """
    directions = [direction_of(corpus, data) for corpus in data.train]
    weights = [corpus.weight for corpus in data.train]
    for direction in dict.fromkeys(directions):
        places = [place for place, one in enumerate(directions) if one == direction]
        registers = [data.train[place].in_register for place in places]
        own = _evened(
            [weights[it] for it in places], [sizes[it] for it in places], registers, data.register_temperature
        )
        for place, weight in zip(places, own, strict=True):
            weights[place] = weight
    return _evened(weights, sizes, directions, data.temperature)


def _evened(
    weights: Sequence[float], sizes: Sequence[int], groups: Sequence[Hashable], temperature: float
) -> list[float]:
    """Return weights with which a group of n pairs is drawn as if it had n^(1/temperature) of the largest group's."""
    if temperature == 1:
        return list(weights)
    pairs: dict[Hashable, float] = defaultdict(float)
    for group, weight, size in zip(groups, weights, sizes, strict=True):
        pairs[group] += weight * size
    largest = max(pairs.values())
    exponent = 1 / temperature - 1
    return [
        weight * (max(pairs[group], 1.0) / largest) ** exponent for group, weight in zip(groups, weights, strict=True)
    ]


def direction_of(corpus: Corpus, data: DataConfig) -> tuple[str, str]:
    """Return source and target language of a corpus."""
    return corpus.source_language or data.source_language, language_of(corpus, data)


def target_languages(data: DataConfig) -> list[str]:
    """Return the codes that need a tag: none when there is one target language and no register to ask for with it."""
    languages = sorted({language_of(corpus, data) for corpus in data.train})
    return languages if len(languages) > 1 or registers_of(data) else []


def registers_of(data: DataConfig) -> list[tuple[str, str]]:
    """Return each register together with a target language in which there is text of it."""
    found = {(corpus.in_register, language_of(corpus, data)) for corpus in data.train if corpus.in_register is not None}
    return sorted(found)


def language_of(corpus: Corpus, data: DataConfig) -> str:
    """Return the target language of a corpus."""
    return corpus.target_language or data.target_language


def read_validation(data: DataConfig) -> list[ValidationPair]:
    """Read the pairs a run is judged on; a pair with an empty side says nothing and is passed over."""
    pairs = [
        ValidationPair(pair.source, pair.target, *direction_of(corpus, data))
        for corpus in data.validation
        for pair in read_pairs(corpus)
        if pair.source.strip() and pair.target.strip()
    ]
    if not pairs:
        raise DataError("`data.validation` must have at least one pair with text on both sides, but has none.")
    return pairs


def find_tokenizer(config: TranslationRun, folder: Path, say: Say) -> Tokenizer:
    """Return the tokenizer of a run: the one it began with, that of the model it starts from, or a new one."""
    if has_begun(folder):
        return Tokenizer.from_json((folder / TOKENIZER).read_text(encoding="utf-8"))
    return new_tokenizer(config, say)


def new_tokenizer(config: TranslationRun, say: Say) -> Tokenizer:
    """Return what a run that has not begun will begin with."""
    if config.training.init_from is not None:
        given = find_model_folder(config.training.init_from)
        say(f"Taking the tokenizer and the first weights from {given}.")
        tokenizer = translation_tokenizer(load_model_folder(given, TranslatorDescription))
        _check_registers(config.data, tokenizer, f"The model {given}")
        return tokenizer
    if config.tokenizer.take_from is not None:
        return _taken_tokenizer(config, Path(config.tokenizer.take_from), say)
    tokenizer = learn_tokenizer(
        config.tokenizer,
        (pair.source for corpus in config.data.train for pair in pairs_to_learn_from(corpus)),
        (pair.target for corpus in config.data.train for pair in pairs_to_learn_from(corpus)),
        target_languages(config.data),
        registers=registers_of(config.data),
        simplify_chinese=any(corpus.simplify_chinese for corpus in config.data.train),
    )
    say(f"Learned {count_of(tokenizer.source_vocab_size, 'piece')} from the training corpora.")
    return tokenizer


def _check_registers(data: DataConfig, tokenizer: Tokenizer, name: str) -> None:
    for register, language in registers_of(data):
        if language not in tokenizer.register_ids.get(register, {}):
            raise UserError(
                f'{name} must know the register "{register}" for "{language}", but knows '
                f"{', '.join(tokenizer.registers) or 'no registers'}. Leave `in_register` out, or learn a tokenizer."
            )


def _taken_tokenizer(config: TranslationRun, given: Path, say: Say) -> Tokenizer:
    """Return a tokenizer that exists: that of a model or run, or a file by itself."""
    path = given if given.is_file() else find_model_folder(given) / TOKENIZER
    say(f"Taking the tokenizer {path}.")
    tokenizer = Tokenizer.from_json(path.read_text(encoding="utf-8"))
    _check_registers(config.data, tokenizer, f"The tokenizer {path}")
    untold = [language for language in target_languages(config.data) if language not in tokenizer.languages]
    if untold:
        raise UserError(
            f'The tokenizer {path} must know the target language "{untold[0]}", but knows '
            f"{', '.join(tokenizer.languages) or 'none'}. Learn one from all corpora: leave `tokenizer.take_from` out."
        )
    return tokenizer
