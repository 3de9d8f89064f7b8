"""The chips' leakage, from what the same work takes at different supply temperatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thermal.calibrate.fit import Estimate
from thermal.calibrate.parameters import parameter, values

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.calibrate.telemetry import Telemetry
    from thermal.description import CoolingPlant

SETTING = "chip_leakage_pct_per_k"
LEAST_READINGS = 4  # one more than there are unknowns


def leakage(plant: CoolingPlant, telemetry: Telemetry) -> Estimate | None:
    """Return the rise of IT power per kelvin of supply, or None without readings of work and of the supply.

    IT power is taken as (a + b work) (1 + l (supply - design setpoint)), which is linear in a, b, a l and b l; l is the
    best common factor, found by Gauss-Newton steps.

    Args:
        plant: The plant.
        telemetry: The readings; the measured rack supply counts, or the setpoint where it is not measured.

    Returns:
        %/K with its standard deviation, in which the persistence of the errors is counted.
    """
    if plant.loop is None:
        return None
    supply = telemetry["rack_supply_temp_c"]
    supply = np.where(np.isfinite(supply), supply, telemetry["supply_setpoint_c"])
    work, it_kw = telemetry["chip_work"], telemetry["it_power_kw"]
    there = np.isfinite(supply) & np.isfinite(work) & np.isfinite(it_kw) & (it_kw > 0.0)
    if there.sum() < LEAST_READINGS:
        return None
    warmer, work, it_kw = supply[there] - plant.loop.supply_setpoint_c, work[there], it_kw[there]
    # errors go with the power: every reading counts by its own size
    shapes, it_kw = np.stack([np.ones_like(work), work], axis=1) / it_kw[:, None], np.ones_like(it_kw)
    share = 0.0
    for _ in range(20):
        base, *_ = np.linalg.lstsq(shapes * (1.0 + share * warmer)[:, None], it_kw, rcond=None)
        slopes = np.column_stack([shapes * (1.0 + share * warmer)[:, None], (shapes @ base) * warmer])
        errors = it_kw - (shapes @ base) * (1.0 + share * warmer)
        step, *_ = np.linalg.lstsq(slopes, errors, rcond=None)
        share += float(step[2])
        if abs(step[2]) < 1e-12:
            break
    known = parameter(plant, SETTING)
    return Estimate(
        known=known,
        before=float(values(plant)[SETTING]),
        value=float(np.clip(100.0 * share, known.lowest, known.highest)),
        deviation=100.0 * _deviation(slopes, errors),
    )


def _deviation(slopes: npt.NDArray[np.float64], errors: npt.NDArray[np.float64]) -> float:
    free = max(len(errors) - slopes.shape[1], 1)
    square = float(errors @ errors) / free
    together = float(np.mean(errors[1:] * errors[:-1]))
    persistence = float(np.clip(together / square if square > 0.0 else 0.0, 0.0, 0.99))
    spread = np.linalg.pinv(slopes.T @ slopes) * square * (1.0 + persistence) / (1.0 - persistence)
    # directions that the readings do not show have no information, not none of the error
    seen = np.linalg.matrix_rank(slopes) == slopes.shape[1]
    return float(np.sqrt(max(spread[2, 2], 0.0))) if seen else float("inf")
