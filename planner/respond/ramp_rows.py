"""Ramps of blocks while an event begins and ends: steps within a staggering window, and steps one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.respond.question import Question
    from planner.respond.rows import Rows, Terms
    from planner.week import Block

IN_HAND = 4e-6
"""Of every step: covers the solver's tolerance and limits rounded to a milliwatt."""


def add_ramp_rows(
    rows: Rows, question: Question, block: Block, it: Mapping[int, int], planned_kw: npt.NDArray[np.float64]
) -> None:
    """Hold a block's changes of IT power to its ramp, wherever an answer may touch them.

    Changes within one staggering window add up to one step at most. And where slots have room for the windows of both
    their edges, power that has changed goes on in the same direction only after the minutes that the ramp takes for
    that: what is set ahead of an event is all that changes until it begins; elsewhere the earlier change is small.

    Args:
        rows: The program.
        question: The event and the calendar.
        block: The block.
        it: Piece -> column of IT power, kW.
        planned_kw: IT power in the calendar in force per piece, kW, shape (P,).
    """
    power = block.power
    slot_minutes = question.week.grid.slot_minutes
    window_s = min(60.0 * power.ramp_window_min, 60.0 * slot_minutes)
    for sign, kw_per_min in ((1.0, power.ramp_kw_per_min), (-1.0, power.fall_kw_per_min)):
        if kw_per_min is None:
            continue
        step_kw = kw_per_min * power.ramp_window_min * (1.0 - IN_HAND)
        for a, b in _near(question.pieces.start_s[1:], window_s):
            _most(rows, it, planned_kw, sign, (a, b + 1), step_kw)
        if 2.0 * power.ramp_window_min <= slot_minutes:
            _follow(rows, question, it, planned_kw, sign, kw_per_min, window_s)


def _near(edges_s: npt.NDArray[np.float64], window_s: float) -> list[tuple[int, int]]:
    """Return the pairs of edges less than a window apart, an edge with itself among them."""
    last = np.searchsorted(edges_s, edges_s + window_s)
    return [(a, b) for a in range(len(edges_s)) for b in range(a, int(last[a]))]


def _follow(
    rows: Rows,
    question: Question,
    it: Mapping[int, int],
    planned_kw: npt.NDArray[np.float64],
    sign: float,
    kw_per_min: float,
    window_s: float,
) -> None:
    """Let power that has changed go on in the same direction only when the ramp's line has caught up with it."""
    ahead, end_s = set(question.ahead()), question.pieces.end_s
    for a, b in _near(end_s, window_s):
        if a == b or b + 1 >= len(planned_kw):
            continue
        goes_on = sign * float(planned_kw[b + 1] - planned_kw[b]) > 0.0
        if sign < 0.0 and (b, b + 1) in ahead and not goes_on:
            _most(rows, it, planned_kw, sign, (b, b + 1), 0.0)
        else:
            line_kw = kw_per_min * float(end_s[b] - end_s[a]) / 60.0
            _most(rows, it, planned_kw, sign, (a, b), line_kw * (1.0 - IN_HAND))


def _most(
    rows: Rows,
    it: Mapping[int, int],
    planned_kw: npt.NDArray[np.float64],
    sign: float,
    pair: tuple[int, int],
    most_kw: float,
) -> None:
    """Add that power rises (falls, by sign) between two pieces by no more than that, or by what it was to anyhow."""
    if not any(p in it for p in pair):
        return
    terms: Terms = []
    fixed_kw = 0.0
    for p, way in zip(pair, (-sign, sign), strict=True):
        if p in it:
            terms.append((it[p], way))
        else:
            fixed_kw += way * float(planned_kw[p])
    planned = sign * float(planned_kw[pair[1]] - planned_kw[pair[0]])
    rows.row(terms, upper=max(most_kw, planned) - fixed_kw)
