"""Node agents that poll the service: time to an answer, processor time and memory at a given rate.

The service runs in a process of its own, as `gridpace serve` starts it; the agents are connections kept open, each of
which asks at its own instants whether the calendar has changed. `--rate` is their sum. Offered load does not wait for
answers: a service that is too slow shows as a growing time, not as fewer requests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from planner.ledger import Ledger
from planner.service.tokens import add_token
from tests.mini_site import MINI, ROOT
from tests.served import calendar, enter

_WARM_S = 2.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str]) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench service", description=__doc__)
    parser.add_argument("--rate", type=float, default=5000.0, help="requests a second of all agents together")
    parser.add_argument("--agents", type=int, default=25_000, help="agents that are stood for")
    parser.add_argument("--connections", type=int, default=500, help="connections kept open")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long")
    given = parser.parse_args(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * given.connections + 100)), hard))
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        (folder / "site.toml").write_text(MINI.replace("Werk Süd", "site"), encoding="utf-8")
        token = add_token(folder / "tokens", "nodes", "agent")
        with Ledger(folder / "g.sqlite") as ledger:
            current = enter(ledger, calendar())
        log = folder / "log"
        command = [sys.executable, "-m", "planner.cli", "serve", str(folder / "site.toml"), "--listen", "127.0.0.1:0"]
        options = ["--tokens", str(folder / "tokens"), "--database", str(folder / "g.sqlite"), "--no-jobs", "--offline"]
        with log.open("wb") as stream:
            service = subprocess.Popen(
                [*command, *options, "--requests-per-s", "1000000"],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stderr=stream,
            )
        try:
            while "serves at" not in log.read_text():
                if service.poll() is not None:
                    sys.exit(log.read_text())
                time.sleep(0.05)
            port = int(log.read_text().split("serves at ")[1].split()[0].rpartition(":")[2])
            asyncio.run(_poll(given, port, _request(current, token), service.pid))
        finally:
            service.kill()
            service.wait()


def _request(current: str, token: str) -> bytes:
    lines = (
        "GET /v1/sites/site/calendars/current HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        f'If-None-Match: "{current}"',
        "User-Agent: gridpace",
    )
    return "\r\n".join((*lines, "", "")).encode()


async def _poll(given: argparse.Namespace, port: int, request: bytes, pid: int) -> None:
    count = given.connections
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    gap_s = count / given.rate
    begin = time.perf_counter() + 0.5
    waits_s: list[float] = []
    others: set[bytes] = set()

    async def agent(number: int) -> None:
        reader, writer = opened[number]
        due = begin + gap_s * number / count
        while due < begin + _WARM_S + given.seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            if b" 304 " not in answer[:20]:
                others.add(answer[:60])
            if due > begin + _WARM_S:
                waits_s.append(time.perf_counter() - due)  # since it was due: waiting to be sent counts too
            due += gap_s
        writer.close()

    async def used() -> tuple[float, float]:
        await asyncio.sleep(begin + _WARM_S - time.perf_counter())
        before = _cpu_s(pid)
        await asyncio.sleep(given.seconds)
        return (_cpu_s(pid) - before) / given.seconds, _resident_mib(pid)

    measured, *_ = await asyncio.gather(used(), *(agent(number) for number in range(count)))
    waits_s.sort()
    p50, p99 = (1e3 * waits_s[int(share * len(waits_s))] for share in (0.5, 0.99))
    print(f"{given.agents} agents, one poll each {given.agents / given.rate:.1f} s, over {count} connections")
    print(f"answered   {len(waits_s) / given.seconds:8.0f} requests/s, all 304: {not others}")
    print(f"p50        {p50:8.2f} ms")
    print(f"p99        {p99:8.2f} ms")
    print(f"processor  {100 * measured[0]:8.0f} % of one core, the service alone")
    print(f"memory     {measured[1]:8.0f} MiB resident")
    for other in others:
        print(f"not 304: {other!r}")


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
