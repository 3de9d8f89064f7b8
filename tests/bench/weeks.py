"""The 52 weeks of 2024 in GB and DE-LU on actual series (perfect foresight): what a plan saves with the same tokens.

A reference site of six runs is written as a site file for each week and goes the whole way: site file, CSV source,
week, program, calendar, judge, baselines. GB has no price series there, so its energy price is flat.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from tests.bench.machine import describe, table

TRACES = Path(__file__).resolve().parents[3] / "shared" / "data" / "grid"
ZONES = {"GB": ("Europe/London", "GBP", 52.5, -1.5), "DE-LU": ("Europe/Berlin", "EUR", 51.0, 10.0)}
FLAT_PRICE_PER_KWH = 0.09
RUNS = [
    # name, GPUs, tokens per GPU and second, share of the week at full speed, first day, days to each stage's deadline
    ("dense-70b", 1_024, 945.0, 0.55, 0.0, (3.5, 7.0)),
    ("moe-8x22b", 1_024, 1_600.0, 0.45, 0.0, (7.0,)),
    ("vision-12b", 512, 4_200.0, 0.50, 1.0, (4.0, 6.5)),
    ("code-34b", 512, 1_900.0, 0.40, 0.0, (5.0,)),
    ("speech-3b", 256, 15_000.0, 0.35, 2.0, (6.0,)),
    ("distil-8b", 256, 7_500.0, 0.60, 0.0, (4.0, 7.0)),
]
SITE = """
[site]
name = "reference-{zone}"
timezone = "{tz}"
latitude = {latitude}
longitude = {longitude}
zone = "{zone}"
currency = "{currency}"

[plan]
gap_target = {gap}
time_limit_s = {limit_s}

[prices]
carbon_per_t = 80
lateness_per_gpu_h = 2.5

[tariff]
{energy}
adder_per_kwh = 0.012

[sources.carbon]
{csv}
columns = {{ carbon = {{ column = "ci_direct_g_per_kwh", unit = "g/kWh", basis = "direct" }} }}

[sources.price]
{csv}
columns = {{ price = {{ column = "price_per_mwh", unit = "{currency}/MWh" }} }}

[sources.weather]
{csv}
columns.dry_bulb = {{ column = "temp_c", unit = "degC" }}
columns.relative_humidity = {{ column = "rh_pct", unit = "%" }}
columns.ghi = {{ column = "ghi_w_per_m2", unit = "W/m2" }}

[[block]]
name = "hall"
capacity_kw = 3600
ramp_kw_per_min = 120
cooling = {{ kind = "dry_cooler", rated_it_kw = 3300 }}

[[pool]]
name = "a1"
block = "hall"
gpu = "H100-SXM"
count = 2816
"""


@dataclass(frozen=True)
class Result:
    """One week of one zone."""

    zone: str
    week: str
    status: str
    gap: float
    plan_s: float
    violations: tuple[str, ...]
    late: int
    carbon_pct: dict[str, float | None]
    cost_pct: dict[str, float | None]
    why_not: dict[str, str]


def site_text(zone: str, monday: date, traces: Path, gap: float, limit_s: float) -> str:
    """Return the reference site of one zone with the deadlines of one week."""
    tz, currency, latitude, longitude = ZONES[zone]
    csv = (
        f'provider = "csv"\npath = "{traces}"\ntime_column = "utc_start"\nstamp = "start"\ntime_zone = "UTC"\n'
        'step_minutes = 60\nkind = "actual"'
    )
    energy = f"energy_per_kwh = {FLAT_PRICE_PER_KWH}" if zone == "GB" else ""
    text = SITE.format(
        zone=zone, tz=tz, latitude=latitude, longitude=longitude, currency=currency, csv=csv, energy=energy, gap=gap,
        limit_s=limit_s,
    )  # fmt: skip
    start = datetime.combine(monday, datetime.min.time(), ZoneInfo(tz))
    for name, gpus, rate, share, first, deadlines in RUNS:
        tokens = share * 168 * 3600 * gpus * rate
        stages = ", ".join(
            f'{{ name = "part-{i + 1}", tokens = {tokens / len(deadlines):.6g}, deadline = {_at(start, d)} }}'
            for i, d in enumerate(deadlines)
        )
        text += (
            f'\n[[run]]\nname = "{name}"\ngpus = {gpus}\ntokens_per_gpu_s = {rate}\n'
            f"earliest_start = {_at(start, first)}\ncheckpoint_s = 180\nreload_s = 600\n"
            f"min_run_h = 4\nmin_pause_h = 2\non_off_grid_h = 4\nstages = [{stages}]\n"
        )
    return text


def _at(start: datetime, days: float) -> str:
    return (start + timedelta(days=days)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def traces_2024(zone: str, folder: Path) -> Path:
    """Write a zone's rows around 2024 with a column of sun that the site, having no array, does not use."""
    rows = pd.read_csv(TRACES / f"{zone}_2021-2024_hourly.csv.gz")
    rows = rows[(rows.utc_start >= "2023-11-20") & (rows.utc_start < "2025-01-02")].assign(ghi_w_per_m2=0.0)
    path = folder / f"{zone}.csv"
    rows.to_csv(path, index=False)
    return path


def plan_one(zone: str, monday: date, traces: Path, gap: float, limit_s: float) -> Result:
    """Plan one week, judge it, and compare it with both baselines."""
    from contextlib import nullcontext

    from planner.config import load_site
    from planner.gather import gather
    from planner.optimize import PlanOptions
    from planner.pipeline import plan_week

    year, number, _ = monday.isocalendar()
    name = f"{year}-W{number:02d}"
    site_file = traces.parent / f"{zone}-{name}.toml"
    site_file.write_text(site_text(zone, monday, traces, gap, limit_s), encoding="utf-8")
    site = load_site(site_file)
    now = datetime.combine(monday, datetime.min.time(), UTC)
    week = gather(site, week=name, now=now, offline=True)
    started = time.perf_counter()
    outcome, found = plan_week(week, PlanOptions(gap_target=gap, time_limit_s=limit_s), lambda _: nullcontext())
    judged = outcome.evaluation
    others = outcome.counterfactuals
    return Result(
        zone=zone,
        week=name,
        status=found.status,
        gap=found.mip_gap,
        plan_s=time.perf_counter() - started,
        violations=tuple(v.sentence for v in judged.violations),
        late=judged.deadlines_missed,
        carbon_pct={o.name: o.savings.carbon_pct if o.savings else None for o in others},
        cost_pct={o.name: o.savings.cost_pct if o.savings else None for o in others},
        why_not={o.name: o.reason for o in others if o.savings is None},
    )


def results(zones: list[str], weeks: int, gap: float, limit_s: float, jobs: int) -> Iterator[Result]:
    """Plan every week of every zone, over a process pool."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(jobs) as pool:
        waiting = []
        for zone in zones:
            traces = traces_2024(zone, Path(folder))
            mondays = [date.fromisocalendar(2024, w, 1) for w in range(1, weeks + 1)]
            waiting += [pool.submit(plan_one, zone, monday, traces, gap, limit_s) for monday in mondays]
        for done in waiting:
            yield done.result()


def distribution(found: list[Result], zone: str) -> list[list[str]]:
    """Return the rows of one zone: what was saved against each baseline, over the weeks that can be compared."""
    rows = []
    for against in ("asap", "steady"):
        for what in ("carbon", "cost"):
            values = [getattr(r, f"{what}_pct")[against] for r in found if r.zone == zone]
            stated = np.array([v for v in values if v is not None])
            low, quarter, half, three, high = np.percentile(stated, [0, 25, 50, 75, 100])
            rows.append(
                [zone, what, against, f"{len(stated)} of {len(values)}"]
                + [f"{v:.1f}" for v in (low, quarter, half, stated.mean(), three, high)]
            )
    return rows


def main(arguments: list[str]) -> None:
    """Print every week's fault, if any, and the distribution."""
    parser = argparse.ArgumentParser(prog="weeks")
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--zone", choices=ZONES, action="append")
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--limit-s", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(arguments)
    if not TRACES.is_dir():
        raise SystemExit("the real traces (shared/data/grid) are not beside the checkout")
    zones = asked.zone or list(ZONES)
    found = list(results(zones, asked.weeks, asked.gap, asked.limit_s, asked.jobs))
    print(describe(), end="\n\n")
    for r in found:
        for sentence in r.violations:
            print(f"{r.zone} {r.week}: {sentence}")
        for name, why in r.why_not.items():
            print(f"{r.zone} {r.week}: not compared with {name}: {why}")
    head = ["zone", "saved, %", "against", "weeks compared", "lowest", "25 %", "median", "mean", "75 %", "highest"]
    print(table(head, [row for zone in zones for row in distribution(found, zone)]))
    seconds, gaps = np.array([r.plan_s for r in found]), 100 * np.array([r.gap for r in found])
    print(
        f"\n{len(found)} weeks planned; weeks with a violation: {sum(bool(r.violations) for r in found)}; "
        f"deadlines missed: {sum(r.late for r in found)}; "
        f"gap target reached in {sum(r.status == 'optimal' for r in found)}; "
        f"certified gap median {np.median(gaps):.2f} %, highest {gaps.max():.2f} %; "
        f"seconds a week median {np.median(seconds):.1f}, highest {seconds.max():.1f} ({asked.jobs} at a time)"
    )
