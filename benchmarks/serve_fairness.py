"""One client against all others: what the worst texts and the greediest client cost everybody else.

    python benchmarks/serve_fairness.py [--seconds N] [--model DIR]

Starts `heedful serve` and asks it from several addresses of this machine (127.0.0.2 and others: Linux only), by which
the server tells clients apart. Prints one table: what was measured, and what must hold.
"""

import argparse
import asyncio
import time

from load import Answer, ServerProcess, ask, counts, quantile

PROSE = "The weather is nice, and we will go for a walk in the park, where she drinks coffee every day. "
WORST = {
    "20,000 dots": "." * 20_000,
    "10,000 times !?": "!?" * 10_000,
    "20,000 times a": "a" * 20_000,
    "6,600 times ha": "ha " * 6_600,
    "20,000 ideographs": "".join(chr(0x4E00 + number % 5_000) for number in range(20_000)),
    "20,000 emoji": "\U0001f600" * 20_000,
    "20,000 combining marks": "\u0301" * 20_000,
    "10,000 lines": "a\n" * 10_000,
    "20,000 characters of prose": (PROSE * 300)[:20_000],
}
SHORT = {"q": "I have lost my keys this morning.", "source": "en", "target": "de"}


def show(what: str, value: str, bar: str = "") -> None:
    """Print one line of the table."""
    print(f"{what:<64} {value:>22}   {bar}", flush=True)


async def health(server: ServerProcess) -> float:
    """Return how long the server takes to say that it lives."""
    started = time.monotonic()
    reader, writer = await asyncio.open_connection(server.host, server.port, local_addr=("127.0.0.9", 0))
    writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()
    return time.monotonic() - started


async def polled(server: ServerProcess, seconds: float) -> list[float]:
    """Ask again and again whether the server lives."""
    end = time.monotonic() + seconds
    found = []
    while time.monotonic() < end:
        found.append(await health(server))
        await asyncio.sleep(0.005)
    return found


async def give_up(*asking: "asyncio.Future[Answer]") -> None:
    """Hang up, as clients do that do not want to wait."""
    for one in asking:
        one.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    await asyncio.sleep(0.2)  # the server has to hear of it


async def while_planning(server: ServerProcess, text: str, seconds: float) -> list[float]:
    """Return how long /health takes while a text is sent to every route that takes one, each by another client."""
    requests = [
        ("/translate", {"q": text, "source": "auto", "target": "de"}),
        ("/api/translate/stream", {"q": text, "source": "en", "target": "de", "beam": 1}),
        ("/detect", {"q": text}),
        ("/api/trace", {"q": text[:1_000], "source": "auto", "target": "de"}),
    ]
    asking = [
        asyncio.ensure_future(ask(server, path, content, address=f"127.0.0.{20 + number}"))
        for number, (path, content) in enumerate(requests)
    ]
    found = await polled(server, seconds)
    await give_up(*asking)
    return found


async def beside(server: ServerProcess, text: str, seconds: float) -> list[Answer]:
    """Return the answers to one client's short sentences while another has a long text translated."""
    long = {"q": text, "source": "en", "target": "de", "beam": 16}
    greedy = asyncio.ensure_future(ask(server, "/translate", long, address="127.0.0.2"))
    await asyncio.sleep(0.5)
    end = time.monotonic() + seconds
    answers = []
    while time.monotonic() < end and not greedy.done():
        answers.append(await ask(server, "/translate", SHORT, address="127.0.0.3"))
        await asyncio.sleep(0.05)
    await give_up(greedy)
    return answers


async def after_vanishing(server: ServerProcess, clients: int, *, same: bool) -> Answer:
    """Return the answer to a short sentence just after clients with long texts have gone."""
    long = {"q": WORST["20,000 characters of prose"], "source": "en", "target": "de", "beam": 16}
    asking = [
        asyncio.ensure_future(ask(server, "/translate", long, address="127.0.0.2" if same else f"127.0.1.{1 + number}"))
        for number in range(clients)
    ]
    await asyncio.sleep(1)
    for one in asking:
        one.cancel()
    return await ask(server, "/translate", SHORT, address="127.0.0.3")


def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--model")
    given = parser.parse_args()
    with ServerProcess(*(["--model", given.model] if given.model else [])) as server:
        idle = asyncio.run(polled(server, 1.0))
        show("/health, idle, median and slowest", milliseconds(idle))
        for name, text in WORST.items():
            found = asyncio.run(while_planning(server, text, given.seconds))
            show(f"/health beside {name}, median and slowest", milliseconds(found), "≤ 50 ms")
        alone = [asyncio.run(ask(server, "/translate", SHORT)).seconds for _ in range(9)]
        show("a short sentence, idle, median and slowest", milliseconds(alone))
        for name in ("20,000 times a", "6,600 times ha", "20,000 characters of prose"):
            answers = asyncio.run(beside(server, WORST[name], 2 * given.seconds))
            taken = milliseconds([answer.seconds for answer in answers])
            show(f"a short sentence beside {name}, beam 16", taken, f"≤ 1,000 ms; {dict(counts(answers))}")
        for same, who in ((True, "of one address"), (False, "of 200 addresses")):
            answers = [asyncio.run(after_vanishing(server, 200, same=same)) for _ in range(5)]
            bar = f"≤ {1e3 * (2 * quantile(alone, 0.5) + 0.5):.0f} ms; {dict(counts(answers))}"
            taken = milliseconds([answer.seconds for answer in answers])
            show(f"a short sentence after 200 clients {who} vanish", taken, bar)


def milliseconds(values: list[float]) -> str:
    """Write the middle and the largest."""
    return f"{1e3 * quantile(values, 0.5):.0f}, {1e3 * max(values):.0f} ms" if values else "none"


if __name__ == "__main__":
    main()
