"""One run's states from instant to instant, finer than slots: what an answer to an event changes.

The law of spells is that of `planner.slots`: the first `reload_s` seconds of running and the last `checkpoint_s` of a
spell draw power and make no tokens. A gang that holds keeps its GPUs, waits, and goes on without a reload.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import DECIMALS
from planner.slots import spells
from power.gpu import at_limit
from trainer_hooks.calendar import Window

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    import numpy.typing as npt

    from planner.run import PoolOption, Run
    from planner.timegrid import TimeGrid
    from planner.week import Week
    from trainer_hooks.contract import Checkpoint, RunCalendar, State

OFF, HOLD, RUN = 0, 1, 2
_STATES: tuple[State, ...] = ("off", "hold", "run")


@dataclass(frozen=True)
class Pieces:
    """The horizon cut at slot edges and wherever a run may change; whole seconds.

    Args:
        start_s: Start of each piece, seconds from the horizon's start, shape (P,).
        end_s: Its end, shape (P,).
        slot: Its slot, shape (P,).
        n_slots: Count of slots.
    """

    start_s: npt.NDArray[np.float64]
    end_s: npt.NDArray[np.float64]
    slot: npt.NDArray[np.int64]
    n_slots: int

    @property
    def length_s(self) -> npt.NDArray[np.float64]:
        """Length of each piece, s, shape (P,)."""
        return self.end_s - self.start_s

    def slot_mean(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the slot means, shape (T,), of a value per piece, shape (P,)."""
        weighted = np.bincount(self.slot, weights=values * self.length_s, minlength=self.n_slots)
        return np.asarray(weighted / np.bincount(self.slot, weights=self.length_s, minlength=self.n_slots))

    def inside(self, start_s: float, end_s: float) -> npt.NDArray[np.bool_]:
        """Return which pieces have time in common with a span, shape (P,)."""
        return (self.start_s < end_s) & (self.end_s > start_s)


def cut(grid: TimeGrid, runs: Iterable[RunCalendar], more_s: Iterable[float]) -> Pieces:
    """Return the pieces between all slot edges, window edges and further instants.

    Args:
        grid: The slots.
        runs: The windows of every run.
        more_s: Further instants, seconds from the horizon's start; those outside the horizon are left out.
    """
    slot_s = 60.0 * grid.slot_minutes
    slot_edges = np.arange(grid.n_slots + 1) * slot_s
    windows = [(w.start - grid.start).total_seconds() for run in runs for w in run.windows]
    edges = np.unique(np.concatenate([slot_edges, windows, list(more_s)]))
    edges = edges[(edges >= 0.0) & (edges <= slot_edges[-1])]
    slot = np.searchsorted(slot_edges, edges[:-1], side="right") - 1
    return Pieces(edges[:-1], edges[1:], slot, grid.n_slots)


@dataclass(frozen=True)
class Course:
    """One run per piece, arrays of shape (P,).

    Args:
        run: The run.
        option: How it performs in the pool it sits in, or None if it never runs.
        state: OFF, HOLD or RUN.
        limit_w: GPU power limit while it runs, W; 0 else.
        why: One line for people.
    """

    run: Run
    option: PoolOption | None
    state: npt.NDArray[np.int64]
    limit_w: npt.NDArray[np.float64]
    why: tuple[str, ...]


def course_of(week: Week, run: Run, given: RunCalendar, pieces: Pieces) -> Course:
    """Return what a run's windows say in each piece."""
    starts_s = np.array([(w.start - week.grid.start).total_seconds() for w in given.windows])
    of_piece = np.searchsorted(starts_s, pieces.start_s, side="right") - 1
    pool = next((w.pool for w in given.windows if w.state != "off"), None)
    option = next((o for o in run.options if o.pool == pool), None)
    top_w = 0.0 if option is None else option.points[-1].gpu_power_limit_w
    limits = [top_w if w.gpu_power_limit_w is None else w.gpu_power_limit_w for w in given.windows]
    state = np.array([_STATES.index(w.state) for w in given.windows])[of_piece]
    limit_w = np.where(state == RUN, np.array(limits)[of_piece], 0.0)
    return Course(run, option, state, limit_w, tuple(given.windows[i].why for i in of_piece))


def gang_kw(week: Week, course: Course) -> npt.NDArray[np.float64]:
    """Return the IT power of a run's gang per piece, kW, shape (P,); 0 where it is off."""
    if course.option is None:
        return np.zeros(len(course.state))
    it_w, _ = at_limit(course.option.points, course.limit_w)
    held_w = week.pool(course.option.pool).gpu.hold_w_per_gpu
    per_gpu = np.where(course.state == RUN, it_w, np.where(course.state == HOLD, held_w, 0.0))
    return np.asarray(course.run.gpus * per_gpu / 1000.0)


def throughput(course: Course) -> npt.NDArray[np.float64]:
    """Return a run's throughput over that at its highest limit per piece, shape (P,); 0 where it does not run."""
    if course.option is None:
        return np.zeros(len(course.state))
    _, relative = at_limit(course.option.points, course.limit_w)
    return np.where(course.state == RUN, relative, 0.0)


def useful_s(course: Course, pieces: Pieces) -> npt.NDArray[np.float64]:
    """Return the seconds of each piece in which a run makes tokens, shape (P,)."""
    run, useful = course.run, np.where(course.state == RUN, pieces.length_s, 0.0)
    for first, after in spells(course.state != OFF):
        here = np.arange(first, after)
        running = here[course.state[here] == RUN]
        if not running.size:
            continue
        goes_on = pieces.start_s[first] <= 0.0 and course.option is not None and run.running_in == course.option.pool
        start_s, end_s = pieces.start_s[running], pieces.end_s[running]
        from_s = start_s[0] + (0.0 if goes_on else run.reload_s)
        stays = pieces.end_s[after - 1] >= pieces.end_s[-1]
        to_s = end_s[-1] - (0.0 if stays else run.checkpoint_s)
        useful[running] = np.clip(np.minimum(end_s, to_s) - np.maximum(start_s, from_s), 0.0, None)
    return np.asarray(useful)


def tokens(course: Course, pieces: Pieces) -> npt.NDArray[np.float64]:
    """Return a run's useful tokens per piece, shape (P,)."""
    if course.option is None:
        return np.zeros(len(course.state))
    return np.asarray(course.run.gpus * course.option.tokens_per_gpu_s * throughput(course) * useful_s(course, pieces))


def made_by(course: Course, pieces: Pieces, until_s: float) -> float:
    """Return a run's tokens up to an instant, seconds from the horizon's start."""
    made = np.append(0.0, np.cumsum(tokens(course, pieces)))
    return float(np.interp(until_s, np.append(pieces.start_s, pieces.end_s[-1]), made))


def windows_of(week: Week, course: Course, pieces: Pieces, kg_per_kwh: npt.NDArray[np.float64]) -> tuple[Window, ...]:
    """Return a run's windows: neighbouring pieces in which nothing differs are one window.

    Args:
        week: All inputs.
        course: The run.
        pieces: The pieces.
        kg_per_kwh: Carbon per kWh of IT energy in each slot, kg/kWh, shape (T,).
    """
    drawn_kwh = gang_kw(week, course) * pieces.length_s / 3600.0
    made, carbon = tokens(course, pieces), drawn_kwh * kg_per_kwh[pieces.slot]
    told = list(zip(course.state.tolist(), course.limit_w.tolist(), course.why, strict=True))
    firsts = [0, *(i for i in range(1, len(told)) if told[i] != told[i - 1])]
    found: list[Window] = []
    for first, after in zip(firsts, [*firsts[1:], len(told)], strict=True):
        state = int(course.state[first])
        held = state != OFF and course.option is not None
        stops = after < len(told) and course.state[after] == OFF
        checkpoint: Checkpoint = "after" if state == RUN and stops else "none"
        found.append(
            Window(
                start=_at(week, pieces.start_s[first]),
                end=_at(week, pieces.end_s[after - 1]),
                state=_STATES[state],
                pool=course.option.pool if held and course.option is not None else None,
                block=week.pool(course.option.pool).place if held and course.option is not None else None,
                gpus=course.run.gpus if held else 0,
                gpu_power_limit_w=float(course.limit_w[first]) if state == RUN else None,
                checkpoint=checkpoint,
                tokens=round(float(made[first:after].sum()), DECIMALS),
                energy_kwh=round(float(drawn_kwh[first:after].sum()), DECIMALS),
                kgco2e=round(float(carbon[first:after].sum()), DECIMALS),
                why=course.why[first],
            )
        )
    return tuple(found)


def _at(week: Week, seconds: float) -> datetime:
    return week.grid.start + timedelta(seconds=float(seconds))
