"""Node agents at the service: time to an answer, processor time and memory, at the load that is offered.

Every agent has a token of its own, the limits of `gridpace serve` are the usual ones, and the service runs in processes
of its own as an operator starts it. Two ways to ask are measured: over connections that are kept, as a load balancer
keeps them, and over a new one each time, as `gridpace-agent` asks. Several instances stand on one PostgreSQL, and the
agents are spread over them evenly, as a balancer of connections does. What asks is a process of its own, whose
processor time is told too: where it is late in asking, the figures are not the service's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from planner.ledger import Ledger
from planner.ledger.decisions import APPROVED, decide
from planner.service.tokens import add_token
from tests.mini_site import MINI, ROOT
from tests.postgres.server import PASSWORD, Server, missing, server
from tests.served import NOON, calendar, enter
from tests.service.test_service_calendars import LATER

_WARM_S = 2.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PATH = "/v1/sites/site/calendars/current"
_ROWS_PER_BATCH = 500
_SENDERS = 8
_ROWS_PER_S = 1000  # of 25,000 nodes that report each 25 s
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
_ROW = "{:42} {:>9} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>8}"


@dataclass(frozen=True)
class _Setting:
    """What is measured at."""

    folder: Path
    tokens: Sequence[str]
    seconds: float


def main(arguments: Sequence[str]) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench service", description=__doc__)
    parser.add_argument("--rate", type=float, default=5000.0, help="requests a second of all agents together")
    parser.add_argument("--agents", type=int, default=25_000, help="agents, each with a token of its own")
    parser.add_argument("--connections", type=int, default=500, help="connections kept open")
    parser.add_argument("--instances", type=int, default=2, help="instances on one PostgreSQL")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each row is measured")
    given = parser.parse_args(arguments)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    loop = "uvloop" if find_spec("uvloop") else "asyncio"
    parser_name = "httptools" if find_spec("httptools") else "h11"
    print(f"{given.agents} agents, each with a token of its own; {os.cpu_count()} cores; {loop}, {parser_name}")
    print(
        _ROW.format(
            "", "asked/s", "304/s", "p50 ms", "p99 ms", "late ms", "service %", "asking %", "MiB",
        )
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as named, ExitStack() as opened:
        folder = Path(named)
        (folder / "site.toml").write_text(MINI.replace("Werk Süd", "site"), encoding="utf-8")
        setting = _Setting(folder, _tokens(folder / "tokens", given.agents), given.seconds)
        kept, rate = given.connections, given.rate
        with _instances(setting, str(folder / "g.sqlite"), 1) as one:
            _polled("one instance, kept connections", setting, one, rate, kept)
            _polled("one instance, a new connection each", setting, one, rate, 0)
            _taken_in("one instance, SQLite: telemetry", setting, one)
        if missing():
            print(f"no rows of several instances: {missing()}")
            return
        running = opened.enter_context(server())
        url = f"postgresql://gridpace:{quote(PASSWORD, safe='')}@127.0.0.1:{running.port}/postgres"
        with _instances(setting, url, given.instances) as several:
            title = f"{given.instances} instances on PostgreSQL"
            _polled(f"{title}, kept connections", setting, several, rate, kept)
            _polled(f"{title}, a new one each", setting, several, rate, 0)
            with _asking("reporting", _sent(f"{title} beside", setting, several, _ROWS_PER_S)) as beside:
                _polled(f"{title}, beside {_ROWS_PER_S} rows/s", setting, several, rate, kept)
                beside.communicate()
            _polled(f"{title}, a calendar approved", setting, several, rate, kept, approves=url)
            _taken_in(f"{title}: telemetry", setting, several, running)


@dataclass
class _Instances:
    """Instances of the service on one database."""

    ports: list[int]
    pids: list[int]
    current: str


@contextmanager
def _instances(setting: _Setting, database: str, count: int) -> Iterator[_Instances]:
    with Ledger(database if "://" in database else Path(database)) as ledger:
        current = enter(ledger, calendar())
    processes: list[subprocess.Popen[bytes]] = []
    try:
        ports = []
        for number in range(count):
            log = setting.folder / f"log-{number}"
            command = [sys.executable, "-m", "planner.cli", "serve", str(setting.folder / "site.toml")]
            options = ["--listen", "127.0.0.1:0", "--tokens", str(setting.folder / "tokens"), "--no-jobs", "--offline"]
            with log.open("wb") as stream:
                processes.append(
                    subprocess.Popen(
                        [*command, *options], env={**_ENVIRONMENT, "GRIDPACE_DATABASE": database}, stderr=stream
                    )
                )
            while "serves at" not in log.read_text():
                if processes[-1].poll() is not None:
                    sys.exit(log.read_text())
                time.sleep(0.05)
            ports.append(int(log.read_text().split("serves at ")[1].split()[0].rpartition(":")[2]))
        yield _Instances(ports, [one.pid for one in processes], current)
    finally:
        for one in processes:
            one.kill()
            one.wait()


def _tokens(file: Path, count: int) -> list[str]:
    """Write a file of tokens at once: one by one each would be checked against all before it."""
    first = add_token(file, "agent-0", "agent")
    others = [f"{first}-{number}" for number in range(1, count)]
    lines = (f"agent-{k} agent {hashlib.sha256(one.encode()).hexdigest()}\n" for k, one in enumerate(others, start=1))
    with file.open("a", encoding="ascii") as stream:
        stream.writelines(lines)
    return [first, *others]


def _polled(
    title: str, setting: _Setting, asked: _Instances, rate: float, connections: int, approves: str = ""
) -> None:
    """Print what agents saw; with `approves`, another calendar is approved midway in the database that it names."""
    told = {
        "ports": asked.ports,
        "tokens": setting.tokens,
        "known": asked.current,
        "path": _PATH,
        "rate": rate,
        "connections": connections,
        "warm_s": _WARM_S,
        "seconds": setting.seconds,
    }
    approved_s: list[float] = []
    with _asking("polling", told) as process:
        if approves:
            threading.Timer(_WARM_S + setting.seconds / 2, _approve, (approves, approved_s)).start()
        time.sleep(_WARM_S)
        before = _cpu_s(asked.pids)
        time.sleep(setting.seconds)
        cores = (_cpu_s(asked.pids) - before) / setting.seconds
        seen = json.loads(process.stdout.read())  # type: ignore[union-attr]
    unchanged = seen["statuses"].pop("304", 0)
    print(
        _ROW.format(
            title,
            f"{rate:.0f}",
            f"{unchanged / setting.seconds:.0f}",
            f"{1e3 * seen['p50_s']:.1f}",
            f"{1e3 * seen['p99_s']:.1f}",
            f"{1e3 * seen['sent_late_p99_s']:.1f}",
            f"{100 * cores:.0f}",
            f"{100 * seen['cpu_s'] / setting.seconds:.0f}",
            f"{_resident_mib(asked.pids):.0f}",
        ),
        flush=True,
    )
    for first_s, last_s in seen["changed"]:
        print(
            f"    new calendar {first_s - approved_s[0]:.2f} s after its approval, old one for the last time "
            f"{last_s - approved_s[0]:.2f} s after it"
        )
    if seen["statuses"]:
        print(f"    other answers: {seen['statuses']}")


def _approve(database: str, at_s: list[float]) -> None:
    with Ledger(database) as ledger:
        made = enter(ledger, calendar(LATER), approve=False)
        with ledger.writing() as session:
            decide(session, made, APPROVED, by="person", why="cleaner", at=NOON)
        at_s.append(time.perf_counter())  # a clock that all processes share


def _taken_in(title: str, setting: _Setting, asked: _Instances, database: Server | None = None) -> None:
    """Print how many rows of telemetry are taken in, by senders that each wait for an answer."""
    with _asking("reporting", _sent(title, setting, asked, 0)) as process:
        time.sleep(_WARM_S)
        before, database_s = _cpu_s(asked.pids), _cpu_s(_family(database))
        time.sleep(setting.seconds)
        cores = (_cpu_s(asked.pids) - before) / setting.seconds
        of_database = (_cpu_s(_family(database)) - database_s) / setting.seconds
        seen = json.loads(process.stdout.read())  # type: ignore[union-attr]
    print(
        f"{title}: {seen['rows'] / seen['seconds']:.0f} rows/s in batches of {_ROWS_PER_BATCH}, p50 "
        f"{1e3 * seen['p50_s']:.0f} ms and p99 {1e3 * seen['p99_s']:.0f} ms a batch; service {100 * cores:.0f} %"
        + (f", database {100 * of_database:.0f} %" if database else "")
        + f", sending {100 * seen['cpu_s'] / seen['seconds']:.0f} %; {_resident_mib(asked.pids):.0f} MiB",
        flush=True,
    )


def _sent(title: str, setting: _Setting, asked: _Instances, rows_per_s: int) -> dict[str, object]:
    return {
        "ports": asked.ports,
        "tokens": setting.tokens[:_SENDERS],
        "rows": _ROWS_PER_BATCH,
        "rows_per_s": rows_per_s,
        "seconds": setting.seconds + _WARM_S,
        "writer": title,
    }


@contextmanager
def _asking(module: str, told: dict[str, object]) -> Iterator[subprocess.Popen[str]]:
    """Start what asks; it is told what to do, and has begun when this returns."""
    with subprocess.Popen(
        [sys.executable, "-m", f"tests.bench.{module}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_ENVIRONMENT,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        json.dump(told, process.stdin)
        process.stdin.close()
        if process.stdout.readline() != "ready\n":
            sys.exit(f"tests.bench.{module} did not begin")
        yield process


def _family(database: Server | None) -> list[int]:
    """Return the processes of a database server."""
    if database is None:
        return []
    found = [database.pid]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue  # it has ended meanwhile
        if parent == database.pid:
            found.append(int(stat.parent.name))
    return found


def _cpu_s(pids: Sequence[int]) -> float:
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(one[11]) + int(one[12]) for one in fields) / _TICKS_PER_S


def _resident_mib(pids: Sequence[int]) -> float:
    """Return the memory of the largest of several processes."""
    pages = (int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return max(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20
