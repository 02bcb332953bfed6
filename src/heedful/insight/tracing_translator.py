"""The `Translator` that `heedful.load` returns: one that can also show how it came to a translation."""

from typing import Literal, overload

from heedful.insight.trace import Trace, trace_translation
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator


class TracingTranslator(Translator):
    """A translator whose `translate` takes `trace=True`."""

    @overload
    def translate(
        self,
        text: str,
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        trace: Literal[False] = False,
    ) -> str: ...

    @overload
    def translate(
        self,
        text: list[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        trace: Literal[False] = False,
    ) -> list[str]: ...

    @overload
    def translate(
        self,
        text: str,
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        trace: Literal[True],
    ) -> Trace: ...

    @overload
    def translate(
        self,
        text: list[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        trace: Literal[True],
    ) -> list[Trace]: ...

    def translate(
        self,
        text: str | list[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        trace: bool = False,
    ) -> str | list[str] | Trace | list[Trace]:
        """Translate a text, or a list of texts; with `trace`, into what shows how: see `Trace`."""
        if trace:
            plans = self.plan([text] if isinstance(text, str) else text, TranslationRequest(from_, to))
            traces = [trace_translation(self, plan, beam_size=beam_size) for plan in plans]
            return traces[0] if isinstance(text, str) else traces
        return super().translate(text, to=to, from_=from_, beam_size=beam_size)
