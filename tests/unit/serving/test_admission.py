"""Admission control: whether any model has room, asked before a request is read."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from heedful.serving.admission import make_admission
from heedful.serving.measures import Measures
from heedful.serving.request_queue import RefusedError
from heedful.serving.workplace import Workplace


@dataclass
class Queue:
    """Has room, or says in how many seconds it will."""

    seconds: int | None = None
    asked_by: list[str] = field(default_factory=list)

    def check_open(self, client: str) -> None:
        self.asked_by.append(client)
        if self.seconds is not None:
            raise RefusedError("full", "No room.", self.seconds)


@dataclass
class Engine:
    queue: Queue


class Engines:
    def __init__(self, *queues: Queue) -> None:
        self._queues = queues

    def of_kind(self, kind: type[Workplace]) -> list[Engine]:
        assert kind is Workplace
        return [Engine(queue) for queue in self._queues]


def refusal(path: str, *queues: Queue) -> Any:
    return make_admission(Engines(*queues), {"/translate": Workplace}, Measures())(path, "one")


@pytest.mark.parametrize("queues", [[Queue()], [Queue(3), Queue()], []], ids=["room", "room in one", "no model"])
def test_where_one_model_has_room_a_request_is_let_in(queues: list[Queue]) -> None:
    assert refusal("/translate", *queues) is None
    assert all(queue.asked_by == ["one"] for queue in queues)


def test_where_none_has_room_the_refusal_names_the_shortest_wait() -> None:
    found = refusal("/translate", Queue(9), Queue(2), Queue(5))
    assert (found.status, found.headers["retry-after"]) == (429, "2")
    assert b"No room." in found.body


def test_a_path_that_needs_no_model_asks_none() -> None:
    full = Queue(3)
    assert refusal("/health", full) is None
    assert full.asked_by == []
