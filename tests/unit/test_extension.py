"""A series that ends before the week does, carried on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from planner.extension import band_of, carry_on, extended
from planner.forecast import boosted
from planner.sources.series import Series
from planner.timegrid import TimeGrid
from tests.forecasts import START, made_up

HOUR = timedelta(hours=1)
HISTORY = made_up(200)


def series_of(first_h, end_h, signal="carbon", forecast_from=None, minutes=60, flags=""):
    """Rows of made-up hours; from `forecast_from` on they are a forecast."""
    step, per_hour = timedelta(minutes=minutes), 60 // minutes
    t_start = pd.DatetimeIndex([START + first_h * HOUR + i * step for i in range((end_h - first_h) * per_hour)])
    value = np.repeat(HISTORY.signals[signal][first_h:end_h], per_hour)
    kind = ["actual" if forecast_from is None or t < START + forecast_from * HOUR else "forecast" for t in t_start]
    rows = pd.DataFrame({"t_start": t_start, "t_end": t_start + step, "value": value, "kind": kind, "flags": flags})
    return Series(signal, "XX", "gCO2e/kWh", "direct", "made up", "own", rows, None, None)


def grid_from(hour, hours=168):
    return TimeGrid(START + hour * HOUR, 60, hours)


def test_nothing_is_done_where_the_series_reaches_the_end_or_ends_long_before():
    assert extended(series_of(0, 900), grid_from(732)) is None
    assert extended(series_of(0, 800), grid_from(800 + 16 * 24 - 167)) is None
    assert extended(series_of(0, 800), grid_from(800 + 16 * 24 - 168)) is not None


def test_the_providers_rows_stay_and_ours_follow_without_a_gap():
    series = series_of(0, 800, minutes=30, flags="synthetic")
    done = extended(series, grid_from(750))
    rows = done.series.rows
    assert rows.iloc[:1600].equals(series.rows)
    ours = rows.iloc[1600:]
    assert ours.t_start.iloc[0] == done.seam == START + 800 * HOUR
    assert (ours.t_start.to_numpy()[1:] == ours.t_end.to_numpy()[:-1]).all()
    assert ours.t_end.iloc[-1] == START + (750 + 168) * HOUR
    assert set(ours.kind) == {"forecast"}
    assert set(ours["flags"]) == {"extrapolated;synthetic"}
    assert np.isfinite(ours["value"]).all()
    assert done.ahead.quantiles is None  # 33 days give a profile, and too few forecasts to know their errors


def test_a_providers_forecast_is_kept_and_faded_over_its_last_hours():
    series = series_of(0, 848, forecast_from=800)
    done = extended(series, grid_from(800))
    rows = done.series.rows
    assert done.origin == START + 800 * HOUR
    assert done.cut == START + (848 - 12) * HOUR
    assert rows.iloc[:836].equals(series.rows.iloc[:836])
    ours = rows["value"].to_numpy()[836:848]
    # Weight moves from the provider's to ours in thirteenths.
    plain = extended(series_of(0, 800), grid_from(800)).ahead.point[36:48]
    weight = np.arange(12, 0, -1) / 13
    theirs = series.rows["value"].to_numpy()[836:848]
    scale_free = (ours - plain) / (theirs - plain)
    assert scale_free == pytest.approx(weight, abs=1e-6)


def test_where_all_rows_are_forecasts_ours_begins_at_their_end():
    done = extended(series_of(0, 800, forecast_from=0), grid_from(750))
    assert done.origin == done.cut == done.seam == START + 800 * HOUR


def test_less_than_a_week_of_past_is_left_to_the_profile():
    assert extended(series_of(640, 800), grid_from(750)) is None
    assert extended(series_of(630, 800), grid_from(750)) is not None


def test_a_longer_past_gives_quantiles_around_the_point():
    done = extended(series_of(1500, 2600), grid_from(2550), longer=series_of(0, 2600))
    assert done.past_days == 2600 // 24
    assert done.ahead.quantiles.shape[1] == len(done.ahead.point) == 118
    assert (done.ahead.quantiles[0] < done.ahead.quantiles[-1]).all()


def test_weather_ahead_helps_where_there_is_a_past_to_learn_from(monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(boosted, "LEAST_TRAINING_H", 60 * 24)
    monkeypatch.setattr(boosted, "_ROUNDS", 30)
    at = 180 * 24
    long = {"carbon": series_of(0, at), "wind_speed_10m": series_of(0, at + 168, "wind_speed_10m")}
    ((series, _),) = carry_on([series_of(at - 700, at)], long, grid_from(at), {"carbon": "carbon"})
    (told,) = series.told
    assert told == (
        "Forecast by gridpace: carbon of made up known until 2023-07-01T00:00:00Z; what follows is lightgbm-wx/2, made "
        "from 180 days before 2023-07-01T00:00:00Z."
    )
    blend = extended(series_of(at - 700, at), grid_from(at)).series
    actual = HISTORY.signals["carbon"][at : at + 168]
    error, other = (np.abs(s.rows["value"].to_numpy()[-168:] - actual).mean() for s in (series, blend))
    assert error < other


def test_signals_that_end_alike_are_told_in_one_sentence():
    found = [series_of(0, 800), replace(series_of(0, 800, "price"), unit="EUR/kWh"), series_of(0, 950, "dry_bulb")]
    out = carry_on(found, {}, grid_from(750), {"carbon": "carbon", "price": "price", "dry_bulb": "dry bulb"})
    assert out[0][0].told == out[1][0].told
    assert out[0][0].told[0].startswith("Forecast by gridpace: carbon, price of made up known until")
    assert out[2] == (found[2], None)


def test_the_band_of_a_week_is_the_value_before_the_origin_and_the_forecast_after_it():
    done = extended(series_of(0, 2600), grid_from(2550))
    for minutes in (60, 15):
        grid = TimeGrid(START + 2550 * HOUR, minutes, 168 * 60 // minutes)
        per_hour = 60 // minutes
        values = done.series.rows["value"].to_numpy()[2550 : 2550 + 168].repeat(per_hour)
        band = band_of("ci_gco2_per_kwh", done, values, grid)
        assert (band.quantiles[:, : 50 * per_hour] == values[: 50 * per_hour]).all()
        assert (band.quantiles[0, 50 * per_hour :] < band.quantiles[-1, 50 * per_hour :]).all()
        assert (band.quantiles[2, 50 * per_hour :: per_hour] == done.ahead.quantiles[2]).all()
        assert (band.paths[7, 50 * per_hour :: per_hour] == done.ahead.paths[7]).all()
    assert band_of("ci_gco2_per_kwh", extended(series_of(0, 800), grid_from(750)), np.ones(168), grid_from(750)) is None
