"""Agents that wait at the service for the next calendar: what a held one costs, and how soon all have heard.

The service runs in a process of its own, as `gridpace serve` starts it; what waits is one process of sockets. After
some quiet seconds a calendar is approved, as another instance would.
"""

from __future__ import annotations

import argparse
import os
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from planner.ledger import Ledger
from planner.service.tokens import add_token
from tests.mini_site import MINI, ROOT
from tests.served import NOON, calendar, enter

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_QUIET_LOOKS, _QUIET_SHARE = 3, 0.2
_PATH = "/v1/sites/site/calendars/current"


def main(arguments: Sequence[str]) -> None:
    """Print what a held request costs, and how soon all of them were answered."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench held", description=__doc__)
    parser.add_argument("--agents", type=int, default=5000, help="requests held at once")
    parser.add_argument("--seconds", type=float, default=10.0, help="quiet time over which they are held")
    given = parser.parse_args(arguments)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        (folder / "site.toml").write_text(MINI.replace("Werk Süd", "site"), encoding="utf-8")
        token = add_token(folder / "tokens", "nodes", "agent")
        with Ledger(folder / "g.sqlite") as ledger:
            current = enter(ledger, calendar())
            process, port = _started(folder)
            try:
                _measure(given, (process.pid, port), (token, current), ledger)
            finally:
                process.terminate()
                process.wait(20)


def _started(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    log = folder / "log"
    command = [sys.executable, "-m", "planner.cli", "serve", str(folder / "site.toml"), "--listen", "127.0.0.1:0"]
    options = ["--tokens", str(folder / "tokens"), "--database", str(folder / "g.sqlite"), "--no-jobs", "--offline"]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, *options, "--requests-per-s", "1000000"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=stream,
        )
    while b"serves at" not in log.read_bytes():
        time.sleep(0.1)
    return process, int(log.read_text().split("serves at ")[1].split()[0].rpartition(":")[2])


def _measure(given: argparse.Namespace, service: tuple[int, int], known: tuple[str, str], ledger: Ledger) -> None:
    (pid, port), (token, current) = service, known
    lines = (
        f"GET {_PATH} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", f'If-None-Match: "{current}"',
        "Prefer: wait=60", "", "",
    )  # fmt: skip
    asked = "\r\n".join(lines).encode()
    bare_kb = _resident_kb(pid)
    waiting = selectors.DefaultSelector()
    begin_s = time.monotonic()
    for _ in range(given.agents):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(asked)
        connection.settimeout(0.0)
        waiting.register(connection, selectors.EVENT_READ)
    arrived_s = time.monotonic() - begin_s
    _settle(pid)
    held_kb, ticks = _resident_kb(pid), _ticks(pid)
    assert not waiting.select(0), "somebody was not held"
    time.sleep(given.seconds)
    quiet_share = (_ticks(pid) - ticks) / _TICKS_PER_S / given.seconds
    enter(ledger, calendar(issued=NOON))
    begin_s, ticks, answered_s = time.monotonic(), _ticks(pid), []
    while len(answered_s) < given.agents:
        for key, _ in waiting.select(30.0):
            answer = key.fileobj.recv(4096)  # type: ignore[union-attr]
            assert answer.startswith(b"HTTP/1.1 200"), answer[:80]
            answered_s.append(time.monotonic() - begin_s)
            waiting.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]
    woken_s = (_ticks(pid) - ticks) / _TICKS_PER_S
    answered_s.sort()
    print(f"{given.agents} agents came in {arrived_s:.1f} s")
    print(f"held       {(held_kb - bare_kb) / given.agents:.1f} kB each; {100 * quiet_share:.1f} % of a core for all")
    print(f"hear of the next: first {answered_s[0]:.2f} s, median {answered_s[len(answered_s) // 2]:.2f} s, last "
          f"{answered_s[-1]:.2f} s; {1e3 * woken_s / given.agents:.2f} ms of processor time each")  # fmt: skip


def _settle(pid: int) -> None:
    """Wait until all that came have been taken in, however busy the machine is: little goes on then."""
    quiet = 0
    while quiet < _QUIET_LOOKS:
        before = _ticks(pid)
        time.sleep(1.0)
        quiet = quiet + 1 if _ticks(pid) - before < _QUIET_SHARE * _TICKS_PER_S else 0


def _resident_kb(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
