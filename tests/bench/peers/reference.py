"""The loops that ours and the peers solve alike: two water loops, a CDU between them, dry coolers to the air."""

from __future__ import annotations

from typing import Any

import numpy as np

from thermal.circuit import circuit
from thermal.components.cdu import FILM_EXPONENT
from thermal.components.dry_cooler import AIR_EXPONENT, WATER_EXPONENT, DryCooler
from thermal.fluids import heat_capacity_kj_per_kg_k
from thermal.loop import LiquidLoop
from thermal.plant import CoolingPlant, cooling, dry_cooler
from thermal.units_out import ALL

RATED_KW = 1_000.0
LOADS = (0.4, 0.6, 0.8, 1.0)
DRY_BULBS_C = (10.0, 18.0, 26.0)
DEPRESSION_K = 8.0  # of the wet bulb; without pads it plays no part
AIR_KJ_PER_KG_K = 1.006  # dry air near 25 C (CoolProp)


def reference_plant() -> CoolingPlant:
    """Return the loops in the form that all can describe: all heat in water, flow with the load, friction alone."""
    return dry_cooler(
        RATED_KW,
        liquid_heat_share=1.0,
        rack_coolant="water",
        facility_coolant="water",
        rack_pump_flow_floor=0.3,
        rack_pump_static_share=0.0,
        facility_pump_flow_floor=0.3,
        facility_pump_static_share=0.0,
    )


def loads_and_weather() -> tuple[np.ndarray, np.ndarray]:
    """Return IT power, kW, and dry bulb, deg C, of the states, both of shape (N,)."""
    dry_c, it_kw = np.meshgrid(np.array(DRY_BULBS_C), np.array(LOADS) * RATED_KW, indexing="ij")
    return it_kw.ravel(), dry_c.ravel()


def own_states(it_kw: np.ndarray, dry_c: np.ndarray) -> list[dict[str, float]]:
    """Return what ours finds, for IT power, kW, and dry bulb, deg C, both of shape (N,)."""
    plant = reference_plant()
    found = cooling(plant, it_kw, dry_c, dry_c - DEPRESSION_K)
    full_kg_per_s = _loop(plant).rejection_air_per_k * RATED_KW / AIR_KJ_PER_KG_K
    columns = {
        "supply_c": found.supply_temp_c,
        "rack_return_c": found.rack_return_temp_c,
        "facility_supply_c": found.facility_supply_temp_c,
        "facility_return_c": found.return_temp_c,
        "heat_rejected_kw": found.heat_rejected_kw,
        "rack_pump_kw": found.rack_pump_kw,
        "facility_pump_kw": found.pump_kw - found.rack_pump_kw,
        "air_kg_per_s": full_kg_per_s * found.fan_speed,
    }
    return [{name: float(values[i]) for name, values in columns.items()} for i in range(len(it_kw))]


def task(rounds: int) -> dict[str, Any]:
    """Return what a peer is asked: the design, the states, and how often it solves them all for its time."""
    loop = _loop(reference_plant())
    assert isinstance(loop.rejection, DryCooler)
    design_c = loop.supply_setpoint_c - loop.cdu.approach_k - loop.rejection.approach_k
    (design,) = _given(loop, np.array([RATED_KW]), np.array([design_c]))
    exchangers = {
        "cdu_ua_kw_per_k": loop.cdu_ua_per_k * RATED_KW,
        "cdu_exponent": FILM_EXPONENT,
        "cooler_ua_kw_per_k": loop.rejection_ua_per_k * RATED_KW,
        "water_exponent": WATER_EXPONENT,
        "air_exponent": AIR_EXPONENT,
        "water_resistance_share": loop.rejection.water_resistance_share,
    }
    pumps = {
        "rack_pump_efficiency": loop.rack_pump.efficiency,
        "facility_pump_efficiency": loop.facility_pump.efficiency,
    }
    return {"design": design | exchangers | pumps, "states": _given(loop, *loads_and_weather()), "rounds": rounds}


def _given(loop: LiquidLoop, it_kw: np.ndarray, dry_c: np.ndarray) -> list[dict[str, float]]:
    """Return what holds in each state before it is solved; supplies and pump heat are for peers that find neither."""
    closed = circuit(loop, it_kw / RATED_KW, ALL)
    facility_c = loop.supply_setpoint_c - loop.cdu.approach_k
    rates = ((loop.rack_coolant, loop.supply_setpoint_c, loop.rack_rate_per_k),
             (loop.facility_coolant, facility_c, loop.facility_rate_per_k))  # fmt: skip
    rack_kg, facility_kg = (
        rate * RATED_KW / float(heat_capacity_kj_per_kg_k(coolant, temp_c)) for coolant, temp_c, rate in rates
    )
    own = own_states(it_kw, dry_c)
    return [
        {
            "heat_kw": float(it_kw[i]),
            "dry_bulb_c": float(dry_c[i]),
            "rack_kg_per_s": float(rack_kg * closed.rack_flow[i]),
            "facility_kg_per_s": float(facility_kg * closed.facility_flow[i]),
            "rack_head_kpa": float(loop.rack_pump.head_kpa * closed.rack_flow[i] ** 2),
            "facility_head_kpa": float(loop.facility_pump.head_kpa * closed.facility_flow[i] ** 2),
            **{name: own[i][name] for name in own[i] if name != "heat_rejected_kw"},
        }
        for i in range(len(own))
    ]


def _loop(plant: CoolingPlant) -> LiquidLoop:
    assert plant.loop is not None
    return plant.loop
