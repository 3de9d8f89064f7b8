"""What the node agent costs: processor time and memory with 8 GPUs at 1 Hz on the twin, and how fast it is."""

from __future__ import annotations

import os
import statistics
import sys
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from tests.agents import agent_on, free_port, grant, place, until
from tests.bench.machine import describe, table
from tests.nvml_twin import nvml_twin
from tests.published import header, off, on, run
from trainer_hooks.agent_client import AgentClient
from trainer_hooks.calendar import write_calendar
from trainer_hooks.wire import call

GPUS = 8
RANKS = 8  # each with a heartbeat of its own
WATCHED_S = 30.0
N_LEASES = 100
LEASE_S = 0.5


def main(arguments: list[str]) -> None:
    """Print the table; takes no options."""
    if arguments:
        sys.exit(f"agent takes no options, not {arguments}")
    often = "limit_changes_per_s = 100\nlimit_change_burst = 1000\nsample_s = 1"
    port = free_port()
    with place() as spot, nvml_twin(spot, "h100x8") as twin, ExitStack() as stack:
        write_calendar(spot / "published", header(), [run("llm", (on(0, 12), off(12, 24)))])
        sections = ("[guard]\n", f"[metrics]\nport = {port}\n", f"[calendar]\nsource = {spot}/published\n")
        agent = stack.enter_context(agent_on(spot, twin, grant(), *sections, agent=often))
        pid = agent.process.pid
        leases_ms = _leases_ms(agent.socket, twin)
        status_us = _status_us(agent.socket)
        idle_share, _ = _watched(pid, WATCHED_S)
        ranks = [AgentClient(agent.socket) for _ in range(RANKS)]
        for rank, board in zip(ranks, twin.boards, strict=True):
            rank.limit(board.uuid, 400.0)
        busy_share, resident_mb = _watched(pid, WATCHED_S, port)
        restored_s = _restored_s(agent.socket, twin)
        for rank in ranks:
            rank.close()
    rows = (
        (
            f"{GPUS} GPUs at 1 Hz, guard, metrics and a folder of calendars, no job",
            f"{idle_share:.2%} of one core",
            "< 1 %",
        ),
        (f"the same, {RANKS} ranks with heartbeats, scraped each second", f"{busy_share:.2%} of one core", "< 1 %"),
        ("resident memory, highest", f"{resident_mb:.1f} MB", "< 40 MB"),
        ("lease with record on the disk, median", f"{statistics.median(leases_ms):.2f} ms", ""),
        ("lease with record on the disk, 99th percentile", f"{statistics.quantiles(leases_ms, n=100)[98]:.2f} ms", ""),
        ("request and answer, median", f"{statistics.median(status_us):.0f} us", ""),
        (f"limit back after the last heartbeat, lease of {LEASE_S:g} s", f"{restored_s:.3f} s", f"{LEASE_S:g} s"),
    )
    print(describe(), end="\n\n")
    print(table(["what", "measured", "goal"], [list(row) for row in rows]))


def _leases_ms(socket: Path, twin) -> list[float]:
    client, took_ms = AgentClient(socket), []
    for number in range(N_LEASES):
        begin_s = time.perf_counter()
        assert client.limit(twin[0].uuid, 300.0 + number % 50).applied
        took_ms.append((time.perf_counter() - begin_s) * 1e3)
    client.close()
    return took_ms


def _status_us(socket: Path) -> list[float]:
    took_us = []
    for _ in range(N_LEASES):
        begin_s = time.perf_counter()
        call(socket, {"op": "renew", "leases": []}, 5.0)
        took_us.append((time.perf_counter() - begin_s) * 1e6)
        time.sleep(0.005)
    return took_us


def _watched(pid: int, duration_s: float, port: int = 0) -> tuple[float, float]:
    """Return the share of one core, and the highest resident memory in MB, over a time."""
    begin_s, begin_cpu_s = time.monotonic(), _cpu_s(pid)
    while time.monotonic() - begin_s < duration_s:
        time.sleep(1.0)
        if port:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                answer.read()
    share = (_cpu_s(pid) - begin_cpu_s) / (time.monotonic() - begin_s)
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    highest_kb = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return share, highest_kb * 1024 / 1e6


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _restored_s(socket: Path, twin) -> float:
    """Return the time from a heartbeat, the last one, to the limit found."""
    found_w = twin[0].limit_w
    client = AgentClient(socket, ttl_s=LEASE_S)
    assert client.limit(twin[0].uuid, 250.0).applied
    client._stop.set()
    client.beat()
    begin_s = time.monotonic()
    until(lambda: twin[0].limit_w == found_w)
    return time.monotonic() - begin_s
