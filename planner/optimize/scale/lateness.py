"""Work that placed gangs have done by their marks, and what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.course import course

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.course import TokenCourse
    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.ground import Placed

    Floats = npt.NDArray[np.float64]

ROUNDING = 1e-7


def tokens_by_slot(crowd: Crowd, run: int, placed: Placed | None) -> Floats:
    """Return the tokens that a run surely has by the start of each slot and the end of the last, shape (T + 1,)."""
    return np.append(0.0, token_course(crowd, run, placed).tokens)


def token_course(crowd: Crowd, run: int, placed: Placed | None) -> TokenCourse:
    """Return when a run surely makes tokens: the time lost at a start and a stop counts at the speed of its slots."""
    week, one = crowd.week, crowd.week.runs[run]
    n, slot_s = week.grid.n_slots, week.grid.slot_h * 3600.0
    if placed is None or not placed.slots.size:
        return course(np.zeros(n), [], slot_s)
    option = one.options[placed.option]
    spells = []
    breaks = np.flatnonzero(np.diff(placed.slots) > 1)
    firsts, lasts = np.append(0, breaks + 1), np.append(breaks, len(placed.slots) - 1)
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        begins, after = int(placed.slots[first]), int(placed.slots[last]) + 1
        goes_on = begins == 0 and one.running_in == option.pool
        spells.append((begins, after, 0.0 if goes_on else one.reload_s, 0.0 if after == n else one.checkpoint_s))
    rate = np.zeros(n)
    rate[placed.slots] = placed.speed * option.tokens_per_gpu_s * one.gpus
    return course(rate, spells, slot_s)


def lateness_money(crowd: Crowd, places: Sequence[Placed | None]) -> float:
    """Return the price of all work that is missing at its marks, money, with lost time at the highest rate."""
    return sum(late_money(crowd, run, placed) for run, placed in enumerate(places))


def late_gpu_h(crowd: Crowd, places: Sequence[Placed | None]) -> float:
    """Return the measure of lateness: GPU-hours of work missing at marks, times the runs' weights."""
    weight = np.array([run.lateness_weight for run in crowd.week.runs])
    return lateness_money(replace(crowd, dues=replace(crowd.dues, price=weight)), places)


def late_money(crowd: Crowd, run: int, placed: Placed | None) -> float:
    """Return the same of one run."""
    dues = crowd.dues
    if not dues.work_h[run].any():
        return 0.0
    marks = dues.marks[run]
    known = np.isfinite(marks)
    done = np.zeros(marks.shape)
    if placed is not None and placed.slots.size:
        done[known] = work_by_marks(crowd, run, placed, marks[known])
    short = np.maximum(dues.work_h[run][:, None] - done, 0.0)
    # what rounding alone leaves is not missing
    short[short <= ROUNDING * np.maximum(dues.work_h[run][:, None], 1.0)] = 0.0
    return float(short[known].sum()) * float(dues.price[run]) * crowd.week.runs[run].gpus


def work_by_marks(crowd: Crowd, run: int, placed: Placed, marks: Floats) -> Floats:
    """Return the work that a run has done by marks in slots, h of the gang, as the program counts it."""
    week, one = crowd.week, crowd.week.runs[run]
    option = one.options[placed.option]
    rate, h, n = (
        option.tokens_per_gpu_s / max(o.tokens_per_gpu_s for o in one.options),
        week.grid.slot_h,
        week.grid.n_slots,
    )
    top = float(crowd.tables[placed.table].throughput[-1])
    so_far = np.zeros(n + 1)
    so_far[placed.slots + 1] = placed.speed * rate * h
    made = np.interp(marks, np.arange(n + 1), np.cumsum(so_far))
    on = np.zeros(n + 2, dtype=bool)
    on[placed.slots + 1] = True
    starts = np.flatnonzero(on[1:-1] & ~on[:-2])
    if one.running_in == option.pool:
        starts = starts[starts > 0]
    stops = np.flatnonzero(on[1:-1] & ~on[2:]) + 1
    saves = stops[stops < n] - one.checkpoint_s / 3600.0 / h
    lost = (starts[None, :] < marks[:, None]).sum(axis=1) * one.reload_s
    lost = lost + (saves[None, :] < marks[:, None]).sum(axis=1) * one.checkpoint_s
    return np.asarray(made - rate * top * lost / 3600.0)
