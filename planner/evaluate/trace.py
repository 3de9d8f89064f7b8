"""One run as its windows tell it: power, useful seconds and tokens from one instant to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from power.gpu import at_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.moves import Way
    from planner.run import Run
    from planner.week import Week
    from trainer_hooks.calendar import Window


@dataclass(frozen=True)
class Spell:
    """An unbroken stretch in which a gang holds the same GPUs.

    Args:
        first: Index of its first window.
        after: Index of the window after its last.
        start_s: First second, from the horizon's start.
        end_s: Last second, from the horizon's start.
    """

    first: int
    after: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class RunTrace:
    """One run's windows as arrays; times are seconds from the horizon's start.

    Args:
        run: The run.
        windows: Its windows by rising start.
        start_s: First second of each window, shape (W,).
        end_s: Last second of each window, shape (W,).
        running: Whether the window trains, shape (W,).
        gpus: GPUs held, shape (W,).
        gang_kw: IT power of the GPUs held, kW, shape (W,).
        pools: Known pool of each window, or None.
        spells: Unbroken stretches of holding GPUs in one pool, and one count of them where the run has several sizes.
        ways: For each spell, what lies between its pool and the one before, or None where nothing does.
        tokens: Useful tokens per window, shape (W,).
        made_s: Instants between which tokens are made at an even rate, shape (N,).
        made_tokens: Tokens made up to each of them, shape (N,).
    """

    run: Run
    windows: tuple[Window, ...]
    start_s: npt.NDArray[np.float64]
    end_s: npt.NDArray[np.float64]
    running: npt.NDArray[np.bool_]
    gpus: npt.NDArray[np.int64]
    gang_kw: npt.NDArray[np.float64]
    pools: tuple[str | None, ...]
    spells: tuple[Spell, ...]
    ways: tuple[Way | None, ...]
    tokens: npt.NDArray[np.float64]
    made_s: npt.NDArray[np.float64]
    made_tokens: npt.NDArray[np.float64]

    def tokens_by(self, time_s: float) -> float:
        """Return the tokens made up to an instant."""
        return float(np.interp(time_s, self.made_s, self.made_tokens))

    def reached_s(self, tokens: float) -> float | None:
        """Return the first instant at which that many tokens are made, or None if never."""
        i = int(np.searchsorted(self.made_tokens, tokens))
        if i == len(self.made_tokens):
            return None
        if i == 0:
            return float(self.made_s[0])
        share = (tokens - self.made_tokens[i - 1]) / (self.made_tokens[i] - self.made_tokens[i - 1])
        return float(self.made_s[i - 1] + share * (self.made_s[i] - self.made_s[i - 1]))


def trace(week: Week, run: Run, given: Sequence[Window]) -> RunTrace:
    """Return what a run's windows mean, however wrong they are.

    A gang that is not whole, or that sits in a pool it may not use, makes no tokens. A window without a limit runs at
    the highest operating point.

    Args:
        week: All inputs.
        run: The run.
        given: Its windows.
    """
    windows = tuple(sorted(given, key=lambda w: (w.start, w.end)))
    origin = week.grid.start
    start_s = np.array([(w.start - origin).total_seconds() for w in windows])
    end_s = np.array([(w.end - origin).total_seconds() for w in windows])
    running = np.array([w.state == "run" for w in windows], dtype=np.bool_)
    gpus = np.array([w.gpus if w.state != "off" else 0 for w in windows], dtype=np.int64)
    known = {p.name for p in week.pools}
    pools = tuple(w.pool if w.pool in known and w.state != "off" else None for w in windows)
    w_per_gpu, rate = np.zeros(len(windows)), np.zeros(len(windows))
    for name in {p for p in pools if p is not None}:
        here = np.array([p == name for p in pools], dtype=np.bool_)
        gpu = week.pool(name).gpu
        option = next((o for o in run.options if o.pool == name), None)
        points = option.points if option else gpu.points
        top_w = points[-1].gpu_power_limit_w
        limit_w = [top_w if w.gpu_power_limit_w is None else w.gpu_power_limit_w for w in windows]
        it_w, relative = at_limit(points, limit_w)
        w_per_gpu[here] = np.where(running, it_w, gpu.hold_w_per_gpu)[here]
        for one in run.options:
            if one.pool == name:
                size = one.gpus or run.gpus
                whole = here & running & (gpus == size)
                rate[whole] = size * one.tokens_per_gpu_s * relative[whole]
    held = spells(windows, start_s, end_s, by_gpus=run.moves)
    ways = _ways(run, [pools[spell.first] for spell in held])
    lost = _lost(week, run, windows, held, ways, running, start_s, end_s)
    made_s, made, per_window = _work(start_s, end_s, rate, lost)
    return RunTrace(
        run=run,
        windows=windows,
        start_s=start_s,
        end_s=end_s,
        running=running,
        gpus=gpus,
        gang_kw=gpus * w_per_gpu / 1000.0,
        pools=pools,
        spells=held,
        ways=ways,
        tokens=per_window,
        made_s=made_s,
        made_tokens=made,
    )


def spells(
    windows: Sequence[Window],
    start_s: npt.NDArray[np.float64],
    end_s: npt.NDArray[np.float64],
    *,
    by_gpus: bool = False,
) -> tuple[Spell, ...]:
    """Return the unbroken stretches of windows that hold GPUs in one pool, where asked with one count of them."""
    found: list[Spell] = []
    for i, window in enumerate(windows):
        if window.state == "off":
            continue
        before = windows[i - 1]
        joined = i > 0 and before.state != "off" and before.pool == window.pool
        joined = joined and (not by_gpus or before.gpus == window.gpus)
        if joined and found and start_s[i] <= end_s[i - 1]:
            found[-1] = Spell(found[-1].first, i + 1, found[-1].start_s, float(end_s[i]))
        else:
            found.append(Spell(i, i + 1, float(start_s[i]), float(end_s[i])))
    return tuple(found)


def saves_after(windows: Sequence[Window], i: int) -> bool:
    """Return whether a checkpoint is asked for as window `i` ends."""
    return windows[i].checkpoint == "after" or (i + 1 < len(windows) and windows[i + 1].checkpoint == "before")


def _ways(run: Run, pools: Sequence[str | None]) -> tuple[Way | None, ...]:
    """Return what lies between the pool of each spell and the one in which the run's state lies until then."""
    if run.migration is None:
        return (None,) * len(pools)
    lies = run.running_in or run.migration.lies_in
    found = []
    for pool in pools:
        found.append(None if pool is None else run.migration.way(lies, pool))
        lies = pool or lies
    return tuple(found)


def _lost(
    week: Week,
    run: Run,
    windows: Sequence[Window],
    held: Sequence[Spell],
    ways: Sequence[Way | None],
    running: npt.NDArray[np.bool_],
    start_s: npt.NDArray[np.float64],
    end_s: npt.NDArray[np.float64],
) -> list[tuple[float, float]]:
    horizon_s = 3600.0 * week.grid.hours
    lost: list[tuple[float, float]] = []
    for spell, way in zip(held, ways, strict=True):
        runs = [i for i in range(spell.first, spell.after) if running[i]]
        if not runs:
            continue
        first = windows[spell.first]
        if spell.start_s > 0.0 or not run.runs_on(str(first.pool), first.gpus):
            begin = float(start_s[runs[0]])
            ready = begin + run.reload_s + (0.0 if way is None else way.time_s)
            # what is not there as the spell ends keeps no later one back
            lost.append((begin, min(ready, spell.end_s)))
        for i in runs:
            stops = i == runs[-1] and spell.end_s < horizon_s
            if stops or saves_after(windows, i):
                lost.append((float(end_s[i]) - run.checkpoint_s, float(end_s[i])))
    return lost


def _work(
    start_s: npt.NDArray[np.float64],
    end_s: npt.NDArray[np.float64],
    rate: npt.NDArray[np.float64],
    lost: list[tuple[float, float]],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    at_s = np.unique(np.concatenate([start_s, end_s, [edge for span in lost for edge in span], [0.0]]))
    middle = (at_s[:-1] + at_s[1:]) / 2
    window = np.searchsorted(start_s, middle, side="right") - 1
    useful = (window >= 0) & (middle < end_s[window])
    for begin, end in lost:
        useful &= (middle < begin) | (middle > end)
    pieces = np.where(useful, rate[window] * np.diff(at_s), 0.0)
    made = np.concatenate(([0.0], np.cumsum(pieces)))
    per_window = np.bincount(np.maximum(window, 0), weights=pieces, minlength=len(start_s))
    return at_s, made, np.asarray(per_window, dtype=np.float64)
