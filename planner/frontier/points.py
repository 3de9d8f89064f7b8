"""One plan of a front: what it was asked for, and the judge's figures of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.objective import CARBON, COST, LATENESS, WATER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.optimize.choices import Choices
    from planner.plan_worth import PlanWorth

TODAY = "today"
"""The plan that the site file itself asks for."""
SAME = 1e-9
"""Share of a figure below which two are the same."""


@dataclass(frozen=True)
class Point:
    """A plan of a front.

    Args:
        name: What it was asked for, such as "carbon 3 of 5"; `TODAY` for the site file's own.
        carbon_kg: Carbon of import and generators, kgCO2e.
        cost: Money paid.
        late_gpu_h: Work missing at deadlines, GPU-hours by priority, and again each further day.
        water_l: Water, L.
        deadlines: Promises of work.
        deadlines_kept: Those that are kept.
        violations: Sentences of the judge on every promise that the plan breaks without saying so.
        gap: Certified gap of the program that made it, or None.
        settled: Whether its program reached the gap asked for in its time.
        program: What the program itself says of each measure, which later levels are set by.
        choices: Its whole choices, for other plans to start from.
        worth: What it is worth against working without a plan.
    """

    name: str
    carbon_kg: float
    cost: float
    late_gpu_h: float
    water_l: float
    deadlines: int
    deadlines_kept: int
    violations: tuple[str, ...]
    gap: float | None
    settled: bool
    program: dict[str, float]
    choices: Choices
    worth: tuple[PlanWorth, ...]

    def figure(self, measure: str) -> float:
        """Return what the plan comes to in a measure, by the judge."""
        return {CARBON: self.carbon_kg, COST: self.cost, LATENESS: self.late_gpu_h, WATER: self.water_l}[measure]


def beats(one: Point, other: Point, measures: Sequence[str]) -> bool:
    """Return whether a plan is nowhere worse than another and somewhere better."""
    better = False
    for name in measures:
        mine, its = one.figure(name), other.figure(name)
        same = SAME * max(abs(mine), abs(its))
        if mine > its + same:
            return False
        better = better or mine < its - same
    return better


def equals(one: Point, other: Point, measures: Sequence[str]) -> bool:
    """Return whether two plans are the same by every measure."""
    return all(
        abs(one.figure(m) - other.figure(m)) <= SAME * max(abs(one.figure(m)), abs(other.figure(m))) for m in measures
    )


def front_of(points: Sequence[Point], measures: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the plans that are on the front, by rising first measure.

    On the front is a plan that breaks no promise, that no such plan beats, and that is not the same as an earlier one.

    Args:
        points: The plans.
        measures: What they are compared by.
    """
    sound = [i for i, point in enumerate(points) if not point.violations]
    kept: list[int] = []
    for i in sound:
        beaten = any(beats(points[j], points[i], measures) for j in sound)
        twin = any(equals(points[j], points[i], measures) for j in kept)
        if not beaten and not twin:
            kept.append(i)
    return tuple(sorted(kept, key=lambda i: (points[i].figure(measures[0]), i)))
