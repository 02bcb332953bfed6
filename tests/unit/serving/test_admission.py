"""Admission control by the first line of a request: asked of the queues of the models that could do the work."""

from heedful.serving.admission import make_admission
from heedful.serving.engines import Engines
from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.workplace import Workplace


class Translating(Workplace):
    """A model that has no work of its own."""

    task = "translation"


class Labelling(Workplace):
    """One of another kind."""

    task = "classification"


def test_a_request_is_refused_by_its_first_line_when_no_model_for_it_has_room() -> None:
    measures = Measures()
    first, second = (Translating(name, Limits(), measures.of_model(name)) for name in ("first", "second"))
    other = Labelling("other", Limits(), measures.of_model("other"))
    engines = Engines([first, second, other])
    refusal_of = make_admission(engines, {"/translate": Translating, "/api/classify": Labelling}, measures)
    assert refusal_of("/translate", "somebody") is None
    first.queue.drain()
    assert refusal_of("/translate", "somebody") is None, "the second has room"
    second.queue.drain()
    refusal = refusal_of("/translate", "somebody")
    assert refusal is not None
    assert (refusal.status, refusal.headers["retry-after"]) == (503, "2")
    assert refusal.body == b'{"error": "The server is ending. Try again in a moment."}'
    assert refusal_of("/api/classify", "somebody") is None
    assert refusal_of("/health", "somebody") is None, "what needs no model is always let in"
    assert b'heedful_requests_total{route="/translate",status="503"} 1.0' in measures.page(engines)


def test_a_path_for_which_there_is_no_model_is_let_in_to_be_told_so() -> None:
    measures = Measures()
    assert make_admission(Engines([]), {"/translate": Translating}, measures)("/translate", "somebody") is None
