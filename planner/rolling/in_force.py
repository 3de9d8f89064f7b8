"""The plan in force at an instant, and the plan that goes on from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from planner.errors import ConfigError
from planner.schedule import GeneratorSchedule
from planner.slots import places

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.schedule import BlockSchedule, RunSchedule, Schedule
    from planner.week import Week
    from power.events import ImportLimit

    Floats = npt.NDArray[np.float64]

Value = TypeVar("Value", np.float64, np.int64)


@dataclass(frozen=True)
class InForce:
    """A plan that runs, as a new plan of the same week sees it.

    Args:
        schedule: What was announced.
        slot: First slot that may still be planned; all before it has passed.
        frozen_slot: First slot in which starts, stops and pools may change: those before it are ordered already, and
            only power limits and what stands behind the meter follow what is newly known.
        change_cost_per_gpu_h: What it costs to turn a GPU-hour on or off against what was announced, money.
        limits: Import that was promised to grid events.
    """

    schedule: Schedule
    slot: int
    frozen_slot: int
    change_cost_per_gpu_h: float = 0.0
    limits: tuple[ImportLimit, ...] = ()

    def __post_init__(self) -> None:
        if self.slot < 0 or self.frozen_slot < self.slot:
            raise ConfigError(
                f"slots up to {self.frozen_slot} are frozen and the plan goes on from slot {self.slot}",
                why="slots count from 0, and what has passed is frozen too",
                fix="name an instant within the week and 0 or more hours",
            )
        if not self.change_cost_per_gpu_h >= 0.0:
            raise ConfigError(
                f"a change costs {self.change_cost_per_gpu_h:g} per GPU-hour; it must be 0 or more",
                why="a plan that is paid for changes never comes to rest",
            )


def changed_gpu_h(week: Week, before: Schedule, after: Schedule) -> float:
    """Return the GPU-hours that two plans of a week turn on, off or over to another place against each other.

    A place is a pool with a count of GPUs.

    Args:
        week: The week.
        before: What was announced.
        after: What is planned now.
    """
    total = 0.0
    for was, now in zip(before.runs, after.runs, strict=True):
        run = week.run(now.run)
        pairs = zip(places(run, was), places(run, now), strict=True)
        gpus = sum(place[1] for pair in pairs if pair[0] != pair[1] for place in pair if place is not None)
        total += gpus * week.grid.slot_h
    return total


def gone_on(before: Schedule, after: Schedule, slot: int) -> Schedule:
    """Return what was done up to a slot and is planned from it on.

    Args:
        before: The plan in force up to the slot.
        after: The plan from it on.
        slot: First slot of the new plan.
    """
    return replace(
        after,
        runs=tuple(_run(was, now, slot) for was, now in zip(before.runs, after.runs, strict=True)),
        blocks=tuple(_block(was, now, slot) for was, now in zip(before.blocks, after.blocks, strict=True)),
    )


def _run(was: RunSchedule, now: RunSchedule, slot: int) -> RunSchedule:
    limit_w = _joined(was.gpu_power_limit_w, now.gpu_power_limit_w, slot)
    on = np.flatnonzero(limit_w > 0.0)
    last_passed = not on.size or on[-1] < slot
    return replace(
        now,
        pool=now.pool if now.pool is not None else was.pool,
        gpu_power_limit_w=limit_w,
        ends=was.ends if last_passed else now.ends,
        late_s=_maybe(was.late_s, now.late_s, slot),
        early_s=_maybe(was.early_s, now.early_s, slot),
    )


def _block(was: BlockSchedule, now: BlockSchedule, slot: int) -> BlockSchedule:
    return replace(
        now,
        solar_used_kw=_joined(was.solar_used_kw, now.solar_used_kw, slot),
        charge_kw=_joined(was.charge_kw, now.charge_kw, slot),
        discharge_kw=_joined(was.discharge_kw, now.discharge_kw, slot),
        fill_kw_th=_maybe(was.fill_kw_th, now.fill_kw_th, slot),
        draw_kw_th=_maybe(was.draw_kw_th, now.draw_kw_th, slot),
        heat_sold_kw_th=_maybe(was.heat_sold_kw_th, now.heat_sold_kw_th, slot),
        wind_used_kw=_maybe(was.wind_used_kw, now.wind_used_kw, slot),
        export_kw=_maybe(was.export_kw, now.export_kw, slot),
        generators=_generators(was.generators, now.generators, slot),
    )


def _generators(
    was: Sequence[GeneratorSchedule], now: Sequence[GeneratorSchedule], slot: int
) -> tuple[GeneratorSchedule, ...]:
    return tuple(
        GeneratorSchedule(b.generator, _joined(a.units_on, b.units_on, slot), _joined(a.power_kw, b.power_kw, slot))
        for a, b in zip(was, now, strict=True)
    )


def _maybe(was: Floats | None, now: Floats | None, slot: int) -> Floats | None:
    """Return both joined, where None stands for zeros; None where both are."""
    if was is None and now is None:
        return None
    some = was if was is not None else now
    assert some is not None
    none = np.zeros_like(some)
    return _joined(none if was is None else was, none if now is None else now, slot)


def _joined(was: npt.NDArray[Value], now: npt.NDArray[Value], slot: int) -> npt.NDArray[Value]:
    joined = np.concatenate([was[:slot], now[slot:]])
    joined.setflags(write=False)
    return joined
