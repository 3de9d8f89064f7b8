"""256 GPUs under a 25 % cut of 3 h: the site, the event, and the best that any plan can keep."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

from planner.config import site_from_text
from planner.gather import gather
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.respond.outcome import Response
from planner.respond.respond import respond
from planner.respond.site_load import plant_kw
from planner.sources.openadr import events_from
from power.flexibility import TIER_LOSS_SHARE

SWEEP = "gpu/emerald_power_cap_sweep.csv"
GPUS, CUT, HOURS = 256, 0.25, 3
IDLE_W = 60.0
WEEK = datetime(2024, 5, 13, tzinfo=UTC)
START = WEEK + timedelta(hours=62)
RATE = 1000.0


@dataclass(frozen=True)
class Point:
    limit_w: float
    throughput: float
    watts: float


def sweeps(shared_data: Path) -> dict[str, list[Point]]:
    """Workload -> its measured points by rising limit, in the file's order."""
    found: dict[str, list[Point]] = defaultdict(list)
    with (shared_data / SWEEP).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values = (row["GPU power cap"], row["normalized throughput"], row["power per GPU"])
            found[row["Workload"]].append(Point(*map(float, values)))
    return {name: sorted(points, key=lambda p: p.limit_w) for name, points in found.items()}


def tiers(workloads: dict[str, list[Point]]) -> dict[str, int]:
    """The workloads take tiers 1, 2 and 3 in turn, in the file's order."""
    return {name: 1 + i % 3 for i, name in enumerate(workloads)}


def best_share(workloads: dict[str, list[Point]], loss_share: dict[str, float] | None = None) -> float:
    """The most throughput that equal shares of the workloads keep at 75 % of their power, mixing points freely."""
    columns = [(i, p) for i, points in enumerate(workloads.values()) for p in points]
    n = len(workloads)
    of = np.array([[float(i == w) for i, _ in columns] for w in range(n)])
    speed = np.array([p.throughput for _, p in columns])
    full_w = sum(points[-1].watts for points in workloads.values())
    rows, limits = [[p.watts for _, p in columns]], [(1.0 - CUT) * full_w]
    if loss_share is not None:
        rows += (-of * speed).tolist()
        limits += [loss_share[name] - 1.0 for name in workloads]
    found = linprog(-speed / n, rows, limits, of, np.ones(n), bounds=(0.0, 1.0))
    assert found.status == 0
    return -float(found.fun)


def site_text(workloads: dict[str, list[Point]], loss_share: dict[str, float] | None) -> str:
    """One gang per workload on its own pool; every hour of the week is due at full speed."""
    each = GPUS // len(workloads)
    tokens = each * RATE * 3600.0 * 168.0
    parts = [
        """
[site]
name = "phoenix"
timezone = "UTC"
latitude = 33.4
longitude = -112.1
zone = "demo-sunbelt"
currency = "USD"
[horizon]
slot_minutes = 60
week = "2024-W20"
[prices]
carbon_per_t = 60
lateness_per_gpu_h = 3
[[block]]
name = "hall"
capacity_kw = 200
[block.cooling]
kind = "room_air"
rated_it_kw = 150
"""
    ]
    tier = tiers(workloads)
    for name, points in workloads.items():
        listed = ", ".join(
            f"{{ gpu_power_limit_w = {p.limit_w:.1f}, it_w_per_gpu = {p.watts:.6f}, "
            f"relative_throughput = {p.throughput:.9f} }}"
            for p in points
        )
        share = "" if loss_share is None else f", max_loss_share = {loss_share[name]}"
        parts.append(
            f"""
[gpu.{name}]
idle_w_per_gpu = {IDLE_W}
points = [{listed}]
[[pool]]
name = "{name}"
block = "hall"
gpu = "{name}"
count = {each}
[[run]]
name = "{name}"
gpus = {each}
tokens_per_gpu_s = {RATE}
pools = ["{name}"]
running_in = "{name}"
max_pauses = 0
flexibility = {{ tier = {tier[name]}{share} }}
stages = [{{ name = "all", tokens = {tokens}, deadline = 2024-05-20T00:00:00Z }}]
"""
        )
    return "".join(parts)


def event(limits_kw: list[float], start: datetime = START) -> bytes:
    """A limit for each of some hours, by default from 14:00 UTC on Wednesday."""
    return json.dumps(
        {
            "programID": "trial",
            "eventName": "25 % for 3 h",
            "payloadDescriptors": [{"payloadType": "IMPORT_CAPACITY_LIMIT", "units": "KW"}],
            "intervalPeriod": {"start": start.isoformat(), "duration": "PT1H"},
            "intervals": [
                {"id": i, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [kw]}]}
                for i, kw in enumerate(limits_kw)
            ],
        }
    ).encode()


def answered(workloads: dict[str, list[Point]], loss_share: dict[str, float] | None = None) -> Response:
    """Plan the week, and answer a limit that leaves three quarters of the GPUs' power, with its cooling, each hour."""
    site = site_from_text(site_text(workloads, loss_share), Path("phoenix.toml"))
    week = gather(site, now=WEEK - timedelta(hours=6), offline=True)
    found = plan(week, PlanOptions(gap_target=0.01, time_limit_s=20.0))
    header, runs = to_calendar(week, found.schedule, status=found.status, certified_gap=found.mip_gap)
    first = int(week.grid.position(START))
    slots = np.arange(first, first + HOURS)
    left_kw = (1.0 - CUT) * np.array(header.blocks[0].it_kw)[slots]
    limits_kw = left_kw + plant_kw(week, week.blocks[0], header.blocks[0], left_kw, slots)
    response, _ = respond(
        week,
        header,
        runs,
        events_from(event(limits_kw.tolist()), "event.json", START),
        now=START - timedelta(minutes=10),
        agreed=site.demand_response,
        flexibility=site.flexibility,
    )
    return response


def of_tiers(workloads: dict[str, list[Point]]) -> dict[str, float]:
    """Workload -> most of its throughput that its tier may lose."""
    return {name: TIER_LOSS_SHARE[tier] for name, tier in tiers(workloads).items()}
