"""What requests and answers look like, as LibreTranslate's clients know them, and the one shape of a refusal.

Pydantic models: they check what comes in, and they are what /docs shows. Knows nothing of how anything is done.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from heedful.insight.wire import camel_case
from heedful.serving.multipart import UploadedFile

MAX_TEXTS = 128
"""Of one request; how much text they may have together is for the server to say (limits.py)."""

MAX_BEAM = 16
MAX_ALTERNATIVES = 10
MAX_CANDIDATES = 32
"""That minimum Bayes risk may compare; each costs what a hypothesis of a beam costs."""

MAX_PREFIX = 1_000
MAX_GLOSSARY = 200
MAX_REGISTER = 32
MAX_WRITTEN_TOKENS = 2_000
MAX_CHOICES = 20
"""Symbols that could have been written, listed beside each that is."""


def _encodable(text: str) -> str:
    """Refuse half a character, which JSON can spell but nobody can write."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("must be Unicode text, but has a lone surrogate") from None
    return text


Text = Annotated[str, AfterValidator(_encodable)]
Code = Annotated[str, Field(max_length=16), AfterValidator(_encodable)]
ModelId = Annotated[str, Field(max_length=64), AfterValidator(_encodable)]
Key = Annotated[str, Field(max_length=256), AfterValidator(_encodable)]


Pair = Annotated[list[Annotated[Text, Field(min_length=1, max_length=200)]], Field(min_length=2, max_length=2)]


class Message(BaseModel):
    """What travels: its fields have Python's names here, and those of JSON outside."""

    model_config = ConfigDict(alias_generator=camel_case)


class WithKey(Message):
    """What every request may carry."""

    api_key: Key | None = Field(
        None,
        alias="api_key",
        description="The key, where the server asks for one; headers are the better place for it.",
    )


Terms = Annotated[
    list[Pair],
    Field(
        max_length=MAX_GLOSSARY, description="Pairs of a term and what it becomes; several of one term are a choice."
    ),
]


class WithTexts(WithKey):
    """A request for work on one or several texts; how long they may be together says the server."""

    name_of_texts: ClassVar[str] = "q"

    @property
    def texts(self) -> list[str]:
        """The texts, also where there is one."""
        given = getattr(self, self.name_of_texts)
        return [given] if isinstance(given, str) else given


class TranslateRequest(WithTexts):
    """What `POST /translate` takes."""

    q: Text | Annotated[list[Text], Field(max_length=MAX_TEXTS)] = Field(
        description="A text, or a list of texts. Line ends are kept."
    )
    source: Code = Field("auto", description="Language of the text; `auto` detects it.")
    target: Code = Field(description="Language wanted.")
    format: Literal["text", "html"] = Field("text", description="With `html`, markup is kept and moves with its words.")
    alternatives: int = Field(
        0,
        ge=0,
        le=MAX_ALTERNATIVES,
        description="Other translations wanted beside the best; as many as the beam or more widen it.",
    )
    model: ModelId | None = Field(None, description="Id of a model from `GET /api/models`; else the first that fits.")
    beam: int | None = Field(
        None, ge=1, le=MAX_BEAM, description="Hypotheses kept per sentence; 1 is greedy; else as the model says."
    )
    details: bool = Field(False, description="Also scores, tokens and warnings.")
    alignment: bool = Field(False, description="Also which words became which.")
    length_penalty: float | None = Field(None, ge=0, le=10, description="Above 0 favours longer translations.")
    prefix: Annotated[Text, Field(max_length=MAX_PREFIX)] = Field("", description="What each translation begins with.")
    sample: bool = Field(False, description="Draw the translation instead of searching the best.")
    temperature: float | None = Field(None, gt=0, le=10, description="Below 1 surer, above 1 bolder.")
    top_k: int | None = Field(None, ge=1, le=1_000, description="Draw from the likeliest only.")
    top_p: float | None = Field(None, gt=0, le=1, description="Draw from the fewest that have this probability.")
    seed: int | None = Field(None, ge=0, lt=2**32, description="The same seed gives the same translation; else 0.")
    diverse: int | None = Field(
        None, ge=2, le=MAX_ALTERNATIVES + 1, description="So many translations that differ, instead of `alternatives`."
    )
    mbr: int | None = Field(
        None, ge=2, le=MAX_CANDIDATES, description="Of so many candidates, or samples, what is most like all others."
    )
    glossary: Terms = Field([])
    in_register: Annotated[Text, Field(max_length=MAX_REGISTER)] | None = Field(
        None, alias="register", description="Kind of language, such as `formal`, where the model has learned any."
    )
    check: bool = Field(
        False, description="Also warnings, and more of them: the model is asked what it left out or added."
    )


def _uploaded(value: Any) -> UploadedFile:
    if not isinstance(value, UploadedFile):
        raise ValueError("must be a file of a multipart form")
    return value


class WithFile(WithKey):
    """A request that comes with a file, in a multipart form."""

    file: Annotated[UploadedFile, PlainValidator(_uploaded), WithJsonSchema({"type": "string", "format": "binary"})] = (
        Field(description="The file; its name ends in .docx, .odt, .epub, .html, .md, .txt, .srt, .vtt, .po, .xlf, …")
    )


class TranslateFileRequest(WithFile):
    """What `POST /translate_file` takes."""

    source: Code = Field("auto", description="Language of the file; `auto` detects it.")
    target: Code = Field(description="Language wanted.")


class StreamRequest(WithTexts):
    """What `POST /api/translate/stream` takes."""

    q: Text = Field(description="A text; it is translated sentence by sentence.")
    source: Code = "auto"
    target: Code
    model: ModelId | None = None
    beam: int | None = Field(None, ge=1, le=MAX_BEAM, description="With 1, every token is told as it is written.")
    glossary: Terms = Field([])


class DetectRequest(WithTexts):
    """What `POST /detect` takes."""

    q: Text | Annotated[list[Text], Field(max_length=MAX_TEXTS)] = Field(description="A text, or a list.")


class SuggestRequest(WithTexts):
    """What `POST /suggest` takes."""

    name_of_texts = "q + s"
    q: Text = Field(min_length=1, description="The text.")
    s: Text = Field(min_length=1, description="The better translation of it.")
    source: Code = Field(min_length=1, description="Language of the text.")
    target: Code = Field(min_length=1, description="Language of the translation.")

    @property
    def texts(self) -> list[str]:
        """The text and its translation."""
        return [self.q, self.s]


class ClassifyRequest(WithTexts):
    """What `POST /api/classify` takes."""

    q: Text | Annotated[list[Text], Field(max_length=MAX_TEXTS)] = Field(description="A text, or a list.")
    model: ModelId | None = None
    explain: bool = Field(False, description="Also how much each word moved the decision.")


class GenerateRequest(WithTexts):
    """What `POST /api/generate` takes."""

    name_of_texts = "prompt"
    prompt: Text = Field("", description="The beginning of the text.")
    model: ModelId | None = None
    max_tokens: int = Field(200, ge=1, le=MAX_WRITTEN_TOKENS, description="Symbols to write: bytes, or pieces.")
    temperature: float = Field(1.0, ge=0, le=10, description="Below 1 surer, above 1 bolder; 0: the likeliest.")
    top_k: int | None = Field(None, ge=1, le=1_000, description="Draw from the likeliest only.")
    top_p: float | None = Field(None, gt=0, le=1, description="Draw from the fewest that have this probability.")
    seed: int = Field(0, ge=0, lt=2**32, description="The same seed gives the same text.")
    top: int = Field(0, ge=0, le=MAX_CHOICES, description="Also so many of the likeliest at every symbol.")


class Failure(Message):
    """Every answer that is not the one asked for."""

    error: str


class DetectedLanguage(Message):
    """A language, and how sure the detection is, from 0 to 100."""

    language: str
    confidence: float


class TermPlace(Message):
    """A term of the glossary that a text has, and where its translation has what it becomes, by its characters."""

    source: str
    start: int
    end: int


class Details(Message):
    """What is known about the translation of one unit of a text: a sentence, or a part of a long one."""

    source: str
    text: str
    score: float | None
    tokens: list[str]
    token_log_probs: list[float | None]
    word_confidences: list[float] | None
    finish_reason: str
    warnings: list[dict[str, str]]
    terms: list[TermPlace]


class WordAlignment(Message):
    """Words by their characters, first and last (without it), and links: two numbers of words and a weight."""

    source_words: list[tuple[int, int]]
    target_words: list[tuple[int, int]]
    links: list[tuple[int, int, float]]


class TranslateAnswer(Message):
    """What `POST /translate` gives: for a list of texts, each field is a list."""

    translated_text: str | list[str]
    alternatives: list[str] | list[list[str]] | None = None
    detected_language: DetectedLanguage | list[DetectedLanguage] | None = None
    details: list[Details] | list[list[Details]] | None = None
    warnings: list[dict[str, str]] | list[list[dict[str, str]]] | None = None
    alignment: WordAlignment | list[WordAlignment] | None = None


class TranslatedFile(Message):
    """What `POST /translate_file` gives."""

    translated_file_url: str


class Success(Message):
    """What `POST /suggest` gives."""

    success: bool


class LanguageName(Message):
    """A language, or `auto`."""

    code: str
    name: str


class FrontendLanguages(Message):
    """What a page begins with."""

    source: LanguageName
    target: LanguageName | None


class FrontendSettings(Message):
    """What `GET /frontend/settings` gives, in LibreTranslate's words."""

    char_limit: int
    frontend_timeout: int
    """Milliseconds to wait for somebody who types."""

    api_keys: bool
    key_required: bool
    suggestions: bool
    files_translation: bool
    supported_files_format: list[str]
    language: FrontendLanguages


class Language(Message):
    """A language, and what it can be translated into: nothing where it is only a target."""

    code: str
    name: str
    targets: list[str]


class Labelled(Message):
    """What a classifier found out about one text; `label` is null for an empty one."""

    label: str | None
    probabilities: dict[str, float]
    unread_tokens: int
    words: list[dict[str, str | int | float | None]] | None = None


class ServedModel(Message):
    """A model of this server."""

    id: str
    task: str
    directions: list[tuple[str, str]]
    """Of a translator: from which language into which."""

    labels: list[str]
    """Of a classifier."""

    beam: int | None
    """Of a translator that searches: hypotheses kept per sentence, where a request does not say it."""

    reliability: dict[str, list[dict[str, float]]]
    """Of a translator, for each direction: how many words were said to be how sure, and how many of them were right."""

    layers: dict[str, int]
    """How many the encoder and the decoder have."""

    heads: int | None
    dim: int
    vocabulary: int
    parameters: int
    positions: str
    engine: str
    """"float" or "int8"."""

    run: str | None
    """Id of the run it came from, where its folder is known to be in one."""


class State(Message):
    """How the server is."""

    status: str
