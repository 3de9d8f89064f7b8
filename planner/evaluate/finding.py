"""How a broken promise is told: at its worst instant, with how long it lasts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.record import Violation
from planner.timegrid import iso

if TYPE_CHECKING:
    from datetime import datetime

    import numpy.typing as npt

    from planner.week import Week

ABSOLUTE_KW = 1e-3
RELATIVE = 1e-6
STATED_SHARE_OF_IT = 1e-4
"""By which powers that a calendar states may differ from the replay, over the block's IT power."""


@dataclass(frozen=True)
class Spans:
    """When the elements of a series hold.

    Args:
        start_s: Start of each, seconds from the horizon's start, shape (N,).
        length_s: Length of each, s, shape (N,).
    """

    start_s: npt.NDArray[np.float64]
    length_s: npt.NDArray[np.float64]


def slot_spans(week: Week) -> Spans:
    """Return the spans of the week's slots."""
    slot_s = 60.0 * week.grid.slot_minutes
    return Spans(slot_s * np.arange(0.0, week.grid.n_slots), np.full(week.grid.n_slots, slot_s))


def instant(week: Week, time_s: float) -> datetime:
    """Return the instant that many seconds after the horizon's start."""
    return week.grid.start + timedelta(seconds=time_s)


def figure(value: float) -> str:
    """Return a number for people: thousands apart, three decimals at most."""
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def worst(
    week: Week,
    kind: str,
    subject: str,
    value: npt.NDArray[np.float64],
    limit: npt.ArrayLike,
    unit: str,
    says: str,
    *,
    over: Spans | None = None,
    least: bool = False,
) -> list[Violation]:
    """Return one violation if a series leaves its limit anywhere, told where it does so most.

    A limit is held to one part in a million and 0.001 of the unit, which is what a solver works to.

    Args:
        week: All inputs.
        kind: Kind of the violation.
        subject: What it is about.
        value: The series, shape (N,).
        limit: What it may be, shape (N,) or one number.
        unit: Unit of both.
        says: Verb phrase between subject and value, such as "takes".
        over: When each element holds; slots if None.
        least: Whether `limit` is the least allowed rather than the most.
    """
    bound = np.broadcast_to(np.asarray(limit, dtype=np.float64), value.shape)
    excess = (bound - value if least else value - bound) - ABSOLUTE_KW - RELATIVE * np.abs(bound)
    broken = excess > 0.0
    if not broken.any():
        return []
    i = int(np.argmax(excess))
    spans = over or slot_spans(week)
    at = instant(week, float(spans.start_s[i]))
    hours = float(spans.length_s[broken].sum()) / 3600.0
    return [
        Violation(
            kind,
            subject,
            at,
            float(value[i]),
            float(bound[i]),
            unit,
            f"{subject} {says} {figure(value[i])} {unit} at {iso(at)}, "
            f"{'less' if least else 'more'} than the {figure(bound[i])} {unit} allowed ({figure(hours)} h in all)",
        )
    ]


def differs(
    week: Week,
    kind: str,
    subject: str,
    stated: npt.NDArray[np.float64],
    replayed: npt.NDArray[np.float64],
    tolerance: npt.ArrayLike,
    unit: str,
    what: str,
) -> list[Violation]:
    """Return one violation if a stated slot series is not what the replay gives, told where it is furthest off."""
    off = np.abs(stated - replayed) - np.broadcast_to(np.asarray(tolerance, dtype=np.float64), stated.shape)
    if not (off > 0.0).any():
        return []
    i = int(np.argmax(off))
    at = week.grid.starts[i]
    return [
        Violation(
            kind,
            subject,
            at,
            float(stated[i]),
            float(replayed[i]),
            unit,
            f"{subject} states {figure(stated[i])} {unit} of {what} at {iso(at)}, but the replay gives "
            f"{figure(replayed[i])} {unit} ({int((off > 0.0).sum())} slots differ)",
        )
    ]
