"""Classes of like runs: the same pools and points, about the same start, deadlines and slack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

DUE_H = 6.0  # deadlines of a class within so many hours are one
SPELL_H = 16.0  # of work between two starts, as far as a class without whole gangs can tell


@dataclass(frozen=True)
class Fineness:
    """How alike runs of a class are, and how long the steps of the aggregate program are.

    Args:
        window_h: Runs of a class start and are due within so many hours; 0 for every run by itself.
        slacks: Classes of slack.
        step_h: Length of a step, h; at least a slot.
    """

    window_h: float
    slacks: int
    step_h: float


EVERY_RUN = Fineness(0.0, 1, 0.0)
"""No runs taken together, every slot by itself."""


@dataclass(frozen=True)
class ClassOption:
    """A class in a pool: its operating points, its rate, and the slots in which it may be on, shape (T,)."""

    table: int
    rate: float
    is_open: Flags


@dataclass(frozen=True)
class LikeRuns:
    """A class.

    Args:
        runs: Places of its members.
        gpus: GPUs of all its gangs.
        room: GPUs of those gangs that may be on, per slot, shape (T,).
        options: Pools that they may use.
        work: GPU-hours due by D times, shape (D,).
        marks: When they are missed, slots after the start, shape (D, J).
        price: Money per GPU-hour missing.
        weight: Mean weight of lateness of its GPUs.
        most: Most GPU-hours of work.
    """

    runs: tuple[int, ...]
    gpus: float
    room: Floats
    options: tuple[ClassOption, ...]
    work: Floats
    marks: Floats
    price: float
    weight: float
    most: float


def classes(crowd: Crowd, fine: Fineness) -> tuple[LikeRuns, ...]:
    """Return a crowd's runs in classes; runs without work or without an open cell are in none."""
    rows = _rows_of(crowd)
    dues, slot_h = crowd.dues, crowd.week.grid.slot_h
    members: dict[tuple[object, ...], list[int]] = {}
    for run, mine in rows.items():
        if dues.most_h[run] <= 0.0:
            continue
        key: tuple[object, ...] = (run,)
        if fine.window_h > 0.0:
            first = min(float(np.argmax(is_open)) for _, is_open in mine.values()) * slot_h
            ends = tuple(
                int(np.ceil(dues.marks[run, i, 0] * slot_h / fine.window_h))
                for i in np.flatnonzero(dues.work_h[run] > 0.0)
            )
            last = float(dues.marks[run][dues.work_h[run] > 0.0][:, 0].max()) * slot_h
            rate = max(rate for rate, _ in mine.values())
            slack = min(0.999, float(dues.most_h[run]) / max(rate * (last - first), slot_h))
            key = (
                tuple((table, round(rate, 1)) for table, (rate, _) in mine.items()),
                int(first / fine.window_h), ends, int(slack * fine.slacks),
            )  # fmt: skip
        members.setdefault(key, []).append(run)
    return tuple(_class(crowd, rows, runs, late=fine.window_h == 0.0) for runs in members.values())


def _rows_of(crowd: Crowd) -> dict[int, dict[int, tuple[float, Flags]]]:
    """Run -> table -> rate and open slots."""
    found: dict[int, dict[int, tuple[float, Flags]]] = {}
    for rank in crowd.ranks:
        lengths = np.diff(rank.edges)
        for row in range(len(rank)):
            is_open = np.repeat(rank.is_open[row], lengths)
            found.setdefault(int(rank.run[row]), {})[int(rank.table[row])] = (float(rank.rate[row]), is_open)
    return dict(sorted(found.items()))


def _class(crowd: Crowd, rows: dict[int, dict[int, tuple[float, Flags]]], runs: list[int], *, late: bool) -> LikeRuns:
    """Return a class; where it is not `late`, it works before its last deadline only, which spares columns."""
    week, dues = crowd.week, crowd.dues
    gpus = np.array([week.runs[r].gpus for r in runs], dtype=np.float64)
    lost_h = np.array([(week.runs[r].reload_s + week.runs[r].checkpoint_s) / 3600.0 for r in runs])
    more = lost_h[:, None] * np.ceil(dues.work_h[runs] / SPELL_H)
    work, first = (dues.work_h[runs] + more) * gpus[:, None], dues.marks[runs, :, 0]
    if len(runs) > 1:
        asked, marks = _together(work, first, DUE_H / week.grid.slot_h)
    else:
        asked, marks = work[0], dues.marks[runs[0]]
    ends = np.where(work > 0.0, first, 0.0).max(axis=1)
    slot = np.arange(week.grid.n_slots)
    before = slot < (np.inf if late else np.ceil(ends.max()))
    room, options = np.zeros(week.grid.n_slots), []
    for table, (rate, _) in rows[runs[0]].items():
        rates = np.array([rows[r][table][0] for r in runs])
        opened = np.array([rows[r][table][1] for r in runs])
        if not late:
            opened &= slot < np.ceil(ends)[:, None]
        room = np.maximum(room, gpus @ opened)
        mean_rate = rate if len(runs) == 1 else float((rates * gpus).sum() / gpus.sum())
        options.append(ClassOption(table, mean_rate, np.asarray(opened.any(axis=0) & before)))
    return LikeRuns(
        runs=tuple(runs),
        gpus=float(gpus.sum()),
        room=room,
        options=tuple(options),
        work=asked,
        marks=marks,
        price=float((dues.price[runs] * gpus).sum() / gpus.sum()),
        weight=float(sum(week.runs[r].lateness_weight * week.runs[r].gpus for r in runs) / gpus.sum()),
        most=float(((dues.most_h[runs] + more.sum(axis=1)) * gpus).sum()),
    )


def _together(work: Floats, first: Floats, step: float) -> tuple[Floats, Floats]:
    """Return the work that all members owe by their deadlines, so many slots at a time, and these times."""
    groups = np.where(work > 0.0, np.ceil(first / step), -1.0)
    times, asked = [], []
    for group in np.unique(groups[groups >= 0.0]):
        times.append(float(first[groups == group].max()))
        asked.append(float(np.where((groups >= 0.0) & (groups <= group), work, 0.0).max(axis=1).sum()))
    return np.array(asked), np.array(times)[:, None]
