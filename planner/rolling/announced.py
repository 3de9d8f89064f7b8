"""The decisions that a published calendar announces, as the planner has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import ConfigError
from planner.moves import Stay
from planner.schedule import BlockSchedule, GeneratorSchedule, RunSchedule, Schedule
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.week import Week
    from trainer_hooks.contract import BlockPlan, Calendar, RunCalendar, Window

    Floats = npt.NDArray[np.float64]

SAME = 1e-6
"""Share of a slot by which instants may differ and count as one: they are published to the second and finer."""


def announced(week: Week, header: Calendar, runs: Sequence[RunCalendar], slot: int) -> Schedule:
    """Return the decisions that a calendar announces.

    An answer to an event holds gangs and steps within slots, which no plan does. Where that is still to come it counts
    as running, because it is planned anew; where it has passed, no plan can go on from it.

    Args:
        week: The week that it was made from.
        header: Its header.
        runs: The windows of every run.
        slot: First slot that has not passed.

    Raises:
        ConfigError: The week has not the calendar's runs and blocks, or a window that has passed is none that a plan
            makes.
    """
    given, plans = {run.run: run for run in runs}, {plan.block: plan for plan in header.blocks}
    names = {run.name for run in week.runs}
    if names != set(given) or {block.name for block in week.blocks} != set(plans):
        strange = ", ".join(
            repr(name) for name in sorted(names ^ set(given) | ({b.name for b in week.blocks} ^ set(plans)))
        )
        raise ConfigError(
            f"calendar {header.calendar_id} and its site file have not the same runs and blocks: {strange}",
            fix="name the site file as it was when the calendar was made, or plan the coming week anew",
        )
    return Schedule(
        runs=tuple(_run(week, given[run.name], slot) for run in week.runs),
        blocks=tuple(_block(plans[block.name]) for block in week.blocks),
        bought_share=tuple((contract.contract, contract.bought_share) for contract in header.contracts),
    )


def _run(week: Week, given: RunCalendar, slot: int) -> RunSchedule:
    grid, slot_s = week.grid, 60.0 * week.grid.slot_minutes
    limit_w, late_s, early_s = np.zeros(grid.n_slots), np.zeros(grid.n_slots), np.zeros(grid.n_slots)
    stays: list[Stay] = []
    in_use = [window for window in given.windows if window.state != "off"]
    for window in in_use:
        start, end = grid.position(window.start), grid.position(window.end)
        first, after = int(np.floor(start + SAME)), int(np.ceil(end - SAME))
        if first < slot and (window.gpu_power_limit_w is None or (limit_w[first:after] > 0.0).any()):
            raise _unfit(given, window)
        limit_w[first:after] = window.gpu_power_limit_w or _any_limit_w(week, given.run)
        late_s[first] = slot_s * max(0.0, start - first)
        early_s[after - 1] = slot_s * max(0.0, after - end)
        if stays and (stays[-1].after, stays[-1].pool, stays[-1].gpus) == (first, window.pool, window.gpus):
            stays[-1] = replace(stays[-1], after=after)
        elif window.pool is not None:
            stays.append(Stay(first, after, window.pool, window.gpus))
    passed = np.arange(grid.n_slots) < slot
    goes_on = np.append(limit_w[:-1] > 0.0, False) & np.append(limit_w[1:] > 0.0, False)
    steps = goes_on & ((early_s > SAME * slot_s) | (np.append(late_s[1:], 0.0) > SAME * slot_s))
    if (steps & passed).any():
        raise _unfit(given, in_use[0])
    late_s[~passed], early_s[~passed] = 0.0, 0.0
    return RunSchedule(
        run=given.run,
        pool=in_use[0].pool if in_use else None,
        gpu_power_limit_w=limit_w,
        why=in_use[0].why if in_use else "",
        late_s=late_s if late_s.any() else None,
        early_s=early_s if early_s.any() else None,
        stays=tuple(stays) if week.run(given.run).moves else (),
    )


def _any_limit_w(week: Week, run: str) -> float:
    return max(point.gpu_power_limit_w for option in week.run(run).options for point in option.points)


def _unfit(given: RunCalendar, window: Window) -> ConfigError:
    return ConfigError(
        f"run {given.run!r} holds, starts, stops or changes its power within a slot from {iso(window.start)} on",
        why="no plan does: this calendar answers an event, or was made elsewhere, and a plan goes on from plans alone",
        fix="leave this calendar in force until the week is over",
    )


def _block(plan: BlockPlan) -> BlockSchedule:
    return BlockSchedule(
        block=plan.block,
        solar_used_kw=np.array(plan.solar_kw),
        charge_kw=np.array(plan.charge_kw),
        discharge_kw=np.array(plan.discharge_kw),
        fill_kw_th=_given(plan.fill_kw_th),
        draw_kw_th=_given(plan.draw_kw_th),
        heat_sold_kw_th=_given(plan.heat_sold_kw_th),
        wind_used_kw=_given(plan.wind_kw),
        export_kw=_given(plan.export_kw),
        generators=tuple(
            GeneratorSchedule(group.generator, np.array(group.units_on), np.array(group.generation_kw))
            for group in plan.generators
        ),
    )


def _given(values: Sequence[float]) -> Floats | None:
    return np.array(values) if len(values) else None
