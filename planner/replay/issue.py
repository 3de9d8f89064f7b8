"""Forecasts of every signal as they would have been issued day by day, with what was known of their errors then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import DataUnavailable
from planner.forecast.backtest import EARLIER_DAYS, HORIZON_H, REFIT_DAYS
from planner.forecast.history import DAY_H, PROFILE_DAYS, PROFILE_H, History
from planner.forecast.issued import BOOSTED, Task, best_model, scale_before, told, whole
from planner.forecast.lead_error import with_lead_error
from planner.forecast.scale import Scale
from planner.forecast.scenarios import draw_shares
from planner.forecast.spread import LEVELS, spread_at
from planner.timegrid import iso

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Run = Callable[[Sequence[Task]], Iterable[Floats]]

N_PATHS = 100
_LEVELS = np.repeat(np.array(LEVELS)[:, None], HORIZON_H, axis=1)


@dataclass(frozen=True)
class Ahead:
    """What one forecast says of one signal.

    Args:
        point: Expected value of each hour, in the signal's unit, shape (168,).
        quantiles: At `planner.forecast.spread.LEVELS`, shape (levels, 168).
        paths: Joint paths, shape (N, 168); path i belongs to path i of all signals.
    """

    point: Floats
    quantiles: Floats
    paths: Floats


@dataclass(frozen=True)
class Daily:
    """Daily forecasts over a span.

    Args:
        history: What came.
        model: Signal -> name and version of the model.
        origins: Positions of all origins, a day apart, the earlier ones that only tell errors first, shape (m,).
        points: Signal -> forecasts on its scale, shape (m, 168).
        errors: Signal -> actual less forecast on its scale, shape (m, 168).
        scales: Signal -> its scale.
        seed: Of the draw of paths.
    """

    history: History
    model: Mapping[str, str]
    origins: npt.NDArray[np.int64]
    points: Mapping[str, Floats]
    errors: Mapping[str, Floats]
    scales: Mapping[str, Scale]
    seed: int

    def at(self, origin: datetime) -> dict[str, Ahead]:
        """Return what was known at an origin; errors of hours from it on are not looked at.

        Args:
            origin: One of the origins, UTC.
        """
        at = self.history.position(origin)
        place = int(np.searchsorted(self.origins, at))
        before = {name: errors[:place] for name, errors in self.errors.items()}
        shares = draw_shares(before, self.origins[:place], at, N_PATHS, self.seed + at)
        found = {}
        for name, points in self.points.items():
            spread = spread_at(before[name], self.origins[:place], at)
            assert spread is not None  # all earlier origins of the window come before the first that is asked for
            scale, point = self.scales[name], points[place]
            found[name] = Ahead(
                scale.back(point),
                scale.back(point + spread.offsets(_LEVELS)),
                scale.back(point + spread.offsets(shares[name])),
            )
        return found


def issue_daily(
    history: History,
    signals: Sequence[str],
    weather: Sequence[str],
    span: tuple[datetime, datetime],
    run: Run,
    seed: int,
) -> Daily:
    """Return forecasts at every day of a span, each from what was known then.

    Signals of the grid are forecast by the best model that the past allows, fitted anew every two months on what lies
    before. Weather as it was issued is kept nowhere: it is what came with errors that grow with lead.

    Args:
        history: Hours from at least 95 days before the span on, better two years, to 168 h after its end.
        signals: Signals to forecast.
        weather: Weather signals that plans ask for.
        span: First and last origin, UTC.
        run: Carries tasks out, in order.
        seed: Of the errors laid on weather, and of the draw of paths.

    Raises:
        DataUnavailable: The history does not span that.
    """
    first, last = (history.position(origin) for origin in span)
    origins = np.arange(first - EARLIER_DAYS * DAY_H, last + 1, DAY_H, dtype=np.int64)
    if origins[0] < PROFILE_H or last + HORIZON_H > history.n_hours:
        raise DataUnavailable(
            f"the history goes from {iso(history.start)} to {iso(history.at(history.n_hours))}, which is too short for "
            f"plans from {iso(span[0])} to {iso(span[1])}",
            why=f"{PROFILE_DAYS + EARLIER_DAYS} days before the first and {HORIZON_H} h after the last are needed",
            fix="give a longer history, or choose other days",
        )
    tasks: list[Task] = []
    made: dict[str, list[Floats]] = {}
    names: dict[str, str] = {}
    scales = {signal: scale_before(history, signal, int(origins[0])) for signal in (*signals, *weather)}
    for signal in signals:
        model = best_model(signal, int(origins[0]), HORIZON_H)
        names[signal] = told(model, weather=bool(history.weather))
        blocks = np.array_split(origins, -(-len(origins) // REFIT_DAYS)) if model == BOOSTED else [origins]
        tasks += [
            Task(history, signal, model, tuple(map(int, b)), HORIZON_H, scales[signal], int(b[0]), seed) for b in blocks
        ]
    for task, paths in zip(tasks, run(tasks), strict=True):
        made.setdefault(task.signal, []).append(paths)
    one_of = {task.signal: task for task in tasks}
    points = {signal: whole(one_of[signal], origins, parts) for signal, parts in made.items()}
    ahead = origins[:, None] + np.arange(HORIZON_H)
    for name in weather:
        came = history.signals[name][ahead]
        points[name] = scales[name].there(with_lead_error(name, came, origins, seed))
        names[name] = "archive with errors by lead"
    errors = {name: scales[name].there(history.signals[name][ahead]) - points[name] for name in points}
    return Daily(history, names, origins, points, errors, scales, seed)
