"""The models on numbers worked by hand."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from planner.errors import ConfigError, GapInSeries
from planner.forecast import boosted
from planner.forecast.blend import blend_paths
from planner.forecast.bridge import bias_corrected, cross_faded
from planner.forecast.history import History, calendar, filled, profiles
from planner.forecast.issued import BLEND, BOOSTED, NAIVE, Task, best_model, issue
from planner.forecast.lead_error import with_lead_error
from planner.forecast.naive import naive_paths
from planner.forecast.scale import Scale, scale_of
from tests.forecasts import START, made_up

DAY = np.arange(24.0)


def test_the_naive_forecast_is_the_week_before_again_and_again():
    values = np.arange(400.0)
    path = naive_paths(values, np.array([200]), 200)
    assert path[0, :168].tolist() == values[32:200].tolist()
    assert path[0, 168:].tolist() == values[32:64].tolist()


def test_profiles_are_medians_by_hour_from_the_origin_on():
    values = np.concatenate([np.tile(DAY, 2), 100.0 + DAY])
    assert profiles(values, np.array([72]), 3)[0].tolist() == DAY.tolist()
    shifted = profiles(np.tile(DAY, 4), np.array([77]), 3)[0]
    assert shifted.tolist() == np.roll(DAY, -5).tolist()


def test_the_blend_of_a_day_that_repeats_is_that_day():
    assert np.allclose(blend_paths(np.tile(DAY, 30), np.array([720]), 168)[0], np.tile(DAY, 7))


def test_the_blend_fades_the_last_days_level_and_shape():
    values = np.tile(DAY, 29)
    values[-24:] += 10.0  # a level alone
    path = blend_paths(values, np.array([29 * 24]), 168)[0] - np.tile(DAY, 7)
    assert path[0] == pytest.approx(7.0)
    assert path[48] == pytest.approx(7.0 * np.exp(-1.0))
    values[-24:] -= 10.0
    values[-24] += 24.0  # one hour: a level of 1 and a shape of 23
    path = blend_paths(values, np.array([29 * 24]), 24)[0] - DAY
    assert path[0] == pytest.approx(0.7 + 0.6 * 23.0)


def test_a_sunny_day_gives_no_sun_at_night():
    sun = np.maximum(0.0, 800.0 * np.sin(np.pi * (DAY - 6.0) / 12.0))
    values = np.tile(sun, 29) * np.repeat([*np.linspace(0.3, 0.7, 28), 1.0], 24)
    path = blend_paths(values, np.array([29 * 24]), 168)[0]
    assert (path[np.tile(sun, 7) == 0.0] == 0.0).all()
    usual = 0.3 + 0.4 * 14.5 / 27  # the median of the last 28 days' factors
    level, shape = (1.0 - usual) * sun.mean(), (1.0 - usual) * (800.0 - sun.mean())
    assert path[12] == pytest.approx(usual * 800.0 + 0.7 * np.exp(-0.25) * level + 0.6 * np.exp(-1.2) * shape)


def test_a_missing_hour_comes_from_the_day_before_and_never_from_after():
    values = np.arange(72.0)
    values[[30, 54]] = np.nan
    assert filled(values, "carbon", START)[[30, 54]].tolist() == [6.0, 6.0]
    values[5] = np.nan
    with pytest.raises(GapInSeries, match="carbon has missing hours in its first day, from 2023-01-02T00:00:00Z on"):
        filled(values, "carbon", START)


def test_the_calendar_of_an_hour():
    hours = np.array([0, 23, 24, 24 * 6, 24 * 364])
    hour, weekday, day = calendar(START, hours)
    for i, h in enumerate(hours):
        there = START + timedelta(hours=int(h))
        assert (hour[i], weekday[i], day[i]) == (there.hour, there.weekday(), there.timetuple().tm_yday - 1)


def test_an_asinh_goes_there_and_back_with_negative_prices():
    prices = np.array([-0.5, -0.01, 0.0, 0.03, 4.0])
    scale = scale_of("price", prices)
    assert scale.width == pytest.approx(1.5 * 0.03)  # deviations from the median 0: 0.5, 0.01, 0, 0.03, 4
    assert np.allclose(scale.back(scale.there(prices)), prices)


def test_carbon_and_sun_are_never_below_zero_and_temperatures_may_be():
    assert scale_of("carbon", np.full(9, 300.0)).back(np.array([-1.0])).tolist() == [0.0]
    assert scale_of("ghi", np.full(9, 0.0)).back(np.array([-1.0])).tolist() == [0.0]
    assert scale_of("dry_bulb", np.full(9, 3.0)) == Scale()
    assert scale_of("carbon", np.zeros(9)) == Scale(lowest=0.0)


def test_a_cross_fade_slides_over_the_providers_last_hours():
    provider = np.full(48, np.nan)
    provider[:24] = 100.0
    path = cross_faded(provider, np.full(48, 200.0))
    assert path[:12].tolist() == [100.0] * 12
    assert np.allclose(np.diff(path[11:25]), 100.0 / 13)
    assert path[24:].tolist() == [200.0] * 24


def test_an_hour_that_the_provider_lacks_is_ours():
    provider = np.full(48, 100.0)
    provider[5] = np.nan
    path = cross_faded(provider, np.full(48, 200.0))
    assert path[5] == 200.0
    assert path[4] == path[6] == 100.0
    assert cross_faded(np.full(3, np.nan), np.ones(3)).tolist() == [1.0] * 3


def test_a_providers_bias_is_believed_the_more_the_oftener_it_was_seen():
    provider = np.array([100.0, 110.0])
    assert bias_corrected(provider, np.full((7, 2), 10.0)).tolist() == [105.0, 115.0]
    assert bias_corrected(provider, np.full((63, 2), 10.0)).tolist() == [109.0, 119.0]
    assert bias_corrected(provider, np.full((3, 2), np.nan)).tolist() == provider.tolist()


def test_the_lead_error_of_an_origin_does_not_depend_on_the_others():
    weather = np.zeros((3, 168))
    all_at_once = with_lead_error("dry_bulb", weather, np.array([5, 6, 7]), 1)
    alone = with_lead_error("dry_bulb", weather[:1], np.array([6]), 1)
    assert (all_at_once[1] == alone[0]).all()
    assert not (all_at_once[1] == with_lead_error("dry_bulb", weather[:1], np.array([6]), 2)[0]).all()


def test_the_lead_error_grows_as_stated():
    origins = np.arange(4000)
    error = with_lead_error("dry_bulb", np.zeros((4000, 168)), origins, 0)
    assert error[:, 0].std() == pytest.approx(1.0, rel=0.05)
    assert error[:, 167].std() == pytest.approx(3.5, rel=0.05)
    assert np.corrcoef(error[:, 80], error[:, 81])[0, 1] == pytest.approx(0.95, abs=0.01)
    factor = np.log(with_lead_error("wind_speed_10m", np.ones((4000, 168)), origins, 0))
    assert factor[:, 167].std() == pytest.approx(0.40, rel=0.05)


def test_a_forecast_without_trees_loads_no_signal_processing(root):
    code = "import sys, planner.forecast.zone\nprint(sorted({'scipy.signal', 'lightgbm'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_model_follows_what_there_is(monkeypatch):
    enough = boosted.LEAST_TRAINING_H + 28 * 24 + 168
    assert best_model("carbon", enough, 168) == BOOSTED
    assert best_model("carbon", enough - 1, 168) == BLEND
    assert best_model("dry_bulb", enough, 168) == BLEND
    monkeypatch.setattr(boosted, "available", lambda: False)
    assert best_model("carbon", enough, 168) == BLEND


def test_without_lightgbm_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)
    with pytest.raises(ConfigError, match=r"gridpace\[forecast\]"):
        boosted.fit_boosted(START, np.ones(1000), {}, 900, 24, absolute=False, seed=0)


def poisoned(history: History, since: int, signals: set[str]) -> History:
    """Return the history with nonsense from an hour on."""
    out = {name: series.copy() for name, series in history.signals.items()}
    for name in signals:
        out[name][since:] = 1e6 * (1 + np.arange(len(out[name]) - since))
    return History(history.start, out)


@pytest.mark.parametrize("model", [NAIVE, BLEND, BOOSTED])
def test_no_forecast_sees_the_future(model, monkeypatch):
    if model == BOOSTED:
        pytest.importorskip("lightgbm")
        monkeypatch.setattr(boosted, "_ROUNDS", 20)
    history, origin = made_up(120), 100 * 24
    scale = scale_of("carbon", history.signals["carbon"][:2000])

    def forecast(of: History):
        return issue(Task(of, "carbon", model, (origin - 24, origin), 168, scale, origin - 24))

    clean = forecast(history)
    assert (forecast(poisoned(history, origin, {"carbon", "price"})) == clean).all()
    assert (forecast(poisoned(history, origin + 168, set(history.signals))) == clean).all()
    # And it does see the past, or the above would show nothing.
    assert not (forecast(poisoned(history, origin - 24, {"carbon"})) == clean).all()


def test_the_weather_ahead_is_what_trees_take_from_after_the_origin(monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(boosted, "_ROUNDS", 20)
    history, origin = made_up(120), 100 * 24
    scale = scale_of("carbon", history.signals["carbon"][:2000])

    def forecast(of: History, **changes):
        return issue(Task(of, "carbon", BOOSTED, (origin,), 168, scale, origin, **changes))[0]

    calm = {name: series.copy() for name, series in history.signals.items()}
    calm["wind_speed_10m"][origin:] = 1.0
    stormy = {name: series.copy() for name, series in history.signals.items()}
    stormy["wind_speed_10m"][origin:] = 20.0
    assert forecast(History(START, calm)).mean() > forecast(History(START, stormy)).mean()
    told = forecast(history, forecast_from=origin)
    assert not (told == forecast(history)).all()
    assert (told == forecast(history, forecast_from=origin, seed=0)).all()


def test_a_history_travels_to_workers_whole():
    import pickle

    history = made_up(2)
    back = pickle.loads(pickle.dumps(history))
    assert back.start == history.start
    assert (back.signals["carbon"] == history.signals["carbon"]).all()
    assert history.at(5) == datetime(2023, 1, 2, 5, tzinfo=UTC)
    assert history.position(datetime(2023, 1, 2, 5, 59, tzinfo=UTC)) == 5


def test_a_storm_once_in_years_is_not_forecast_again():
    pytest.importorskip("lightgbm")
    hours = np.arange(400 * 24)
    price = 0.1 * np.random.default_rng(0).standard_normal(len(hours))
    storm = (hours >= 200 * 24) & (hours < 200 * 24 + 66)
    price[storm] = 6.0  # on the inverse hyperbolic sine: two hundred times the usual spread
    weather = {"dry_bulb": np.where(storm | (hours >= 395 * 24), -30.0, 10.0)}
    trees = boosted.fit_boosted(START, price, weather, 390 * 24, 24, absolute=True, seed=0)
    assert trees.paths(price, weather, np.array([395 * 24]), None).max() < 1.0
