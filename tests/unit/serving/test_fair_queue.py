"""Fair queueing: who has had least is next, whoever comes, and however many."""

from dataclasses import dataclass

import pytest

from heedful.serving.callers import Caller, client_at
from heedful.serving.fair_queue import FairQueue


@dataclass(eq=False)
class Piece:
    caller: Caller
    num_tokens: int = 10


def work(queue: FairQueue[Piece], seconds: float = 1.0) -> Caller:
    """Do what is next."""
    piece = next(queue.in_order())
    queue.begin([piece])
    queue.charge([piece], seconds * piece.num_tokens / 10)
    queue.end([piece])
    return piece.caller


def test_clients_share_the_worker_and_each_client_s_requests_its_share() -> None:
    queue: FairQueue[Piece] = FairQueue()
    for caller in (Caller("a", 1), Caller("a", 2), Caller("b", 3)):
        queue.add([Piece(caller) for _ in range(20)])
    done = [work(queue) for _ in range(20)]
    assert [done.count(Caller("a", 1)), done.count(Caller("a", 2)), done.count(Caller("b", 3))] == [5, 5, 10]


def test_the_share_is_one_of_time_and_not_of_pieces() -> None:
    queue: FairQueue[Piece] = FairQueue()
    queue.add([Piece(Caller("a", 1), num_tokens=40) for _ in range(20)])
    queue.add([Piece(Caller("b", 2), num_tokens=10) for _ in range(20)])
    done = [work(queue) for _ in range(20)]
    assert done.count(Caller("a", 1)) == 4


def test_a_newcomer_is_soon_next_but_endless_newcomers_do_not_starve_who_was_there() -> None:
    queue: FairQueue[Piece] = FairQueue()
    old = Caller("old", 0)
    queue.add([Piece(old) for _ in range(100)])
    assert [work(queue) for _ in range(10)] == [old] * 10
    done = []
    for number in range(100):
        queue.add([Piece(Caller(f"new {number}", number))])
        done.append(work(queue))
    assert Caller("new 0", 0) in done[:2]
    assert done.count(old) >= 6  # more and more clients are there, and a hundred in the end


def test_who_goes_away_leaves_nothing_behind() -> None:
    queue: FairQueue[Piece] = FairQueue()
    pieces = [Piece(Caller("a", number)) for number in range(3)]
    for piece in pieces:
        queue.add([piece])
    assert queue.remove(pieces[:2]) == 2
    assert queue.remove(pieces[:2]) == 0
    assert list(queue.waiting()) == pieces[2:]
    assert (queue.num_waiting, queue.num_waiting_tokens, queue.waiting_of("a")) == (1, 10, (1, 10))
    queue.begin(pieces[2:])
    assert queue.num_clients_with("b") == 2
    queue.end(pieces[2:])
    assert (queue.num_waiting, list(queue.in_order()), queue.num_clients_with("b")) == (0, [], 1)


def test_the_wait_that_is_expected_is_that_of_a_fair_share() -> None:
    queue: FairQueue[Piece] = FairQueue()
    first = Piece(Caller("a", 1), num_tokens=200)
    queue.add([first])
    queue.begin([first])
    assert queue.expected_wait("a", 10) == 0  # nobody knows yet
    queue.note_speed([first], 100.0)
    queue.end([first])
    queue.add([Piece(Caller("a", 2), num_tokens=1000)])
    assert queue.expected_wait("a", 50) == pytest.approx(10)
    assert queue.expected_wait("b", 50) == pytest.approx(0.5)
    assert queue.expected_wait("b", 5000) == pytest.approx(10)


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        (None, ""),
        ("not an address: at all", "not an address: at all"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_clients_are_told_apart_by_what_one_of_them_cannot_change(address: str | None, client: str) -> None:
    assert client_at(address) == client
