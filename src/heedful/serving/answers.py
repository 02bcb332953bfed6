"""What requests and answers look like, as LibreTranslate's clients know them, and the one shape of a refusal.

Pydantic models: they check what comes in, and they are what /docs shows. Knows nothing of how anything is done.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, Field, PlainValidator, WithJsonSchema

from heedful.serving.multipart import UploadedFile

MAX_TEXTS = 128
"""Of one request; how much text they may have together is for the server to say (limits.py)."""

MAX_BEAM = 16
MAX_ALTERNATIVES = 10
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


class WithKey(BaseModel):
    """What every request may carry."""

    api_key: Key | None = Field(
        None, description="The key, where the server asks for one; headers are the better place for it."
    )


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
    maxTokens: int = Field(  # noqa: N815 - as LibreTranslate's clients spell names
        200, ge=1, le=MAX_WRITTEN_TOKENS, description="Symbols to write: bytes, or pieces."
    )
    temperature: float = Field(1.0, ge=0, le=10, description="Below 1 surer, above 1 bolder; 0: the likeliest.")
    topK: int | None = Field(None, ge=1, le=1_000, description="Draw from the likeliest only.")  # noqa: N815
    topP: float | None = Field(None, gt=0, le=1, description="Draw from the fewest that have this probability.")  # noqa: N815
    seed: int = Field(0, ge=0, lt=2**32, description="The same seed gives the same text.")
    top: int = Field(0, ge=0, le=MAX_CHOICES, description="Also so many of the likeliest at every symbol.")


class Failure(BaseModel):
    """Every answer that is not the one asked for."""

    error: str


class DetectedLanguage(BaseModel):
    """A language, and how sure the detection is, from 0 to 100."""

    language: str
    confidence: float


class Details(BaseModel):
    """What is known about the translation of one unit of a text: a sentence, or a part of a long one."""

    source: str
    text: str
    score: float | None
    tokens: list[str]
    tokenLogProbs: list[float | None]  # noqa: N815 - as LibreTranslate's clients spell names
    finishReason: str  # noqa: N815
    warnings: list[dict[str, str]]


class TranslateAnswer(BaseModel):
    """What `POST /translate` gives: for a list of texts, each field is a list."""

    translatedText: str | list[str]  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None  # noqa: N815
    details: list[Details] | list[list[Details]] | None = None
    warnings: list[dict[str, str]] | list[list[dict[str, str]]] | None = None


class TranslatedFile(BaseModel):
    """What `POST /translate_file` gives."""

    translatedFileUrl: str  # noqa: N815


class Success(BaseModel):
    """What `POST /suggest` gives."""

    success: bool


class LanguageName(BaseModel):
    """A language, or `auto`."""

    code: str
    name: str


class FrontendLanguages(BaseModel):
    """What a page begins with."""

    source: LanguageName
    target: LanguageName | None


class FrontendSettings(BaseModel):
    """What `GET /frontend/settings` gives, in LibreTranslate's words."""

    charLimit: int  # noqa: N815
    frontendTimeout: int  # noqa: N815
    """Milliseconds to wait for somebody who types."""

    apiKeys: bool  # noqa: N815
    keyRequired: bool  # noqa: N815
    suggestions: bool
    filesTranslation: bool  # noqa: N815
    supportedFilesFormat: list[str]  # noqa: N815
    language: FrontendLanguages


class Language(BaseModel):
    """A language, and what it can be translated into: nothing where it is only a target."""

    code: str
    name: str
    targets: list[str]


class Labelled(BaseModel):
    """What a classifier found out about one text; `label` is null for an empty one."""

    label: str | None
    probabilities: dict[str, float]
    unreadTokens: int  # noqa: N815
    words: list[dict[str, str | int | float | None]] | None = None


class ServedModel(BaseModel):
    """A model of this server."""

    id: str
    task: str
    directions: list[tuple[str, str]]
    """Of a translator: from which language into which."""

    labels: list[str]
    """Of a classifier."""

    beam: int | None
    """Of a translator: hypotheses kept per sentence, where a request does not say it."""

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


class State(BaseModel):
    """How the server is."""

    status: str
