"""Weeks of 2024 replayed on the real traces: what rolling plans on forecasts keep of perfect foresight's saving.

The site is `data/sites/week-ahead.toml`. Weeks lie `--every` days apart over the year; each is planned with
perfect foresight, once on the forecast of its first hour, day by day, and day by day on weighted paths with limits in
the heat. Weather as it would have been issued is the archive plus an error that grows with lead.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from datetime import timedelta

from planner.backtest_kept import CARBON, MONEY
from planner.backtest_pool import in_processes
from planner.backtest_weeks import weather_of
from planner.export.replay import HEADS, rows, statement
from planner.forecast.issued import issue
from planner.replay.issue import issue_daily
from planner.replay.outcome import STOCHASTIC, Replay
from planner.replay.replay import How, replayed, signals_of, starts_of
from planner.replay.roll import Manner
from planner.replay.task import replay_week
from planner.stochastic.of_bands import Asked
from tests.bench.forecast import CURRENCY, FIRST, LAST, TRACES, ZONES, processor_s, site_in, trace
from tests.bench.machine import describe, table

WANTED_KEPT, WANTED_LATE = 0.85, 0.01
"""Least share of the saving against asap that stochastic plans keep, and most deadlines that they miss."""
LAST_DAY = timedelta(days=6)


def verdict(zone: str, found: Replay) -> str:
    """Return how the stochastic plans do beside what is wanted."""
    way = next(one for one in found.ways if one.kept.model == STOCHASTIC)
    share, late = way.kept.share["asap"] or 0.0, way.late_share or 0.0
    good = share >= WANTED_KEPT and late <= WANTED_LATE
    return (
        f"{zone}: {STOCHASTIC} keeps {share:.1%} of the saving (at least {WANTED_KEPT:.0%}) and misses {late:.2%} of "
        f"the deadlines (at most {WANTED_LATE:.0%}): {'kept' if good else 'NOT KEPT'}"
    )


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="replay")
    parser.add_argument("--zones", nargs="+", choices=ZONES, default=["DE-LU", "GB"])
    parser.add_argument("--by", choices=(CARBON, MONEY), default=CARBON)
    parser.add_argument("--every", type=int, default=7, help="days between two weeks' starts")
    parser.add_argument("--weeks", type=int, help="the first so many of them")
    parser.add_argument("--scenarios", type=int, default=4)
    parser.add_argument("--cvar-weight", type=float, default=0.05)
    parser.add_argument("--w-max-quantile", type=float, default=0.95)
    parser.add_argument("--frozen-h", type=float, default=4.0)
    parser.add_argument(
        "--change-cost", type=float, default=0.0002, help="per GPU-hour changed against the plan before"
    )
    parser.add_argument(
        "--fresh-share", type=float, default=1.0, help="weight of a new forecast against the one planned on before"
    )
    parser.add_argument("--time-limit-s", type=float, help="of each plan; that of the site where left out")
    parser.add_argument(
        "--gap-target", type=float, default=0.003, help="share; a hundredth would be a tenth of the saving"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the errors laid on the weather, and of the paths")
    asked = parser.parse_args(arguments)
    if not TRACES.is_dir():
        raise SystemExit("the real traces (shared/data/grid) are not beside the checkout")
    print(describe(), end="\n\n")
    lines, told, said = [], [], ""
    for zone in asked.zones:
        history, site = trace(zone), site_in(CURRENCY.get(zone, "USD"))
        limit_s = site.plan.time_limit_s if asked.time_limit_s is None else asked.time_limit_s
        own = site.plan.model_copy(update={"gap_target": asked.gap_target, "time_limit_s": limit_s})
        site = replace(site, plan=own)
        starts = starts_of(FIRST, LAST - LAST_DAY, asked.every)[: asked.weeks]
        how = How(
            zone,
            "lifecycle",
            asked.by,
            asked.every,
            1,
            Asked(asked.scenarios, 0.9, asked.cvar_weight, asked.w_max_quantile),
            Manner(asked.frozen_h, asked.change_cost, asked.fresh_share),
        )
        began, began_processor_s = time.perf_counter(), processor_s()
        forecasts = in_processes(issue, asked.jobs, lambda *_: None)
        span = (starts[0], starts[-1] + LAST_DAY)
        daily = issue_daily(history, signals_of(asked.by), weather_of(site), span, forecasts, asked.seed)
        forecast_s = time.perf_counter() - began
        found = replayed(site, history, daily, starts, how, in_processes(replay_week, asked.jobs, lambda *_: None))
        lines += [[zone, *row] for row in rows(found)]
        said = said or statement(found)
        plans = sum(len(week.planned.plans) for week in found.weeks)
        told.append(
            f"{verdict(zone, found)}; {len(found.weeks)} weeks ({found.left_out} left out), {plans} ways of planning "
            f"in {time.perf_counter() - began:.0f} s, {forecast_s:.0f} s of them forecasts ({asked.jobs} processes, "
            f"{processor_s() - began_processor_s:.0f} s of processor time)"
        )
    print(table(["zone", *HEADS], lines))
    print("\n" + "\n".join(told) + f"\n\n{said}.")
