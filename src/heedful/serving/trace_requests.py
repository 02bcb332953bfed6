"""What the routes that look into models and runs are asked, with the bound of everything that can be asked for.

Layers, heads and rows count from 0. Knows nothing of how anything is done.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from heedful.serving.answers import MAX_BEAM, Code, Message, ModelId, Terms, Text, WithKey

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
Beam = Annotated[int | None, Field(ge=1, le=MAX_BEAM, description="Hypotheses kept per sentence.")]
Ids = Annotated[list[TokenId], Field(max_length=MAX_TRACED_IDS)]


class OneSentence(WithKey):
    """A sentence, and the model that is looked into while it translates it."""

    q: Text = Field(description="A text.")
    model: ModelId | None = None
    run: ModelId | None = Field(None, description="Id of a run from `GET /api/runs`; then `checkpoint` is needed.")
    checkpoint: int | None = Field(None, ge=0, lt=2**53, description="Look into this step of the run.")


class TraceRequest(OneSentence):
    """What `POST /api/trace` takes."""

    sentence: Place = Field(0, description="Which of its sentences, from 0, as `sentences` of the answer lists them.")
    source: Code = "auto"
    target: Code | None = None
    beam: Beam = None
    hypothesis: Text | None = Field(None, description="Trace this translation, instead of the one the search finds.")
    glossary: Terms = Field([])
    prefix_ids: Ids | None = Field(
        None, description="Tokens the translation must begin with; the search goes on from there."
    )


class TracedRequest(OneSentence):
    """What `POST /api/trace/attribution` and `POST /api/trace/heads` take: by what they know a trace that was made.

    With it nothing is searched for again.
    """

    q: Text = Field(description="The sentence that was read: `source.text` of the trace.")
    target: Code | None = Field(None, description="`target.language` of the trace.")
    target_ids: Annotated[Ids, Field(min_length=1)] = Field(
        description="The tokens of the translation, its end symbol included: those of `target.tokens`."
    )


class CellRequest(TracedRequest):
    """What `POST /api/trace/cell` takes."""

    kind: UseName
    layer: Place
    head: Place
    row: Place
    column: Place


class AblationRequest(TracedRequest):
    """What `POST /api/trace/ablation` takes."""

    heads_off: Annotated[list[HeadPlace], Field(min_length=1, max_length=MAX_HEADS_OFF)] = Field(
        description="The heads, [kind, layer, head], that are off."
    )
    prefix: Place = Field(0, description="How many tokens were forced: `prefix` of the trace.")
    beam: Beam = None


class ClassifyTraceRequest(WithKey):
    """What `POST /api/classify/trace` takes."""

    q: Text = Field(description="One text.")
    model: ModelId | None = None


class TextTraceRequest(WithKey):
    """What `POST /api/text/trace` takes."""

    q: Text = Field(description="A text; its last symbols are looked at, those before fill the memory.")
    model: ModelId | None = None
    num_read: int = Field(64, ge=1, le=MAX_READ, description="Symbols to look at.")


class PositionsQuery(Message):
    """What `GET /api/positions` is asked."""

    model: ModelId | None = None
    length: int = Field(64, ge=1, le=MAX_POSITIONS)
    side: Literal["source", "target"] = "source"


class JournalQuery(Message):
    """What the routes of a run's journal are asked."""

    after: int = Field(0, ge=0, lt=2**53, description="Leave out so many lines of metrics.jsonl.")
    after_samples: int = Field(0, ge=0, lt=2**53, description="Leave out so many lines of samples.jsonl.")


class RunFacts(Message):
    """A run of training."""

    id: str
    name: str
    task: str
    steps: int
    """The last step of its journal."""

    max_steps: int
    is_running: bool
    checkpoints: list[int]
    source: str | None
    target: str | None
