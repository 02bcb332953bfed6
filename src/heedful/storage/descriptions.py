"""What config.json of a model folder says, for each task: everything of a model but its weights and its tokenizer.

A description builds the model it describes, still empty, and knows how its kind of model is spoken of. What all of them
have in common is `Description`; a new task is one more class here. Knows no files.
"""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator
from torch import nn

from heedful.config.classification import AnyClassifier, RecurrentClassifierConfig, TransformerLayer
from heedful.config.language_modeling import AnyLanguageModel
from heedful.config.models import MAX_LENGTH, Length, ModelConfig
from heedful.config.section import Section
from heedful.config.training import DecodingConfig
from heedful.models.build import TextReader, construct_classifier, construct_language_model, construct_model
from heedful.models.classifier import ClassifierModel
from heedful.models.interfaces import EncoderDecoder
from heedful.storage.folder_files import SpecialIds, VocabSize


class Description(Section):
    """What is known of every model."""

    holder: ClassVar[str]
    """What such a model is called, with its article."""

    verb: ClassVar[str]
    """The command that uses it."""

    newest: ClassVar[int] = 1
    """The last version of config.json that is understood."""

    format: Literal["heedful-model"] = "heedful-model"
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    """Where the model comes from and how good it is: for people, not needed to run it."""

    def build_empty(self) -> nn.Module:
        """Build the model, its weights still to be filled in."""
        raise NotImplementedError

    @property
    def num_layers(self) -> int:
        """Layers that have weights of their own."""
        raise NotImplementedError

    def changed(self, **fields: Any) -> Self:
        """Return a description that is another in some fields, checked like every other."""
        return type(self).model_validate({**dict(self), **fields})


class TranslatorDescription(Description):
    """A model that translates."""

    holder: ClassVar[str] = "a translator"
    verb: ClassVar[str] = "translate"
    newest: ClassVar[int] = 2

    version: Literal[1, 2] = 2
    """Version 2 says which language is translated into which."""

    task: Literal["translation"] = "translation"
    source_language: str
    target_language: str
    languages: tuple[str, ...] = ()
    """Target languages that can be asked for; empty when there is only one."""

    directions: tuple[tuple[str, str], ...] = ()
    """Which language the model was trained to translate into which; empty when its maker did not say."""

    source_vocab_size: VocabSize
    target_vocab_size: VocabSize
    special_ids: SpecialIds
    model: ModelConfig
    decoding: DecodingConfig = DecodingConfig()

    @model_validator(mode="after")
    def _vocabularies_fit(self) -> Self:
        if self.model.tying == "three_way" and self.source_vocab_size != self.target_vocab_size:
            raise ValueError(
                "the vocabularies must have one size, because source and target share a matrix, "
                f"but have {self.source_vocab_size:,} and {self.target_vocab_size:,}"
            )
        _check_special_ids(self.special_ids, min(self.source_vocab_size, self.target_vocab_size))
        return self

    def build_empty(self) -> EncoderDecoder:
        """Build the model, its weights still to be filled in."""
        return construct_model(
            self.model,
            source_vocab_size=self.source_vocab_size,
            target_vocab_size=self.target_vocab_size,
            pad_id=self.special_ids.pad,
        )

    @property
    def num_layers(self) -> int:
        """Those of encoder and decoder."""
        return self.model.depth


class ClassifierDescription(Description):
    """A model that labels texts."""

    holder: ClassVar[str] = "a classifier"
    verb: ClassVar[str] = "classify"

    version: Literal[1] = 1
    task: Literal["classification"] = "classification"
    labels: tuple[str, ...] = Field(min_length=2)
    """What can be said of a text; label number i is the i-th logit."""

    vocab_size: VocabSize
    special_ids: SpecialIds
    model: AnyClassifier

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("labels must be different from one another")
        _check_special_ids(self.special_ids, self.vocab_size)
        return self

    def build_empty(self) -> ClassifierModel:
        """Build the model, its weights still to be filled in."""
        return construct_classifier(
            self.model, vocab_size=self.vocab_size, num_labels=len(self.labels), pad_id=self.special_ids.pad
        )

    @property
    def num_layers(self) -> int:
        """None where they are bare attention, which may have no weights at all."""
        has_weights = isinstance(self.model, RecurrentClassifierConfig) or isinstance(
            self.model.layer, TransformerLayer
        )
        return self.model.num_layers if has_weights else 0


class LanguageModelDescription(Description):
    """A model that continues texts; what a symbol is stands in tokenizer.json."""

    holder: ClassVar[str] = "a language model"
    verb: ClassVar[str] = "generate"

    version: Literal[1] = 1
    task: Literal["language_modeling"] = "language_modeling"
    vocab_size: VocabSize
    segment_len: Length
    """Symbols that were read at once in training."""

    memory_len: int = Field(ge=0, le=MAX_LENGTH)
    """Positions that were remembered in training."""

    model: AnyLanguageModel

    def build_empty(self) -> TextReader:
        """Build the model, its weights still to be filled in."""
        return construct_language_model(self.model, vocab_size=self.vocab_size)

    @property
    def num_layers(self) -> int:
        """Those of its only stack."""
        return self.model.num_layers


def _check_special_ids(special_ids: SpecialIds, vocab_size: int) -> None:
    """Refuse symbols that a vocabulary does not have."""
    for name, number in special_ids.model_dump().items():
        if number >= vocab_size:
            raise ValueError(
                f"`special_ids.{name}` must be below {vocab_size:,}, the size of the vocabulary, but is {number:,}"
            )


DESCRIPTIONS: dict[str, type[Description]] = {
    "translation": TranslatorDescription,
    "classification": ClassifierDescription,
    "language_modeling": LanguageModelDescription,
}
"""By the task that config.json names."""
