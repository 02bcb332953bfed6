"""Three servers behind HAProxy at load: renewed one after the other, one killed, and an account of every request.

    .venv/bin/python benchmarks/serve_replicas.py --seconds 40 --rate 20

Needs `haproxy` (Debian has it). Everything runs on 127.0.0.1. Requests are sent when their time has come, whether or
not earlier ones are answered. HAProxy sends a request that a server left without an answer to another one, by the rules
of deploy/haproxy.cfg; how often it did stands in its own statistics.
"""

import argparse
import asyncio
import csv
import io
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import LOST, Answer, ask

NAMES = ("one", "two", "three")
SENTENCES = [
    f"{who} {what} {where}."
    for who in ("The teacher", "My brother", "A young woman", "Nobody")
    for what in ("was waiting", "bought a ticket", "asked for help", "lost the keys")
    for where in ("at the station", "in front of the house", "on Monday morning")
]


@dataclass
class Place:
    """Where something answers."""

    port: int
    host: str = "127.0.0.1"


def free_port() -> int:
    """Find a port nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(port: int) -> "subprocess.Popen[bytes]":
    """Start a server."""
    command = [sys.executable, "-m", "heedful", "serve", "--model", "bundled", "--port", str(port)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


async def until_ready(port: int) -> None:
    """Wait until a server answers."""
    while (await ask(Place(port), "/detect", {"q": "Guten Tag"})).status != 200:
        await asyncio.sleep(0.3)


def write_config(folder: Path, port: int, servers: dict[str, int]) -> Path:
    """Take the rules of deploy/haproxy.cfg for servers on this machine, and let their statistics be asked for."""
    lines = []
    for line in (Path(__file__).parents[1] / "deploy" / "haproxy.cfg").read_text().splitlines():
        words = line.split()
        if words[:1] == ["resolvers"]:
            break
        if words[:1] == ["bind"]:
            line = f"    bind 127.0.0.1:{port}"
        elif words[:1] == ["server"]:
            line = f"    server {words[1]} 127.0.0.1:{servers[words[1]]}"
        lines.append(line.replace(" resolvers docker init-addr libc,none", ""))
    path = folder / "haproxy.cfg"
    path.write_text("\n".join([f"global\n    stats socket {folder}/stats\n", *lines, ""]))
    return path


def statistics(folder: Path) -> dict[str, dict[str, str]]:
    """Ask HAProxy what it has counted, for each server."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(folder / "stats"))
        connection.sendall(b"show stat\n")
        text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    return {row["svname"]: row for row in csv.DictReader(io.StringIO(text.removeprefix("# ")))}


async def send(port: int, rate: float, stopped: asyncio.Event) -> list[Answer]:
    """Send sentences at random instants, so many a second, until it is enough."""
    chance, asked = random.Random(1), []
    while not stopped.is_set():
        sentence = {"q": chance.choice(SENTENCES), "source": "en", "target": "de"}
        asked.append(asyncio.ensure_future(ask(Place(port), "/translate", sentence)))
        await asyncio.sleep(chance.expovariate(rate))
    return list(await asyncio.gather(*asked))


async def renew(servers: dict[str, int], processes: dict[str, "subprocess.Popen[bytes]"]) -> None:
    """End and start every server in turn, each while the others answer."""
    for name, port in servers.items():
        processes[name].send_signal(signal.SIGTERM)
        await asyncio.to_thread(processes[name].wait)
        processes[name] = start(port)
        await until_ready(port)
        await asyncio.sleep(1)


async def measure(rate: float, seconds: float, folder: Path) -> dict[str, object]:
    """Put three servers under load, renew them, kill one."""
    servers = {name: free_port() for name in NAMES}
    port = free_port()
    processes = {name: start(server) for name, server in servers.items()}
    balancer = subprocess.Popen(["haproxy", "-db", "-f", str(write_config(folder, port, servers))])
    try:
        await asyncio.gather(*map(until_ready, servers.values()))
        stopped = asyncio.Event()
        load = asyncio.ensure_future(send(port, rate, stopped))
        began = time.monotonic()
        await asyncio.sleep(seconds / 4)
        await renew(servers, processes)
        await asyncio.sleep(seconds / 4)
        processes["two"].kill()
        await asyncio.sleep(seconds / 4)
        processes["two"].wait()
        processes["two"] = start(servers["two"])
        await until_ready(servers["two"])
        await asyncio.sleep(seconds / 4)
        stopped.set()
        answers = await load
        lasted = time.monotonic() - began
        found = statistics(folder)
    finally:
        for process in (*processes.values(), balancer):
            process.kill()
            process.wait()
    times = sorted(answer.seconds for answer in answers)
    return {
        "seconds": round(lasted, 1),
        "requests": len(answers),
        "statuses": dict(Counter(answer.status for answer in answers)),
        "lost": sum(answer.status == LOST for answer in answers),
        "sent again by HAProxy": int(found["BACKEND"]["wretr"] or 0),
        "given to another server": int(found["BACKEND"]["wredis"] or 0),
        "median ms": round(1000 * times[len(times) // 2]),
        "99th percentile ms": round(1000 * times[int(len(times) * 0.99)]),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=40, help="beside what the restarts take")
    parser.add_argument("--rate", type=float, default=20, help="requests a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(measure(options.rate, options.seconds, Path(folder))), indent=1))


if __name__ == "__main__":
    main()
