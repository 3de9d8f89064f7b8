"""The few public points of two machines: reproduced, and shown to prove little."""

from __future__ import annotations

import numpy as np
import pytest

from tests.published_plants import (
    FOLLOWING_FLOOR,
    FRONTIER_PUE,
    NO_TOWERS,
    SUMMIT_CHILLER_COP,
    SUMMIT_PUE,
    SUMMIT_RETURN_C,
    SUMMIT_SUPPLY_C,
    day_pue,
    frontier,
    frontier_day,
    frontier_fitted,
    summit,
    summit_by_heat,
    summit_by_power,
    summit_readings,
    summit_state,
)
from thermal.calibrate import EnergyBalanceError, check_balance


def test_summits_point_is_refused_as_it_stands():
    with pytest.raises(EnergyBalanceError) as told:
        check_balance(summit(), summit_readings(), NO_TOWERS)
    (fault,) = told.value.faults
    assert fault.loop == "facility loop"
    assert fault.residual_pct > 3.0 * fault.tolerance_pct


@pytest.mark.parametrize("reading", [summit_by_power, summit_by_heat])
def test_summits_point_is_met_by_either_reading_of_it(reading):
    told, calibration = reading()
    it_kw = told["it_power_kw"]
    before, after = (summit_state(plant, told) for plant in (summit(), calibration.plant))
    assert np.all(np.abs(1.0 + before.cooling_kw / it_kw - SUMMIT_PUE) > 0.05)
    assert 1.0 + after.cooling_kw / it_kw == pytest.approx(SUMMIT_PUE, abs=0.01)
    assert after.facility_supply_temp_c == pytest.approx(SUMMIT_SUPPLY_C, abs=1.0)
    assert after.return_temp_c == pytest.approx(SUMMIT_RETURN_C, abs=1.0)
    # not fitted: the chillers' published 0.713 kW per ton
    assert after.chiller_heat_kw / after.chiller_kw == pytest.approx(SUMMIT_CHILLER_COP, rel=0.05)


def test_summits_two_readings_ask_for_different_loops():
    rises = [
        next(e.value for e in reading()[1].estimates if e.known.setting == "facility_rise_k")
        for reading in (summit_by_power, summit_by_heat)
    ]
    assert rises[0] / rises[1] > 1.3


def test_frontiers_day_has_the_published_pue_with_pumps_that_hardly_follow(shared_data):
    day = frontier_day(shared_data)
    assert abs(day_pue(frontier(FOLLOWING_FLOOR), day) - FRONTIER_PUE) > 0.01
    fitted = frontier_fitted(day)
    assert day_pue(fitted, day) == pytest.approx(FRONTIER_PUE, abs=0.001)
    assert fitted.loop is not None
    assert 0.9 <= fitted.loop.facility_pump.flow_floor <= 1.0
