"""A generator that can be stopped before it writes, between two steps or two layers of the encoder, and listened to.

It stands between a translator and what generates, whatever that is, and changes nothing but what the request says of
listening: results are the generator's own. Who looks for the model finds it beneath, in `generator`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor

from heedful.decoding import Generator, Hypothesis, SearchRequest
from heedful.decoding.request import TokenListener
from heedful.serving.request_queue import AbandonedError


@dataclass(frozen=True)
class Interruptible:
    """A `Generator` that asks again and again whether anybody still wants the result."""

    generator: Generator
    is_abandoned: Callable[[], bool]
    on_tokens: TokenListener | None = None
    """Told what is written while it is written, by those that can."""

    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        """Write outputs for source_ids where source_mask, both [batch, source_len], or raise `AbandonedError`."""
        self._check()
        watched = replace(request, before_step=self._check, on_tokens=self.on_tokens)
        return self.generator.generate(source_ids, source_mask, watched)

    def _check(self) -> None:
        if self.is_abandoned():
            raise AbandonedError
