"""Learning a tokenizer from text: which pieces a vocabulary has.

The layout of a learned vocabulary is fixed: padding, start, end, unknown, then the language tags, then the 256 bytes,
then the learned pieces. The same text gives the same tokenizer, whatever the machine and the number of cores. This
file knows nothing of files or corpora: lines come as iterables.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tokenizers import Tokenizer as Segmenter
from tokenizers import models, pre_tokenizers, trainers

from heedful.config.data import TokenizerConfig
from heedful.errors import UserError
from heedful.text.chinese import learn_character_table
from heedful.text.normalization import Normalization, Simplified, named_normalization, normalize
from heedful.text.subwords import Merges, Scores, Splitting, Subwords, is_ordinary, mark, word_splitter
from heedful.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, UNK_ID, SpecialIds, Tokenizer
from heedful.text.unigram_learning import learn_unigram
from heedful.text.words import SPACE_MARK

_SPECIAL_NAMES = ("<pad>", "<s>", "</s>", "<unk>")
_BYTE_NAMES = tuple(f"<0x{byte:02X}>" for byte in range(256))
_SPLITTING: Splitting = "words"

_LONGEST_PIECE = 32

_BETWEEN_WORDS = "\U0010ffff"
"""A noncharacter that normalised text does not hold (normalization.py)."""

_REPEATS_AT_ONCE = 1000


def learn_tokenizer(
    config: TokenizerConfig,
    source_lines: Iterable[str],
    target_lines: Iterable[str],
    languages: Sequence[str] = (),
    *,
    registers: Sequence[tuple[str, str]] = (),
    simplify_chinese: bool = False,
) -> Tokenizer:
    """Learn the pieces of one vocabulary, or of two, and return the tokenizer.

    `languages` are the codes of the target languages when there are several; each gets a tag `<2de>` in the source
    vocabulary. `registers` are a register and a language each, which get a tag `<2de:formal>`. With `simplify_chinese`
    the tokenizer reads traditional characters as the simplified ones it was taught. A text too small for `vocab_size`
    gives a smaller vocabulary.
    """
    normalization: Normalization = named_normalization(config.normalization)
    if simplify_chinese:
        normalization = Simplified(named_normalization(config.normalization), learn_character_table())
    tags = [*(f"<2{language}>" for language in languages), *(f"<2{code}:{register}>" for register, code in registers)]
    if config.shared:
        source = target = _learn_side(config, chain(source_lines, target_lines), normalization, tags)
    else:
        source = _learn_side(config, source_lines, normalization, tags)
        target = _learn_side(config, target_lines, normalization, [])
    return Tokenizer(
        source=source,
        target=target,
        normalization=normalization,
        special_ids=SpecialIds(pad=PAD_ID, bos=BOS_ID, eos=EOS_ID, unk=UNK_ID),
        language_ids={language: len(_SPECIAL_NAMES) + index for index, language in enumerate(languages)},
        register_ids=_register_ids(registers, len(_SPECIAL_NAMES) + len(languages)),
    )


def _register_ids(registers: Sequence[tuple[str, str]], first: int) -> dict[str, dict[str, int]]:
    ids: dict[str, dict[str, int]] = {}
    for index, (register, language) in enumerate(registers, first):
        ids.setdefault(register, {})[language] = index
    return ids


def _learn_side(
    config: TokenizerConfig, lines: Iterable[str], normalization: Normalization, tags: Sequence[str]
) -> Subwords:
    names = [*_SPECIAL_NAMES, *tags, *_BYTE_NAMES]
    room = config.vocab_size - len(names)
    if room < 1:
        raise UserError(f"`tokenizer.vocab_size` must be above {len(names)}, but is {config.vocab_size}.")
    counts = _count_words(lines, normalization)
    alphabet = _alphabet(counts, room, config.character_coverage)
    counts = _within_alphabet(counts, alphabet)
    learn = _learn_merges if config.kind == "bpe" else _learn_scores
    pieces, segmentation = learn(counts, alphabet, room)
    num_reserved = len(_SPECIAL_NAMES) + len(tags)
    return Subwords(
        [*names, *pieces],
        unk_id=UNK_ID,
        reserved_ids=range(num_reserved),
        byte_ids=range(num_reserved, len(names)),
        segmentation=segmentation,
        splitting=_SPLITTING,
    )


def _count_words(lines: Iterable[str], normalization: Normalization) -> dict[str, int]:
    """Count the words of the text, in the order of the alphabet so that nothing after this depends on anything else."""
    splitter = word_splitter(_SPLITTING)
    counts: Counter[str] = Counter()
    for line in lines:
        if marked := mark(normalize(line, normalization)):
            counts.update([word for word, _ in splitter.pre_tokenize_str(marked)])
    return dict(sorted(counts.items()))


def _alphabet(counts: dict[str, int], room: int, coverage: float) -> set[str]:
    """Return the most frequent characters: enough to cover the text, and leaving half of the room for longer pieces."""
    frequencies: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            frequencies[character] += count
    total = sum(frequencies.values())
    ranked = sorted(frequencies.items(), key=lambda item: (-item[1], item[0]))
    alphabet = {SPACE_MARK}
    covered = frequencies[SPACE_MARK]
    for character, frequency in ranked:
        if covered >= coverage * total or len(alphabet) >= max(room // 2, 1):
            break
        if character != SPACE_MARK and is_ordinary(character):
            alphabet.add(character)
            covered += frequency
    return alphabet


def _within_alphabet(counts: dict[str, int], alphabet: set[str]) -> dict[str, int]:
    """Cut words at the characters that have no piece: nothing is learned across them."""
    fragments: Counter[str] = Counter()
    for word, count in counts.items():
        if alphabet.issuperset(word):
            fragments[word] += count
            continue
        spaced = "".join(character if character in alphabet else " " for character in word)
        for fragment in spaced.split():
            fragments[fragment] += count
    return dict(sorted(fragments.items()))


def _learn_merges(counts: dict[str, int], alphabet: set[str], room: int) -> tuple[list[str], Merges]:
    segmenter = Segmenter(models.BPE())
    segmenter.pre_tokenizer = pre_tokenizers.Split(_BETWEEN_WORDS, "removed")
    trainer = trainers.BpeTrainer(
        vocab_size=room,
        min_frequency=2,
        max_token_length=_LONGEST_PIECE,
        show_progress=False,
        initial_alphabet=sorted(alphabet),
    )
    segmenter.train_from_iterator(_repeated(counts), trainer)
    merges = json.loads(segmenter.to_str())["model"]["merges"]
    vocabulary = segmenter.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__), Merges(tuple((left, right) for left, right in merges))


def _learn_scores(counts: dict[str, int], alphabet: set[str], room: int) -> tuple[list[str], Scores]:
    scores = learn_unigram(counts, sorted(alphabet), room)
    return [piece for piece, _ in scores], Scores(tuple(scores))


def _repeated(counts: dict[str, int]) -> Iterator[str]:
    """Write each word as often as it occurs: the trainer counts for itself."""
    for word, count in counts.items():
        for start in range(0, count, _REPEATS_AT_ONCE):
            yield (word + _BETWEEN_WORDS) * min(count - start, _REPEATS_AT_ONCE)
