"""How well a plant's physics meets its meters: the measures of ASHRAE Guideline 14, on hourly means as it has them.

Finer readings are averaged within each clock hour, the model's likewise: what counts is the energy of an hour, not on
which side of a chiller's start one reading of a noisy sensor happened to fall.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from thermal.calibrate.expected import expected
from thermal.calibrate.hourly import by_hour
from thermal.calibrate.prediction import inputs, predict
from thermal.calibrate.telemetry import INPUTS, SIGNALS
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.calibrate.expected import Expected
    from thermal.calibrate.telemetry import Telemetry
    from thermal.description import CoolingPlant
    from thermal.units_out import Running

PUE_WITHIN = 0.01
PARTS = "parts_kw"  # the sum of all metered parts of the cooling that can be fitted
PARTS_KW = ("rack_pump_kw", "facility_pump_kw", "pump_kw", "fan_kw", "chiller_kw")


@dataclass(frozen=True)
class Score:
    """How one signal of the model meets the measured one.

    Args:
        signal: The signal; "parts_kw" is the sum of the metered pumps, fans and compressors.
        hours: Number of hours compared; readings rarer than hourly count as one each.
        cv_rmse_pct: Root mean square error over the mean reading, %; not a number for temperatures, whose mean says
            nothing, and with fewer than two hours.
        nmbe_pct: Mean of measured minus modelled over the mean reading, %; likewise.
        rmse: Root mean square error in the signal's unit.
        mean_error: Mean of measured minus modelled in the signal's unit.
        floor_pct: The CV-RMSE that the noise of the sensors alone leaves of a model without any error, %.
    """

    signal: str
    hours: int
    cv_rmse_pct: float
    nmbe_pct: float
    rmse: float
    mean_error: float
    floor_pct: float


def cv_rmse_pct(measured: npt.NDArray[np.float64], modelled: npt.NDArray[np.float64]) -> float:
    """Return the coefficient of variation of the root mean square error, %, for arrays of shape (N,), N at least 2.

    Source:
        ASHRAE Guideline 14-2014, with one degree of freedom taken for a calibrated simulation.
    """
    error = measured - modelled
    return float(100.0 * np.sqrt(np.sum(error**2) / (len(error) - 1)) / np.mean(measured))


def nmbe_pct(measured: npt.NDArray[np.float64], modelled: npt.NDArray[np.float64]) -> float:
    """Return the normalised mean bias error, measured minus modelled, %; arguments and source as `cv_rmse_pct`."""
    return float(100.0 * np.sum(measured - modelled) / (len(measured) - 1) / np.mean(measured))


def scores(
    plant: CoolingPlant,
    telemetry: Telemetry,
    running: Running = ALL,
    sensor_errors: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Score, ...]:
    """Return the scores of a plant on telemetry, for every signal that both have, in the order of `SIGNALS`.

    The model is asked for its mean over the noise of what drives it (`thermal.calibrate.expected`).

    Args:
        plant: The plant.
        telemetry: The readings.
        running: Units that run.
        sensor_errors: Errors of the instruments that show what drives the plant, taken out before the model is asked;
            what it says is compared with the meters as they are.
    """
    measured = frozenset(name for name in telemetry.measured if name not in INPUTS)
    shown = predict(plant, inputs(telemetry), measured, running)
    sums: dict[str, tuple[str, ...]] = {name: (name,) for name in telemetry.measured if name in shown}
    parts = tuple(name for name in sums if name in PARTS_KW)
    if len(parts) > 1:
        sums[PARTS] = parts
    found = expected(plant, telemetry, sums, running, sensor_errors)
    return tuple(_score(name, telemetry, signals, found[name]) for name, signals in sums.items())


def pue_share_within(
    plant: CoolingPlant,
    telemetry: Telemetry,
    running: Running = ALL,
    sensor_errors: Mapping[str, float] = MappingProxyType({}),
) -> float:
    """Return the share of hours whose modelled PUE lies within 0.01 of the measured one; arguments as `scores`.

    PUE here is IT power and all cooling over IT power; losses of supply are not in it. Not a number where all power of
    cooling is not metered.
    """
    it, measured = telemetry["it_power_kw"], telemetry["cooling_kw"]
    modelled = expected(plant, telemetry, {"cooling_kw": ("cooling_kw",)}, running, sensor_errors)["cooling_kw"].mean
    it, measured, modelled = by_hour(telemetry.time, np.where(it > 0.0, it, np.nan), measured, modelled).means
    if not it.size:
        return float("nan")
    return float(np.mean(np.abs(measured - modelled) <= PUE_WITHIN * it))


def _score(name: str, telemetry: Telemetry, signals: tuple[str, ...], said: Expected) -> Score:
    readings = np.sum([np.where(telemetry.compared(n), telemetry[n], np.nan) for n in signals], axis=0)
    count, (got, modelled, variance) = by_hour(telemetry.time, readings, said.mean, said.variance)
    error = got - modelled
    relative = (name == PARTS or SIGNALS[name].unit != "C") and len(error) > 1 and float(np.mean(got)) > 0.0
    return Score(
        signal=name,
        hours=len(error),
        cv_rmse_pct=cv_rmse_pct(got, modelled) if relative else float("nan"),
        nmbe_pct=nmbe_pct(got, modelled) if relative else float("nan"),
        rmse=float(np.sqrt(np.mean(error**2))) if len(error) else float("nan"),
        mean_error=float(np.mean(error)) if len(error) else float("nan"),
        floor_pct=float(100.0 * np.sqrt(np.mean(variance / count)) / np.mean(got)) if relative else float("nan"),
    )
