"""What a path to a plan answered, read with distrust, and whether two found the same."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass
from typing import Any

from tests.bench.peers.answer import BadAnswerError

SAME = 1e-6  # of the objective: two optima as close as this are one


@dataclass(frozen=True)
class Built:
    """One way from plain numbers to the optimum of the aggregate program.

    Args:
        peer: Its name.
        versions: Versions of it and of what it stands on.
        objective: Optimum, in units of the task.
        columns: Columns that the solver was given.
        rows: Rows that the solver was given.
        build_s: Time until the solver had the program, s.
        build_cpu_s: Processor time of the same, s.
        solve_s: Time of solving, s.
        solve_cpu_s: Processor time of the same, s.
        held_mib: Most memory that the process held before it built, MiB.
        built_mib: The same once it had built, MiB.
        peak_mib: The same at the end, MiB.
    """

    peer: str
    versions: dict[str, str]
    objective: float
    columns: int
    rows: int
    build_s: float
    build_cpu_s: float
    solve_s: float
    solve_cpu_s: float
    held_mib: float
    built_mib: float
    peak_mib: float


@dataclass(frozen=True)
class Deferred:
    """A plan of deferrable loads.

    Args:
        peer: Its name.
        versions: Versions of it and of what it stands on.
        objective: Money of the plan.
        wall_s: Time of each round, s.
        cpu_s: Processor time of each round, s.
    """

    peer: str
    versions: dict[str, str]
    objective: float
    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]


def read_built(text: str) -> Built:
    """Return what a way of building answered.

    Raises:
        BadAnswerError: It is no JSON object of the agreed form, or has a value that cannot be.
    """
    told = _object(text, set(Built.__dataclass_fields__))
    for name in ("build_s", "solve_s", "held_mib", "built_mib", "peak_mib", "columns", "rows"):
        if _number(told, name) <= 0.0:
            raise BadAnswerError(f"{name} is {told[name]}; more than 0 is wanted")
    for name in ("objective", "build_cpu_s", "solve_cpu_s"):
        _number(told, name)
    return Built(**told)


def read_deferred(text: str) -> Deferred:
    """Return what a planner of deferrable loads answered.

    Raises:
        BadAnswerError: It is no JSON object of the agreed form, or has a value that cannot be.
    """
    told = _object(text, set(Deferred.__dataclass_fields__))
    _number(told, "objective")
    for name in ("wall_s", "cpu_s"):
        times = told[name]
        if not isinstance(times, list) or not times:
            raise BadAnswerError(f"{name} must be a list of times, not {times!r}")
        if any(_number({name: value}, name) <= 0.0 for value in times):
            raise BadAnswerError(f"{name} has a time of 0 s; nothing is planned in no time")
        told[name] = tuple(times)
    return Deferred(**told)


def apart(ours: float, theirs: float) -> float:
    """Return how far two optima are from each other, over ours."""
    return abs(theirs - ours) / max(abs(ours), 1e-12)


def middle(found: list[Built]) -> Built:
    """Return the median of each time and memory of several rounds of one way.

    Raises:
        BadAnswerError: The rounds did not find the same optimum.
    """
    first = found[0]
    if any(apart(first.objective, one.objective) > SAME for one in found):
        raise BadAnswerError(f"{first.peer} found another optimum in another round")
    of = {name: statistics.median(getattr(one, name) for one in found) for name in _MEASURED}
    return Built(first.peer, first.versions, first.objective, first.columns, first.rows, **of)


_MEASURED = ("build_s", "build_cpu_s", "solve_s", "solve_cpu_s", "held_mib", "built_mib", "peak_mib")


def _object(text: str, wanted: set[str]) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadAnswerError(f"no JSON: {error}; it begins {text[:80]!r}") from None
    if not isinstance(told, dict) or set(told) != wanted:
        raise BadAnswerError(f"{', '.join(sorted(wanted))} are wanted, not {text[:80]!r}")
    if not isinstance(told["peer"], str) or not isinstance(told["versions"], dict):
        raise BadAnswerError("peer must be a name and versions an object")
    return told


def _number(told: dict[str, Any], name: str) -> float:
    value = told[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadAnswerError(f"{name} is {value!r}; a number is wanted")
    return float(value)
