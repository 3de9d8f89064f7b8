"""What runs that others wait for are due earlier, so that these can keep their own deadlines.

It decides where gangs are placed and at which prices; the bound and the objective do not know it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.precedence import first_h, in_order, needed_tokens, waits

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd

    Floats = npt.NDArray[np.float64]


def pressed(crowd: Crowd) -> Crowd:
    """Return a crowd in which a stage that others wait for is due when these must start at their lowest power.

    It is due no earlier than it can be done at its fastest. A crowd without such runs is returned as it is.
    """
    week = crowd.week
    asked = _asked(crowd)
    if not asked:
        return crowd
    dues, most = crowd.dues, max(len(marks) for marks in asked.values())
    n, d, j = dues.marks.shape
    work = np.concatenate([dues.work_h, np.zeros((n, most))], axis=1)
    marks = np.concatenate([dues.marks, np.full((n, most, j), np.inf)], axis=1)
    for run, mine in asked.items():
        per_h = week.runs[run].fastest_tokens_per_s * 3600.0
        for i, (mark, tokens) in enumerate(mine):
            work[run, d + i], marks[run, d + i, 0] = tokens / per_h, mark
        by_time = np.argsort(marks[run, :, 0], kind="stable")
        work[run], marks[run] = work[run, by_time], marks[run, by_time]
    return replace(crowd, dues=replace(dues, work_h=work, marks=marks))


def _asked(crowd: Crowd) -> dict[int, list[tuple[float, float]]]:
    """Run -> (slots after the start, tokens wanted by then), without what its own deadlines ask for anyway."""
    week, slot_h = crowd.week, crowd.week.grid.slot_h
    place = {run.name: i for i, run in enumerate(week.runs)}
    slowest = np.full(len(week.runs), np.inf)
    for rank in crowd.ranks:
        np.minimum.at(slowest, rank.run, rank.rate * rank.least)
    found: dict[int, list[tuple[float, float]]] = {}
    for run in reversed(in_order(week.runs)):
        i = place[run.name]
        before = waits(week, run)
        if not before or not np.isfinite(slowest[i]):
            continue
        per_h = run.fastest_tokens_per_s * 3600.0
        own = zip(crowd.dues.marks[i, :, 0].tolist(), crowd.dues.work_h[i].tolist(), strict=True)
        due = [(mark, work_h) for mark, work_h in own if work_h > 0.0]
        due += [(mark, tokens / per_h) for mark, tokens in found.get(i, ())]
        lost_h = run.reload_s / 3600.0
        starts = [mark - (work_h / slowest[i] + lost_h) / slot_h for mark, work_h in due]
        if not starts:
            continue
        for after in before:
            first, tokens = place[after.run], needed_tokens(week, after)
            mark = max(min(starts), first_h(week, run) / slot_h) - after.lag_h / slot_h
            wanted = crowd.dues.work_h[first] >= tokens / (week.runs[first].fastest_tokens_per_s * 3600.0)
            if 0.0 < mark < np.min(crowd.dues.marks[first, wanted, 0], initial=week.grid.n_slots):
                found.setdefault(first, []).append((mark, tokens))
    return found
