"""What the tests of faults that planners of others had share: plans judged, and the mark of a report."""

from __future__ import annotations

import numpy as np

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar

SURE = PlanOptions(gap_target=1e-6, time_limit_s=60.0)


def planned(week, options=SURE):
    """The plan of a week, and what the judge says of its calendar."""
    found = plan(week, options)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return found, evaluate(calendar, runs, week)


def hours_on(week, schedule):
    """Hours in which a run's limit is set."""
    return float(np.count_nonzero(schedule.gpu_power_limit_w)) * week.grid.slot_h


def spells(schedule):
    """(first slot, slot after the last) of every spell of a run."""
    edges = np.flatnonzero(np.diff([0, *(schedule.gpu_power_limit_w > 0.0).astype(int), 0]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
