"""What a kilowatt of sun or wind yields: by hand, by pvlib, and along the joint paths of its weather."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from pvlib import pvsystem
from scipy.signal import lfilter

from planner.forecast.history import History
from planner.forecast.spread import LEVELS
from planner.forecast.yields import path_quantiles, yield_forecast, yields
from planner.forecast.zone import SignalForecast, forecast_zone
from power.renewables import SolarArray
from power.sun import Plane, cloudy_ghi_w_per_m2, plane_irradiance_w_per_m2
from power.wind import WindTurbines

PLACE = (48.0, 11.0)
NOON = datetime(2024, 6, 20, 11, tzinfo=UTC)
FLAT = SolarArray("roof", 200.0, 160.0, 0.83, -0.0035)
TILTED = SolarArray("field", 200.0, 160.0, 0.83, -0.0035, Plane(*PLACE, tilt_deg=30.0, azimuth_deg=180.0))
RIDGE = WindTurbines("ridge", 4000.0, hub_height_m=100.0)
STANDARD_C = 1.0 / (1.225 * 287.05 / 101325.0) - 273.15  # air of 1.225 kg/m3 at sea level


def hour(value):
    return np.array([[value]], dtype=float)


def test_a_flat_array_by_hand():
    # 800 W/m2 warm the cell by 25 K to 50 deg C: 0.8 x (1 - 0.0035 x 25) x 0.83.
    found = yields(FLAT, PLACE, NOON, 60, hour(800.0), hour(25.0))
    assert found == pytest.approx(hour(0.8 * 0.9125 * 0.83))
    # The inverter takes 160 of 200 kW.
    assert yields(FLAT, PLACE, NOON, 60, hour(1300.0), hour(-10.0)) == pytest.approx(hour(0.8))


@pytest.mark.parametrize("ghi", [50.0, 400.0, 850.0])
def test_a_tilted_array_by_pvlib(ghi):
    on_plane = plane_irradiance_w_per_m2(TILTED.plane, NOON, 60, np.array([ghi]))
    cell_c = 15.0 + 25.0 / 800.0 * on_plane
    dc_kw = pvsystem.pvwatts_dc(on_plane, cell_c, 200.0, -0.0035)
    expected = np.minimum(dc_kw * 0.83, 160.0) / 200.0
    assert yields(TILTED, PLACE, NOON, 60, hour(ghi), hour(15.0))[0] == pytest.approx(expected)


def test_turbines_by_their_power_curve():
    # At 8 m/s the 5 MW turbine of NREL makes 1771.1 kW, at 12 m/s 5000 kW, in air of standard density; a tenth is lost.
    speed = np.array([[2.0, 8.0, 8.5, 12.0, 24.0, 26.0]])
    found = yields(RIDGE, PLACE, NOON, 60, speed, np.full((1, 6), STANDARD_C))
    middle = (1771.1 + 2518.6) / 2 / 5000
    assert found[0] == pytest.approx(0.9 * np.array([0.0, 1771.1 / 5000, middle, 1.0, 1.0, 0.0]), abs=1e-6)


@pytest.mark.parametrize("array", [FLAT, TILTED])
def test_where_the_sun_is_down_nothing_is_yielded_whatever_is_said_of_sunshine(array):
    found = yields(array, PLACE, datetime(2024, 6, 20, tzinfo=UTC), 60, np.full((3, 24), 300.0), np.full((3, 24), 15.0))
    # Rise and set at 48 N, 11 E in June: about 03:15 and 19:20 UTC.
    assert (found[:, [0, 1, 2, 20, 21, 22, 23]] == 0.0).all()
    assert (found[:, 4:19] > 0.0).all()


def test_sunshine_under_clouds_by_hand():
    day = datetime(2024, 6, 20, tzinfo=UTC)
    cover = np.repeat(np.array([[0.0], [50.0], [100.0]]), 24, axis=1)
    clear, half, overcast = cloudy_ghi_w_per_m2(*PLACE, day, 60, cover)
    # Haurwitz: 1098 cos z exp(-0.059 / cos z); the sun stands at 65.4 degrees at noon, which is 11:17 UTC there.
    high = np.cos(np.radians(90.0 - 65.4))
    assert clear[11] == pytest.approx(1098.0 * high * np.exp(-0.059 / high), rel=0.01)
    seen = clear > 0.0
    assert overcast[seen] / clear[seen] == pytest.approx(np.full(seen.sum(), 0.25))
    assert half[seen] / clear[seen] == pytest.approx(np.full(seen.sum(), 1.0 - 0.75 * 0.5**3.4))
    assert (clear[[0, 1, 2, 20, 21, 22, 23]] == 0.0).all()


def weather(days, seed=0):
    """Sunshine, wind, temperature and a carbon intensity that both drive."""
    rng = np.random.default_rng(seed)
    h = np.arange(days * 24)
    start = datetime(2024, 2, 5, tzinfo=UTC)
    sky = 0.65 + 0.35 * np.tanh(lfilter([0.3], [1.0, -0.97], rng.standard_normal(len(h))))
    ghi = np.maximum(0.0, 800.0 * np.sin(2 * np.pi * (h - 5.27) / 24)) * sky
    wind = np.exp(1.9 + 0.45 * lfilter([0.2], [1.0, -0.98], rng.standard_normal(len(h))))
    dry = 12.0 + 0.006 * ghi + lfilter([0.3], [1.0, -0.95], rng.standard_normal(len(h)))
    carbon = np.maximum(20.0, 420.0 - 0.2 * ghi - 12.0 * wind + 5.0 * rng.standard_normal(len(h)))
    return History(start, {"carbon": carbon, "ghi": ghi, "wind_speed_100m": wind, "dry_bulb": dry})


def test_yields_keep_the_dependence_of_the_joint_paths_and_the_dark_of_the_night():
    history = weather(104)
    origin = history.start + timedelta(days=104)
    found = forecast_zone(history, list(history.signals), origin, n_paths=120).signals
    sun, wind = (yield_forecast(plant, PLACE, origin, 60, found) for plant in (TILTED, RIDGE))
    for made in (sun, wind):
        assert made.quantiles.shape == (len(LEVELS), 168)
        assert (np.diff(made.quantiles, axis=0) >= 0.0).all()
        assert made.quantiles.min() >= 0.0
        assert made.paths.shape == (120, 168)
    assert sun.paths.max() <= 0.8
    assert wind.paths.max() <= 0.9
    dark = np.arange(168) % 24 < 4
    assert (sun.quantiles[:, dark] == 0.0).all()
    assert (sun.paths[:, dark] == 0.0).all()
    # Path 17 of the yield is path 17 of the weather through the physics, and nothing else.
    (one,) = yields(RIDGE, PLACE, origin, 60, found["wind_speed_100m"].paths[17:18], found["dry_bulb"].paths[17:18])
    assert (wind.paths[17] == one).all()
    assert (wind.point == wind.paths.mean(axis=0)).all()
    # More wind, less carbon: hour by hour over the paths, as in the history.
    together = [np.corrcoef(wind.paths[:, h], found["carbon"].paths[:, h])[0, 1] for h in range(24, 168)]
    assert np.mean(together) < -0.5
    assert sun.model == "robust-blend/1 through PVWatts"
    assert wind.model == "robust-blend/1 through the power curve"


def test_weather_without_paths_gives_a_line_alone():
    ghi, dry = (SignalForecast("any", np.full(3, value), None, None) for value in (500.0, 20.0))
    found = yield_forecast(FLAT, PLACE, NOON, 60, {"ghi": ghi, "dry_bulb": dry})
    assert found.point == pytest.approx(np.full(3, 0.5 * (1 - 0.0035 * (20.0 + 500.0 / 32 - 25.0)) * 0.83))
    assert found.quantiles is None
    assert found.paths is None


def test_quantiles_of_paths_by_hand():
    # Each of ten paths stands for a tenth: the middle of the first is the 5 % quantile, of the last the 95 %.
    found = path_quantiles(np.arange(10.0)[::-1, None])
    assert found[:, 0] == pytest.approx([0.0, 0.5, 2.0, 4.5, 7.0, 8.5, 9.0])
