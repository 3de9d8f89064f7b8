"""No point, quantile or path of a forecast leaves what nature allows, whatever the past and the providers say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.forecast.history import MARGINAL, History
from planner.forecast.yields import yield_forecast
from planner.forecast.zone import Provided, forecast_zone
from power.renewables import SolarArray
from power.sun import Plane
from power.wind import WindTurbines

DAYS = 52
START = datetime(2024, 3, 4, tzinfo=UTC)
ORIGIN = START + timedelta(days=DAYS)
PLACE = (52.0, 5.0)
SUN = SolarArray("sun", 1.3, 1.0, 0.85, -0.004, Plane(*PLACE, tilt_deg=35.0, azimuth_deg=180.0))
WIND = WindTurbines("wind", 1.0, hub_height_m=120.0)
LOWEST = {"carbon": 0.0, MARGINAL: 0.0, "ghi": 0.0, "wind_speed_100m": 0.0, "cloud_cover": 0.0}


def rough_weather(seed: int) -> History:
    """Weather that is often at the end of its range, so that errors reach beyond it."""
    rng = np.random.default_rng(seed)
    h = np.arange(DAYS * 24)
    cloud = np.clip(rng.choice([0.0, 100.0, 95.0, 50.0], len(h)) + rng.normal(0.0, 8.0, len(h)), 0.0, 100.0)
    ghi = np.maximum(0.0, 700.0 * np.sin(2 * np.pi * (h - 6) / 24)) * rng.uniform(0.05, 1.0, len(h))
    dry = 10.0 + rng.normal(0.0, 6.0, len(h))
    return History(
        START,
        {
            "carbon": rng.exponential(40.0, len(h)),
            MARGINAL: rng.choice([0.0, 300.0, 900.0], len(h)),
            "dry_bulb": dry,
            "wet_bulb": dry - rng.exponential(0.5, len(h)),
            "wind_speed_100m": rng.exponential(3.0, len(h)),
            "cloud_cover": cloud,
            "ghi": ghi,
        },
    )


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.floats(-500.0, 500.0), st.integers(0, 168))
def test_signals_stay_in_their_physical_ranges(seed, said, known_h):
    history = rough_weather(seed)
    path = np.where(np.arange(168) < known_h, said, np.nan)
    wild = {name: Provided(path) for name in ("cloud_cover", "ghi", "wind_speed_100m", "wet_bulb")}
    found = forecast_zone(history, list(history.signals), ORIGIN, n_paths=30, provided=wild).signals
    for name in ("point", "quantiles", "paths"):
        values = {signal: getattr(one, name) for signal, one in found.items()}
        for signal, lowest in LOWEST.items():
            assert values[signal].min() >= lowest, (name, signal)
        assert values["cloud_cover"].max() <= 100.0, name
        assert (values["wet_bulb"] <= values["dry_bulb"]).all(), name
    for one in found.values():
        assert (np.diff(one.quantiles, axis=0) >= 0.0).all()
    for plant, most in ((SUN, 1.0 / 1.3), (WIND, WIND.available_share)):
        made = yield_forecast(plant, PLACE, ORIGIN, 60, found)
        for values in (made.point, made.quantiles, made.paths):
            assert values.min() >= 0.0
            assert values.max() <= most
        assert (np.diff(made.quantiles, axis=0) >= 0.0).all()
