"""Two published forecasts of day-ahead prices, as issued, and what plans on them keep of perfect foresight's saving.

Both are forecasts of the next day alone, made anew every day: LEAR and DNN ensembles of `epftoolbox` for Germany
(2016-2017) and PJM (2016-2018). Every week is planned day by day from the plan in force: the day's prices are the
published forecast, later days the robust blend of what lies before; the other rows know the day's real prices (the
blend after them), and all prices of the week. Weather does not move: only prices are forecast. Weeks are those of
`data/sites/week-ahead.toml`, planned by money.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.backtest_kept import BASELINES, MONEY, ORACLE, PlannedWeek, kept
from planner.backtest_plans import judged_on, weighed
from planner.backtest_pool import in_processes
from planner.backtest_weeks import week_at
from planner.forecast.blend import blend_paths
from planner.forecast.history import PROFILE_H
from planner.forecast.scale import scale_of
from planner.optimize import PlanOptions
from planner.replay.roll import Manner, rolled
from planner.stochastic.plan import plan
from planner.week import Week
from tests.bench.forecast import TRACES, processor_s, site_in
from tests.bench.machine import describe, table

if TYPE_CHECKING:
    from planner.config import Site

MARKETS = {"DE": ("EUR", "DE-LU"), "PJM": ("USD", "PJM")}
PUBLISHED = ("DNN Ensemble", "LEAR Ensemble")
REAL = "Real price"
KNOWN_DAY, BLEND = "day known", "robust-blend"
WEEK_H, DAY_H = 168, 24
GAP_TARGET = 0.003
"""Of each plan, share: the site's own would be a good part of what can be saved."""
TIME_LIMIT_S = 300.0
"""Of each plan, which takes a third of a second of processor time: no busy machine changes the table."""
CI, DRY_C, WET_C = 300.0, 15.0, 10.0
"""Carbon intensity and weather of every hour: nothing but the price tells hours apart."""


@dataclass(frozen=True)
class Task:
    """One week: on what came, and by each forecast as it was known on each day."""

    known: Week
    days: dict[str, tuple[Week, ...]]
    options: PlanOptions


def prices(market: str) -> pd.DataFrame:
    """Return the real price and both forecasts, money per kWh, in the market's own hours, on whole days."""
    rows = pd.read_csv(TRACES / f"price_day_ahead_forecasts_{market}.csv.gz", index_col=0)
    return rows / 1000.0


@cache
def site_of(currency: str) -> Site:
    """Return the reference site in a currency, read once."""
    return site_in(currency)


def week_of(currency: str, start: datetime, price: np.ndarray, day: int) -> Week:
    """Return the reference site's week on hourly prices, as it is planned on one of its days."""
    flat = {"carbon": CI, "dry_bulb": DRY_C, "wet_bulb": WET_C}
    hours = {name: np.full(WEEK_H, value) for name, value in flat.items()} | {"price": price}
    week = week_at(site_of(currency), start, hours, "lifecycle")
    return replace(weighed(week, MONEY), issued_at=start + timedelta(days=day))


def task_of(market: str, rows: pd.DataFrame, at: int) -> Task:
    """Return the week that begins at a position of the rows."""
    currency, _ = MARKETS[market]
    real = rows[REAL].to_numpy()
    start = datetime.fromisoformat(str(rows.index[at])).replace(tzinfo=UTC)
    came = real[at : at + WEEK_H]
    days: dict[str, list[Week]] = {name: [] for name in (*PUBLISHED, KNOWN_DAY, BLEND)}
    for day in range(WEEK_H // DAY_H):
        now = at + day * DAY_H
        scale = scale_of("price", real[:now])
        later = scale.back(blend_paths(scale.there(real[:now]), np.array([now]), WEEK_H))[0]
        for name, weeks in days.items():
            ahead = later.copy()
            if name != BLEND:
                ahead[:DAY_H] = rows[REAL if name == KNOWN_DAY else name].to_numpy()[now : now + DAY_H]
            price = np.concatenate([came[: day * DAY_H], ahead[: WEEK_H - day * DAY_H]])
            weeks.append(week_of(currency, start, price, day))
    options = PlanOptions(GAP_TARGET, TIME_LIMIT_S)
    return Task(week_of(currency, start, came, 0), {k: tuple(v) for k, v in days.items()}, options)


def carried_out(task: Task) -> PlannedWeek:
    """Return what every way of planning comes to on the real prices."""
    manner = Manner(frozen_h=0.0, change_cost_per_gpu_h=0.0)
    plans = [judged_on(ORACLE, task.known, plan(task.known, task.options), task.known, MONEY)]
    for name, days in task.days.items():
        found = rolled(days, manner, task.options)
        plans.append(judged_on(name, found.week, replace(found.plan, mip_gap=found.gap), task.known, MONEY))
    return PlannedWeek(task.known.grid.start, MONEY, tuple(plans))


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="price_forecasts")
    parser.add_argument("--markets", nargs="+", choices=MARKETS, default=list(MARKETS))
    parser.add_argument("--every", type=int, default=28, help="days between two weeks' starts")
    parser.add_argument("--weeks", type=int, help="the first so many of them")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(arguments)
    if not TRACES.is_dir():
        raise SystemExit("the published forecasts (shared/data/grid) are not beside the checkout")
    print(describe(), end="\n\n")
    lines, told = [], []
    for market in asked.markets:
        rows = prices(market)
        places = range(PROFILE_H, len(rows) - WEEK_H + 1, asked.every * DAY_H)[: asked.weeks]
        began, began_processor_s = time.perf_counter(), processor_s()
        tasks = [task_of(market, rows, at) for at in places]
        weeks = list(in_processes(carried_out, asked.jobs, lambda *_: None)(tasks))
        for one in kept(weeks):
            shares = [one.share[name] for name in BASELINES]
            mae = ""
            if one.model in PUBLISHED:
                mae = f"{1000.0 * float((rows[one.model] - rows[REAL]).abs().mean()):.2f}"
            lines.append(
                [
                    market,
                    one.model,
                    mae,
                    *("-" if share is None else f"{share:.1%}" for share in shares),
                    *("-" if one.saved_pct[name] is None else f"{one.saved_pct[name]:.1f} %" for name in BASELINES),
                    str(one.late),
                    f"{one.beyond} of {one.weeks}",
                    f"{one.compared} of {one.weeks}",
                ]
            )
        told.append(
            f"{market}: {len(weeks)} weeks, one every {asked.every} days from {rows.index[places[0]]} on, in "
            f"{time.perf_counter() - began:.0f} s ({asked.jobs} processes, "
            f"{processor_s() - began_processor_s:.0f} s of processor time); largest certified gap of a plan "
            f"{max(came.gap for week in weeks for came in week.plans):.2%}"
        )
    heads = ["market", "plans on", "MAE of the day, per MWh", *(f"kept against {b}" for b in BASELINES)]
    heads += [*(f"saved against {b}" for b in BASELINES), "deadlines missed", "beyond a limit", "weeks compared"]
    print(table(heads, lines))
    print("\n" + "\n".join(told) + "\n\n" + " ".join(str(__doc__).split("\n\n", 1)[1].split()))
