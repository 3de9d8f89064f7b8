"""The front by levels: from today's plan towards the best of each measure, step by step.

Every plan but today's is the cheapest by the site's prices, the swept measure's left out, of those whose swept measure
stays within a level: the epsilon-constraint form (Haimes, Lasdon and Wismer 1971), which finds plans that no weights
find. The level is a goal at a price so high that only what cannot be kept is given up. As all measures that one
compares by keep a price above zero, no plan beats an optimum of such a program. Levels are even between today's plan
and the best; where two neighbours are far apart, one more is laid into what no level has looked at between them.

Promises come before grams: the sweeps of carbon, cost and water keep work as late as today's plan at most. That they
may be given up is shown by the sweep of lateness: to its best where today's plan is late, and to later ones, denser
near today's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.frontier.points import TODAY, Point, equals, front_of
from planner.frontier.task import Task, point_of
from planner.objective import COST, LATENESS, MEASURES, Goal
from planner.optimize.lexicographic import price_of

if TYPE_CHECKING:
    from planner.optimize import PlanOptions
    from planner.week import Week

Run = Callable[[Sequence[Task]], Iterable[Point]]

LEAST_POINTS = 3
STRICT = 100.0
"""What is above a level costs so many times the plan's money where it is as much again."""
BEST = 5.0
"""Over this the same for a measure that is made as small as can be, whole."""
HELD = 20.0
"""Times this the same for the lateness that the other sweeps may not go beyond."""
HAIR = 1e-3
"""Weight of what else has no price, against the plan's money: no plan is worse in it for nothing."""
FILLS = 3
"""Rounds in which levels are laid between others."""
WORTH_LEVELS = 2e-3
"""Share of today's figure that a sweep must reach to have levels before others have more."""
SAME_SHARE = 1e-3
"""Share of a sweep that is not worth a level."""
SAME_LEVEL = 1e-6
"""Share of a measure below which its best is no better than today's."""


@dataclass(frozen=True)
class Front:
    """The plans of a week's front.

    Args:
        measures: What they are compared by.
        points: All plans; today's first.
        front: Places of those on the front, by rising first measure.
        idle: Measures in which no plan differs from today's.
    """

    measures: tuple[str, ...]
    points: tuple[Point, ...]
    front: tuple[int, ...]
    idle: tuple[str, ...]

    @property
    def today(self) -> Point:
        """Today's plan."""
        return self.points[0]


@dataclass(frozen=True)
class _Level:
    """A plan to make: which measure is held to how much; `share` of the way from today's plan to the end."""

    measure: str
    end: str
    share: float


def frontier(week: Week, measures: Sequence[str], points: int, options: PlanOptions, run: Run) -> Front:
    """Return the front of a week.

    Args:
        week: All inputs.
        measures: What plans are compared by, two or more of `planner.objective.MEASURES`.
        points: Plans wanted on it; as many are tried at least, and it has fewer where the week has no more.
        options: Gap target and time limit of each plan.
        run: Carries tasks out by `planner.frontier.task.point_of`, in order, such as `planner.backtest_pool` does.

    Raises:
        ConfigError: Fewer than two measures, one twice or unknown, or fewer than three points.
        Infeasible: Physics leaves no plan.
    """
    _check(measures, points)
    today = point_of(Task(TODAY, week, None, options))
    sweeps = Sweeps(week, tuple(measures), today, options)
    sweeps.take(run(sweeps.ends()))
    sweeps.take(run(sweeps.levels(points)))
    for _ in range(FILLS):
        missing = points - len(sweeps.front())
        between = sweeps.between(missing) if missing > 0 else []
        if not between:
            break
        sweeps.take(run(between))
    return sweeps.found()


class Sweeps:
    """The plans of a front while it is made."""

    def __init__(self, week: Week, measures: tuple[str, ...], today: Point, options: PlanOptions) -> None:
        self._week, self._measures, self._options = week, measures, options
        self._points = [today]
        self._of: dict[_Level, Point] = {}
        self._asked: list[_Level] = []
        late = today.program[LATENESS] * week.prices.lateness_per_gpu_h
        self._money = max(1.0, abs(today.program[COST]) + late)

    def ends(self) -> list[Task]:
        """Return the plan that is best in each measure, of those that keep today's promises."""
        return [self._task(_Level(measure, "best", 1.0)) for measure in self._measures]

    def levels(self, points: int) -> list[Task]:
        """Return plans at even levels between today's and the ends, so many in all with those made."""
        reach = {sweep: self._reach(*sweep) for sweep in self._open()}
        if not reach:
            return []
        sweeps = [sweep for sweep, share in reach.items() if share >= WORTH_LEVELS] or list(reach)
        left = max(0, points - len(self.front()))
        counts = [left // len(sweeps) + (i < left % len(sweeps)) for i in range(len(sweeps))]
        return [
            self._task(_Level(measure, end, (i + 1) / (count + 1)))
            for (measure, end), count in zip(sweeps, counts, strict=True)
            for i in range(count)
        ]

    def between(self, count: int) -> list[Task]:
        """Return plans at levels between the neighbours that are farthest apart, at most so many."""
        gaps = []
        for measure, end in self._open():
            made = [one for one in self._of.items() if (one[0].measure, one[0].end) == (measure, end)]
            line = [(_Level(measure, end, 0.0), self._points[0]), *sorted(made, key=lambda one: one[0].share)]
            for near, far in pairwise(line):
                share = self._unseen(near, far)
                apart = self._apart(near[1], far[1])
                if share is not None and apart > 0.0:
                    gaps.append((-apart, _Level(measure, end, share)))
        gaps.sort(key=lambda gap: (gap[0], gap[1].measure, gap[1].end, gap[1].share))
        return [self._task(level) for _, level in gaps[:count]]

    def _unseen(self, near: tuple[_Level, Point], far: tuple[_Level, Point]) -> float | None:
        """Return the middle of what no level has looked at between two neighbours of a sweep, or None."""
        tight, loose = (far, near) if near[0].end == "best" else (near, far)
        asked, reached = tight[0].share, self._reached(*loose)
        return None if abs(asked - reached) < SAME_SHARE else (asked + reached) / 2.0

    def _reached(self, level: _Level, point: Point) -> float:
        """Return at which share of its sweep a plan lies."""
        measure, today = level.measure, self._points[0].program
        if level.end == "later":
            most = self._most_late() - today[measure]
            return math.sqrt(max(0.0, point.program[measure] - today[measure]) / most)
        best = self._of[_Level(measure, "best", 1.0)].program[measure]
        return (today[measure] - point.program[measure]) / (today[measure] - best)

    def take(self, found: Iterable[Point]) -> None:
        """Take in the plans of the tasks that were asked for last, in their order."""
        asked, self._asked = self._asked, []
        for level, point in zip(asked, found, strict=True):
            self._of[level] = point
            self._points.append(point)

    def front(self) -> tuple[int, ...]:
        """Return the places of the plans that are on the front so far."""
        return front_of(self._points, self._measures)

    def found(self) -> Front:
        """Return the front."""
        today = self._points[0]
        idle = tuple(m for m in self._measures if all(equals(today, point, [m]) for point in self._points))
        return Front(self._measures, tuple(self._points), self.front(), idle)

    def _open(self) -> list[tuple[str, str]]:
        """Return the sweeps whose end is elsewhere than today's plan."""
        today = self._points[0]
        found = []
        for measure in self._measures:
            best = self._of[_Level(measure, "best", 1.0)].program[measure]
            if today.program[measure] - best > SAME_LEVEL * abs(today.program[measure]):
                found.append((measure, "best"))
            if measure == LATENESS and self._most_late() > today.program[LATENESS]:
                found.append((measure, "later"))
        return found

    def _reach(self, measure: str, end: str) -> float:
        """Return how far a sweep reaches, share of today's figure; 1 where that is none or work may be late."""
        today = self._points[0].program[measure]
        if end == "later" or today == 0.0:
            return 1.0
        return (today - self._of[_Level(measure, "best", 1.0)].program[measure]) / abs(today)

    def _task(self, level: _Level) -> Task:
        self._asked.append(level)
        said = "best" if level.share == 1.0 else f"{level.share:.0%} of the way"
        name = f"{level.measure}: {said}" if level.end == "best" else f"lateness: {level.share:.0%} of the way to more"
        starts = [self._points[0].choices]
        end = self._of.get(_Level(level.measure, "best", 1.0))
        if end is not None and level.end == "best":
            starts.append(end.choices)
        return Task(name, self._week, (*self._goals(level), *self._hairs()), self._options, tuple(starts))

    def _goals(self, level: _Level) -> tuple[Goal, ...]:
        today, measure = self._points[0].program, level.measure
        kept = Goal(LATENESS, HELD * self._strict(LATENESS), today[LATENESS])
        if level.end == "later":
            most = today[LATENESS] + level.share**2 * (self._most_late() - today[LATENESS])
            return Goal(LATENESS, self._strict(LATENESS), most), self._unpriced(LATENESS)
        if level.share == 1.0:
            aim = Goal(measure, self._strict(measure) / BEST)
            return (aim,) if measure == LATENESS else (kept, aim)
        best = self._of[_Level(measure, "best", 1.0)].program[measure]
        aim = Goal(measure, self._strict(measure), today[measure] + level.share * (best - today[measure]))
        return (*(() if measure == LATENESS else (kept,)), aim, self._unpriced(measure))

    def _unpriced(self, measure: str) -> Goal:
        """Return what takes all but a hair of its price off a measure."""
        return Goal(measure, -(1.0 - HAIR) * price_of(self._week, measure))

    def _hairs(self) -> list[Goal]:
        """Return a small price for each measure that one compares by and that has none."""
        unpriced = [m for m in self._measures if price_of(self._week, m) == 0.0]
        return [Goal(m, HAIR * self._strict(m) / STRICT) for m in unpriced]

    def _strict(self, measure: str) -> float:
        """Return the price of a unit at which as much again as today's plan has costs `STRICT` times its money."""
        amount = abs(self._points[0].program[measure])
        if measure == LATENESS:
            gang = max((run.gpus for run in self._week.runs), default=1)
            amount = max(amount, gang * self._week.grid.slot_h)
        return STRICT * self._money / (amount or 1.0)

    def _most_late(self) -> float:
        """Return the lateness of the week with every run off, GPU-h."""
        week, total = self._week, 0.0
        for run in week.runs:
            per_gpu_h = 3600.0 * max(option.tokens_per_gpu_s for option in run.options)
            for _, deadline, tokens in week.due_tokens(run):
                days = 1 + math.floor((week.grid.end - deadline).total_seconds() / 86_400.0)
                total += tokens / per_gpu_h * run.lateness_weight * days
        return total

    def _apart(self, one: Point, other: Point) -> float:
        """Return how far apart two plans are, as shares of what all plans span."""
        total = 0.0
        for name in self._measures:
            figures = [point.figure(name) for point in self._points]
            spans = max(figures) - min(figures)
            total += abs(one.figure(name) - other.figure(name)) / spans if spans > 0.0 else 0.0
        return total


def _check(measures: Sequence[str], points: int) -> None:
    strange = [name for name in measures if name not in MEASURES]
    if strange:
        raise ConfigError(f"{strange[0]!r} is no objective", fix=f"name two or more of {', '.join(MEASURES)}")
    if len(measures) < 2 or len(set(measures)) != len(measures):
        raise ConfigError(
            f"a front needs two objectives or more, each once: {', '.join(measures) or 'none'} are given",
            fix=f"name two or more of {', '.join(MEASURES)}",
        )
    if points < LEAST_POINTS:
        raise ConfigError(f"{points} points make no front", fix=f"ask for {LEAST_POINTS} or more; 12 show its shape")
