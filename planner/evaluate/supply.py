"""What is promised of pools and blocks: GPUs in service, power, cooling, ramp, battery, solar, stated figures."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.cold import check_cold, check_stated_cold
from planner.evaluate.finding import ABSOLUTE_KW, RELATIVE, Spans, differs, worst

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from planner.evaluate.record import Violation
    from planner.evaluate.replay import BlockReplay, Load, Pieces
    from planner.week import Block, Pool, Week
    from power.battery import Battery
    from trainer_hooks.calendar import BlockPlan

STATED_SHARE_OF_IT = 1e-4


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
        *worst(week, "import-capacity", name, seen.import_kw, capacity_kw, "kW", "imports", over=cut.spans),
        *worst(week, "cooling-limit", name, seen.it_kw, w_max_kw, "kW", says, over=cut.spans),
        *_check_ride_through(week, block, seen, cut),
        *worst(week, "export", name, result.import_kw, 0.0, "kW", "imports", least=True),
        *worst(week, "solar", name, result.solar_kw, seen.offer_kw, "kW", "uses of its solar array"),
        *worst(week, "solar", name, result.solar_kw, 0.0, "kW", "uses of its solar array", least=True),
        *_check_ramp(week, block, seen.it_kw, cut),
        *_check_battery(week, block, seen),
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


def _check_ramp(week: Week, block: Block, it_kw: npt.NDArray[np.float64], cut: Pieces) -> list[Violation]:
    step_kw = block.power.ramp_step_kw
    if step_kw is None or len(it_kw) < 2:
        return []
    # Changes less than one staggering window apart add up; a window longer than a slot counts as a slot.
    window_s = min(60.0 * block.power.ramp_window_min, cut.slot_s)
    change_kw = np.zeros(len(it_kw) - 1)
    for lag in range(1, len(it_kw)):
        near = cut.start_s[lag:] - cut.start_s[1 : len(it_kw) - lag + 1] < window_s
        if not near.any():
            break
        change = np.where(near, np.abs(it_kw[lag:] - it_kw[:-lag]), 0.0)
        change_kw[lag - 1 :] = np.maximum(change_kw[lag - 1 :], change)
    return worst(
        week,
        "ramp",
        f"block {block.name}",
        change_kw,
        step_kw,
        "kW",
        "changes its IT power by",
        over=Spans(cut.start_s[1:], cut.length_s[1:]),
    )


def _check_battery(week: Week, block: Block, seen: BlockReplay) -> list[Violation]:
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
    return found if block.battery is None else found + _check_state(week, name, block.battery, flows.battery_kwh)


def _check_state(week: Week, name: str, battery: Battery, state_kwh: npt.NDArray[np.float64]) -> list[Violation]:
    slot_s = 60.0 * week.grid.slot_minutes
    ends_s = np.arange(1.0, week.grid.n_slots + 1.0) * slot_s
    low, high, final = (
        share * battery.energy_kwh for share in (battery.min_share, battery.max_share, battery.final_share)
    )
    every = Spans(ends_s, np.full(len(ends_s), slot_s))
    last = Spans(ends_s[-1:], np.full(1, slot_s))
    return [
        *worst(week, "battery-state", name, state_kwh, low, "kWh", "holds", least=True, over=every),
        *worst(week, "battery-state", name, state_kwh, high, "kWh", "holds", over=every),
        *worst(week, "battery-final", name, state_kwh[-1:], final, "kWh", "ends with", least=True, over=last),
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
    pumps_kw = np.array(plan.heat_pump_kw) if plan.heat_pump_kw else 0.0
    used_kw = np.array(plan.it_kw) + np.array(plan.cooling_kw) + np.array(plan.charge_kw) + pumps_kw
    yield from differs(week, "balance", name, served_kw, used_kw, RELATIVE, "kW", "import + solar + discharge")
