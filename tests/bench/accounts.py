"""Ledger and carbon accounts of a year of 200 runs at 15 minutes: seconds, rows, and what the sums differ by."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from planner.accounts import CarbonAccounts
from planner.accounts.carbon import PLANNED
from planner.accounts.windows import gpu_hours, run_energy_kwh
from planner.config.factors import DEFAULT_SERVER, factor_sets, servers
from planner.ledger import Ledger
from power.accounts import ON_SITE, ContractHours, GridHours, SiteAccount, site_account
from tests.bench.machine import describe, table
from tests.published import header, off, on
from trainer_hooks.contract import Calendar, RunCalendar

RUNS, SLOT_MINUTES, SLOTS_PER_DAY, DAYS = 200, 15, 96, 365
LIMIT_S = 5.0
START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Published:
    """One week as it is published."""

    calendar: Calendar
    runs: list[RunCalendar]


def main(arguments: list[str]) -> None:
    """Print the table; takes no options."""
    if arguments:
        sys.exit(f"accounts takes no options, not {arguments}")
    print(describe(), end="\n\n")
    weeks = list(_year())
    windows = sum(len(run.windows) for week in weeks for run in week.runs)
    slots = sum(week.calendar.n_slots for week in weeks)
    print(f"{RUNS} runs, {slots:,} slots of {SLOT_MINUTES} min in {len(weeks)} calendars, {windows:,} windows:\n")
    made_s = ledger_s = off_by = 0.0
    processor_s = time.process_time()
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.sqlite") as ledger:
        for week in weeks:
            start = time.perf_counter()
            accounts = _accounts(week)
            off_by = max(off_by, _largest_difference(accounts))
            made = time.perf_counter()
            ledger.record_plan(week.calendar, week.runs, [0.0] * week.calendar.n_slots, accounts)
            made_s += made - start
            ledger_s += time.perf_counter() - made
        processor_s = time.process_time() - processor_s
        start = time.perf_counter()
        assert all(ledger.carbon(week.calendar, week.runs) is not None for week in weeks)
        read_s = time.perf_counter() - start
        start = time.perf_counter()
        with closing(sqlite3.connect(Path(folder) / "ledger.sqlite")) as raw:
            hours = raw.execute("SELECT count(*) FROM run_account_hour WHERE account = 1").fetchone()[0]
        hours_s = time.perf_counter() - start
        size_mb = (Path(folder) / "ledger.sqlite").stat().st_size / 1e6
    total_s = made_s + ledger_s
    rows = [
        ["accounts of site and runs", f"{made_s:.2f} s"],
        ["plans and accounts into the ledger", f"{ledger_s:.2f} s"],
        ["together", f"{total_s:.2f} s (limit {LIMIT_S:g} s: {'kept' if total_s <= LIMIT_S else 'MISSED'})"],
        ["processor time of both", f"{processor_s:.2f} s"],
        ["all accounts out of the ledger, digests checked", f"{read_s:.2f} s"],
        [f"the {hours:,} hourly rows of runs of one week, by SQL", f"{hours_s:.2f} s"],
        ["size of the ledger", f"{size_mb:.0f} MB"],
        ["runs and what is left against the site, largest difference", f"{off_by:.1e}"],
    ]
    print(table(["what", "found"], rows))


def _year() -> Iterator[Published]:
    """Yield the year's weeks, the last of one day; each run pauses once a day at an hour of its own."""
    rng = np.random.default_rng(1)
    for first in range(0, DAYS, 7):
        days = min(7, DAYS - first)
        start = START + timedelta(days=first)
        name = f"{first:024x}"
        calendar = header(
            start,
            calendar_id=name,
            valid_until=start + timedelta(days=days),
            slot_minutes=SLOT_MINUTES,
            n_slots=days * SLOTS_PER_DAY,
            blocks=(),
        )
        runs = []
        for r in range(RUNS):
            windows = []
            for day in range(days):
                at_h = np.sort(rng.choice(SLOTS_PER_DAY - 1, 2, replace=False) + 1) / 4 + 24 * day
                kwh = rng.uniform(50.0, 400.0, 2)
                windows += [
                    on(24 * day, at_h[0], start=start, energy_kwh=kwh[0], gpus=256),
                    off(at_h[0], at_h[1], start=start),
                    on(at_h[1], 24 * day + 24, start=start, energy_kwh=kwh[1], gpus=256),
                ]
            runs.append(
                RunCalendar(
                    name, calendar.issued_at, start, calendar.valid_until, calendar.site, f"run-{r}", tuple(windows)
                )
            )
        yield Published(calendar, runs)


def _site(run_kwh: np.ndarray) -> SiteAccount:
    n = run_kwh.shape[1]
    rng = np.random.default_rng(2)
    factors = factor_sets()["lifecycle-ipcc2014"]
    it_kw = run_kwh.sum(axis=0) * 60 / SLOT_MINUTES + 500.0
    day = np.clip(np.sin(2 * np.pi * (np.arange(n) / SLOTS_PER_DAY - 0.25)), 0.0, None)
    solar_kw = 400.0 * day
    facility_kw = 1.2 * it_kw

    def contract(name: str, technology: str, boundary: str, kw: np.ndarray) -> ContractHours:
        return ContractHours(name, technology, factors.gco2_per_kwh(technology), factors.basis, boundary, kw)

    average = rng.uniform(100.0, 500.0, n)
    return site_account(
        factors,
        GridHours("zone", factors.basis, average, average * 1.3, average * 1.6, rng.uniform(0.2, 0.8, n)),
        [
            contract("roof", "solar", ON_SITE, solar_kw),
            contract("base", "nuclear", "zone", np.full(n, 1_500.0)),
            contract("farm", "wind", "zone", rng.uniform(0.0, 4_000.0, n)),
        ],
        it_kw=it_kw,
        facility_kw=facility_kw,
        import_kw=facility_kw - solar_kw,
        slot_h=SLOT_MINUTES / 60,
    )


def _accounts(week: Published) -> CarbonAccounts:
    run_kwh = run_energy_kwh(week.calendar, week.runs)
    account = _site(run_kwh)
    reserved = np.array([gpu_hours(run.windows) for run in week.runs])
    return CarbonAccounts(
        calendar_id=week.calendar.calendar_id,
        series=PLANNED,
        site=week.calendar.site,
        start=week.calendar.valid_from,
        slot_minutes=SLOT_MINUTES,
        account=account,
        water_l=0.2 * account.it_kwh,
        stored_kwh=0.0,
        gpu_hours=float(reserved.sum()) * 1.05,
        server=servers()[DEFAULT_SERVER],
        sources=(("average_gco2_per_kwh", "made up"),),
        runs=tuple(run.run for run in week.runs),
        run_kwh=run_kwh,
        run_tokens=np.array([sum(w.tokens for w in run.windows) for run in week.runs]),
        run_gpu_hours=reserved,
    )


def _largest_difference(accounts: CarbonAccounts) -> float:
    """Return the largest relative difference of the runs and what is left from the site, over all figures."""
    runs, left, site = accounts.run_figures, accounts.unallotted, accounts.site_figures
    return max(
        abs(sum(getattr(run, name) for run in runs) + getattr(left, name) - getattr(site, name)) / getattr(site, name)
        for name in ("it_kwh", *accounts.columns)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
