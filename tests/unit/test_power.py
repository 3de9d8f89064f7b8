from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from power.battery import Battery, states_kwh
from power.blocks import Derating, PowerBlock, capacity_kw
from power.carbon import carbon_kg
from power.gpu import OperatingPoint, at_limit, concave_points
from power.renewables import SolarArray, solar_power_kw

T0 = datetime(2024, 5, 13, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_a_slot_takes_the_lowest_capacity_that_touches_it():
    block = PowerBlock(
        "hall",
        20_000.0,
        available_from=T0 + timedelta(minutes=90),
        available_until=T0 + timedelta(hours=7, minutes=30),
        deratings=(Derating(T0 + timedelta(hours=3, minutes=59), T0 + timedelta(hours=5), 8_000.0, "transformer"),),
    )
    starts = [T0 + i * HOUR for i in range(9)]
    assert capacity_kw(block, starts, HOUR).tolist() == [0, 0, 20_000, 8_000, 8_000, 20_000, 20_000, 0, 0]


def test_battery_state_by_hand():
    battery = Battery(1_000.0, 500.0, 500.0, 0.9, 0.8, 0.1, 0.9, 0.5, 0.5, 0.03)
    states = states_kwh(battery, np.array([400.0, 0.0, 0.0]), np.array([0.0, 400.0, 0.0]), 0.5)
    assert states == pytest.approx([500 + 0.5 * 360, 680 - 0.5 * 500, 430])


def test_solar_by_hand():
    array = SolarArray("roof", 100.0, 70.0, 0.9, -0.004)
    ghi = np.array([0.0, 400.0, 1_000.0])
    power = solar_power_kw(array, T0, 60, ghi, np.array([10.0, 20.0, 10.0]))
    # 400 W/m2 heats the cell by 12.5 K to 32.5 C: 40 kW x (1 - 0.004 x 7.5) x 0.9; at 1,000 W/m2 the inverter clips.
    assert power == pytest.approx([0.0, 40 * 0.97 * 0.9, 70.0])


def test_carbon_by_hand():
    assert carbon_kg(np.array([400.0, 50.0]), np.array([1_000.0, 2_000.0]), 0.5) == pytest.approx([200.0, 50.0])


def point(limit: float, watts: float, throughput: float) -> OperatingPoint:
    return OperatingPoint(limit, watts, throughput)


def test_the_deep_cap_region_is_left_out_of_the_plan():
    # Pre-training on 400 W GPUs: 100 W keeps 0.18 of the throughput and pausing beats it; 300 W lies under the line
    # from (244 W, 0.78) to (346 W, 1), where 288 W would keep 0.875.
    sweep = [
        point(100, 100, 0.18),
        point(200, 196, 0.63),
        point(250, 244, 0.78),
        point(300, 288, 0.865),
        point(400, 346, 1),
    ]
    assert [p.gpu_power_limit_w for p in concave_points(sweep, 60.0)] == [200, 250, 400]


def test_a_point_with_less_for_more_power_is_left_out():
    assert concave_points([point(300, 300, 0.9), point(350, 340, 0.85), point(400, 380, 1.0)], 60.0) == (
        point(300, 300, 0.9),
        point(400, 380, 1.0),
    )


@given(
    st.lists(st.tuples(st.floats(61, 700), st.floats(0.05, 1.0)), min_size=1, max_size=8, unique_by=lambda p: p[0]),
)
def test_hull_is_concave_rising_and_above_every_point(sweep):
    points = [point(watts, watts, throughput) for watts, throughput in sweep]
    hull = concave_points(points, 60.0)
    x = np.array([60.0, *(p.it_w_per_gpu for p in hull)])
    y = np.array([0.0, *(p.relative_throughput for p in hull)])
    slopes = np.diff(y) / np.diff(x)
    assert (slopes > 0).all()
    assert (np.diff(slopes) < 1e-9).all()
    for watts, throughput in sweep:
        assert np.interp(watts, x, y) >= throughput - 1e-9


def test_between_points_lies_a_straight_line():
    points = (point(300, 500, 0.8), point(400, 600, 1.0))
    watts, throughput = at_limit(points, [250.0, 300.0, 325.0, 400.0, 500.0])
    assert watts.tolist() == [500, 500, 525, 600, 600]
    assert throughput == pytest.approx([0.8, 0.8, 0.85, 1.0, 1.0])
