"""From decisions to the published calendar: exact physics per slot, windows of merged equal slots.

The program plans with straight lines; here every figure is made from the physics itself: watts and tokens from the
operating points, cooling from the plant with its tank and heat pumps. Where the exact cooling needs less than the
program assumed, the import shrinks; where it would become negative, less solar is used, and after that less is
discharged.

A slot's site carbon (import times intensity and what generators emit, summed over blocks) is allotted to runs by their
share of the site's IT energy in that slot, so that cooling is shared likewise. The share of GPUs without a job stays
with the site.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.agreements import ppa_plans
from planner.calendar_id import content_id
from planner.carbon_budget import budget_plan
from planner.cold_flows import cold_flows, requested_c, state_at
from planner.decimals import published
from planner.dispatch import BlockFlows, Offers, dispatch
from planner.errors import ExportError
from planner.precedence import waits
from planner.site_carbon import (
    brought_kg,
    brought_sentences,
    gang_kg_per_kwh,
    moved_kg,
    moved_sentences,
    site_carbon_kg,
    site_kg_per_kwh,
)
from planner.slots import RunSlots, block_it_kw, run_slots, slot_parts
from planner.takes import best_takes, bought_shares, offer_sentences
from trainer_hooks.calendar import (
    BlockPlan,
    Calendar,
    CalendarError,
    ContractPlan,
    GeneratorPlan,
    RunCalendar,
    Window,
    write_calendar,
)
from trainer_hooks.calendar import Shortfall as PublishedShortfall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import numpy.typing as npt

    from planner.schedule import RunSchedule, Schedule, Shortfall
    from planner.week import Block, Week

_PACKAGES = ("gridpace", "highspy", "numpy", "pulp")
_UNNAMED = "0"


def to_calendar(
    week: Week,
    schedule: Schedule,
    *,
    status: str,
    certified_gap: float | None,
    shortfalls: Sequence[Shortfall] = (),
    options: Mapping[str, str | float] | None = None,
    notes: Sequence[str] = (),
) -> tuple[Calendar, list[RunCalendar]]:
    """Return the calendar of a schedule, the same for the same inputs.

    Args:
        week: All inputs.
        schedule: The decisions for every run and block of the week.
        status: How the solve ended.
        certified_gap: Proven relative distance from the best plan, or None if nothing was proven.
        shortfalls: Promises that the schedule does not keep.
        options: What else decides about the plan, such as the gap target; name -> value.
        notes: Sentences that every output must show beside the week's own.

    Returns:
        The header and the windows of every run in the week's order; all carry the content's own id.
    """
    grid = week.grid
    decided = {r.run: r for r in schedule.runs}
    slots = [run_slots(week, decided[run.name]) for run in week.runs]
    flows = _flows(week, schedule, slots)
    site_kg = site_carbon_kg(week, flows)
    kg_per_kwh = site_kg_per_kwh(week, flows, site_kg)
    planned_kg = float(np.sum(list(site_kg.values()))) + brought_kg(week, schedule) + moved_kg(week, schedule)
    contracts = _contract_plans(week, schedule, flows)
    taken_kw = np.sum([plan.take_kw for plan in contracts], axis=0)
    header = Calendar(
        calendar_id=_UNNAMED,
        issued_at=week.issued_at,
        valid_from=grid.start,
        valid_until=grid.end,
        site=week.site,
        timezone=week.timezone,
        slot_minutes=grid.slot_minutes,
        n_slots=grid.n_slots,
        inputs=_inputs(week, options or {}),
        status=status,
        certified_gap=None if certified_gap is None else round(certified_gap, 6),
        shortfalls=tuple(
            PublishedShortfall(
                s.run, s.stage, s.deadline, round(s.tokens_short, 6), round(s.hours_short, 6), s.sentence
            )
            for s in shortfalls
        ),
        blocks=tuple(_block_plan(block, f, week) for block, f in zip(week.blocks, flows, strict=True)),
        notes=(*week.labels, *notes, *brought_sentences(week, schedule), *moved_sentences(week, schedule)),
        contracts=contracts,
        ppas=ppa_plans(week, np.sum([f.import_kw for f in flows], axis=0), taken_kw),
        carbon_budget=budget_plan(week, planned_kg, proven=status == "optimal"),
    )
    runs = [
        RunCalendar(
            calendar_id=_UNNAMED,
            issued_at=header.issued_at,
            valid_from=header.valid_from,
            valid_until=header.valid_until,
            site=header.site,
            run=run.run.name,
            windows=_windows(
                week,
                run,
                decided[run.run.name],
                gang_kg_per_kwh(week, run.stays, kg_per_kwh),
            ),
        )
        for run in slots
    ]
    name = content_id(header, runs)
    return replace(header, calendar_id=name), [replace(run, calendar_id=name) for run in runs]


def publish(folder: Path, calendar: Calendar, runs: Sequence[RunCalendar], *, in_force: bool = True) -> Path:
    """Put a calendar in place, whole or not at all, and make it the one in force.

    Args:
        folder: Folder that holds the published calendars; made if absent.
        calendar: The header as `to_calendar` returns it.
        runs: The windows of every run.
        in_force: False leaves the calendar in force before where it is.

    Returns:
        The calendar's own folder.

    Raises:
        ExportError: The disk refused; nothing half-written remains and the calendar in force is unchanged.
    """
    try:
        return write_calendar(folder, calendar, runs, in_force=in_force)
    except CalendarError as exc:
        raise ExportError(f"the calendar {calendar.calendar_id} could not be published in {folder}", str(exc)) from exc


def _inputs(week: Week, options: Mapping[str, str | float]) -> dict[str, dict[str, str]]:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {
        "week": {"sha256": week.sha256},
        "options": {name: str(value) for name, value in options.items()},
        "versions": {"python": python} | {package: version(package) for package in _PACKAGES},
        **{f"signal {p.signal}": {"sha256": p.sha256, "source": p.source} for p in week.provenance},
        **{
            f"signal {p.signal} of {other.name}": {"sha256": p.sha256, "source": p.source}
            for other in week.others
            for p in other.provenance
        },
    }


def _flows(week: Week, schedule: Schedule, runs: list[RunSlots]) -> list[BlockFlows]:
    parts = slot_parts(week.grid.n_slots, runs)
    decided = {b.block: b for b in schedule.blocks}
    first = np.searchsorted(parts.slot, np.arange(week.grid.n_slots))
    flows = []
    for block in week.blocks:
        here = week.here(block)
        it_kw = block_it_kw(week, block, runs, parts)
        powered = week.plant_powered(block)[parts.slot]
        ends_kw = (np.minimum.reduceat(it_kw, first), np.maximum.reduceat(it_kw, first))
        cold = cold_flows(here, block, decided[block.name], *ends_kw, within_import=True)
        state = state_at(here, block, it_kw, cold.heat_sold_kw_th, cold.tank_kw, parts.slot)
        flows.append(
            dispatch(
                parts.mean(it_kw),
                parts.mean(np.where(powered, state.cooling_kw, 0.0)),
                decided[block.name],
                Offers(week.solar_kw(block), week.wind_kw(block)),
                block,
                week.grid.slot_h,
                most_import_kw=week.import_limit_kw(block),
                cold=cold,
                heat_pump_kw=parts.mean(state.heat_pump_kw),
            )
        )
    return flows


def _block_plan(block: Block, flows: BlockFlows, week: Week) -> BlockPlan:
    plan = BlockPlan(
        block=block.name,
        it_kw=published(flows.it_kw),
        cooling_kw=published(flows.cooling_kw),
        facility_kw=published(flows.it_kw + flows.cooling_kw + flows.heat_pump_kw),
        import_kw=published(flows.import_kw),
        solar_kw=published(flows.solar_kw),
        charge_kw=published(flows.charge_kw),
        discharge_kw=published(flows.discharge_kw),
        battery_kwh=published(flows.battery_kwh),
        supply_setpoint_c=published(requested_c(week.here(block), block)),
        wind_kw=() if block.wind is None else published(flows.wind_kw),
        export_kw=() if block.export is None else published(flows.export_kw),
        generators=tuple(
            GeneratorPlan(group.name, tuple(int(units) for units in on), published(kw))
            for group, on, kw in zip(block.generators, flows.groups_on, flows.groups_kw, strict=True)
        ),
    )
    if block.has_tank:
        cold, fill, draw = (
            published(v) for v in (flows.cold.cold_kwh_th, flows.cold.fill_kw_th, flows.cold.draw_kw_th)
        )
        plan = replace(plan, cold_kwh_th=cold, fill_kw_th=fill, draw_kw_th=draw)
    if block.heat is not None:
        sold_kw = published(flows.cold.heat_sold_kw_th)
        plan = replace(plan, heat_sold_kw_th=sold_kw, heat_pump_kw=published(flows.heat_pump_kw))
    return plan


def _contract_plans(week: Week, schedule: Schedule, flows: Sequence[BlockFlows]) -> tuple[ContractPlan, ...]:
    """Return what is taken of the energy contracts for the exact import, and why offers are bought or not."""
    if not week.contracts:
        return ()
    import_kw = np.sum([f.import_kw for f in flows], axis=0)
    bought = bought_shares(week, dict(schedule.bought_share))
    why = offer_sentences(week, import_kw, bought)
    takes = best_takes(week, import_kw, bought)
    return tuple(
        ContractPlan(contract.name, bought[contract.name], published(take_kw), why.get(contract.name, ""))
        for contract, take_kw in zip(week.contracts, takes.take_kw, strict=True)
    )


def _windows(
    week: Week, slots: RunSlots, decided: RunSchedule, kg_per_kwh: npt.NDArray[np.float64]
) -> tuple[Window, ...]:
    grid = week.grid
    changes = {int(t) + 1 for t in np.flatnonzero(np.diff(slots.gpu_power_limit_w))}
    changes |= {edge for stay in slots.stays for edge in (stay.first, stay.after)}
    spans = list(pairwise(sorted({0, *changes, grid.n_slots})))
    stay_at = {t: stay for stay in slots.stays for t in range(stay.first, stay.after)}
    windows: list[Window] = []
    last_on = max((b for a, b in spans if slots.gpu_power_limit_w[a] > 0.0), default=0)
    stages = " and ".join(map(str, waits(week, slots.run)))
    not_started = f"waits for {stages}" if stages else "not started yet"
    for first, after in spans:
        begin, end = grid.start + first * grid.slot, grid.start + after * grid.slot
        if slots.gpu_power_limit_w[first] == 0.0:
            why = not_started if not windows else "paused" if after < last_on else "nothing more to do"
            until = end + _seconds(decided.late_s, after) if after < grid.n_slots else end
            windows.append(_off(windows[-1].end if windows else begin, until, why))
            continue
        let_go = decided.ends if decided.ends is not None and after == last_on else end
        let_go -= _seconds(decided.early_s, after - 1)
        stay = stay_at[first]
        pauses = after < grid.n_slots and after == stay.after
        energy_kwh = slots.energy_kwh[first:after]
        windows.append(
            Window(
                start=begin + _seconds(decided.late_s, first),
                end=let_go,
                state="run",
                pool=stay.pool,
                block=week.pool(stay.pool).place,
                gpus=stay.gpus,
                gpu_power_limit_w=float(slots.gpu_power_limit_w[first]),
                checkpoint="after" if pauses or let_go < end else "none",
                tokens=round(float(slots.tokens[first:after].sum()), 6),
                energy_kwh=round(float(energy_kwh.sum()), 6),
                kgco2e=round(float((energy_kwh * kg_per_kwh[first:after]).sum()), 6),
                why=decided.why,
            )
        )
    if windows[-1].end < grid.end:
        windows.append(_off(windows[-1].end, grid.end, "nothing more to do"))
    return tuple(windows)


def _seconds(moves_s: npt.NDArray[np.float64] | None, slot: int) -> timedelta:
    return timedelta(seconds=0.0 if moves_s is None else float(moves_s[slot]))


def _off(start: datetime, end: datetime, why: str) -> Window:
    return Window(
        start=start,
        end=end,
        state="off",
        pool=None,
        block=None,
        gpus=0,
        gpu_power_limit_w=None,
        checkpoint="none",
        tokens=0.0,
        energy_kwh=0.0,
        kgco2e=0.0,
        why=why,
    )
