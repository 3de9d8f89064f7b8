"""Errors of forecasts as they were issued, and the bias that they show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from planner.extension import carry_on
from planner.issued_errors import issued_errors
from planner.sources.issued import IssuedForecasts
from planner.sources.series import Series
from planner.timegrid import TimeGrid

START = datetime(2024, 4, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def series_of(first, values, kinds, fetched_at=None):
    t_start = pd.DatetimeIndex([first + i * HOUR for i in range(len(values))])
    rows = pd.DataFrame({"t_start": t_start, "t_end": t_start + HOUR, "value": values, "kind": kinds, "flags": ""})
    rows = rows.astype({"t_start": "datetime64[us, UTC]", "t_end": "datetime64[us, UTC]", "value": float})
    return Series("carbon", "XX", "gCO2e/kWh", "direct", "made up", "own", rows, None, fetched_at)


def kept(folder, days):
    """Forecasts of 48 h, one a day at half past nine, all of 200."""
    issued = IssuedForecasts(folder)
    for day in days:
        known_at = START + day * 24 * HOUR + timedelta(hours=9, minutes=30)
        issued.keep(series_of(known_at.replace(minute=0), [200.0] * 48, ["forecast"] * 48, known_at))
    return issued


def now(hours):
    """What came in so many hours: 220 in each; then a forecast of 200 for two days."""
    return series_of(START, [220.0] * hours + [200.0] * 48, ["actual"] * hours + ["forecast"] * 48)


def test_errors_by_lead_as_far_as_values_came(tmp_path):
    errors = issued_errors(kept(tmp_path, [28, 29]), now(30 * 24), 72)
    assert errors.shape == (2, 72)
    # The first was known on day 28 at 9:30: from 10:00 on, 38 hours came, and its own end lies at 47 hours.
    assert errors[0, :38].tolist() == [20.0] * 38
    assert np.isnan(errors[0, 38:]).all()
    assert errors[1, :14].tolist() == [20.0] * 14
    assert np.isnan(errors[1, 14:]).all()


def test_one_forecast_a_day_of_the_same_source_counts(tmp_path):
    issued = kept(tmp_path, [20, 21])
    later = START + 21 * 24 * HOUR + timedelta(hours=15)
    issued.keep(series_of(later, [190.0] * 48, ["forecast"] * 48, later))
    issued.keep(replace(series_of(later, [1.0] * 48, ["forecast"] * 48, later), source="another"))
    errors = issued_errors(issued, now(30 * 24), 24)
    assert errors[:, 0].tolist() == [20.0, 30.0]


def test_nothing_was_issued_or_nothing_came(tmp_path):
    assert issued_errors(IssuedForecasts(tmp_path), now(30 * 24), 24).shape == (0, 24)
    assert issued_errors(kept(tmp_path, [1]), series_of(START, [200.0], ["forecast"]), 24).shape == (0, 24)


def test_a_providers_usual_error_is_taken_off_its_next_forecast(tmp_path):
    grid = TimeGrid(START + 30 * 24 * HOUR, 60, 168)
    spoken = {"carbon": "carbon"}
    ((plain, _),) = carry_on([now(30 * 24)], {}, grid, spoken)
    ((mended, _),) = carry_on([now(30 * 24)], {}, grid, spoken, kept(tmp_path, range(14, 28)))
    first, second = (series.rows["value"].to_numpy()[30 * 24 : 30 * 24 + 36] for series in (plain, mended))
    assert first.tolist() == [200.0] * 36
    assert second == pytest.approx(np.full(36, 200.0 + 20.0 * 14 / (14 + 7)))
    assert "corrected by +13.3 gCO2e/kWh, its usual error of 14 forecasts as issued" in mended.told[0]
    assert "corrected" not in plain.told[0]
