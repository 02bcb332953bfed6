"""What the routes that look into models and runs are asked, with the bound of everything that can be asked for.

Layers, heads and rows count from 0. Knows nothing of how anything is done.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from heedful.serving.answers import MAX_BEAM, Code, ModelId, Text, WithKey

MAX_TRACED_IDS = 256
"""Tokens a client may name: more than the longest translation that is traced."""

MAX_HEADS_OFF = 1_024
MAX_PLACES = 4_096
"""Beyond any layer, head or position of what can be traced; the model itself says what it has."""

MAX_POSITIONS = 256
MAX_READ = 128


def _tuple(value: object) -> object:
    """JSON has no tuples, only lists."""
    return tuple(value) if isinstance(value, list) else value


UseName = Annotated[str, Field(max_length=64, description="What an attention of the model is called.")]
TokenId = Annotated[int, Field(ge=0, lt=2**31)]
Place = Annotated[int, Field(ge=0, lt=MAX_PLACES)]
HeadPlace = Annotated[tuple[UseName, Place, Place], BeforeValidator(_tuple)]
Ids = Annotated[list[TokenId], Field(max_length=MAX_TRACED_IDS)]


class OneSentence(WithKey):
    """A sentence, and the model that is looked into while it translates it."""

    q: Text = Field(description="A text.")
    sentence: Place = Field(0, description="Which of its sentences, from 0, as `sentences` of the answer lists them.")
    source: Code = "auto"
    target: Code | None = None
    model: ModelId | None = None
    run: ModelId | None = Field(None, description="Id of a run from `GET /api/runs`; then `checkpoint` is needed.")
    checkpoint: int | None = Field(None, ge=0, lt=2**53, description="Look into this step of the run.")
    beam: int | None = Field(None, ge=1, le=MAX_BEAM, description="Hypotheses kept per sentence.")


class TraceRequest(OneSentence):
    """What `POST /api/trace` takes."""

    hypothesis: Text | None = Field(None, description="Trace this translation, instead of the one the search finds.")
    prefixIds: Ids | None = Field(  # noqa: N815 - as LibreTranslate's clients spell names
        None, description="Tokens the translation must begin with; the search goes on from there."
    )
    attribution: bool = Field(False, description="Also which source tokens the translation rests on.")
    headChanges: bool = Field(False, description="Also what it loses without each head.")  # noqa: N815
    headsOff: Annotated[list[HeadPlace], Field(max_length=MAX_HEADS_OFF)] = Field(  # noqa: N815
        [], description="Also what becomes of it when these heads, [kind, layer, head], are off."
    )


class CellRequest(OneSentence):
    """What `POST /api/trace/cell` takes."""

    targetIds: Annotated[Ids, Field(min_length=1)] = Field(  # noqa: N815
        description="The tokens of the translation, its end symbol included."
    )
    kind: UseName
    layer: Place
    head: Place
    row: Place
    column: Place


class ClassifyTraceRequest(WithKey):
    """What `POST /api/classify/trace` takes."""

    q: Text = Field(description="One text.")
    model: ModelId | None = None


class TextTraceRequest(WithKey):
    """What `POST /api/text/trace` takes."""

    q: Text = Field(description="A text; its last symbols are looked at, those before fill the memory.")
    model: ModelId | None = None
    numRead: int = Field(64, ge=1, le=MAX_READ, description="Symbols to look at.")  # noqa: N815


class PositionsQuery(BaseModel):
    """What `GET /api/positions` is asked."""

    model: ModelId | None = None
    length: int = Field(64, ge=1, le=MAX_POSITIONS)
    side: Literal["source", "target"] = "source"


class JournalQuery(BaseModel):
    """What the routes of a run's journal are asked."""

    after: int = Field(0, ge=0, lt=2**53, description="Leave out so many lines of metrics.jsonl.")
    afterSamples: int = Field(0, ge=0, lt=2**53, description="Leave out so many lines of samples.jsonl.")  # noqa: N815


class RunFacts(BaseModel):
    """A run of training."""

    id: str
    name: str
    task: str
    steps: int
    """The last step of its journal."""

    maxSteps: int  # noqa: N815
    isRunning: bool  # noqa: N815
    checkpoints: list[int]
    source: str | None
    target: str | None
