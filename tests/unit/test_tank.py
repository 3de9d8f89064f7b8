"""The tank beside the facility loop and heat sold from it, on the whole physics of a plant."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.circuit import circuit
from thermal.plant import cooling, dry_cooler, room_air, setpoint_c, tower_chiller, w_max_kw
from thermal.split import own_kw, rejection_kw
from thermal.units_out import ALL

RATED_KW = 20_000.0
LIQUID_KW = 0.945 * RATED_KW


def test_filling_and_drawing_by_hand():
    # 4 W of tank pumps per kW; flow of the tank's water is heat / (rate 10 K) of a loop with 10 K at design
    plant = dry_cooler(RATED_KW, store_volume_m3=500.0)
    still = cooling(plant, 12_000.0, 15.0, 10.0)
    fills, draws = (cooling(plant, 12_000.0, 15.0, 10.0, tank_kw=kw) for kw in (2_000.0, -2_000.0))
    assert float(fills.pump_kw - still.pump_kw) == pytest.approx(8.0)
    assert float(fills.heat_rejected_kw - still.heat_rejected_kw) == pytest.approx(2_008.0)
    assert float(draws.heat_rejected_kw - still.heat_rejected_kw) == pytest.approx(-1_992.0)
    assert float(fills.supply_temp_c) == float(draws.supply_temp_c) == float(still.supply_temp_c) == 40.0
    assert float(fills.case_temp_c) == float(still.case_temp_c)
    rise_k = still.return_temp_c - still.facility_supply_temp_c
    flow = circuit(plant.loop, np.array(0.6), ALL).facility_flow
    assert flow == 0.9
    heat = rise_k * flow / 10.0  # over rated liquid heat
    mixed_k = (heat + 2_008.0 / LIQUID_KW) * 10.0 / (flow + 2_000.0 / LIQUID_KW)
    assert float(fills.return_temp_c - fills.facility_supply_temp_c) == pytest.approx(float(mixed_k))
    # the return is less than 10 K above the supply: the tank takes the flow that 10 K would need
    left_k = (heat - 1_992.0 / LIQUID_KW) * 10.0 / (flow - 2_000.0 / LIQUID_KW)
    assert float(draws.return_temp_c - draws.facility_supply_temp_c) == pytest.approx(float(left_k))
    assert float(draws.fan_kw) < float(still.fan_kw) < float(fills.fan_kw)


def test_no_more_is_drawn_than_racks_and_pumps_give():
    plant = dry_cooler(RATED_KW, store_volume_m3=500.0)
    still, emptied = (cooling(plant, 2_000.0, 15.0, 10.0, tank_kw=kw) for kw in (0.0, -1e6))
    gives_kw = 2_000.0 * 0.945 + float(still.pump_kw)
    assert float(emptied.tank_kw) == pytest.approx(-gives_kw)
    room_kw = still.heat_rejected_kw - gives_kw  # what the room gives the air
    assert float(emptied.heat_rejected_kw - room_kw) == pytest.approx(0.004 * gives_kw)


def test_heat_sold_is_heat_taken_and_power():
    plant = dry_cooler(RATED_KW, heat_pump_capacity_share=0.5)
    still, sells = (cooling(plant, 18_000.0, 15.0, 10.0, heat_sold_kw=kw) for kw in (0.0, 6_000.0))
    # at 90 % load and flow the loop warms by its 10 K and its pumps' heat
    source_c = float(still.return_temp_c)
    power_kw = 6_000.0 * (85.0 - source_c) / (0.668 * 358.15)
    assert float(sells.heat_pump_kw) == pytest.approx(power_kw)
    assert float(sells.heat_taken_kw) == pytest.approx(6_000.0 - power_kw)
    assert float(sells.heat_sold_kw) == 6_000.0
    assert float(sells.cooling_kw) == pytest.approx(float(sells.fan_kw + sells.pump_kw + sells.compressor_kw))
    assert float(sells.fan_kw) < float(still.fan_kw)
    assert float(sells.heat_rejected_kw) == pytest.approx(float(still.heat_rejected_kw) - 6_000.0 + power_kw)


def test_more_heat_than_there_is_cannot_be_sold():
    plant = dry_cooler(RATED_KW, heat_pump_capacity_share=0.5)
    sells = cooling(plant, 2_000.0, 15.0, 10.0, heat_sold_kw=1e6)
    assert float(sells.heat_taken_kw) == pytest.approx(2_000.0 * 0.945 + float(sells.pump_kw))
    assert float(sells.heat_sold_kw) == pytest.approx(float(sells.heat_taken_kw + sells.heat_pump_kw))


def test_a_room_has_neither_tank_nor_heat_pump():
    plant = room_air(12.0)
    one, other = cooling(plant, 8.0, 20.0, 15.0), cooling(plant, 8.0, 20.0, 15.0, heat_sold_kw=3.0, tank_kw=2.0)
    assert float(other.cooling_kw) == float(one.cooling_kw)
    assert float(other.heat_sold_kw) == float(other.heat_pump_kw) == float(other.tank_kw) == 0.0


def test_filling_lowers_and_drawing_raises_what_the_plant_carries():
    plant = dry_cooler(RATED_KW, store_volume_m3=500.0)
    fills, still, draws = (float(w_max_kw(plant, 38.0, 20.0, tank_kw=kw)) for kw in (1_500.0, 0.0, -1_500.0))
    assert fills < still < draws < RATED_KW
    # at the edge the supply stands at its limit
    for it_kw, tank_kw in ((fills, 1_500.0), (draws, -1_500.0)):
        edge = cooling(plant, it_kw, 38.0, 20.0, tank_kw=tank_kw)
        assert float(edge.supply_temp_c) == pytest.approx(45.0, abs=1e-6)


@pytest.mark.parametrize("make", [dry_cooler, tower_chiller])
def test_the_two_parts_of_cooling_add_up(make):
    plant = make(RATED_KW, store_volume_m3=500.0, heat_pump_capacity_share=0.3)
    it_kw, dry_c = np.linspace(0.0, RATED_KW, 9)[:, None], np.array([-10.0, 12.0, 26.0, 36.0])
    held_c = setpoint_c(plant, dry_c, dry_c - 6.0)
    whole = cooling(plant, it_kw, dry_c, dry_c - 6.0, supply_c=held_c)
    parts_kw = own_kw(plant, it_kw, dry_c) + rejection_kw(plant, it_kw, (dry_c, dry_c - 6.0), held_c)
    np.testing.assert_allclose(parts_kw, whole.cooling_kw, rtol=1e-12)
    fans_kw = whole.fan_kw - whole.room_fan_kw + whole.chiller_kw
    outdoors_of_room = rejection_kw(plant, it_kw, (dry_c, dry_c - 6.0), held_c) - fans_kw
    assert (outdoors_of_room <= 1e-9 * RATED_KW).all()  # the room's own fan outdoors is the racks' part


def test_a_tank_needs_water_of_one_temperature_and_ends_no_fuller():
    with pytest.raises(ValueError, match=r"the tank keeps water of one temperature"):
        dry_cooler(RATED_KW, store_volume_m3=9.0, setpoint_rule="chosen", chip_leakage_pct_per_k=0.3)
    with pytest.raises(ValueError, match=r"store_final_share is 0.7, above store_initial_share of 0.5"):
        dry_cooler(RATED_KW, store_volume_m3=9.0, store_final_share=0.7)
