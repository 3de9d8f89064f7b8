"""Generators, wind, sun on a plane, batteries, export and agreements, worked by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from power.battery import EQUAL, FREE, holding_kw, states_kwh, wear_per_kwh
from power.export import GridExport, export_price_per_kwh, sale_price_per_kwh
from power.generation import Generator, as_needed, fuel_cost_per_kwh, generation_cost, unit_starts
from power.ppa import (
    AS_PRODUCED,
    BASELOAD,
    DIFFERENCE,
    PHYSICAL,
    Ppa,
    allot,
    difference_cost,
    physical_cost,
)
from power.renewables import SolarArray, solar_power_kw
from power.sun import Plane, plane_irradiance_w_per_m2
from power.wind import WindTurbines, wind_power_kw
from tests.weeks import battery

DAY = datetime(2024, 6, 21, tzinfo=UTC)
GENERATOR = Generator("sets", 3, 100.0, 0.4, 3.0, 2.0, 50.0, 0.20, 500.0)


def test_generation_cost_by_hand():
    # 2 starts at first, 1 later: 3 x 50; 2 h x (150 + 200 + 100 + 120) kW x 0.20
    units = np.array([2, 2, 1, 2])
    assert unit_starts(GENERATOR, units).tolist() == [2, 0, 0, 1]
    assert generation_cost(GENERATOR, units, np.array([150.0, 200.0, 100.0, 120.0]), 2.0) == pytest.approx(150 + 228)


def test_fuel_cost_follows_from_price_and_heat_rate():
    # 8.57 MJ of gas a kWh is 42 % efficient: 0.035 a kWh of gas makes 0.08333 a kWh
    assert fuel_cost_per_kwh(0.035, 0.42) == pytest.approx(0.035 / 0.42)


def test_a_generator_as_needed_stays_for_its_shortest_time_and_bridges_short_rests():
    #                  one unit for 1 h is held 3 h; a rest of 1 h is bridged; two units for the hour that needs them
    needed = np.array([0.0, 30.0, 0.0, 0.0, 0.0, 0.0, 90.0, 90.0, 90.0, 0.0, 90.0, 150.0, 0.0, 0.0, 0.0])
    units, power = as_needed(GENERATOR, needed, np.full(15, 3), 1.0)
    assert units.tolist() == [0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 2, 1, 1, 0]
    assert power.tolist() == [0, 40, 40, 40, 0, 0, 90, 90, 90, 40, 90, 150, 40, 40, 0]


@given(st.lists(st.floats(0, 320), min_size=1, max_size=40), st.integers(0, 3), st.sampled_from([0.25, 1.0]))
def test_a_generator_as_needed_keeps_every_rule(needed, initial, slot_h):
    group = Generator("sets", 3, 100.0, 0.4, 2.0, 1.0, 0.0, 0.2, 0.0, initial_units=initial)
    units, power = as_needed(group, np.array(needed), np.full(len(needed), 3), slot_h)
    assert ((power >= units * 40.0 - 1e-9) & (power <= units * 100.0 + 1e-9)).all()
    assert (power >= np.minimum(needed, 300.0) - 1e-6).all()
    steps = np.diff(units, prepend=initial)
    for rise, shortest in ((1, group.slots(2.0, slot_h)), (-1, group.slots(1.0, slot_h))):
        moved = np.maximum(rise * steps, 0)
        for t in range(len(needed)):
            settled = units[t] if rise > 0 else 3 - units[t]
            assert moved[max(0, t - shortest + 1) : t + 1].sum() <= settled


def test_wind_power_by_hand():
    # 8 m/s at 100 m is 8 x 1.2 ** (1/7) = 8.211 at 120 m; 15 C at sea level is air of standard density
    turbines = WindTurbines("ridge", 10_000.0, 120.0, available_share=1.0)
    speeds = np.array([0.0, 2.0, 8.0, 15.0, 24.0, 25.0])
    power = wind_power_kw(turbines, speeds, np.full(6, 15.0))
    hub = 8.0 * 1.2 ** (1 / 7)
    between = 1771.1 + (hub - 8.0) * (2518.6 - 1771.1)
    assert power == pytest.approx([0, 0, between / 5000 * 10_000, 10_000, 10_000, 0], rel=2e-4)


def test_thin_air_gives_less_wind_power_below_the_rated_speed_only():
    low, high = (WindTurbines("w", 1000.0, 100.0, elevation_m=m) for m in (0.0, 1500.0))
    speeds, warm = np.array([8.0, 15.0]), np.full(2, 15.0)
    at_sea, above = wind_power_kw(low, speeds, warm), wind_power_kw(high, speeds, warm)
    # the standard atmosphere has 0.846 of the pressure at 1,500 m, and power below rated goes nearly with it
    assert above[0] / at_sea[0] == pytest.approx(0.845, abs=0.02)
    assert above[1] == at_sea[1] == pytest.approx(900.0)


@given(st.lists(st.floats(0, 60), min_size=1, max_size=50), st.floats(-40, 50), st.floats(0, 4000))
def test_wind_power_stays_within_its_rating(speeds, temp, elevation):
    turbines = WindTurbines("w", 1000.0, 120.0, measured_height_m=10.0, elevation_m=elevation)
    power = wind_power_kw(turbines, np.array(speeds), np.full(len(speeds), temp))
    assert ((power >= 0) & (power <= 900.0 + 1e-9)).all()


def clear_sky(minutes, latitude=50.0, longitude=9.0):
    """Global irradiance of a clear day at every minute, and the same as slot means."""
    from pvlib import clearsky, solarposition

    times = pd.date_range(pd.Timestamp(DAY) + pd.Timedelta(seconds=30), periods=1440, freq="1min")
    sun = solarposition.get_solarposition(times, latitude, longitude)
    ghi = clearsky.haurwitz(sun["apparent_zenith"])["ghi"].to_numpy()
    return times, sun, ghi, ghi.reshape(-1, minutes).mean(axis=1)


@pytest.mark.parametrize("minutes", [15, 60])
@pytest.mark.parametrize("tracking", [False, True])
def test_a_clear_day_on_a_plane_is_what_pvlib_gives_minute_by_minute(minutes, tracking):
    from pvlib import irradiance
    from pvlib import tracking as trackers

    times, sun, ghi, mean = clear_sky(minutes)
    plane = Plane(50.0, 9.0, 0.0 if tracking else 35.0, 180.0, tracking=tracking)
    tilt, facing = 35.0, 180.0
    if tracking:
        turned = trackers.singleaxis(
            sun["apparent_zenith"], sun["azimuth"], axis_tilt=0.0, axis_azimuth=180.0, max_angle=60.0, gcr=0.35
        )
        tilt, facing = turned["surface_tilt"].fillna(0.0), turned["surface_azimuth"].fillna(180.0)
    split = irradiance.erbs(ghi, sun["zenith"], times.day_of_year)
    whole = irradiance.get_total_irradiance(
        tilt, facing, sun["apparent_zenith"], sun["azimuth"], split["dni"], ghi, split["dhi"],
        dni_extra=irradiance.get_extra_radiation(times.day_of_year), albedo=0.2, model="haydavies",
    )  # fmt: skip
    oracle = np.nan_to_num(np.asarray(whole["poa_global"])).reshape(-1, minutes).mean(axis=1)
    mine = plane_irradiance_w_per_m2(plane, DAY, minutes, mean)
    assert mine.sum() == pytest.approx(oracle.sum(), rel=0.01)
    assert np.abs(mine - oracle).max() < 40.0
    # the hour of most sun is that of solar noon, 12 h - 9 deg / 15 deg/h = 11:24 UTC: no hour is late or early
    hours = np.arange(len(mean)) * minutes / 60 + minutes / 120
    assert float(hours @ mine / mine.sum()) == pytest.approx(11.43, abs=0.1)


def test_an_array_that_lies_flat_sees_all_global_irradiance():
    _, _, _, mean = clear_sky(60)
    seen = plane_irradiance_w_per_m2(Plane(50.0, 9.0, 0.0, 180.0), DAY, 60, mean)
    # but for the lowest sun, where a slot's light cannot be told apart
    assert seen == pytest.approx(mean, abs=1.0)


def test_solar_power_is_pvlibs_pvwatts_on_the_plane():
    from pvlib import pvsystem, temperature

    _, _, _, mean = clear_sky(60)
    plane = Plane(50.0, 9.0, 30.0, 180.0)
    array = SolarArray("roof", 100.0, 70.0, 0.9, -0.004, plane)
    on_plane = plane_irradiance_w_per_m2(plane, DAY, 60, mean)
    cell = temperature.ross(on_plane, np.full(24, 20.0), noct=45.0)
    dc = pvsystem.pvwatts_dc(on_plane, cell, 100.0, -0.004)
    expected = np.minimum(dc * 0.9, 70.0)
    assert solar_power_kw(array, DAY, 60, mean, np.full(24, 20.0)) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.floats(0, 1400), min_size=24, max_size=24),
    st.floats(-65, 65),
    st.floats(0, 90),
    st.booleans(),
)
def test_sun_on_a_plane_is_never_below_zero_nor_beyond_what_the_sky_can_give(ghi, latitude, tilt, tracking):
    plane = Plane(latitude, 0.0, 0.0 if tracking else tilt, 180.0, tracking=tracking)
    seen = plane_irradiance_w_per_m2(plane, DAY, 60, np.array(ghi))
    assert np.isfinite(seen).all()
    assert (seen >= 0).all()
    array = SolarArray("roof", 100.0, 80.0, 0.9, -0.004, plane)
    power = solar_power_kw(array, DAY, 60, np.array(ghi), np.full(24, 20.0))
    assert ((power >= 0) & (power <= 80.0)).all()


def test_self_discharge_by_hand():
    # 4 % a day: an hour without flow leaves 0.96 ** (1/24)
    store = battery(1000.0, 100.0, self_discharge_share=0.04)
    kept = 0.96 ** (1 / 24)
    states = states_kwh(store, np.array([0.0, 100.0, 0.0]), np.array([0.0, 0.0, 38.0]), 1.0)
    first = 500 * kept
    second = first * kept + 95
    assert states == pytest.approx([first, second, second * kept - 40])
    held = holding_kw(store, 1.0)
    assert states_kwh(store, np.full(48, held), np.zeros(48), 1.0) == pytest.approx(np.full(48, 500.0))


def test_wear_is_the_replacement_spread_over_what_is_discharged():
    # 150 a kWh, 6,000 cycles of 80 %: a kWh of nameplate gives 6,000 x 0.8 x 0.95 = 4,560 kWh
    assert wear_per_kwh(150.0, 6000, 0.8, 0.95) == pytest.approx(150 / 4560)


def test_the_end_of_a_horizon_has_three_rules():
    store = battery(1000.0, 100.0)
    assert store.final_kwh == (500.0, 900.0)
    assert battery(1000.0, 100.0, final_rule=EQUAL).final_kwh == (500.0, 500.0)
    assert battery(1000.0, 100.0, final_rule=FREE).final_kwh == (100.0, 900.0)


def test_a_reserve_is_energy_above_the_lowest_state():
    # 6 min of 1,000 kW are 100 kWh at the meter, 100 / 0.95 in the store
    assert battery(1000.0, 100.0, reserve_min=6.0).reserve_h * 1000.0 == pytest.approx(100 / 0.95)


def test_a_sale_keeps_its_share_back_at_prices_below_zero_too():
    assert sale_price_per_kwh(np.array([0.10, -0.05]), 0.9) == pytest.approx([0.09, -0.055])
    spot = GridExport(100.0, price_share=0.9, fee_per_kwh=0.01)
    assert export_price_per_kwh(spot, np.array([0.10, -0.05])) == pytest.approx([0.08, -0.065])
    assert export_price_per_kwh(GridExport(100.0, fixed_per_kwh=0.06), np.zeros(2)).tolist() == [0.06, 0.06]


FARM = Ppa("farm", AS_PRODUCED, PHYSICAL, 0.05, sale_share=0.9, curtailed_share=1.0, baseload_kw=0.0)


def test_an_agreement_as_produced_by_hand():
    # hour 1: all 800 of 1,000 kW of import at 0.05 in place of 0.08:   800 x (0.05 - 0.08)  = -24
    # hour 2: 600 used at 0.05 for 0.04, 400 sold at 0.9 x 0.04 = 0.036: 600 x 0.01 + 400 x 0.014 = 11.6
    # hour 3: the price is -0.02: use forgoes 0.02, a sale 0.022, curtailing nothing: all 500 curtailed at 0.05 = 25
    price, volume = np.array([0.08, 0.04, -0.02]), np.array([800.0, 1000.0, 500.0])
    (flows,) = allot([FARM], [volume], np.array([1000.0, 600.0, 700.0]), price, price)
    assert flows.used_kw.tolist() == [800, 600, 0]
    assert flows.sold_kw.tolist() == [0, 400, 0]
    assert flows.curtailed_kw.tolist() == [0, 0, 500]
    assert physical_cost(FARM, flows, price, price, 1.0) == pytest.approx(-24 + 11.6 + 25)


def test_a_baseload_is_never_curtailed():
    flat = Ppa("flat", BASELOAD, PHYSICAL, 0.06, sale_share=0.95, baseload_kw=500.0)
    price = np.array([0.08, -0.02])
    (flows,) = allot([flat], [np.full(2, 500.0)], np.array([300.0, 800.0]), price, price)
    # hour 1: 300 x (0.06 - 0.08) + 200 x (0.06 - 0.076); hour 2: 500 x (0.06 + 0.02) used
    assert flows.curtailed_kw.tolist() == [0, 0]
    assert flows.used_kw.tolist() == [300, 500]
    assert physical_cost(flat, flows, price, price, 1.0) == pytest.approx(-6 - 3.2 + 40)


def test_a_contract_for_difference_is_settled_on_all_that_is_made():
    deal = Ppa("cfd", AS_PRODUCED, DIFFERENCE, 0.05)
    cost = difference_cost(deal, np.array([100.0, 200.0]), np.array([0.08, -0.02]), 0.5)
    assert cost == pytest.approx(0.5 * (100 * -0.03 + 200 * 0.07))


def test_the_agreement_that_saves_most_is_used_first():
    dear = Ppa("dear", AS_PRODUCED, PHYSICAL, 0.09, sale_share=0.5)
    cheap = Ppa("cheap", AS_PRODUCED, PHYSICAL, 0.05, sale_share=0.9)
    first, second = allot(
        [cheap, dear], [np.array([80.0]), np.array([80.0])], np.array([100.0]), np.array([0.10]), np.array([0.10])
    )
    # unsold, the dear one would fetch half the price: its use saves 0.05, that of the cheap one 0.01
    assert second.used_kw.tolist() == [80]
    assert first.used_kw.tolist() == [20]


@given(
    st.lists(st.tuples(st.floats(-0.1, 0.3), st.floats(0, 900), st.floats(0, 900)), min_size=1, max_size=20),
    st.floats(0, 0.2),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_nothing_is_lost_between_use_sale_and_curtailment_nor_by_longer_slots(rows, strike, sale, due):
    price, volume, load = (np.array(column) for column in zip(*rows, strict=True))
    deal = Ppa("farm", AS_PRODUCED, PHYSICAL, strike, sale_share=sale, curtailed_share=due)
    (flows,) = allot([deal], [volume], load, price, price)
    assert flows.used_kw + flows.sold_kw + flows.curtailed_kw == pytest.approx(volume, abs=1e-9)
    assert (flows.used_kw <= load + 1e-9).all()
    hour = physical_cost(deal, flows, price, price, 1.0)
    quarters = [np.repeat(x, 4) for x in (price, volume, load)]
    (fine,) = allot([deal], [quarters[1]], quarters[2], quarters[0], quarters[0])
    assert physical_cost(deal, fine, quarters[0], quarters[0], 0.25) == pytest.approx(hour, rel=1e-9, abs=1e-9)
