"""Whether a block's IT power rises and falls no faster than its connection allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import Spans, worst

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.evaluate.record import Violation
    from planner.evaluate.replay import Pieces
    from planner.run import Run
    from planner.week import Block, Week

    Floats = npt.NDArray[np.float64]

WHOLE_SECOND_MIN = 1.0 / 60.0


def check_ramp(week: Week, block: Block, it_kw: Floats, cut: Pieces) -> list[Violation]:
    """Return where IT power changes by more than the block's ramp allows.

    Changes within one staggering window add up to no more than the ramp allows in it (a window longer than a slot
    counts as a slot). And where slots have room for the windows of both their edges, changes of one direction follow
    each other no sooner than the ramp's line catches up with those before: from the end of one level of power to the
    end of a higher one, after which power rises on, pass the minutes that the ramp takes for what lies between them.
    Changes at one instant are one; instants are whole seconds.

    Args:
        week: All inputs.
        block: The block.
        it_kw: Its IT power per piece, kW, shape (P,).
        cut: The pieces.
    """
    found: list[Violation] = []
    if len(it_kw) < 2:
        return found
    window_s = min(60.0 * block.power.ramp_window_min, cut.slot_s)
    for sign, kw_per_min, way in (
        (1.0, block.power.ramp_kw_per_min, "raises"),
        (-1.0, block.power.fall_kw_per_min, "lowers"),
    ):
        if kw_per_min is None:
            continue
        step_kw, over = kw_per_min * block.power.ramp_window_min, Spans(cut.start_s[1:], cut.length_s[1:])
        within_kw = _most_within_kw(sign * it_kw, cut, window_s)
        says = f"{way} its IT power by"
        broken = worst(week, "ramp", f"block {block.name}", within_kw, step_kw, "kW", says, over=over)
        if not broken and 2.0 * block.power.ramp_window_min <= week.grid.slot_minutes:
            says = f"{way} its IT power, while its ramp catches up with changes before, by"
            ahead_kw = _most_ahead_kw(sign * it_kw, cut, kw_per_min, window_s)
            broken = worst(week, "ramp", f"block {block.name}", ahead_kw, 0.0, "kW", says, over=over)
        found += broken
    return found


def most_moved_s(week: Week, run: Run) -> float:
    """Return the most seconds by which ramp limits may make a start of a run later or a stop earlier.

    That is a staggering window, of all blocks together where gangs span blocks with a ramp limit.
    """
    limited = {b.name: 60.0 * b.power.ramp_window_min for b in week.blocks if b.power.fall_kw_per_min is not None}
    limited |= {b.name: 60.0 * b.power.ramp_window_min for b in week.blocks if b.power.ramp_kw_per_min is not None}
    if any(sum(name in limited for name, _ in pool.shares) > 1 for pool in week.pools):
        return sum(limited.values())
    mine = {name for option in run.options for name, _ in week.pool(option.pool).shares}
    return max((window_s for name, window_s in limited.items() if name in mine), default=0.0)


def _most_within_kw(power_kw: Floats, cut: Pieces, window_s: float) -> Floats:
    """Return the largest rise that ends at each edge and began less than a window before it, kW, shape (P - 1,)."""
    rise_kw = np.zeros(len(power_kw) - 1)
    for lag in range(1, len(power_kw)):
        near = cut.start_s[lag:] - cut.start_s[1 : len(power_kw) - lag + 1] < window_s
        if not near.any():
            break
        rise = np.where(near, power_kw[lag:] - power_kw[:-lag], 0.0)
        rise_kw[lag - 1 :] = np.maximum(rise_kw[lag - 1 :], rise)
    return rise_kw


def _most_ahead_kw(power_kw: Floats, cut: Pieces, kw_per_min: float, window_s: float) -> Floats:
    """Return by how much power is ahead of the ramp's line where it rises on, kW, shape (P - 1,)."""
    ahead_kw = np.zeros(len(power_kw) - 1)
    rises = np.diff(power_kw) > 0.0
    ends_s = cut.start_s + cut.length_s
    for lag in range(1, len(power_kw) - 1):
        # from the end of level m to the end of level m + lag, at which power rises again
        passed_s = ends_s[lag:-1] - ends_s[: -lag - 1]
        near = rises[lag:] & (passed_s < window_s)
        if not (passed_s < window_s).any():
            break
        line_kw = kw_per_min * (passed_s / 60.0 + WHOLE_SECOND_MIN)
        ahead = np.where(near, power_kw[lag:-1] - power_kw[: -lag - 1] - line_kw, 0.0)
        ahead_kw[lag:] = np.maximum(ahead_kw[lag:], ahead)
    return ahead_kw
