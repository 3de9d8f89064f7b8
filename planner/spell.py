"""One spell of a gang that should make a given count of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from power.gpu import at_limit

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.run import PoolOption, Run
    from planner.timegrid import TimeGrid

_HAIR = 1e-9
_SAME_WORK = 1e-7


@dataclass(frozen=True)
class Spell:
    """One spell, whole slots but for its end.

    Args:
        limit_w: Power limit per slot, W; 0 outside the spell, shape (T,).
        end: Position at which the gang is let go, in slots from the horizon's start.
        tokens: Useful tokens it makes.
        complete: Whether that is all that was asked for.
    """

    limit_w: npt.NDArray[np.float64]
    end: float
    tokens: float
    complete: bool


def tokens_per_s(run: Run, option: PoolOption, limit_w: float) -> float:
    """Return the useful tokens per second of the whole gang at a limit."""
    _, relative = at_limit(option.points, limit_w)
    return run.gpus * option.tokens_per_gpu_s * float(relative)


def spell(
    grid: TimeGrid, run: Run, option: PoolOption, limit_w: float, first: int, before: int, tokens: float
) -> Spell:
    """Return the spell that starts at a slot and ends when its tokens are made, or at the last edge it may reach.

    A spell up to the horizon's end saves no checkpoint. Where leaving that out would make more tokens than asked, its
    last slots run at lower limits.

    Args:
        grid: The slots.
        run: The run.
        option: Its pool.
        limit_w: Power limit, W.
        first: First slot.
        before: Slot at whose start it must have ended.
        tokens: Tokens asked for.
    """
    slot_s, rate = 60.0 * grid.slot_minutes, tokens_per_s(run, option, limit_w)
    reload_s = 0.0 if first == 0 and run.runs_on(option.pool, run.gpus) else run.reload_s
    limits = np.zeros(grid.n_slots)
    end = first + (reload_s + tokens / rate + run.checkpoint_s) / slot_s
    if end <= before + _HAIR:
        end = float(round(end)) if abs(end - round(end)) < _HAIR else end
        limits[first : int(np.ceil(end))] = limit_w
        return Spell(limits, end, tokens, complete=True)
    limits[first:before] = limit_w
    to_horizon = before == grid.n_slots
    lost_s = reload_s + (0.0 if to_horizon else run.checkpoint_s)
    made = max(0.0, (before - first) * slot_s - lost_s) * rate
    if to_horizon and made >= tokens * (1.0 - _SAME_WORK):
        if made > tokens * (1.0 + _SAME_WORK):
            useful = first + int(np.ceil(reload_s / slot_s))
            made -= _slow_down(limits[useful:], run, option, made - tokens, slot_s)
        return Spell(limits, float(before), made, complete=made <= tokens * (1.0 + _SAME_WORK))
    return Spell(limits, float(before), made, complete=False)


def _slow_down(limits: npt.NDArray[np.float64], run: Run, option: PoolOption, excess: float, slot_s: float) -> float:
    full = run.gpus * option.tokens_per_gpu_s * slot_s
    relative = [p.relative_throughput for p in option.points]
    known_w = [p.gpu_power_limit_w for p in option.points]
    cut = 0.0
    for t in reversed(range(len(limits))):
        _, now = at_limit(option.points, limits[t])
        slower = max(relative[0], float(now) - (excess - cut) / full)
        limits[t] = np.interp(slower, relative, known_w)
        cut += (float(now) - slower) * full
        if cut >= excess * (1.0 - _HAIR):
            break
    return cut
