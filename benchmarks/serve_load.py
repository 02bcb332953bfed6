"""The server under load: what it can do, what it does when four times that is asked, and how it ends.

    python benchmarks/serve_load.py [--seconds N] [--model DIR]

Starts `heedful serve` and asks it over real connections: one client, 32 clients, an open loop at four times the
measured capacity, 200 clients that vanish, and SIGTERM in the middle of it. The load comes from the same machine and
takes its share of the processor. Prints one table: what was measured, and what must hold.
"""

import argparse
import asyncio
import gc
import time

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


def show(what: str, value: str, bar: str = "") -> None:
    """Print one line of the table."""
    print(f"{what:<58} {value:>16}   {bar}", flush=True)


async def vanish(server: ServerProcess, clients: int) -> None:
    """Ask for long translations, and hang up before the answer."""
    asking = [
        asyncio.ensure_future(ask(server, "/translate", {"q": LONG, "source": "en", "target": "de"}))
        for _ in range(clients)
    ]
    await asyncio.sleep(0.5)
    for one in asking:
        one.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


async def median_latency(server: ServerProcess, rounds: int = 9) -> float:
    """Return how long one sentence takes when nobody else asks."""
    request = {"q": SENTENCES[1], "source": "en", "target": "de"}
    answers = [await ask(server, "/translate", request) for _ in range(rounds)]
    assert counts(answers) == {200: rounds}
    return quantile([answer.seconds for answer in answers], 0.5)


def after_vanishing(server: ServerProcess, clients: int) -> float:
    """Return how long the next answer takes after clients have vanished, in units of what it takes when nobody has."""
    before = asyncio.run(median_latency(server))
    asyncio.run(vanish(server, clients))  # by itself: it ends when all connections are closed
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
        ratios = [after_vanishing(server, 200) for _ in range(5)]
        middle, slow = quantile(ratios, 0.5), max(ratios)
        show("next answer after 200 clients vanished, median and worst", f"{middle:.2f}, {slow:.2f} × idle", "≤ 2 ×")
        ended = asyncio.run(terminated(server, rate=many))
        show("SIGTERM under load: lost", str(counts(ended)[LOST]), "0")


if __name__ == "__main__":
    main()
