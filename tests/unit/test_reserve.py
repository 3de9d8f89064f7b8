"""IT power carried with a unit out, or until lost heat rejection is back."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.failure import seconds_to_limit
from thermal.plant import dry_cooler, room_air, tower_chiller, w_max_kw, w_max_n1_kw
from thermal.reserve import Reserve, carried_it_kw, ride_through_kw
from thermal.transient import Event

DRY = np.linspace(-10.0, 44.0, 28)
WET = DRY - 7.0
PLANTS = (
    dry_cooler(2_000.0, pad_effectiveness=0.75),
    dry_cooler(2_000.0, rack_pump_flow_floor=0.3, facility_pump_flow_floor=0.3),
    tower_chiller(2_000.0),
)


def seconds(plant, it_kw):
    case_limit_c = plant.loop.cold_plate.case_limit_c
    return seconds_to_limit(plant, Event.REJECTION_LOSS, it_kw, DRY, WET, case_limit_c)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda p: p.kind)
@pytest.mark.parametrize("restart_s", [120.0, 600.0, 1_200.0])
def test_the_load_found_rides_through_and_little_more_does_not(plant, restart_s):
    found_kw = ride_through_kw(plant, restart_s, DRY, WET)
    assert (seconds(plant, found_kw) >= restart_s * (1.0 - 1e-9)).all()
    # where it is a limit, a load step above it is too much
    limited = (found_kw < plant.rated_it_kw) & (found_kw > 0.0)
    beyond = np.minimum(found_kw + 0.0101 * plant.rated_it_kw, plant.rated_it_kw)
    assert (seconds(plant, beyond)[limited] < restart_s).all()


def test_a_longer_wait_leaves_less_load():
    found = [ride_through_kw(PLANTS[0], s, DRY, WET) for s in (300.0, 600.0, 900.0)]
    assert (np.diff(found, axis=0) <= 0.0).all()
    assert found[-1].min() < found[0].min() < PLANTS[0].rated_it_kw


def test_a_short_wait_is_no_limit():
    assert ride_through_kw(PLANTS[0], 1.0, DRY[:5], WET[:5]).tolist() == [2_000.0] * 5


def test_like_weather_gets_like_loads_in_the_order_of_the_slots():
    dry, wet = np.array([38.0, 10.0, 38.0]), np.array([22.0, 6.0, 22.0])
    found = ride_through_kw(PLANTS[0], 900.0, dry, wet)
    assert found[0] == found[2] != found[1]


def test_the_reserve_is_the_smaller_of_what_is_asked():
    plant = PLANTS[0]
    assert carried_it_kw(plant, Reserve(), DRY, WET).tolist() == w_max_kw(plant, DRY, WET).tolist()
    one_out = carried_it_kw(plant, Reserve(one_out=True), DRY, WET)
    assert one_out.tolist() == w_max_n1_kw(plant, DRY, WET).tolist()
    both = carried_it_kw(plant, Reserve(one_out=True, restart_s=600.0), DRY, WET)
    assert both.tolist() == np.minimum(one_out, ride_through_kw(plant, 600.0, DRY, WET)).tolist()


def test_a_room_has_no_loop_to_ride_through():
    with pytest.raises(ValueError, match="no liquid loop whose heat rejection could be lost"):
        carried_it_kw(room_air(20.0), Reserve(restart_s=60.0), DRY, WET)
