"""The bundled demo: labelled synthetic, sound, reproducible, and moving like the grids it stands for."""

import subprocess
import sys
import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import psychrolib
import pytest

REAL_GRID = {"demo-north-sea": "GB", "demo-central": "DE-LU", "demo-sunbelt": "US-CAL-CISO"}
STRETCH_H = 28 * 24
DEMO_FIRST_DAY = pd.Timestamp("2024-05-06T00:00Z")


@pytest.fixture(scope="module")
def demo(root):
    return root / "data" / "demo"


@pytest.fixture(scope="module")
def meta(demo):
    return tomllib.loads((demo / "demo.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def series(demo, meta):
    return {
        zone["name"]: pd.read_csv(
            demo / zone["file"], comment=meta["comment_prefix"], parse_dates=["t_start"], index_col="t_start"
        )
        for zone in meta["zone"]
    }


@pytest.fixture(scope="module")
def generator(demo):
    """The modules of the generator, importable for these tests only."""
    sys.path.insert(0, str(demo))
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        import demo_market
        import demo_weather
        import demo_zone
    finally:
        sys.path.remove(str(demo))
        sys.dont_write_bytecode = writes
    return {"market": demo_market, "weather": demo_weather, "zone": demo_zone}


def stretch_statistics(ci):
    """The figures by which a stretch of 28 days is compared; data/README.md defines them."""
    days = ci.reshape(-1, 24)
    return {
        "mean": ci.mean(),
        "daily swing": (days.max(axis=1) - days.min(axis=1)).mean(),
        **{f"autocorrelation {lag} h": np.corrcoef(ci[:-lag], ci[lag:])[0, 1] for lag in (1, 24, 168)},
    }


@pytest.mark.parametrize("zone", REAL_GRID)
def test_statistics_lie_within_15_percent_of_the_real_grid(series, shared_data, zone):
    real = pd.read_csv(
        shared_data / "grid" / f"{REAL_GRID[zone]}_2021-2024_hourly.csv.gz", parse_dates=[0], index_col=0
    )
    year = real.loc["2024", "ci_direct_g_per_kwh"].to_numpy(dtype=float)
    stretches = pd.DataFrame(
        [stretch_statistics(year[i : i + STRETCH_H]) for i in range(0, len(year) - STRETCH_H + 1, 24)]
    )
    target = stretches.median()
    ours = series[zone].loc[DEMO_FIRST_DAY:, "ci_direct_g_per_kwh"].to_numpy()[:STRETCH_H]
    ratio = pd.Series(stretch_statistics(ours)) / target
    assert len(stretches) == 366 - 27
    assert (ratio - 1.0).abs().max() <= 0.15, ratio.to_string()


def test_is_labelled_synthetic_in_every_file(demo, meta):
    assert meta["synthetic"] is True
    assert {zone["name"] for zone in meta["zone"]} == set(REAL_GRID)
    for zone in meta["zone"]:
        assert zone["synthetic"] is True
        assert (demo / zone["file"]).read_text(encoding="utf-8").startswith("# SYNTHETIC")


def test_hours_are_whole_contiguous_and_left_closed(meta, series):
    expected = pd.date_range(meta["span_start"], meta["span_end"], freq="h", inclusive="left")
    for zone, frame in series.items():
        assert list(frame.index) == list(expected), zone
        assert np.isfinite(frame.to_numpy(dtype=float)).all(), zone


def test_four_iso_weeks_are_whole_in_each_local_time(meta, series):
    for zone in meta["zone"]:
        tz = ZoneInfo(zone["time_zone"])
        first = datetime.fromisocalendar(2024, 19, 1).replace(tzinfo=tz).astimezone(UTC)
        end = datetime.fromisocalendar(2024, 23, 1).replace(tzinfo=tz).astimezone(UTC)
        frame = series[zone["name"]]
        assert len(frame.loc[first : end - timedelta(hours=1)]) == STRETCH_H


def test_every_column_has_its_unit_and_at_most_four_decimals(demo, meta, series):
    for zone in meta["zone"]:
        assert list(zone["units"]) == ["t_start", *series[zone["name"]].columns]
        assert zone["units"]["price_per_mwh"] == f"{zone['currency']}/MWh"
        rows = (demo / zone["file"]).read_text(encoding="utf-8").splitlines()[3:]
        decimals = [len(cell.partition(".")[2]) for row in rows for cell in row.split(",")[1:]]
        assert max(decimals) <= 4


def test_values_are_physical(series):
    for zone, frame in series.items():
        assert (frame.ci_lifecycle_g_per_kwh >= frame.ci_direct_g_per_kwh).all(), zone
        assert frame.ci_direct_g_per_kwh.between(0.0, 760.0).all(), zone
        assert (frame.wet_bulb_c <= frame.dry_bulb_c).all(), zone
        assert frame.wet_bulb_c.min() > 0.0, zone
        assert frame.ghi_w_per_m2.between(0.0, 1098.0).all(), zone
        assert frame.wind_speed_100m_m_per_s.between(0.0, 40.0).all(), zone


def test_prices_go_negative_when_low_carbon_power_is_plentiful(series):
    for zone, frame in series.items():
        negative = frame.price_per_mwh < 0.0
        assert 0.005 < negative.mean() < 0.15, zone
        # What pushes the price below nothing is low-carbon supply in excess, so those hours are the clean ones.
        assert frame.ci_direct_g_per_kwh[negative].mean() < 0.7 * frame.ci_direct_g_per_kwh.mean(), zone


def equation_of_time_h(day_of_year):
    """Smart (1977) in its common two-term form, good to a minute: not the series the generator uses."""
    angle = 2.0 * np.pi * (day_of_year - 81) / 364.0
    return (9.87 * np.sin(2 * angle) - 7.53 * np.cos(angle) - 1.5 * np.sin(angle)) / 60.0


def test_the_sun_peaks_at_solar_noon(meta, series):
    for zone in meta["zone"]:
        ghi = series[zone["name"]].ghi_w_per_m2
        profile = ghi.groupby(ghi.index.hour).mean().to_numpy()
        noon_h = (12.0 - zone["longitude"] / 15.0 - equation_of_time_h(140)) % 24.0
        assert abs(profile.argmax() + 0.5 - noon_h) <= 1.0, zone["name"]
        # The centre of the day's sun is sharp enough to see stamps that are one hour off.
        middle = np.arange(24) + 0.5
        centre_h = np.angle((profile * np.exp(2j * np.pi * middle / 24.0)).sum()) * 24.0 / (2.0 * np.pi) % 24.0
        assert abs(centre_h - noon_h) <= 0.4, zone["name"]


def test_running_the_generator_again_gives_the_same_bytes(demo, meta, tmp_path):
    subprocess.run([sys.executable, "-B", demo / "make_demo.py", "--out", tmp_path], check=True)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"demo.toml", *(zone["file"] for zone in meta["zone"])}
    for name in written:
        assert (tmp_path / name).read_bytes() == (demo / name).read_bytes(), name


def test_another_seed_gives_other_weather_of_the_same_climate(generator, demo):
    zones, _ = generator["zone"].read_zones(demo / "zones.toml")
    weather = generator["weather"]
    first, other = (
        weather.make_weather(zone, weather.Noise(zone.seed)) for zone in (zones[0], replace(zones[0], seed=7))
    )
    assert abs(np.corrcoef(first.wind_speed_100m_m_per_s, other.wind_speed_100m_m_per_s)[0, 1]) < 0.5
    assert other.dry_bulb_c.mean() == pytest.approx(first.dry_bulb_c.mean(), abs=3.0)


def test_persistent_noise_has_unit_variance_and_the_memory_asked_for(generator):
    weather = generator["weather"]
    paths = np.array([weather.Noise(seed).persistent(20.0) for seed in range(200)])
    assert paths.mean() == pytest.approx(0.0, abs=0.05)
    assert paths.var() == pytest.approx(1.0, abs=0.05)
    assert (paths[:, :-20] * paths[:, 20:]).mean() == pytest.approx(np.exp(-1.0), abs=0.05)


def test_clear_sky_noon_matches_haurwitz_by_hand(generator):
    # 5 May is day 126: Cooper's declination 23.45 sin(2 pi (284 + 126) / 365) = 16.4 deg, at 51 deg north a zenith of
    # 34.6 deg, cos 0.823, so 1098 x 0.823 x exp(-0.059 / 0.823) = 841 W/m2 at noon.
    ghi = generator["weather"].clear_sky_ghi(51.0, 0.0)
    assert ghi[:24].max() == pytest.approx(841.0, rel=0.01)
    assert ghi[0] == 0.0


def test_wet_bulb_of_the_ashrae_example(generator):
    # ASHRAE Fundamentals (2017) chapter 1, example 1: 40 degC dry bulb and 20 degC wet bulb at sea level have a dew
    # point of 7 degC (rounded there; 7.0 +- 0.5 moves the wet bulb by less than 0.2 K).
    wet = generator["weather"].wet_bulb_c(np.array([40.0]), np.array([7.0]), 101325.0)
    assert wet[0] == pytest.approx(20.0, abs=0.2)


def test_wet_bulb_agrees_with_psychrolib(generator):
    psychrolib.SetUnitSystem(psychrolib.SI)
    dry, dew = (grid.ravel() for grid in np.meshgrid(np.linspace(2.0, 42.0, 11), np.linspace(1.0, 26.0, 6)))
    dry, dew = dry[dew <= dry], dew[dew <= dry]
    for pressure_pa in (85_000.0, 101_325.0):
        ours = generator["weather"].wet_bulb_c(dry, dew, pressure_pa)
        theirs = [psychrolib.GetTWetBulbFromTDewPoint(t, d, pressure_pa) for t, d in zip(dry, dew, strict=True)]
        assert ours == pytest.approx(theirs, abs=0.01)


@pytest.mark.parametrize("dew_point_c", [-1.0, 12.0])
def test_wet_bulb_refuses_a_dew_point_outside_its_range(generator, dew_point_c):
    with pytest.raises(ValueError, match="dew point"):
        generator["weather"].wet_bulb_c(np.array([10.0]), np.array([dew_point_c]), 101325.0)


def two_fleet_zone(generator, demo):
    """Wind bidding -60 to 0 and gas bidding 50 to 100, no exports: prices can be worked by hand."""
    zone = generator["zone"].read_zones(demo / "zones.toml")[0][0]
    fleet = generator["zone"].Fleet
    return replace(
        zone, export_gw=0.0, fleets=(fleet("wind", 6.0, 0.0, -60.0, 0.0), fleet("gas", 10.0, 0.0, 50.0, 100.0))
    )


def test_market_clears_at_the_marginal_bid_worked_by_hand(generator, demo):
    hours = np.ones(generator["zone"].N_HOURS)
    # 10 GW: all 6 of wind and 4 of 10 of gas, so 50 + 0.4 x 50 = 70. 3 GW: half the wind, so -60 + 0.5 x 60 = -30.
    demand = np.where(np.arange(len(hours)) % 2 == 0, 10.0, 3.0)
    price, made = generator["market"].clear_market(
        two_fleet_zone(generator, demo), demand, {"wind": 6.0 * hours, "gas": 10.0 * hours}
    )
    assert price[:2] == pytest.approx([70.0, -30.0])
    assert made["gas"][:2] == pytest.approx([4.0, 0.0])
    assert made["wind"][:2] == pytest.approx([6.0, 3.0])


def test_market_refuses_demand_beyond_all_plants(generator, demo):
    hours = np.ones(generator["zone"].N_HOURS)
    with pytest.raises(ValueError, match="no price"):
        generator["market"].clear_market(
            two_fleet_zone(generator, demo), 17.0 * hours, {"wind": 6.0 * hours, "gas": 10.0 * hours}
        )


def test_wind_fleet_output_rises_from_nothing_to_its_wake_limit(generator):
    factor = generator["market"].wind_capacity_factor(np.array([0.0, 4.0, 8.0, 12.0]))
    assert factor[0] == 0.0
    assert all(slower < faster for slower, faster in pairwise(factor))
    assert factor[-1] < 0.93
