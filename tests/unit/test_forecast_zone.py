"""The forecast of a zone, and its backtest, on made-up weeks."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from planner.errors import DataUnavailable
from planner.forecast import boosted
from planner.forecast.backtest import backtest
from planner.forecast.history import History
from planner.forecast.issued import BLEND, BOOSTED, NAIVE, issue
from planner.forecast.spread import LEVELS
from planner.forecast.zone import Provided, forecast_zone
from tests.forecasts import START, made_up, scored

SIGNALS = ["carbon", "price", "dry_bulb"]


def cut(history: History, hour: int) -> History:
    return History(history.start, {name: series[:hour] for name, series in history.signals.items()})


def test_a_zone_with_scenarios():
    origin = START + timedelta(days=100)
    found = forecast_zone(cut(made_up(100), 2400), SIGNALS, origin, n_paths=60)
    assert found.origin == origin
    for signal in SIGNALS:
        ahead = found.signals[signal]
        assert ahead.model == "robust-blend/1"
        assert np.isfinite(ahead.point).all()
        assert ahead.quantiles.shape == (len(LEVELS), 168)
        assert ahead.paths.shape == (60, 168)
        assert np.isfinite(ahead.paths).all()
        assert (np.diff(ahead.quantiles, axis=0) >= 0).all()
        # Paths have the distribution that the quantiles tell, within what 60 of them can show.
        below = (ahead.paths[None] <= ahead.quantiles[:, None]).mean(axis=1)
        assert np.abs(below - np.array(LEVELS)[:, None]).max() < 0.03


def test_the_same_twice_and_nothing_from_the_future():
    origin = START + timedelta(days=100)
    history = made_up(110)
    spoilt = {name: series.copy() for name, series in history.signals.items()}
    for series in spoilt.values():
        series[2400:] = 1e5
    # What is after the origin counts for weather alone, and weather is no help to the blend.
    first = forecast_zone(cut(history, 2400), SIGNALS, origin)
    other = forecast_zone(History(START, spoilt), SIGNALS, origin)
    for signal in SIGNALS:
        assert (first.signals[signal].point == other.signals[signal].point).all()
        assert (first.signals[signal].quantiles == other.signals[signal].quantiles).all()
        assert (first.signals[signal].paths == other.signals[signal].paths).all()


def test_trees_take_the_weather_that_is_forecast(monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(boosted, "_ROUNDS", 30)
    monkeypatch.setattr(boosted, "LEAST_TRAINING_H", 60 * 24)
    history, at = made_up(190), 180 * 24
    past = cut(history, at)
    ahead = {**past.signals, "wind_speed_10m": history.signals["wind_speed_10m"][: at + 168]}
    actual = history.signals["carbon"][at : at + 168]
    knowing = forecast_zone(History(START, ahead), ["carbon"], START + timedelta(days=180)).signals["carbon"]
    blind = forecast_zone(past, ["carbon"], START + timedelta(days=180)).signals["carbon"]
    assert knowing.model == blind.model == "lightgbm-wx/2"
    assert np.abs(knowing.point - actual).mean() < np.abs(blind.point - actual).mean()


@pytest.mark.parametrize("rho", [0.8, -0.6, 0.0])
def test_joint_paths_have_the_correlation_that_past_errors_had(rho):
    n_days, rng = 140, np.random.default_rng(4)
    one, other = rng.standard_normal((2, n_days))
    both = (one, rho * one + np.sqrt(1.0 - rho**2) * other)
    # Each day differs from the profile by one number, so that a forecast errs by it all day long.
    noisy = {name: (20.0 + by_day.repeat(24)) for name, by_day in zip(("dry_bulb", "price"), both, strict=True)}
    found = forecast_zone(History(START, noisy), [*noisy], START + timedelta(days=n_days), n_paths=240).signals
    warm, dear = (found[name].paths - found[name].paths.mean(axis=0) for name in ("dry_bulb", "price"))
    hours = slice(4 * 24, 168)
    across = [np.corrcoef(warm[:, h], dear[:, h])[0, 1] for h in range(168)[hours]]
    past = np.corrcoef(both[0][-64:], both[1][-64:])[0, 1]
    assert np.mean(across) == pytest.approx(past, abs=0.12)
    assert past == pytest.approx(rho, abs=0.25)  # what 64 days can show
    # Hours of one day err as one, and days a few apart by themselves.
    assert np.corrcoef(warm[:, 96], warm[:, 119])[0, 1] > 0.9
    assert abs(np.corrcoef(warm[:, 96], warm[:, 167])[0, 1]) < 0.35


def test_a_providers_forecast_leads_and_ours_follows():
    provider = np.full(168, np.nan)
    provider[:48] = 500.0
    origin = START + timedelta(days=100)
    history = cut(made_up(100), 2400)
    plain = forecast_zone(history, ["carbon"], origin).signals["carbon"].point
    led = forecast_zone(history, ["carbon"], origin, provided={"carbon": Provided(provider)}).signals["carbon"]
    assert np.allclose(led.point[:36], 500.0)
    assert np.allclose(led.point[48:], plain[48:])
    assert (led.quantiles[0, :36] < 500.0).all()
    biased = Provided(provider, np.full((7, 168), 20.0))
    corrected = forecast_zone(history, ["carbon"], origin, provided={"carbon": biased}).signals["carbon"]
    assert np.allclose(corrected.point[:36], 510.0)


def test_a_short_past_gives_a_point_without_quantiles():
    history = made_up(20)
    found = forecast_zone(history, ["carbon"], START + timedelta(days=20)).signals["carbon"]
    assert np.isfinite(found.point).all()
    assert found.quantiles is None
    assert found.paths is None
    with pytest.raises(DataUnavailable, match="7 days are needed"):
        forecast_zone(history, ["carbon"], START + timedelta(days=6))


def test_hours_that_are_missing_in_the_past():
    history = made_up(100)
    holed = history.signals["carbon"].copy()
    holed[500:530] = np.nan
    holed[2390:] = np.nan
    found = forecast_zone(History(START, {"carbon": holed}), ["carbon"], START + timedelta(days=100))
    assert np.isfinite(found.signals["carbon"].quantiles).all()


def in_order(tasks):
    return [issue(task) for task in tasks]


def test_a_backtest_scores_every_model_by_lead_day(monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)
    first, last = START + timedelta(days=110), START + timedelta(days=125)
    found = backtest(made_up(140), ["carbon", "price"], first, last, in_order)
    assert found.origins[0] == first
    assert found.origins[-1] == last
    assert len(found.origins) == 16
    assert [(s.signal, s.model) for s in found.scored] == [
        ("carbon", NAIVE), ("carbon", BLEND), ("price", NAIVE), ("price", BLEND)
    ]  # fmt: skip
    blend, naive = scored(found, "carbon", BLEND), scored(found, "carbon", NAIVE)
    assert blend.scores.mape_pct.shape == (7,)
    assert blend.scores.mae.mean() < naive.scores.mae.mean()
    assert blend.scores.crps.mean() < naive.scores.crps.mean()
    assert 50.0 < blend.scores.cover_80_pct.mean() < 98.0
    assert found.weather == ()


def test_a_backtest_does_not_see_the_future(monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)
    first, last = START + timedelta(days=110), START + timedelta(days=112)
    history = made_up(140)
    poisoned = {name: series.copy() for name, series in history.signals.items()}
    for series in poisoned.values():
        series[112 * 24 + 168 :] = 1e6
    clean, other = (backtest(h, ["carbon"], first, last, in_order) for h in (history, History(START, poisoned)))
    assert (scored(clean, "carbon", BLEND).scores.pinball == scored(other, "carbon", BLEND).scores.pinball).all()


def test_trees_beat_the_blend_where_weather_decides(monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(boosted, "_ROUNDS", 40)
    monkeypatch.setattr(boosted, "LEAST_TRAINING_H", 20 * 24)
    first, last = START + timedelta(days=125), START + timedelta(days=130)
    found = backtest(made_up(140), ["carbon"], first, last, in_order)
    trees, blend = scored(found, "carbon", BOOSTED), scored(found, "carbon", BLEND)
    assert trees.scores.mae.mean() < blend.scores.mae.mean()
    assert trees.best_days_share > blend.best_days_share
    assert found.weather == ("dry_bulb", "wind_speed_10m")


def test_a_history_that_is_too_short_is_told():
    with pytest.raises(DataUnavailable, match="95 days before the first and 168 h after an origin are needed"):
        backtest(made_up(100), ["carbon"], START + timedelta(days=50), START + timedelta(days=60), in_order)
