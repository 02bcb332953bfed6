"""The whole description of a translation run: one TOML file, one `TranslationRun`."""

from typing import Literal, Self

from pydantic import model_validator

from heedful.config.data import DataConfig, TokenizerConfig
from heedful.config.models import ModelConfig, TransformerConfig
from heedful.config.section import RunSection
from heedful.config.training import DecodingConfig, TrainingConfig, ValidationConfig


class TranslationRun(RunSection):
    """Everything that decides the result of a run that learns to translate, the machine apart."""

    task: Literal["translation"] = "translation"
    """What the model is for."""

    data: DataConfig
    """Corpora and filters."""

    tokenizer: TokenizerConfig = TokenizerConfig()
    """How text becomes tokens."""

    model: ModelConfig = TransformerConfig()
    """Shape of the model; `preset = "transformer_tiny"` fills in what is not said."""

    training: TrainingConfig = TrainingConfig()
    """The loop."""

    validation: ValidationConfig = ValidationConfig()
    """When and how progress is measured."""

    decoding: DecodingConfig = DecodingConfig()
    """How translations are searched for."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        if self.model.tying == "three_way" and not self.tokenizer.shared:
            raise ValueError(
                '`model.tying` must be "two_way" or "none" when `tokenizer.shared` is false, but is "three_way".'
            )
        if self.tokenizer.dropout and self.tokenizer.kind != "bpe":
            raise ValueError(
                '`tokenizer.dropout` must be 0 when `tokenizer.kind` is "unigram": there are no merges to skip.'
            )
        self._check_regularizer()
        return self

    def _check_regularizer(self) -> None:
        kind, model = self.training.regularizer.kind, self.model.kind
        own = {"ctc": "glancing", "fertility": "teacher"}
        if model in own and kind not in ("none", own[model]):
            raise ValueError(
                f'`training.regularizer.kind` must be "none" or "{own[model]}" for a {self.model.family}, '
                f'but is "{kind}".'
            )
        for needed, regularizer in own.items():
            if kind == regularizer and model != needed:
                raise ValueError(f'`training.regularizer.kind` may be "{kind}" only with `model.kind = "{needed}"`.')
        if model == "fertility" and self.tokenizer.dropout:
            raise ValueError(
                "`tokenizer.dropout` must be 0 for a fertility model: fertilities belong to tokens that stay the same."
            )
