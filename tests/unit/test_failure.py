"""A plant as the transient model takes it: the same temperatures, and the reference's seconds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.plants import random_plants
from thermal.failure import inertia, operation, seconds_to_limit
from thermal.plant import cooling, dry_cooler, room_air, tower_chiller
from thermal.transient import Event
from thermal.transient.operation import steady_loop

PLANT = dry_cooler(1_000.0)


@pytest.mark.parametrize(
    ("event", "load", "limit_c", "reference_s"),
    [
        (Event.PUMP_LOSS, 1.0, 75.0, 5.0),
        (Event.PUMP_LOSS, 1.0, 85.0, 9.0),
        (Event.PUMP_LOSS, 0.4, 75.0, 25.0),
        (Event.PUMP_LOSS, 0.4, 85.0, 35.0),
        (Event.CDU_LOSS, 1.0, 75.0, 77.0),
        (Event.CDU_LOSS, 1.0, 85.0, 140.0),
        (Event.REJECTION_LOSS, 1.0, 75.0, 612.0),
    ],
)
def test_the_default_plant_takes_the_seconds_of_the_reference(event, load, limit_c, reference_s):
    """Supply of 40 C at 25 C outdoors; the reference counts on no draught, which matters only to its last figure."""
    found_s = seconds_to_limit(PLANT, event, load * 1_000.0, 25.0, 18.0, limit_c)
    assert float(found_s) == pytest.approx(reference_s, rel=0.2)


@pytest.mark.parametrize("plant", [PLANT, tower_chiller(1_000.0), dry_cooler(1_000.0, rack_pump_flow_floor=0.3)])
def test_the_failure_finds_the_plants_own_temperatures(plant):
    it_kw = np.array([50.0, 400.0, 1_000.0])
    steady = steady_loop(inertia(plant), operation(plant, it_kw, 25.0, 18.0))
    state = cooling(plant, it_kw, 25.0, 18.0)
    assert steady.rack_supply_c == pytest.approx(state.supply_temp_c)
    assert steady.case_c == pytest.approx(state.case_temp_c, abs=1e-9)
    # the transient model heats the liquid behind the CDU by the pumps, the plant before it
    assert steady.facility_supply_c == pytest.approx(state.facility_supply_temp_c, abs=0.2)
    assert steady.facility_return_c == pytest.approx(state.return_temp_c, abs=0.2)


def test_draught_is_that_of_the_coolers_and_towers_are_counted_on_for_nothing():
    assert inertia(PLANT).passive_w_per_kw_per_k == pytest.approx(10.0, rel=0.15)
    more = dry_cooler(1_000.0, cooler_natural_draught_share=0.2)
    assert inertia(more).passive_w_per_kw_per_k > 1.5 * inertia(PLANT).passive_w_per_kw_per_k
    assert inertia(tower_chiller(1_000.0)).passive_w_per_kw_per_k == 0.0


def test_warmer_and_fuller_is_sooner():
    load = np.linspace(100.0, 1_000.0, 10)[:, None]
    dry_c = np.array([5.0, 25.0, 38.0])
    for event in Event:
        found_s = seconds_to_limit(PLANT, event, load, dry_c, dry_c - 5.0, 75.0)
        assert (found_s[1:] <= found_s[:-1]).all()
        assert (found_s[:, 1:] <= found_s[:, :-1]).all()


def test_every_plant_with_a_loop_can_be_followed():
    for plant in random_plants(seed=11, count=60):
        if plant.loop is None:
            continue
        found_s = seconds_to_limit(plant, Event.CDU_LOSS, np.array([0.0, 30.0, 1_000.0]), 20.0, 12.0, 75.0)
        assert (found_s >= 0.0).all()


def test_a_room_has_no_loop_to_follow():
    with pytest.raises(ValueError, match="room_air plant has no liquid loop"):
        inertia(room_air(10.0))
