"""What is made small: readings against the physics, in standard deviations, with the instruments' own errors beside it.

An instrument's error that stays the same over the span (a gain of a power or flow meter, an offset of a temperature) is
fitted along, held near nothing by what instruments of its class may err: so a sensor's bias neither passes for a
property of the plant, nor makes the plant's properties look better known than the sensor allows. A class says how far
an error may go at most; the standard deviation of what lies evenly within that is a root of 3 less (JCGM 100, Guide to
the expression of uncertainty in measurement, 4.3.7). The noise of what drives the plant counts as well, by the
effective variance (Orear 1982): at the edge where a chiller starts, a tenth of a kelvin decides, and one reading there
must not outweigh a week. Nor must many pull the edge to one side: the model's mean over that noise is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from thermal.calibrate.expected import expected
from thermal.calibrate.parameters import Parameter, box, changed, values
from thermal.calibrate.prediction import PUMP_SIGNALS, inputs, predict
from thermal.calibrate.telemetry import DRIVING, SIGNALS

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.calibrate.expected import Expected
    from thermal.calibrate.telemetry import Telemetry
    from thermal.description import CoolingPlant
    from thermal.units_out import Running

STEP = 1e-4  # of a coordinate, for slopes: above the rounding of the searches inside the physics
WEAK = 0.5  # standard deviation of a coordinate about the site's own value: a factor of 1.65, or half the span
OF_CLASS = 3.0**-0.5  # standard deviation of an instrument's error over the largest that its class allows


@dataclass(frozen=True)
class SensorError:
    """What a fit takes for an instrument's own error.

    Args:
        signal: What the instrument shows.
        value: Shown minus true; of a meter of power or flow, over the true value.
        unit: "" for a share of the value, or "K".
    """

    signal: str
    value: float
    unit: str


@dataclass(frozen=True)
class Problem:
    """Readings to be met by a plant; a point is the parameters' coordinates, then the instruments' errors.

    Args:
        plant: The plant before the fit.
        telemetry: The readings.
        known: The parameters that move.
        signals: The signals that are looked at.
        running: Units that run.
        begun: The plant from which the fit starts.
        begun_errors: What is taken for the instruments' own errors there.
    """

    plant: CoolingPlant
    telemetry: Telemetry
    known: tuple[Parameter, ...]
    signals: tuple[str, ...]
    running: Running
    begun: CoolingPlant
    begun_errors: tuple[SensorError, ...] = ()

    @cached_property
    def input_errors(self) -> tuple[str, ...]:
        """Inputs whose errors are fitted along: those that are measured and that the signals depend on."""
        driving = ("it_power_kw",) if PUMP_SIGNALS.issuperset(self.signals) else DRIVING
        return tuple(name for name in driving if np.isfinite(self.telemetry[name]).any())

    @cached_property
    def output_errors(self) -> tuple[str, ...]:
        """Signals whose errors are fitted along."""
        return tuple(name for name in self.signals if SIGNALS[name].gain or SIGNALS[name].offset)

    @cached_property
    def there(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Where each signal can be compared, shape (N,)."""
        driven = np.isfinite(self.telemetry["it_power_kw"]) & np.isfinite(self.telemetry["dry_bulb_c"])
        return {name: driven & self.telemetry.compared(name) for name in self.signals}

    @cached_property
    def expected(self) -> dict[str, Expected]:
        """What each signal is expected to show where the fit starts, and how far readings scatter about it.

        The scatter has the noise of the signal itself, and what the noise of each input makes of it at that instant:
        large where a fan or a chiller is about to start.
        """
        alone = {name: (name,) for name in self.signals}
        errors = {e.signal: e.value for e in self.begun_errors}
        return expected(self.begun, self.telemetry, alone, self.running, errors)

    @cached_property
    def spread(self) -> dict[str, npt.NDArray[np.float64]]:
        """Standard deviation of each signal's readings about the model, where it can be compared."""
        return {name: np.sqrt(self.expected[name].variance[self.there[name]]) for name in self.signals}

    @cached_property
    def shift(self) -> dict[str, npt.NDArray[np.float64]]:
        """The model's mean over the noise of its inputs less what it says at them, where it can be compared."""
        return {n: (e.mean - e.middle)[self.there[n]] for n, e in self.expected.items()}

    @cached_property
    def rows(self) -> dict[str, slice]:
        """Rows of each signal among the residuals."""
        found, at = {}, 0
        for name in self.signals:
            count = int(self.there[name].sum())
            found[name] = slice(at, at + count)
            at += count
        return found

    @cached_property
    def centre_values(self) -> dict[str, float]:
        """Value of each parameter in the plant before the fit."""
        usual = values(self.plant)
        return {p.setting: float(usual[p.setting]) for p in self.known}

    @cached_property
    def centre(self) -> npt.NDArray[np.float64]:
        """The point of the plant before the fit and of instruments without error."""
        return self.point_of(self.plant)

    @property
    def start(self) -> npt.NDArray[np.float64]:
        """The point from which the fit starts."""
        begun = {e.signal: e.value for e in self.begun_errors}
        errors = [begun.get(n, 0.0) / self._of_class(n) for n in (*self.input_errors, *self.output_errors)]
        return np.concatenate([self.point_of(self.begun)[: len(self.known)], errors])

    def point_of(self, plant: CoolingPlant) -> npt.NDArray[np.float64]:
        """Return the point of a plant of the same kind and of instruments without error."""
        usual = values(plant)
        own = [p.inner(float(usual[p.setting])) for p in self.known]
        return np.array(own + [0.0] * (len(self.input_errors) + len(self.output_errors)))

    @property
    def weak(self) -> npt.NDArray[np.float64]:
        """Standard deviation of each coordinate about the centre; an instrument's error counts in its own."""
        return np.where(np.arange(len(self.centre)) < len(self.known), WEAK, 1.0)

    def plant_at(self, point: npt.NDArray[np.float64]) -> CoolingPlant:
        """Return the plant at a point (ValueError where its values contradict each other)."""
        return changed(self.plant, {p.setting: p.outer(float(x)) for p, x in zip(self.known, point, strict=False)})

    def residuals(self, point: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return readings minus model in standard deviations, then the priors'; infinite where no plant is possible."""
        try:
            modelled = self._modelled(point)
        except ValueError:
            return np.full(self._size, np.inf)
        errors = self.sensor_errors(point)
        parts = []
        for name in self.signals:
            signal, said = SIGNALS[name], modelled[name]
            error = errors.get(name, 0.0)
            said = said * (1.0 + error) if signal.gain else said + error
            parts.append((self.telemetry[name][self.there[name]] - said) / self.spread[name])
        return np.concatenate([*parts, (point - self.centre) / self.weak])

    def slopes(self, point: npt.NDArray[np.float64], *, both_sides: bool = False) -> npt.NDArray[np.float64]:
        """Return the residuals' slopes; those of the outputs' errors are known, the others are differences.

        Args:
            point: Where.
            both_sides: Look to both sides and take the gentler slope: a chiller that starts within one of the steps
                must not pass for information.
        """
        low, high = self.bounds
        base = self.residuals(point)
        found = np.zeros((len(base), len(point)))
        for i in range(len(self.known) + len(self.input_errors)):
            sides = []
            for step in (STEP, -STEP):
                moved = point.copy()
                moved[i] += step
                slope = (self.residuals(moved) - base) / step
                if np.isfinite(slope).all() and low[i] <= moved[i] <= high[i]:
                    sides.append(slope)
                    if not both_sides:
                        break
            if sides:
                found[:, i] = np.where(np.abs(sides[0]) < np.abs(sides[-1]), sides[0], sides[-1])
        modelled = self._modelled(point)
        at = len(self.known) + len(self.input_errors)
        for i, name in enumerate(self.output_errors, start=at):
            signal = SIGNALS[name]
            found[self.rows[name], i] = -OF_CLASS * (modelled[name] * signal.gain + signal.offset) / self.spread[name]
            found[len(base) - len(point) + i, i] = 1.0 / self.weak[i]
        return found

    @cached_property
    def bounds(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Lowest and highest point; an instrument that errs by more than five standard deviations is broken."""
        low, high = box(self.known)
        errors = np.full(len(self.input_errors) + len(self.output_errors), 5.0)
        return np.concatenate([low, -errors]), np.concatenate([high, errors])

    @property
    def _size(self) -> int:
        return sum(int(t.sum()) for t in self.there.values()) + len(self.centre)

    def sensor_errors(self, point: npt.NDArray[np.float64]) -> dict[str, float]:
        """Return the instruments' errors at a point: in the unit, or as a share of the value for power and flow."""
        names = (*self.input_errors, *self.output_errors)
        return {n: float(e) * self._of_class(n) for n, e in zip(names, point[len(self.known) :], strict=True)}

    def told_errors(self, point: npt.NDArray[np.float64]) -> tuple[SensorError, ...]:
        """Return the instruments' errors at a point, for people."""
        found = self.sensor_errors(point)
        return tuple(SensorError(n, e, "" if SIGNALS[n].gain else "K") for n, e in found.items())

    def _of_class(self, name: str) -> float:
        """Return the standard deviation of an instrument's own error, as a share of the value for power and flow."""
        return OF_CLASS * (SIGNALS[name].gain or SIGNALS[name].offset)

    def _modelled(self, point: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
        given = inputs(self.telemetry, self.sensor_errors(point))
        found = predict(self.plant_at(point), given, frozenset(self.signals), self.running)
        return {name: found[name][self.there[name]] + self.shift[name] for name in self.signals}
