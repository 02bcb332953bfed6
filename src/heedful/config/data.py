"""Where the text comes from: corpora, their weights, and what is filtered out of them."""

from typing import Annotated, Literal

from pydantic import Field

from heedful.config.section import Section


class CorpusSettings(Section):
    """What every kind of corpus may say about itself."""

    weight: float = Field(default=1.0, gt=0)
    """How often a pair of this corpus is drawn relative to a pair of weight 1: 2 repeats it, 0.5 takes every other."""

    source_language: str | None = None
    """Overrides `data.source_language` for this corpus."""

    target_language: str | None = None
    """Overrides `data.target_language` for this corpus."""

    in_register: str | None = Field(default=None, pattern="^[a-z][a-z_]{0,30}$")
    """The kind of language this corpus is written in, such as "everyday", "formal" or "technical": it can be asked for
    when the model is used (`heedful translate --register`)."""

    simplify_chinese: bool = False
    """Turn traditional Chinese characters into simplified ones, on both sides, with OpenCC (`heedful[chinese]`)."""


class LineCorpus(CorpusSettings):
    """Two files, aligned line by line. Names may end in .gz, .xz or .zst."""

    kind: Literal["lines"] = "lines"
    source: str
    """File with the source sentences, one a line."""

    target: str
    """File with their translations, line i for line i."""


class TsvCorpus(CorpusSettings):
    """One file with tab-separated columns."""

    kind: Literal["tsv"]
    path: str
    """File with one pair a line."""

    source_column: int = Field(default=0, ge=0)
    """Column of the source sentence, from 0."""

    target_column: int = Field(default=1, ge=0)
    """Column of the target sentence, from 0."""


class JsonlCorpus(CorpusSettings):
    """One file with one JSON object a line."""

    kind: Literal["jsonl"]
    path: str
    """File with one object a line."""

    source_key: str = "source"
    """Key of the source sentence."""

    target_key: str = "target"
    """Key of the target sentence."""


class ShardCorpus(CorpusSettings):
    """Many files, here or elsewhere, that need not fit into memory or on the disk: read shard by shard.

    With one of these in `data.train` the batches of a few shards at a time are drawn, in an order that follows from the
    seed. Duplicates are looked for within a shard, and `weight` repeats or leaves out whole shards.
    """

    kind: Literal["shards"]
    path: str
    """A pattern ("corpus/*.parquet"), a folder, or an address ("s3://…", "hf://datasets/…", "https://…"). Names may end
    in .gz, .xz or .zst."""

    format: Literal["tsv", "jsonl", "parquet", "arrow"] | None = None
    """What the files hold; by default what their names say."""

    source_column: int | str = 0
    """Column of the source sentence, by its name or from 0; "translation.en" is a field of a column."""

    target_column: int | str = 1
    """Column of the target sentence."""

    keep_tokens: bool = True
    """Keep the tokens of a shard in the cache for the next epoch; otherwise they are made anew each time."""


Corpus = Annotated[LineCorpus | TsvCorpus | JsonlCorpus | ShardCorpus, Field(discriminator="kind")]


class FilterConfig(Section):
    """Which training pairs are left out. What is left out is counted and said."""

    max_tokens: int = Field(default=256, ge=1)
    """Longest side of a pair in tokens; longer training pairs are left out."""

    max_ratio: float | None = Field(default=None, gt=1)
    """Largest ratio between the token counts of the two sides."""

    drop_duplicates: bool = False
    """Leave out a pair that has occurred before."""


class AugmentationConfig(Section):
    """Pairs made of those of each training corpus, and learned beside them.

    A number is a share of the corpus: 0.1 makes a pair more of every ten. What cannot be made of a pair is not made.
    """

    joined: float = Field(default=0.0, ge=0, le=1)
    """Paragraphs: two to six pairs drawn from neighbouring lines of the file, one after the other."""

    context: float = Field(default=0.0, ge=0, le=1)
    """Pairs whose source is read after the lines before it, which say who "she" is; the target is that of the last
    line alone. For corpora whose lines follow each other; a blank line ends what belongs together. A model that was
    trained so is given the sentences before wherever it is used."""

    context_sentences: int = Field(default=1, ge=1, le=8)
    """How many lines before at most; from 1 to so many are drawn."""

    copies: float = Field(default=0.0, ge=0, le=1)
    """Parts that stay the same on both sides: numbers, dates, units, addresses, placeholders, tags, code, emoji, names;
    in place of a name or number that both sides have, or beside the text."""

    capitals: float = Field(default=0.0, ge=0, le=1)
    """ALL CAPITALS on both sides."""

    no_full_stop: float = Field(default=0.0, ge=0, le=1)
    """Without the full stop that ends both sides."""

    typing_errors: float = Field(default=0.0, ge=0, le=1)
    """Typing errors in the source alone; not in scripts that are not typed letter by letter."""


class NoDistillation(Section):
    """Targets are those of the training corpora."""

    kind: Literal["none"] = "none"


class TeacherDistillation(Section):
    """Targets are a teacher's translations of the training sources (Kim and Rush, 2016).

    `heedful train` trains the teacher first where that is not done, and has it translate; stopped at any stage, the
    same command goes on.
    """

    kind: Literal["teacher"]
    teacher: str
    """The TOML file of the run that is the teacher; or its run or model folder, when it is trained."""

    beam_size: int = Field(default=5, ge=1, le=256)
    """Hypotheses the teacher keeps per sentence."""


Distillation = Annotated[NoDistillation | TeacherDistillation, Field(discriminator="kind")]


class DataConfig(Section):
    """The corpora of a run. A leading `data/` in a path stands for the folder HEEDFUL_DATA, when that is set."""

    source_language: str = "source"
    """Code of the language translated from, such as "en"."""

    target_language: str = "target"
    """Code of the language translated into, such as "de"."""

    train: list[Corpus] = Field(min_length=1)
    """Corpora to learn from."""

    validation: list[Corpus] = Field(min_length=1)
    """Corpora on which progress is measured and checkpoints are chosen."""

    test: dict[str, Corpus] = Field(default_factory=dict)
    """Named corpora for `heedful evaluate --split NAME`; never seen in training."""

    filters: FilterConfig = FilterConfig()
    """Which training pairs are left out."""

    bidirectional: bool = False
    """Learn both ways: every corpus counts once more with its sides exchanged, and the target language is told."""

    temperature: float = Field(default=1.0, ge=1)
    """Evens out directions of unequal size: n pairs are drawn as if they were n^(1/temperature); 1 changes nothing."""

    register_temperature: float = Field(default=1.0, ge=1)
    """The same for the registers within each direction (`in_register` of the corpora), before the directions."""

    register_rate: float = Field(default=0.5, gt=0, le=1)
    """How often the register of a pair is told, where its corpus has one. It is left open in the other cases, so that
    a model can be used both ways."""

    augmentation: AugmentationConfig = AugmentationConfig()
    """Pairs that are made of others."""

    distillation: Distillation = NoDistillation()
    """Whose translations are learned from."""


def both_ways(data: DataConfig) -> DataConfig:
    """Return the same data with the exchanged corpora written out, so that nobody else need know of `bidirectional`."""
    if not data.bidirectional:
        return data
    train = [*data.train, *(_exchanged(corpus, data) for corpus in data.train)]
    validation = [*data.validation, *(_exchanged(corpus, data) for corpus in data.validation)]
    test = data.test | {f"{name}_reversed": _exchanged(corpus, data) for name, corpus in data.test.items()}
    return data.model_copy(update={"train": train, "validation": validation, "test": test, "bidirectional": False})


def _exchanged(corpus: Corpus, data: DataConfig) -> Corpus:
    """Return a corpus with source and target in each other's place."""
    languages = {
        "source_language": corpus.target_language or data.target_language,
        "target_language": corpus.source_language or data.source_language,
    }
    match corpus:
        case LineCorpus():
            sides: dict[str, object] = {"source": corpus.target, "target": corpus.source}
        case TsvCorpus() | ShardCorpus():
            sides = {"source_column": corpus.target_column, "target_column": corpus.source_column}
        case JsonlCorpus():
            sides = {"source_key": corpus.target_key, "target_key": corpus.source_key}
    return corpus.model_copy(update={**sides, **languages})


class TokenizerConfig(Section):
    """How text becomes tokens. The tokenizer is learned from the training corpora."""

    kind: Literal["bpe", "unigram"] = "bpe"
    """Merges of frequent pairs (Sennrich et al., 2016), or a unigram language model over pieces (Kudo, 2018)."""

    vocab_size: int = Field(default=8000, ge=300)
    """Pieces in a vocabulary, the special symbols and the 256 bytes included."""

    shared: bool = True
    """One vocabulary for both languages (needed for three-way tying), or one for each."""

    normalization: Literal["nfkc", "nfkc_casefold", "nfc", "none"] = "nfkc"
    """Unicode normalisation before anything else. For Chinese take "nfc": "nfkc" turns ，？！ into ASCII. With
    "nfkc_casefold" capital and small letters are the same, for labels that do not depend on them."""

    character_coverage: float = Field(default=0.9995, gt=0, le=1)
    """Share of the text whose characters get pieces; others are written as bytes. With some Chinese, take 0.99999."""

    take_from: str | None = None
    """Take the tokenizer of this model or run folder, of "bundled", or this tokenizer.json, instead of learning one."""

    dropout: float = Field(default=0.0, ge=0, lt=1)
    """BPE-dropout (Provilkov et al., 2020): how often a merge is skipped in training. Only for `kind = "bpe"`."""
