"""What is promised of pools and blocks: GPUs in service, power, cooling, ramp, battery, solar, stated figures."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.cold import check_cold, check_stated_cold
from planner.evaluate.finding import ABSOLUTE_KW, RELATIVE, STATED_SHARE_OF_IT, Spans, differs, worst
from planner.evaluate.ramp import check_ramp

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from planner.evaluate.record import BlockResult, Violation
    from planner.evaluate.replay import BlockReplay, Load, Pieces
    from planner.pool import Pool
    from planner.week import Block, Week
    from power.battery import Battery
    from trainer_hooks.calendar import BlockPlan


def check_pool(week: Week, pool: Pool, load: Load, cut: Pieces) -> list[Violation]:
    """Return whether more GPUs of a pool are held than are in service, at any instant."""
    in_service = np.zeros(len(cut.start_s), dtype=np.int64)
    for since, count in pool.commissioning:
        in_service[cut.start_s >= (since - week.grid.start).total_seconds()] = count
    return worst(
        week,
        "gpus",
        f"pool {pool.name}",
        load.gpus[pool.name].astype(np.float64),
        in_service,
        "GPUs",
        "holds",
        over=cut.spans,
    )


def check_block(week: Week, block: Block, seen: BlockReplay, cut: Pieces) -> list[Violation]:
    """Return which physical limits of a block are broken; power limits hold at every instant."""
    name, result = f"block {block.name}", seen.result
    import_kw = week.import_limit_kw(block)[cut.slot]
    capacity_kw, w_max_kw = result.capacity_kw[cut.slot], result.w_max_kw[cut.slot]
    says = "puts on its cooling with one unit out" if block.reserve.one_out else "puts on its cooling"
    return [
        *worst(
            week,
            "capacity",
            name,
            seen.facility_kw,
            capacity_kw,
            "kW",
            "takes (IT, cooling, heat pumps)" if block.heat else "takes (IT and cooling)",
            over=cut.spans,
        ),
        *worst(week, "import-capacity", name, seen.import_kw, import_kw, "kW", "imports", over=cut.spans),
        *worst(week, "cooling-limit", name, seen.it_kw, w_max_kw, "kW", says, over=cut.spans),
        *_check_ride_through(week, block, seen, cut),
        *worst(week, "export", name, result.import_kw, 0.0, "kW", "imports", least=True),
        *worst(week, "solar", name, result.solar_kw, seen.offer_kw, "kW", "uses of its solar array"),
        *worst(week, "solar", name, result.solar_kw, 0.0, "kW", "uses of its solar array", least=True),
        *check_ramp(week, block, seen.it_kw, cut),
        *_check_battery(week, block, seen, cut),
        *check_cold(week, block, seen, cut),
    ]


def _check_ride_through(week: Week, block: Block, seen: BlockReplay, cut: Pieces) -> list[Violation]:
    if seen.ride_through_s is None or block.reserve.restart_s is None:
        return []
    says = "rides out the loss of its heat rejection for"
    name, least_s = f"block {block.name}", block.reserve.restart_s
    return worst(week, "ride-through", name, seen.ride_through_s, least_s, "s", says, over=cut.spans, least=True)


def check_setpoint(week: Week, block: Block, plan: BlockPlan) -> list[Violation]:
    """Return where a calendar requests a supply temperature above the plant's limit."""
    limit_c = block.plant.supply_limit_c
    asked_c = np.array([limit_c if asked is None else asked for asked in plan.supply_setpoint_c])
    return worst(week, "setpoint", f"block {block.name}", asked_c, limit_c, "C", "asks its cooling for a supply of")


def _check_battery(week: Week, block: Block, seen: BlockReplay, cut: Pieces) -> list[Violation]:
    name, flows = f"block {block.name} battery", seen.result
    most_kw = (0.0, 0.0) if block.battery is None else (block.battery.charge_kw, block.battery.discharge_kw)
    found = [
        *worst(week, "battery-power", name, flows.charge_kw, most_kw[0], "kW", "charges at"),
        *worst(week, "battery-power", name, flows.charge_kw, 0.0, "kW", "charges at", least=True),
        *worst(week, "battery-power", name, flows.discharge_kw, most_kw[1], "kW", "discharges at"),
        *worst(week, "battery-power", name, flows.discharge_kw, 0.0, "kW", "discharges at", least=True),
        *worst(
            week,
            "battery-both",
            name,
            np.minimum(flows.charge_kw, flows.discharge_kw),
            0.0,
            "kW",
            "charges and discharges at once at",
        ),
    ]
    if block.battery is None:
        return found
    most_load_kw = np.maximum.reduceat(seen.facility_kw, cut.first)
    return (
        found
        + _check_state(week, name, block.battery, flows.battery_kwh)
        + _check_reserve(week, name, block.battery, flows.battery_kwh, most_load_kw)
        + _check_charging(week, name, block.battery, flows)
    )


def _check_reserve(
    week: Week,
    name: str,
    battery: Battery,
    state_kwh: npt.NDArray[np.float64],
    load_kw: npt.NDArray[np.float64],
) -> list[Violation]:
    if not battery.reserve_min:
        return []
    before_kwh = np.append(battery.initial_share * battery.energy_kwh, state_kwh[:-1])
    least_kwh = battery.min_share * battery.energy_kwh + battery.reserve_h * load_kw
    held_kwh = np.minimum(before_kwh, state_kwh)
    return worst(week, "battery-reserve", name, held_kwh, least_kwh, "kWh", "keeps for its load", least=True)


def _check_charging(week: Week, name: str, battery: Battery, flows: BlockResult) -> list[Violation]:
    if battery.grid_charging:
        return []
    made_kw = flows.solar_kw + flows.wind_kw + flows.generation_kw
    return worst(week, "battery-grid", name, flows.charge_kw, made_kw, "kW", "charges beyond own sources at")


def _check_state(
    week: Week,
    name: str,
    battery: Battery,
    state_kwh: npt.NDArray[np.float64],
) -> list[Violation]:
    slot_s = 60.0 * week.grid.slot_minutes
    ends_s = np.arange(1.0, week.grid.n_slots + 1.0) * slot_s
    low, high = (share * battery.energy_kwh for share in (battery.min_share, battery.max_share))
    least, most = battery.final_kwh
    every = Spans(ends_s, np.full(len(ends_s), slot_s))
    last = Spans(ends_s[-1:], np.full(1, slot_s))
    return [
        *worst(week, "battery-state", name, state_kwh, low, "kWh", "holds", least=True, over=every),
        *worst(week, "battery-state", name, state_kwh, high, "kWh", "holds", over=every),
        *worst(week, "battery-final", name, state_kwh[-1:], least, "kWh", "ends with", least=True, over=last),
        *worst(week, "battery-final", name, state_kwh[-1:], most, "kWh", "ends with", over=last),
    ]


def check_stated(week: Week, plan: BlockPlan, seen: BlockReplay) -> Iterator[Violation]:
    """Yield which stated figures differ from the replay by over 0.01 % of IT power, and whether the balance closes."""
    name, result = f"block {plan.block}", seen.result
    power_kw = ABSOLUTE_KW + STATED_SHARE_OF_IT * result.it_kw
    state_kwh = ABSOLUTE_KW + RELATIVE * np.abs(result.battery_kwh)
    yield from chain(
        differs(week, "stated-it", name, np.array(plan.it_kw), result.it_kw, power_kw, "kW", "IT power"),
        differs(week, "stated-cooling", name, np.array(plan.cooling_kw), result.cooling_kw, power_kw, "kW", "cooling"),
        differs(
            week,
            "stated-facility",
            name,
            np.array(plan.facility_kw),
            result.facility_kw,
            power_kw,
            "kW",
            "facility power",
        ),
        differs(week, "stated-import", name, np.array(plan.import_kw), result.import_kw, power_kw, "kW", "import"),
        differs(
            week,
            "stated-battery",
            name,
            np.array(plan.battery_kwh),
            result.battery_kwh,
            state_kwh,
            "kWh",
            "stored energy",
        ),
    )
    yield from check_stated_cold(week, plan, result)
    served_kw = np.array(plan.import_kw) + np.array(plan.solar_kw) + np.array(plan.discharge_kw)
    served_kw += seen.own.wind_kw + seen.own.generation_kw
    pumps_kw = np.array(plan.heat_pump_kw) if plan.heat_pump_kw else 0.0
    used_kw = (
        np.array(plan.it_kw) + np.array(plan.cooling_kw) + np.array(plan.charge_kw) + pumps_kw + seen.own.export_kw
    )
    yield from differs(
        week, "balance", name, served_kw, used_kw, RELATIVE * np.maximum(used_kw, 1.0), "kW", "all sources together"
    )
