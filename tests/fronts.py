"""Small weeks whose plans can all be counted: every on/off pattern judged, and the best of them by any measure."""

from __future__ import annotations

import itertools

import numpy as np

from planner.evaluate import Evaluation, evaluate
from planner.publish import to_calendar
from planner.run import Run
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from planner.week import Prices, Week
from tests.weeks import FULL_POWER, make_pool, make_run, tiny_week

CI = (100.0, 200.0, 300.0, 400.0)
PRICE = (0.40, 0.36, 0.20, 0.10)
GPUS = 256


def two_runs(**changes) -> Week:
    """Two runs of one hour each at one power, four hours, room for one of them at a time: clean hours are dear.

    A pair of hours costs (sum of CI, sum of PRICE) times the same energy: 1+2 (300, 0.76), 1+3 (400, 0.60), 1+4
    (500, 0.50), 2+3 (500, 0.56: beaten by 1+4), 2+4 (600, 0.46: above the line from 1+4 to 3+4), 3+4 (700, 0.30).
    """
    runs = tuple(make_run(name, GPUS, 1.0, 4.0, points=FULL_POWER) for name in ("first", "second"))
    given = {
        "n_slots": 4,
        "ci_gco2_per_kwh": list(CI),
        "price_per_kwh": list(PRICE),
        "pools": (make_pool(gpus=GPUS, idle_w=0.0, points=FULL_POWER),),
        "runs": runs,
        "prices": Prices("EUR", carbon_per_t=500.0, water_per_m3=2.0, lateness_per_gpu_h=50.0),
    }
    return tiny_week(**(given | changes))


def every_plan(week: Week) -> list[Evaluation]:
    """The judge's figures of every choice of hours that fits the pool; the runs have one power and hours of their own.

    Spells and pauses are as the runs' rules allow them where each run has one hour of work: one hour on, or none.
    """
    hours = [[None, *range(week.grid.n_slots)] for _ in week.runs]
    pool = week.pools[0]
    free = pool.gpus_in_service(week.grid)
    found = []
    for chosen in itertools.product(*hours):
        taken = [hour for hour in chosen if hour is not None]
        if any(sum(r.gpus for r, h in zip(week.runs, chosen, strict=True) if h == t) > free[t] for t in set(taken)):
            continue
        runs = tuple(_on(week, run, hour) for run, hour in zip(week.runs, chosen, strict=True))
        found.append(judged(week, runs))
    return found


def judged(week: Week, runs: tuple[RunSchedule, ...]) -> Evaluation:
    """The judge's figures of runs in blocks without sun and battery."""
    still = np.zeros(week.grid.n_slots)
    blocks = tuple(BlockSchedule(block.name, still, still, still) for block in week.blocks)
    calendar, windows = to_calendar(week, Schedule(runs, blocks), status="by hand", certified_gap=None)
    return evaluate(calendar, windows, week, simulated_weeks=0)


def _on(week: Week, run: Run, hour: int | None) -> RunSchedule:
    limit = np.zeros(week.grid.n_slots)
    if hour is not None:
        limit[hour] = run.options[0].points[-1].gpu_power_limit_w
    return RunSchedule(run.name, None if hour is None else run.options[0].pool, limit)
