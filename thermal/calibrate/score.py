"""How well a plant's physics meets its meters: the measures of ASHRAE Guideline 14."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from thermal.calibrate.prediction import inputs, predict
from thermal.calibrate.telemetry import INPUTS, SIGNALS
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

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
        readings: Number of readings compared.
        cv_rmse_pct: Root mean square error over the mean reading, %; not a number for temperatures, whose mean says
            nothing, and with fewer than two readings.
        nmbe_pct: Mean of measured minus modelled over the mean reading, %; likewise.
        rmse: Root mean square error in the signal's unit.
        mean_error: Mean of measured minus modelled in the signal's unit.
    """

    signal: str
    readings: int
    cv_rmse_pct: float
    nmbe_pct: float
    rmse: float
    mean_error: float


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

    Args:
        plant: The plant.
        telemetry: The readings.
        running: Units that run.
        sensor_errors: Errors of the instruments that show what drives the plant, taken out before the model is asked;
            what it says is compared with the meters as they are.
    """
    names = [name for name in telemetry.measured if name not in INPUTS]
    modelled = predict(plant, inputs(telemetry, sensor_errors), frozenset(names), running)
    found = [
        _score(name, np.where(telemetry.compared(name), telemetry[name], np.nan), modelled[name])
        for name in names
        if name in modelled
    ]
    parts = [name for name in names if name in modelled and name in PARTS_KW]
    if len(parts) > 1:
        measured = np.sum([telemetry[name] for name in parts], axis=0)
        found.append(_score(PARTS, measured, np.sum([modelled[name] for name in parts], axis=0)))
    return tuple(found)


def pue_share_within(
    plant: CoolingPlant,
    telemetry: Telemetry,
    running: Running = ALL,
    sensor_errors: Mapping[str, float] = MappingProxyType({}),
) -> float:
    """Return the share of readings whose modelled PUE lies within 0.01 of the measured one; arguments as `scores`.

    PUE here is IT power and all cooling over IT power; losses of supply are not in it. Not a number where all power of
    cooling is not metered.
    """
    it, measured = telemetry["it_power_kw"], telemetry["cooling_kw"]
    given = inputs(telemetry, sensor_errors)
    modelled = predict(plant, given, frozenset({"cooling_kw"}), running)["cooling_kw"]
    there = np.isfinite(measured) & np.isfinite(modelled) & (it > 0.0)
    if not there.any():
        return float("nan")
    return float(np.mean(np.abs(measured - modelled)[there] <= PUE_WITHIN * it[there]))


def _score(name: str, measured: npt.NDArray[np.float64], modelled: npt.NDArray[np.float64]) -> Score:
    there = np.isfinite(measured) & np.isfinite(modelled)
    got, said = measured[there], modelled[there]
    error = got - said
    relative = (name == PARTS or SIGNALS[name].unit != "C") and len(error) > 1 and float(np.mean(got)) > 0.0
    return Score(
        signal=name,
        readings=len(error),
        cv_rmse_pct=cv_rmse_pct(got, said) if relative else float("nan"),
        nmbe_pct=nmbe_pct(got, said) if relative else float("nan"),
        rmse=float(np.sqrt(np.mean(error**2))) if len(error) else float("nan"),
        mean_error=float(np.mean(error)) if len(error) else float("nan"),
    )
