"""How providers' forecasts as issued did, for people and for other programs: rows and JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.backtest_issued import FRESH
from planner.forecast.backtest import HORIZON_H
from planner.forecast.history import DAY_H

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.backtest_issued import AsIssued, Errors

_DAYS = HORIZON_H // DAY_H
ISSUED_HEADS = ("signal", "model", "issues", "hours", *(f"day {d + 1}" for d in range(_DAYS)), "mean", "MAE")
"""Columns of the table; those of days and their mean are the MAPE of carbon, else the MAE."""
ISSUED_STATEMENT = (
    "As issued: of each provider whose forecasts are kept, the newest that was known when ours was made and was less "
    f"than {FRESH.total_seconds() / 3600:g} h old; all models on the hours that it covers and no others, by hours from "
    "then on. It gives no quantiles"
)
"""What must be said beside the rows."""


def issued_rows(issued: Sequence[AsIssued]) -> list[list[str]]:
    """Return the table's rows, one for each signal and model, as text."""
    return [
        [one.signal, errors.model, str(one.issues), str(one.hours), *_figures(one.signal, errors)]
        for one in issued
        for errors in one.errors
    ]


def issued_json(issued: Sequence[AsIssued]) -> list[dict[str, Any]]:
    """Return the JSON array, every digit."""
    return [
        {
            "signal": one.signal,
            "source": one.errors[0].model,
            "issues": one.issues,
            "hours": one.hours,
            "models": [
                {
                    "model": errors.model,
                    "by_lead_day": {"mape_pct": _numbers(errors.mape_pct), "mae": _numbers(errors.mae)},
                }
                for errors in one.errors
            ],
        }
        for one in issued
    ]


def _figures(signal: str, errors: Errors) -> list[str]:
    shown, form = (errors.mape_pct, ".1f") if signal == "carbon" else (errors.mae, ".4g")
    days = [format(float(value), form) if not math.isnan(value) else "-" for value in shown]
    return [*days, format(float(np.nanmean(shown)), form), f"{float(np.nanmean(errors.mae)):.4g}"]


def _numbers(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]
