"""Around a provider's forecast lie its own errors, as far as enough of its forecasts are kept as issued."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
import responses

from planner.config import site_from_text, starter_site
from planner.extension import doubtful, doubts
from planner.far_past import far_past
from planner.forecast.provider_spread import provider_spread
from planner.forecast.spread import LEAST, LEVELS
from planner.forecast.zone import Provided, forecast_zone
from planner.gather import gather
from planner.sources.cache import ResponseCache
from planner.sources.issued import IssuedForecasts
from planner.sources.open_meteo import ARCHIVE_URL, FORECAST_URL
from planner.sources.series import Series
from planner.timegrid import TimeGrid
from tests.feeds import HOUR, NOW, serving
from tests.forecasts import START, made_up
from tests.unit.test_extension import series_of
from tests.unit.test_far_past import gathered, weather_answer

LOW, HIGH = LEVELS.index(0.10), LEVELS.index(0.90)


def issued_before(m, known_h, sd, bias=0.0, seed=0):
    """Errors of m forecasts, each hour's of its own."""
    errors = np.full((m, 168), np.nan)
    errors[:, :known_h] = bias + sd * np.random.default_rng(seed).standard_normal((m, known_h))
    return errors


def carbon(provided):
    origin = START + timedelta(days=110)
    return forecast_zone(made_up(110), ["carbon"], origin, n_paths=200, provided=provided).signals["carbon"]


def test_the_interval_is_that_of_the_provider_and_then_ours():
    path = np.where(np.arange(168) < 72, 300.0, np.nan)
    unknown = carbon({"carbon": Provided(path)})
    known = carbon({"carbon": Provided(path, issued_before(28, 72, 5.0))})
    width = known.quantiles[HIGH] - known.quantiles[LOW]
    # 80 % of normal errors of 5 g lie within 6.4 g either way, until the provider's forecast begins to fade.
    assert width[:60].mean() == pytest.approx(2 * 1.2816 * 5.0, rel=0.12)
    assert (unknown.quantiles[HIGH] - unknown.quantiles[LOW])[:60].mean() > 2.0 * width[:60].mean()
    assert known.quantiles[:, 72:] == pytest.approx(unknown.quantiles[:, 72:])
    assert (np.diff(known.quantiles, axis=0) >= 0.0).all()
    below = (known.paths[:, :60] <= known.quantiles[HIGH, :60]).mean()
    assert below == pytest.approx(0.9, abs=0.03)


def test_a_shift_that_was_taken_off_is_no_error_any_more():
    path = np.full(168, 300.0)
    plain, biased = (carbon({"carbon": Provided(path, issued_before(28, 168, 5.0, bias))}) for bias in (0.0, 40.0))
    shift = biased.point[0] - plain.point[0]
    assert shift == pytest.approx(40.0 * 28 / 35, abs=0.5)
    # The eight grams that are not believed yet stay in the errors.
    middle = biased.quantiles[LEVELS.index(0.5), :150].mean() - 300.0
    assert middle == pytest.approx(40.0, abs=1.0)


def test_few_forecasts_as_issued_tell_nothing():
    path = np.full(168, 300.0)
    assert provider_spread(path, issued_before(LEAST - 1, 168, 5.0)) is None
    assert provider_spread(path, np.empty((0, 168))) is None
    part = provider_spread(path, np.vstack([issued_before(LEAST, 48, 5.0), issued_before(3, 168, 5.0)]))
    assert (part.weight > 0.0).tolist() == [True] * 48 + [False] * 120
    assert (part.offsets(np.full((1, 168), 0.9))[0, 48:] == 0.0).all()


def test_hours_that_the_provider_left_out_are_ours():
    path = np.full(168, 300.0)
    path[30:33] = np.nan
    assert (provider_spread(path, issued_before(20, 168, 5.0)).weight[30:33] == 0.0).all()


def test_a_forecast_that_reaches_the_end_of_the_week_is_doubted_and_not_changed():
    at = 110 * 24
    grid = TimeGrid(START + at * HOUR, 60, 168)
    series = series_of(at - 28 * 24, at + 168, forecast_from=at)
    assert doubtful(series, grid)
    long = {"carbon": series_of(0, at + 168, forecast_from=at)}
    found = doubts([series], long, grid, {"carbon": "carbon"})["carbon"]
    assert found.series is series
    assert found.origin == grid.start
    assert found.ahead.quantiles.shape == (len(LEVELS), 168)
    assert found.ahead.point == pytest.approx(series.rows["value"].to_numpy()[-168:])
    assert (
        doubts([series], {}, grid, {"carbon": "carbon"})["carbon"].ahead.quantiles is None
    )  # 28 days tell nothing of errors
    assert not doubtful(series_of(0, at + 168), grid)
    assert not doubtful(series_of(0, at + 100, forecast_from=at), grid)


def hours_of(signal, values, kinds, fetched_at=None):
    t_start = pd.DatetimeIndex([START + i * HOUR for i in range(len(values))])
    rows = pd.DataFrame({"t_start": t_start, "t_end": t_start + HOUR, "value": values, "kind": kinds, "flags": ""})
    rows = rows.astype({"t_start": "datetime64[us, UTC]", "t_end": "datetime64[us, UTC]", "value": float})
    return Series(signal, "XX", "W/m2", "", "made up", "own", rows, None, fetched_at)


@pytest.mark.parametrize(("signal", "night"), [("ghi", 0.0), ("dry_bulb", 8.0)])
def test_the_usual_error_is_taken_off_by_day_and_the_night_stays_dark(tmp_path, signal, night):
    n_past, hour = 60 * 24, np.arange(68 * 24) % 24
    came = np.maximum(0.0, 400.0 * np.sin(2 * np.pi * (hour - 4) / 28))
    told = np.maximum(came - 40.0, 0.0)  # forty too little by day, and for temperatures at night too
    issued = IssuedForecasts(tmp_path)
    for day in range(46, 60):
        at = START + day * 24 * HOUR
        part = hours_of(signal, told, "forecast", at)
        issued.keep(replace(part, rows=part.rows[part.rows.t_start >= at].head(168)))
    values = np.concatenate([came[:n_past], told[n_past:]])
    series = hours_of(signal, values, ["actual"] * n_past + ["forecast"] * (len(values) - n_past))
    grid = TimeGrid(START + n_past * HOUR, 60, 168)
    done = doubts([series], {}, grid, {signal: "sky"}, issued)[signal]
    rows = done.series.rows["value"].to_numpy()
    assert (rows[:n_past] == came[:n_past]).all()
    ahead, said = rows[n_past : n_past + 168], told[n_past : n_past + 168]
    expected = 40.0 * 14 / 21
    assert done.shift == pytest.approx(expected)
    assert ahead[said > 0.0] - said[said > 0.0] == pytest.approx(np.full((said > 0.0).sum(), expected))
    dark = np.zeros((said == 0.0).sum()) if signal == "ghi" else np.full((said == 0.0).sum(), expected)
    assert ahead[said == 0.0] == pytest.approx(dark)
    assert done.ahead.point == pytest.approx(ahead, abs=1e-6)
    if signal == "ghi":
        assert (done.ahead.quantiles[:, came[n_past : n_past + 168] == 0.0] == 0.0).all()
    assert done.series.told == (
        "The forecast of sky of made up is corrected by +26.7 W/m2, its usual error of 14 forecasts as issued.",
    )


@pytest.fixture
def sky():
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        for url in (ARCHIVE_URL, FORECAST_URL):
            serving(mock, url, lambda given: weather_answer(given, SITE_NOW))
        yield mock


SITE_NOW = NOW.replace(year=2024, month=5, day=12)
WEATHER = '[sources.weather]\nprovider = "open-meteo"\n\n'


def test_a_live_site_with_own_sun_has_a_band_of_its_yield(sky, tmp_path):
    text = starter_site().replace("# Without [sources]", f"{WEATHER}# Without", 1)
    site = site_from_text(text, tmp_path / "site.toml")
    week = gather(site, now=SITE_NOW, cache=ResponseCache(tmp_path / "cache"))
    names = [band.signal for band in week.bands]
    assert names == ["dry_bulb_c", "wet_bulb_c", "ghi_w_per_m2", "solar_yield:hall"]
    own = week.bands[-1]
    assert np.ptp(own.paths, axis=0).max() > 0.0
    assert not any("Forecast by gridpace" in label for label in week.labels)  # the provider's rows are the week's
    assert (week.bands[1].paths <= week.bands[0].paths).all()


def test_what_no_plant_needs_is_not_asked_for_its_errors(sky, tmp_path):
    _, groups = gathered(ResponseCache(tmp_path), SITE_NOW, prices=False)
    grid = TimeGrid(SITE_NOW.replace(hour=0, minute=0) + timedelta(days=1), 60, 168)
    sky.calls.reset()
    assert far_past(groups, grid, 730, {}).series == {}
    assert len(sky.calls) == 0
    assert set(far_past(groups, grid, 730, {}, unsure=["wind_speed_100m"]).series) == {"wind_speed_100m"}
