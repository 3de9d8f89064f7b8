"""What the thermal report's page says of measurements, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.export import wording
from planner.export.thermal_words import FIGURES, NONE, told_quantity
from thermal.calibrate import SIGNALS
from thermal.quantity import MEASURED

if TYPE_CHECKING:
    from thermal.measured import Measured

PARTS = "pumps, fans and compressors together"
PLANNED = {"it_kw": "IT power", "cooling_kw": "Power of cooling"}


def trend_rows(found: Measured) -> tuple[tuple[str, ...], ...]:
    """Return each figure of the loops: name, last seven days, change in 30 days at equal heat, how it is known."""
    rows = []
    for trend in found.trends:
        change, half = trend.change.value, trend.give_or_take.value
        told = NONE if change is None or half is None else f"{_signed(change, 2)} \u00b1 {half:.2f} {trend.change.unit}"
        rows.append((FIGURES[trend.name], told_quantity(trend.latest), told, MEASURED))
    return tuple(rows)


def balance_rows(found: Measured) -> tuple[tuple[str, ...], ...]:
    """Return each loop: name, heat by flow, heat by power, residual, what the sensors allow, how it is known."""
    return tuple(
        (
            balance.loop,
            wording.power(balance.heat_kw),
            wording.power(balance.power_kw),
            f"{_signed(balance.residual_pct, 1)} %",
            f"\u00b1 {balance.tolerance_pct:.1f} %",
            MEASURED,
        )
        for balance in found.balances
    )


def score_rows(found: Measured) -> tuple[tuple[str, ...], ...]:
    """Return each signal of model and meters: name, mean of metered less modelled, NMBE, CV-RMSE, how it is known."""
    rows = []
    for score in found.scores:
        signal = SIGNALS.get(score.signal)
        unit = "kW" if signal is None else signal.unit.replace("C", "K")
        rows.append(
            (
                PARTS if signal is None else signal.meaning,
                f"{_signed(score.mean_error, 2)} {unit}".rstrip(),
                NONE if np.isnan(score.nmbe_pct) else f"{_signed(score.nmbe_pct, 1)} %",
                NONE if np.isnan(score.cv_rmse_pct) else f"{score.cv_rmse_pct:.1f} %",
                MEASURED,
            )
        )
    return tuple(rows)


def plan_rows(found: Measured) -> tuple[tuple[str, ...], ...]:
    """Return each power as planned and as metered: name, hours, planned, metered, largest difference, how known."""
    return tuple(
        (
            PLANNED[row.name],
            wording.hours(row.hours_h),
            wording.power(row.planned_kw),
            wording.power(row.metered_kw),
            wording.power(row.largest_kw).replace("-", "\u2212"),
            MEASURED,
        )
        for row in found.against_plan
    )


def _signed(value: float, digits: int) -> str:
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "\u2212") if rounded else f"{0.0:.{digits}f}"
