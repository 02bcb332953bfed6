"""Admission control: requests for which no model has room are refused before anything of them is read.

Asked by connections, for the first line of a request (connections.py). A refusal must cost little, or there soon is no
time for answers. What is let in here may still be refused by the queue it is for, which knows how much it is
(request_queue.py): meanwhile the queue may have filled, and another model than the one with room may be meant.
"""

from collections.abc import Callable, Mapping

from heedful.serving.engines import Engines
from heedful.serving.measures import Measures
from heedful.serving.refusals import Refusal, describe
from heedful.serving.request_queue import RefusedError
from heedful.serving.workplace import Workplace

Admission = Callable[[str, str], Refusal | None]
"""Says of a path and a client whether its requests are refused at the moment, and how."""


def make_admission(engines: Engines, work: Mapping[str, type[Workplace]], measures: Measures) -> Admission:
    """Return what refuses requests at the paths of `work`, each for a kind of model, of which none has room."""

    def refusal_of(path: str, client: str) -> Refusal | None:
        if path not in work:
            return None
        refusals: list[RefusedError] = []
        for engine in engines.of_kind(work[path]):
            try:
                engine.queue.check_open(client)
            except RefusedError as failure:
                refusals.append(failure)
            else:
                return None
        if not refusals:
            return None
        refusal = describe(min(refusals, key=lambda failure: failure.retry_after))
        measures.on_request(path, refusal.status, 0.0)
        return refusal

    return refusal_of
