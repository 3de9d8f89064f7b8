"""Least squares on bounded parameters, how far they are known, and which of them the readings cannot tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from thermal.calibrate.descent import Box, least_loss, loss
from thermal.calibrate.parameters import Parameter, at_bound, changed, joint_signals, parameter
from thermal.calibrate.prediction import inputs, predict
from thermal.calibrate.residuals import Problem, SensorError
from thermal.calibrate.telemetry import INPUTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from thermal.calibrate.parameters import Stage
    from thermal.calibrate.telemetry import Telemetry
    from thermal.description import CoolingPlant
    from thermal.units_out import Running

SURE = NormalDist().inv_cdf(0.975)  # standard deviations to either side within which 95 % of a normal distribution lie
KNOWN_WITHIN = 0.05  # half the 95 % interval over the value up to which the readings identify it
KNOWN_WITHIN_SPAN = 0.005  # the same over the physical span, for settings that may be 0
EDGE = 0.05  # a floor is seen where at least this share of the readings lies below it by this share
ENOUGH = 600  # readings for the way to the fit; its end looks at all of them


@dataclass(frozen=True)
class Estimate:
    """What the readings say of one setting.

    Args:
        known: The setting.
        before: The site's own value.
        value: Its value at the best fit.
        deviation: Standard deviation in its unit, with the instruments' accuracies and the errors' persistence in it.
    """

    known: Parameter
    before: float
    value: float
    deviation: float

    @property
    def within(self) -> float:
        """Half of the 95 % interval, in the setting's unit: the truth lies this close with 95 % confidence."""
        return SURE * self.deviation

    @property
    def told(self) -> bool:
        """Whether the readings identify the value; if not, it is the site's own, moved along with the fit."""
        span = 0.0 if self.known.logarithmic else self.known.highest - self.known.lowest
        return self.within <= max(KNOWN_WITHIN * abs(self.value), KNOWN_WITHIN_SPAN * span)

    @property
    def at_bound(self) -> bool:
        """Whether the value lies at an end of its physical span."""
        return at_bound(self.known, self.value)


@dataclass(frozen=True)
class Fit:
    """A fitted plant.

    Args:
        plant: The plant.
        estimates: What the readings say of each setting that moved.
        sensor_errors: What the fit takes for the instruments' own errors.
    """

    plant: CoolingPlant
    estimates: tuple[Estimate, ...]
    sensor_errors: tuple[SensorError, ...]


def staged(plant: CoolingPlant, telemetry: Telemetry, steps: Iterable[Stage], running: Running) -> CoolingPlant:
    """Return the plant after one step after the other, each with its own settings and signals."""
    telemetry = thinned(telemetry)
    for step in steps:
        signals = usable(plant, telemetry, step.signals, running)
        known = tuple(parameter(plant, name) for name in step.settings)
        # all ends are compared with the same weights, those of the plant before the step
        judge = Problem(plant, telemetry, known, signals, running, plant)
        ends = []
        for start in step.starts if signals else ():
            try:
                begun = changed(plant, start)
            except ValueError:  # this start contradicts the plant's other values; another does not
                continue
            point = best_point(replace(judge, begun=begun))
            ends.append((loss(judge.residuals(point), len(point)), judge.plant_at(point)))
        if ends:
            plant = min(ends, key=lambda end: end[0])[1]
    return plant


def joint(
    plant: CoolingPlant, begun: CoolingPlant, telemetry: Telemetry, settings: Iterable[str], running: Running
) -> Fit:
    """Fit all settings to all signals at once, each held weakly near the site's own value.

    What the readings do not tell moves along with what they do, near the site's own value: so the whole agrees with the
    readings, and the estimate says which of it is a measurement.

    Args:
        plant: The plant with the site's own values.
        begun: The plant from which the fit starts.
        telemetry: The readings.
        settings: The settings that move.
        running: Units that run.

    Returns:
        The fit.

    Raises:
        ValueError: The telemetry has no signal that the plant could be compared with.
    """
    signals = usable(plant, telemetry, joint_signals(plant), running)
    if not signals:
        raise ValueError(
            f"{telemetry.source} has no reading of pumps, fans, chillers, flows or temperatures that a {plant.kind} "
            "plant could be compared with"
        )
    known = tuple(parameter(plant, name) for name in settings)
    errors: tuple[SensorError, ...] = ()
    # the weights are those of the plant that is begun with: once the site's own, once one that is fitted
    for readings in (thinned(telemetry), telemetry):
        problem = Problem(plant, readings, known, signals, running, begun, errors)
        point = best_point(problem)
        begun, errors = problem.plant_at(point), problem.told_errors(point)
    return Fit(begun, _estimates(problem, point), errors)


def usable(plant: CoolingPlant, telemetry: Telemetry, wanted: frozenset[str], running: Running) -> tuple[str, ...]:
    """Return the measured signals among the wanted that the plant can show.

    All power of cooling is looked at only where no part of it is metered: what it has beside the parts is not fitted.
    """
    measured = frozenset(name for name in telemetry.measured if name not in INPUTS)
    shown = predict(plant, inputs(telemetry), wanted & measured, running)
    found = [name for name in telemetry.measured if name in shown]
    parts = [name for name in found if name.endswith("_kw") and name != "cooling_kw"]
    return tuple(name for name in found if name != "cooling_kw" or not parts)


def thinned(telemetry: Telemetry, enough: int = ENOUGH) -> Telemetry:
    """Return enough of the readings, evenly spread over the span."""
    every = -(-len(telemetry) // enough)
    return telemetry.at(np.arange(len(telemetry)) % every == 0)


def best_point(problem: Problem) -> npt.NDArray[np.float64]:
    """Return the best point near the begun plant."""
    return least_loss(problem.residuals, problem.slopes, problem.start, Box(*problem.bounds))


def inflation(errors: npt.NDArray[np.float64]) -> float:
    """Return by how much less a signal's readings tell than their noise alone would let them.

    Errors that are larger than the noise, or that persist from one reading to the next, make readings count for less.

    Args:
        errors: Readings less model in standard deviations, in their order, shape (N,).

    Returns:
        The mean square of the errors, at least 1, times (1 + r) / (1 - r) for errors correlated by r at one step.

    Source:
        Bayley and Hammersley (1946) for the persistence.
    """
    square = float(np.mean(errors**2))
    together = float(np.mean(errors[1:] * errors[:-1])) if len(errors) > 1 else 0.0
    persistence = float(np.clip(together / square if square > 0.0 else 0.0, 0.0, 0.99))
    return max(square, 1.0) * (1.0 + persistence) / (1.0 - persistence)


def _estimates(problem: Problem, point: npt.NDArray[np.float64]) -> tuple[Estimate, ...]:
    """Return each parameter with its standard deviation."""
    residuals, slopes = problem.residuals(point), problem.slopes(point, both_sides=True)
    information = np.diag(problem.weak**-2.0)
    for rows in problem.rows.values():
        information += slopes[rows].T @ slopes[rows] / inflation(residuals[rows])
    deviations = np.sqrt(np.diag(_covariance(information, problem, point)))
    found = []
    for p, x, d in zip(problem.known, point, deviations, strict=False):
        value = p.outer(float(x))
        found.append(Estimate(p, problem.centre_values[p.setting], value, p.spread(value, float(d))))
    return tuple(found)


def _covariance(
    information: npt.NDArray[np.float64], problem: Problem, point: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the covariance of a point; of settings that the readings do not show at all, only the prior counts."""
    hidden = np.zeros(len(point), dtype=np.bool_)
    for i, p in enumerate(problem.known):
        hidden[i] = not _shown(problem, p.setting, p.outer(float(point[i])))
    seen = ~hidden
    of_seen = np.linalg.inv(information[np.ix_(seen, seen)])
    carried = of_seen @ information[np.ix_(seen, hidden)]
    prior = np.diag(problem.weak[hidden] ** 2)
    found = np.zeros_like(information)
    found[np.ix_(seen, seen)] = of_seen + carried @ prior @ carried.T
    found[np.ix_(hidden, hidden)] = prior
    return found


def _shown(problem: Problem, setting: str, value: float) -> bool:
    """Return whether IT power went where a floor, or the bend of a pump's curve, can be seen at all.

    The slopes at a floor that IT power just touches say that it is known well, when it is only known to be no higher.
    """
    load = problem.telemetry["it_power_kw"] / problem.plant.rated_it_kw
    load = load[np.isfinite(load)]
    if setting.endswith("_floor"):
        below = load < value * (1.0 - EDGE)
        return float(np.mean(below)) >= EDGE
    if setting.endswith("_static_share"):
        low, high = np.quantile(load, (EDGE, 1.0 - EDGE))
        return bool(high >= low * (1.0 + 2.0 * EDGE))
    return True
