"""Forecasts as they would have been issued at many origins: each from what was known then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.forecast import blend, boosted
from planner.forecast.history import MARGINAL, PROFILE_H, History, filled
from planner.forecast.naive import naive_paths
from planner.forecast.recent_errors import moved_by_recent
from planner.forecast.scale import Scale, scale_of

NAIVE = "seasonal-naive"
BLEND = "robust-blend"
BOOSTED = "lightgbm"
MODELS = (NAIVE, BLEND, BOOSTED)
"""Models by rising need of data."""
WITH_TREES = ("carbon", MARGINAL, "price")
"""Signals that trees forecast; weather is forecast by its providers, and by the blend after their end."""


@dataclass(frozen=True)
class Task:
    """Forecasts of one signal by one model at some origins, fitted once before the first of them.

    Args:
        history: All hours, also those after the origins: weather ahead is taken from it.
        signal: The signal.
        model: One of MODELS.
        origins: Positions of the origins, rising.
        horizon_h: Hours ahead.
        scale: Scale on which they are made.
        fitted_before: First hour that the fit does not see.
        seed: Of the errors laid on the weather ahead.
        forecast_from: First origin for which the weather ahead is a forecast already and takes no more errors; None
            where there is none.
    """

    history: History
    signal: str
    model: str
    origins: tuple[int, ...]
    horizon_h: int
    scale: Scale
    fitted_before: int
    seed: int = 0
    forecast_from: int | None = None


def issue(task: Task) -> npt.NDArray[np.float64]:
    """Return the forecasts of a task on its scale, shape (origins, horizon_h).

    Args:
        task: What to forecast.

    Raises:
        ConfigError: Trees are asked for, and LightGBM is not installed.
        GapInSeries: The signal, or weather that trees see, has missing hours in its first day.
    """
    history, origins = task.history, np.array(task.origins, dtype=np.int64)
    # Later values are cut off before anything is made of them: what is not there cannot leak.
    known = history.signals[task.signal][: int(origins[-1])]
    values = task.scale.there(filled(known, task.signal, history.start))
    if task.model == NAIVE:
        return naive_paths(values, origins, task.horizon_h)
    if task.model == BLEND:
        return blend.blend_paths(values, origins, task.horizon_h)
    weather = {
        name: filled(series[: int(origins[-1]) + task.horizon_h], name, history.start)
        for name, series in history.weather.items()
    }
    trees = boosted.fit_boosted(
        history.start,
        values,
        weather,
        task.fitted_before,
        task.horizon_h,
        absolute=task.signal == "price",
        seed=task.seed,
    )
    ready = origins >= (history.n_hours if task.forecast_from is None else task.forecast_from)
    groups = [(origins[~ready], task.seed), (origins[ready], None)]
    return np.vstack([trees.paths(values, weather, group, seed) for group, seed in groups if len(group)])


def whole(
    task: Task, origins: npt.NDArray[np.int64], parts: Sequence[npt.NDArray[np.float64]]
) -> npt.NDArray[np.float64]:
    """Return the forecasts of one model at daily origins as they are issued: those of trees go on from the last errors.

    Args:
        task: One of the tasks that made them.
        origins: Positions of all origins, rising, a day apart, shape (m,).
        parts: What each task made, in order.

    Returns:
        On the task's scale, shape (m, horizon_h).
    """
    points = np.vstack(parts)
    if task.model != BOOSTED:
        return points
    came = task.scale.there(task.history.signals[task.signal][: int(origins[-1])])
    return moved_by_recent(points, came, origins)


def scale_before(history: History, signal: str, hour: int) -> Scale:
    """Return the scale of a signal by its values before an hour."""
    return scale_of(signal, filled(history.signals[signal][:hour], signal, history.start))


def best_model(signal: str, known_h: int, horizon_h: int) -> str:
    """Return the best model that so many hours of history and what is installed allow."""
    enough = known_h >= PROFILE_H + boosted.LEAST_TRAINING_H + horizon_h
    return BOOSTED if signal in WITH_TREES and enough and boosted.available() else BLEND


def told(model: str, *, weather: bool) -> str:
    """Return a model's name with its version."""
    if model == BOOSTED:
        return boosted.NAME if weather else boosted.NAME_WITHOUT_WEATHER
    return blend.NAME if model == BLEND else f"{NAIVE}/1"
