"""The facts of the thermal report of one block: what facility staff need of the coming days, without a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.alarms import ROUNDING_SHARE, Alarm, alarms
from thermal.derating import Derate, derates
from thermal.hours import CHILLER, COMPRESSOR, FREE, OFF, PAD, CoolingHours, cooling_hours
from thermal.kpi import Kpi, kpis
from thermal.limit import PlanLimit, plan_limit
from thermal.margins import Margin, margins
from thermal.quantity import ASSUMED, Quantity
from thermal.reach import Reach, reaches
from thermal.reserve import NOTHING, Reserve
from thermal.reuse import NO_FLOWS, HeatFlows

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from thermal.description import CoolingPlant


@dataclass(frozen=True)
class Span:
    """One figure of the loops at three moments, with its range over the horizon.

    Args:
        name: Such as "rack_supply".
        now: At the present hour, or the first one where the report is made outside its horizon.
        peak: At the hour of the highest IT power.
        tightest: At the hour with the least reserve.
        lowest: Least of the horizon.
        highest: Most of the horizon.
    """

    name: str
    now: Quantity
    peak: Quantity
    tightest: Quantity
    lowest: Quantity
    highest: Quantity


@dataclass(frozen=True)
class CoolingReport:
    """The facts of one block.

    Args:
        hours: Every slot.
        now: Slot of the present hour, or of the first one.
        peak: Slot of the highest IT power: the peak of the forecast load; of several the hottest.
        tightest: Slot in which the IT power comes nearest to what the plant carries with one unit out; of several the
            hottest.
        totals: Figures of the horizon by name, the name ending in the unit.
        spans: Figures of the loops.
        derates: Spells with less than rated IT power, all units in service.
        limit: IT power that a plan may take at most, and what binds.
        limit_spells: Spells in which that is less than rated IT power.
        margins: Temperatures against their limits.
        reaches: Seconds to a limit per failure.
        mode_hours: Hours in each mode of cooling, h.
        kpis: PUE, WUE, ERF, CUE; and ERE where heat is given to others.
        alarms: What to look at and what is well, worst first.
    """

    hours: CoolingHours
    now: int
    peak: int
    tightest: int
    totals: dict[str, Quantity]
    spans: tuple[Span, ...]
    derates: tuple[Derate, ...]
    limit: PlanLimit
    limit_spells: tuple[Derate, ...]
    margins: tuple[Margin, ...]
    reaches: tuple[Reach, ...]
    mode_hours: dict[str, Quantity]
    kpis: tuple[Kpi, ...]
    alarms: tuple[Alarm, ...]


def cooling_report(
    plant: CoolingPlant,
    it_kw: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    *,
    powered: npt.NDArray[np.bool_],
    slot_h: float,
    now: int,
    carbon_kg: npt.NDArray[np.float64] | None,
    ci_gco2_per_kwh: npt.NDArray[np.float64],
    reserve: Reserve = NOTHING,
    capacity_kw: npt.NDArray[np.float64] | None = None,
    flows: HeatFlows = NO_FLOWS,
) -> CoolingReport:
    """Return the facts of one block.

    Args:
        plant: Its plant.
        it_kw: IT power that is planned or asked about, kW, shape (T,).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
        powered: Whether the plant stands under power, shape (T,).
        slot_h: Length of a slot, h.
        now: Slot of the present hour, or of the first one.
        carbon_kg: Emissions of the block's grid import per slot, kg CO2e, shape (T,); where None, all its energy comes
            from the grid.
        ci_gco2_per_kwh: Carbon intensity of the grid, gCO2e/kWh, shape (T,).
        reserve: What the site holds back of the plant.
        capacity_kw: Power that the block has for IT and cooling, kW, shape (T,); None: not looked at.
        flows: Heat of tank and heat pumps.
    """
    hours = cooling_hours(plant, it_kw, dry_bulb_c, wet_bulb_c, powered, flows)
    spare_kw = np.where(hours.powered, hours.w_max_n1_kw - hours.it_kw, np.inf)
    tightest = int(np.lexsort((-dry_bulb_c, spare_kw))[0])
    peak = int(np.lexsort((-dry_bulb_c, -hours.it_kw))[0])
    limit = plan_limit(plant, reserve, hours, capacity_kw, dry_bulb_c, wet_bulb_c)
    found_reaches = reaches(plant, hours, dry_bulb_c, wet_bulb_c)
    found_margins = margins(plant, hours)
    it_kwh, cooling_kwh = (float(kw.sum()) * slot_h for kw in (hours.it_kw, hours.cooling_kw))
    water_l = float(hours.water_l_per_h.sum()) * slot_h
    reused_kwh, heat_pump_kwh = (float(kw.sum()) * slot_h for kw in (hours.heat_sold_kw, hours.heat_pump_kw))
    boundary = "Location-based emissions of the block's grid import over its IT energy; own solar counts as nothing."
    if carbon_kg is None:
        boundary = "Location-based emissions over IT energy, with all of the facility's energy from the grid."
        carbon_kg = ci_gco2_per_kwh * (hours.it_kw + hours.cooling_kw + hours.heat_pump_kw) * slot_h / 1000.0
    return CoolingReport(
        hours=hours,
        now=now,
        peak=peak,
        tightest=tightest,
        totals=_totals(plant, hours, limit, slot_h, it_kwh, cooling_kwh, water_l, reused_kwh),
        spans=_spans(plant, hours, limit, (now, peak, tightest)),
        derates=derates(hours.cause, hours.w_max_kw, dry_bulb_c, wet_bulb_c),
        limit=limit,
        limit_spells=derates(limit.cause, limit.it_kw, dry_bulb_c, wet_bulb_c),
        margins=found_margins,
        reaches=found_reaches,
        mode_hours={
            mode: Quantity(float((hours.mode == mode).sum()) * slot_h, "h")
            for mode in (FREE, PAD, CHILLER, COMPRESSOR, OFF)
        },
        kpis=kpis(it_kwh, cooling_kwh, water_l, reused_kwh, float(carbon_kg.sum()), boundary, heat_pump_kwh),
        alarms=alarms(plant, hours, found_margins, found_reaches, dry_bulb_c, slot_h, reserve.restart_s),
    )


def _totals(
    plant: CoolingPlant,
    hours: CoolingHours,
    limit: PlanLimit,
    slot_h: float,
    it_kwh: float,
    cooling_kwh: float,
    water_l: float,
    reused_kwh: float,
) -> dict[str, Quantity]:
    on = hours.powered
    any_on = bool(on.any())

    def count_h(where: npt.NDArray[np.bool_]) -> Quantity:
        return Quantity(float((where & on).sum()) * slot_h, "h")

    def kwh(kw: npt.NDArray[np.float64]) -> Quantity:
        return Quantity(float(kw.sum()) * slot_h, "kWh")

    residual_kw = float(np.abs(hours.residual_kw).max())
    rounding_kw = ROUNDING_SHARE * plant.rated_it_kw
    return {
        "rated_it_kw": Quantity(plant.rated_it_kw, "kW", ASSUMED),
        "it_peak_kw": Quantity(float(hours.it_kw.max()), "kW"),
        "w_max_least_kw": Quantity(float(hours.w_max_kw[on].min()) if any_on else None, "kW"),
        "w_max_n1_least_kw": Quantity(float(hours.w_max_n1_kw[on].min()) if any_on else None, "kW"),
        "limit_least_kw": Quantity(float(limit.it_kw[on].min()) if any_on else None, "kW"),
        "derate_h": count_h(hours.cause != ""),
        "derate_n1_h": count_h(hours.w_max_n1_kw < plant.rated_it_kw - rounding_kw),
        "limited_h": Quantity(float((limit.cause != "").sum()) * slot_h, "h"),
        "over_capacity_h": count_h(hours.it_kw > hours.w_max_kw + rounding_kw),
        "over_limit_h": count_h(hours.it_kw > limit.it_kw + rounding_kw),
        "without_reserve_h": count_h(hours.it_kw > hours.w_max_n1_kw + rounding_kw),
        "it_kwh": Quantity(it_kwh, "kWh"),
        "cooling_kwh": Quantity(cooling_kwh, "kWh"),
        "fan_kwh": kwh(hours.fan_kw),
        "pump_kwh": kwh(hours.pump_kw),
        "compressor_kwh": kwh(hours.compressor_kw),
        "water_l": Quantity(water_l, "L"),
        "water_peak_l_per_h": Quantity(float(hours.water_l_per_h.max()), "L/h"),
        "heat_reused_kwh": Quantity(reused_kwh, "kWh"),
        **({"heat_pump_kwh": kwh(hours.heat_pump_kw)} if reused_kwh else {}),
        **_tank_totals(hours, kwh),
        "energy_balance_residual_kw": Quantity(residual_kw, "kW"),
        "energy_balance_residual_share": Quantity(residual_kw / plant.rated_it_kw, ""),
    }


def _tank_totals(hours: CoolingHours, kwh: Callable[[npt.NDArray[np.float64]], Quantity]) -> dict[str, Quantity]:
    """Return the heat into and out of the tank, where one is in use."""
    if not hours.tank_kw.any():
        return {}
    return {
        "tank_filled_kwh": kwh(np.maximum(hours.tank_kw, 0.0)),
        "tank_drawn_kwh": kwh(np.maximum(-hours.tank_kw, 0.0)),
    }


def _spans(
    plant: CoolingPlant, hours: CoolingHours, limit: PlanLimit, moments: tuple[int, int, int]
) -> tuple[Span, ...]:
    def span(name: str, values: npt.NDArray[np.float64], unit: str) -> Span:
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (None, None)
        at = (float(values[i]) if np.isfinite(values[i]) else None for i in moments)
        return Span(name, *(Quantity(value, unit) for value in (*at, low, high)))

    loads = (
        span("it_kw", hours.it_kw, "kW"),
        span("w_max_kw", hours.w_max_kw, "kW"),
        span("w_max_n1_kw", hours.w_max_n1_kw, "kW"),
        span("limit_kw", limit.it_kw, "kW"),
        *([span("heat_sold_kw", hours.heat_sold_kw, "kW")] if hours.heat_sold_kw.any() else []),
        *([span("tank_kw", hours.tank_kw, "kW")] if hours.tank_kw.any() else []),
    )
    if plant.loop is None:
        return (
            *loads,
            span("air_supply_c", hours.air_supply_temp_c, "C"),
            span("cooling_kw", hours.cooling_kw, "kW"),
        )
    liquid_kw = hours.it_kw * plant.liquid_heat_share
    per_kw = np.divide(hours.flow_l_per_min, liquid_kw, out=np.full_like(liquid_kw, np.nan), where=liquid_kw > 0.0)
    left = plant.loop.cdu.count - 1
    one_out = hours.cdu_load_share * plant.loop.cdu.count / left if left else np.full_like(liquid_kw, np.nan)
    return (
        *loads,
        span("cooling_kw", hours.cooling_kw, "kW"),
        span("setpoint_c", hours.setpoint_temp_c, "C"),
        span("rack_supply_c", hours.supply_temp_c, "C"),
        span("rack_return_c", hours.rack_return_temp_c, "C"),
        span("rack_rise_k", hours.rack_return_temp_c - hours.supply_temp_c, "K"),
        span("case_c", hours.case_temp_c, "C"),
        span("facility_supply_c", hours.facility_supply_temp_c, "C"),
        span("facility_return_c", hours.facility_return_temp_c, "C"),
        span("facility_rise_k", hours.facility_return_temp_c - hours.facility_supply_temp_c, "K"),
        span("cdu_approach_k", hours.supply_temp_c - hours.facility_supply_temp_c, "K"),
        span("rejection_approach_k", hours.facility_supply_temp_c - hours.sink_temp_c, "K"),
        span("flow_l_per_min", hours.flow_l_per_min, "L/min"),
        span("flow_l_per_min_per_kw", per_kw, "L/min/kW"),
        span("rack_pump_head_kpa", hours.head_kpa, "kPa"),
        span("cdu_load_share", hours.cdu_load_share, ""),
        span("cdu_load_one_out_share", one_out, ""),
        span("fan_speed", hours.fan_speed, ""),
        span("air_supply_c", hours.air_supply_temp_c, "C"),
    )
