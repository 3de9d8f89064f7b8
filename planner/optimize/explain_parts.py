"""Parts of an explanation that rest on the plan alone, each worked out by itself: in this process or in another."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from planner.optimize.fixed import fix
from planner.optimize.whythen import WhyThen, why_then
from planner.optimize.worth import AskedChange, ChangeWorth, change_worth

if TYPE_CHECKING:
    from planner.optimize.choices import Choices
    from planner.optimize.fixed import Fixed
    from planner.optimize.warm import Warm
    from planner.week import Week


@dataclass(frozen=True)
class Part:
    """What is to be worked out: what a change is worth, or why a run stands where it does.

    Args:
        plan: The week and the plan's choices, packed once for all parts (`packed`).
        asked: The change, or the place of the run in the week.
        warm: Where the relaxation of the plan's program ended, for changes that are bounded by theirs.
    """

    plan: bytes
    asked: AskedChange | int
    warm: Warm | None


Found: TypeAlias = ChangeWorth | WhyThen
Carry: TypeAlias = Callable[[Sequence[Part]], Iterable[Found]]
"""Carries parts out by `part_of`, in order."""


def packed(week: Week, choices: Choices) -> bytes:
    """Return a week and a plan's choices as parts carry them."""
    return pickle.dumps((week, choices))


def part_of(part: Part) -> Found:
    """Work one part out."""
    week, choices, fixed = _opened(part.plan)
    if isinstance(part.asked, int):
        return why_then(fixed, part.asked)
    return change_worth(fixed, week, choices, part.asked, part.warm)


@lru_cache(maxsize=1)
def _opened(plan: bytes) -> tuple[Week, Choices, Fixed]:
    """Return the week, the choices and their program: one process works out many parts of one plan."""
    week, choices = pickle.loads(plan)  # noqa: S301 - packed by this module, for processes of its own
    fixed = fix(week, choices)
    assert fixed is not None
    return week, choices, fixed
