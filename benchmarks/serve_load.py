"""The server under load: what it can do, what it does when four times that is asked, and how it ends.

    python benchmarks/serve_load.py [--seconds N] [--model DIR]

Starts `heedful serve` and asks it over real connections: one client, 32 clients, an open loop at four times the
measured capacity, 200 clients that vanish, and SIGTERM in the middle of it. The load comes from the same machine and
takes its share of the processor. Prints one table: what was measured, and what must hold.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from load import LOST, Answer, ServerProcess, ask, closed_loop, counts, open_loop, quantile

SENTENCES = [
    "Where is the station?",
    "I have lost my keys this morning.",
    "She drinks coffee every day.",
    "The weather is nice, and we will go for a walk in the park.",
    "How much does it cost?",
    "He has been working here for ten years.",
    "Could you please speak a little more slowly?",
]
LONG = " ".join(SENTENCES * 4)
CROWD = """
import socket, sys, time
host, port, clients, body = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()
head = f"POST /translate HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nContent-Type: application/json\\r\\n"
request = f"{head}Content-Length: {len(body)}\\r\\n\\r\\n".encode() + body
asking = [socket.create_connection((host, port)) for _ in range(clients)]
for one in asking:
    one.sendall(request)
print("all have asked", flush=True)
time.sleep(60)
"""


def show(what: str, value: str, bar: str = "") -> None:
    """Print one line of the table."""
    print(f"{what:<58} {value:>16}   {bar}", flush=True)


@contextmanager
def crowd(server: ServerProcess, clients: int) -> Iterator[None]:
    """A process with many connections, each asking for a long translation; at the end of the block it is killed."""
    asked = {"q": LONG, "source": "en", "target": "de"}
    process = subprocess.Popen(
        [sys.executable, "-c", CROWD, server.host, str(server.port), str(clients), json.dumps(asked)],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline()  # all have asked
    yield
    process.kill()
    process.wait()


async def median_latency(server: ServerProcess, rounds: int = 9) -> float:
    """Return how long one sentence takes when nobody else asks."""
    request = {"q": SENTENCES[1], "source": "en", "target": "de"}
    answers = [await ask(server, "/translate", request) for _ in range(rounds)]
    assert counts(answers) == {200: rounds}
    return quantile([answer.seconds for answer in answers], 0.5)


def after_vanishing(server: ServerProcess, clients: int, pause: float) -> float:
    """Return how long an answer takes after clients have vanished, in units of what it takes when nobody has."""
    before = asyncio.run(median_latency(server))
    with crowd(server, clients):
        time.sleep(0.5)
    time.sleep(pause)
    answer = asyncio.run(ask(server, "/translate", {"q": SENTENCES[1], "source": "en", "target": "de"}))
    assert answer.status == 200
    return answer.seconds / before


def show_overload(answers: list[Answer], memory: float) -> None:
    """Show what became of the requests of the open loop."""
    admitted = [answer.seconds for answer in answers if answer.status == 200]
    refused = [answer for answer in answers if answer.status in (429, 503)]
    found = dict(sorted(counts(answers).items()))
    show("answers by status", str(found).replace(" ", ""), "only 200, 429, 503")
    show("requests lost", str(found.get(LOST, 0)), "0")
    for answer in answers:
        if answer.status == LOST:
            show("  lost after", f"{answer.seconds:.3f} s", answer.body.decode())
    show("refusals without Retry-After", str(sum("retry-after" not in one.headers for one in refused)), "0")
    middle, slow = (1e3 * quantile([one.seconds for one in refused], share) for share in (0.5, 0.99))
    show("refusals, median and p99", f"{middle:.0f}, {slow:.0f} ms", "≤ 50 ms")
    show("admitted, p99", f"{quantile(admitted, 0.99):.1f} s", "≤ 30 s, the deadline")
    show("memory gained", f"{memory:+.0f} MB", "≤ +64 MB")


async def terminated(server: ServerProcess, rate: float) -> list[Answer]:
    """Send SIGTERM while requests come; returns the answers to all that were sent before it."""
    loop = asyncio.ensure_future(open_loop(server, SENTENCES, rate=rate, seconds=2))
    await asyncio.sleep(2.2)
    code = await asyncio.to_thread(server.terminate)
    show("exit code after SIGTERM", str(code), "-15")
    return await loop


def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--model")
    given = parser.parse_args()
    gc.disable()  # the pauses of the client that measures are not the server's
    started = time.monotonic()
    with ServerProcess(*(["--model", given.model] if given.model else [])) as server:
        show("from the command to the first answer", f"{time.monotonic() - started:.1f} s")
        idle = asyncio.run(median_latency(server))
        show("latency of one sentence, idle", f"{1e3 * idle:.0f} ms")
        part = given.seconds / 2
        one = asyncio.run(closed_loop(server, SENTENCES, clients=1, seconds=part))
        many = asyncio.run(closed_loop(server, SENTENCES, clients=32, seconds=part))
        show("sentences per second, 1 client", f"{one:.1f}")
        show("sentences per second, 32 clients", f"{many:.1f}")
        show("ratio", f"{many / one:.2f}", "≥ 3")
        memory = server.memory_mb()
        show(f"open loop for {given.seconds:.0f} s", f"{4 * many:.0f} a second", "4 × capacity")
        answers = asyncio.run(open_loop(server, SENTENCES, rate=4 * many, seconds=given.seconds))
        show_overload(answers, server.memory_mb() - memory)
        for pause, when in ((0.0, "in the instant"), (0.02, "20 ms after")):
            ratios = [after_vanishing(server, 200, pause) for _ in range(9)]
            middle, slow = quantile(ratios, 0.5), max(ratios)
            show(f"{when} 200 clients vanish, median and worst", f"{middle:.2f}, {slow:.2f} × idle", "≤ 2 ×")
        ended = asyncio.run(terminated(server, rate=many))
        show("SIGTERM under load: lost", str(counts(ended)[LOST]), "0")


if __name__ == "__main__":
    main()
