"""The `Translator` that `heedful.load` returns: one that can also show how it came to a translation."""

from typing import Literal, overload

from heedful.errors import UserError
from heedful.insight.trace import Trace, trace_translation
from heedful.tasks.translation.request import TranslationRequest, one_request
from heedful.tasks.translation.translator import Text, Translator


class TracingTranslator(Translator):
    """A translator whose `translate` takes `trace=True`."""

    @overload
    def translate(
        self,
        text: Text,
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        request: TranslationRequest | None = None,
        trace: Literal[False] = False,
    ) -> Text: ...

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
        request: TranslationRequest | None = None,
        trace: bool = False,
    ) -> str | list[str] | Trace | list[Trace]:
        """Translate a text, or a list of texts; with `trace`, into what shows how: see `Trace`."""
        if trace and request is not None:
            raise UserError("`request` must not be given with `trace`, which shows greedy and beam search only.")
        request = one_request(TranslationRequest(from_, to, beam_size), request)
        texts = [text] if isinstance(text, str) else text
        if not trace:
            translated = [one.text for one in self._translate(texts, request)]
            return translated[0] if isinstance(text, str) else translated
        traces = [trace_translation(self, plan, beam_size=beam_size) for plan in self.plan(texts, request)]
        return traces[0] if isinstance(text, str) else traces
