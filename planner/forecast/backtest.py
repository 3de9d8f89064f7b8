"""Forecasts made again at past origins, each from what was known then, and scored on what came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from planner.errors import DataUnavailable
from planner.forecast.history import DAY_H, PROFILE_DAYS, PROFILE_H, History
from planner.forecast.issued import BOOSTED, MODELS, Task, best_model, scale_before, whole
from planner.forecast.saving import best_days, best_hours
from planner.forecast.scale import Scale
from planner.forecast.scores import CRPS_LEVELS, Scores, score
from planner.forecast.spread import LEVELS, WINDOW, spread_at
from planner.timegrid import iso

HORIZON_H = 168
EARLIER_DAYS = WINDOW + HORIZON_H // DAY_H
"""Origins before the first whose forecasts give its errors: the whole window, and the days until its last is over."""
REFIT_DAYS = 61
"""Origins, a day apart, that one fit serves."""

Paths = npt.NDArray[np.float64]
Run = Callable[[Sequence[Task]], Iterable[Paths]]
"""Carries tasks out, in order: in this process, in a pool, on a cluster."""


@dataclass(frozen=True)
class Scored:
    """One model on one signal.

    Args:
        signal: The signal.
        model: One of MODELS.
        scores: By lead day.
        best_days_share: Share of the oracle's saving kept by the best 3 of 7 days; None where nothing could be saved.
        best_hours_share: Share kept by the best 84 of 168 hours; None likewise.
        points: The forecast of each origin, in the signal's unit, shape (origins, 168).
    """

    signal: str
    model: str
    scores: Scores
    best_days_share: float | None
    best_hours_share: float | None
    points: Paths


@dataclass(frozen=True)
class Backtest:
    """What a backtest found.

    Args:
        origins: Instants at which forecasts were made, UTC, a day apart.
        signals: Signals scored.
        scored: One entry for each signal and model.
        weather: Names of the weather signals that the trees saw.
    """

    origins: tuple[datetime, ...]
    signals: tuple[str, ...]
    scored: tuple[Scored, ...]
    weather: tuple[str, ...]


def backtest(
    history: History, signals: Sequence[str], first: datetime, last: datetime, run: Run, *, seed: int = 0
) -> Backtest:
    """Return the scores of every model that the history allows, at daily origins.

    Args:
        history: Hours from at least 28 + 67 days before `first` on, better two years, to 168 h after `last`.
        signals: Signals to score.
        first: First origin, UTC.
        last: Last origin, UTC.
        run: Carries the tasks out.
        seed: Of the errors laid on the weather ahead.

    Raises:
        DataUnavailable: The history does not span that.
    """
    begin = history.position(first)
    counted = np.arange(begin, min(history.position(last), history.n_hours - HORIZON_H) + 1, DAY_H, dtype=np.int64)
    origins = np.arange(begin - EARLIER_DAYS * DAY_H, counted[-1] + 1 if counted.size else begin, DAY_H, dtype=np.int64)
    if not counted.size or origins[0] < PROFILE_H:
        raise DataUnavailable(
            f"the history goes from {iso(history.start)} to {iso(history.at(history.n_hours))}, which is too short for "
            f"forecasts from {iso(first)} to {iso(last)}",
            why=f"{PROFILE_DAYS + EARLIER_DAYS} days before the first and {HORIZON_H} h after an origin are needed",
            fix="give a longer history, or choose other days",
        )
    plans = [
        (signal, model, scale_before(history, signal, int(origins[0])))
        for signal in signals
        for model in MODELS
        if model != BOOSTED or best_model(signal, int(origins[0]), HORIZON_H) == BOOSTED
    ]
    tasks = [task for signal, model, scale in plans for task in _tasks(history, signal, model, origins, scale, seed)]
    made: dict[tuple[str, str], list[Paths]] = {}
    for task, paths in zip(tasks, run(tasks), strict=True):
        made.setdefault((task.signal, task.model), []).append(paths)
    one_of = {(task.signal, task.model): task for task in tasks}
    scored = tuple(
        _scored(one_of[signal, model], origins, len(counted), made[signal, model]) for signal, model, _ in plans
    )
    return Backtest(
        origins=tuple(history.at(int(o)) for o in counted),
        signals=tuple(signals),
        scored=scored,
        weather=tuple(history.weather) if any(model == BOOSTED for _, model, _ in plans) else (),
    )


def _tasks(
    history: History, signal: str, model: str, origins: npt.NDArray[np.int64], scale: Scale, seed: int
) -> list[Task]:
    """Return tasks of some weeks each, every one fitted on what was known before its first origin."""
    blocks = np.array_split(origins, -(-len(origins) // REFIT_DAYS)) if model == BOOSTED else [origins]
    return [
        Task(history, signal, model, tuple(map(int, block)), HORIZON_H, scale, int(block[0]), seed) for block in blocks
    ]


def _scored(task: Task, origins: npt.NDArray[np.int64], n_counted: int, paths: Sequence[Paths]) -> Scored:
    points, scale = whole(task, origins, paths), task.scale
    actual = task.history.signals[task.signal][origins[:, None] + np.arange(HORIZON_H)]
    errors = scale.there(actual) - points
    levels = np.array([*LEVELS, *CRPS_LEVELS])
    shares = np.repeat(levels[:, None], HORIZON_H, axis=1)
    first = len(origins) - n_counted
    quantiles = np.full((n_counted, len(levels), HORIZON_H), np.nan)
    for i in range(n_counted):
        spread = spread_at(errors, origins, int(origins[first + i]))
        if spread is not None:
            quantiles[i] = scale.back(points[first + i] + spread.offsets(shares))
    came, told = actual[first:], scale.back(points[first:])
    return Scored(
        signal=task.signal,
        model=task.model,
        scores=score(came, told, quantiles[:, : len(LEVELS)], quantiles[:, len(LEVELS) :]),
        best_days_share=best_days(came, told),
        best_hours_share=best_hours(came, told),
        points=told,
    )
