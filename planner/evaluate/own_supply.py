"""What a block makes and gives back itself, replayed: wind, generators, export; and their promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import ABSOLUTE_KW, worst
from planner.evaluate.record import Violation
from planner.timegrid import iso
from power.generation import generation_cost, generation_kg, unit_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from planner.evaluate.replay import BlockReplay
    from planner.week import Block, Week
    from power.generation import Generator
    from trainer_hooks.calendar import BlockPlan

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Own:
    """What a calendar decides about a block's own supply, slot means, shape (T,).

    Args:
        wind_kw: Wind power used, kW.
        export_kw: Export, kW.
        generation_kw: Power of all generators, kW.
        generation_kg: Their carbon, kgCO2e.
        groups: Units that run and power in kW of every group of the block; zeros of one that the calendar leaves out.
    """

    wind_kw: Floats
    export_kw: Floats
    generation_kw: Floats
    generation_kg: Floats
    groups: tuple[tuple[npt.NDArray[np.int64], Floats], ...]


def own_supply(week: Week, block: Block, plan: BlockPlan) -> Own:
    """Return what a calendar decides about a block's own supply."""
    still = np.zeros(week.grid.n_slots)
    given = {group.generator: group for group in plan.generators}
    groups: list[tuple[npt.NDArray[np.int64], Floats]] = []
    for generator in block.generators:
        found = given.get(generator.name)
        if found is None:
            groups.append((still.astype(np.int64), still))
        else:
            groups.append((np.array(found.units_on, dtype=np.int64), np.array(found.generation_kw)))
    made_kg = [
        generation_kg(generator, kw, week.grid.slot_h)
        for generator, (_, kw) in zip(block.generators, groups, strict=True)
    ]
    return Own(
        wind_kw=np.array(plan.wind_kw) if plan.wind_kw else still,
        export_kw=np.array(plan.export_kw) if plan.export_kw else still,
        generation_kw=sum((kw for _, kw in groups), still),
        generation_kg=sum(made_kg, still),
        groups=tuple(groups),
    )


def generation_money(week: Week, block: Block, own: Own) -> float:
    """Return what a block's generators cost, money."""
    return sum(
        generation_cost(generator, units, kw, week.grid.slot_h)
        for generator, (units, kw) in zip(block.generators, own.groups, strict=True)
    )


def check_own(week: Week, block: Block, plan: BlockPlan, seen: BlockReplay) -> Iterator[Violation]:
    """Yield which promises of a block's own supply are broken.

    Args:
        week: All inputs.
        block: The block.
        plan: What the calendar says about it.
        seen: Its replay.
    """
    name, own, export_kw = f"block {block.name}", seen.own, seen.result.export_kw
    yield from worst(week, "wind", name, seen.result.wind_kw, seen.wind_offer_kw, "kW", "uses of its wind")
    yield from worst(week, "wind", name, seen.result.wind_kw, 0.0, "kW", "uses of its wind", least=True)
    most_kw = np.minimum(week.capacity_kw(block), 0.0 if block.export is None else block.export.limit_kw)
    yield from worst(week, "export-limit", name, export_kw, most_kw, "kW", "exports")
    yield from worst(week, "export-limit", name, export_kw, 0.0, "kW", "exports", least=True)
    both_kw = np.minimum(seen.result.import_kw, export_kw)
    yield from worst(week, "export-both", name, both_kw, 0.0, "kW", "imports and exports at once at")
    known = {generator.name for generator in block.generators}
    for stray in sorted({group.generator for group in plan.generators} - known):
        sentence = f"{name} has no generator {stray}"
        yield Violation("generator-unknown", f"{name} {stray}", None, stray, "the block's names", "", sentence)
    for generator, (units, kw) in zip(block.generators, own.groups, strict=True):
        yield from _check_generator(week, f"{name} {generator.name}", generator, units, kw)


def _check_generator(
    week: Week, name: str, generator: Generator, units: npt.NDArray[np.int64], kw: Floats
) -> Iterator[Violation]:
    grid = week.grid
    running = units.astype(np.float64)
    available = generator.units_available(grid.starts, grid.slot).astype(np.float64)
    yield from worst(week, "units", name, running, available, "units", "runs")
    yield from worst(week, "generation", name, kw, running * generator.unit_kw, "kW", "gives")
    yield from worst(week, "generation", name, kw, running * generator.min_kw, "kW", "gives", least=True)
    starts = unit_starts(generator, units)
    stops = starts - np.diff(units, prepend=generator.initial_units)
    yield from _check_spells(week, name, "min-up", "starts", generator.min_up_h, starts, units)
    yield from _check_spells(week, name, "min-down", "stops", generator.min_down_h, stops, generator.units - units)
    if generator.initial_h is not None:
        up, down = (
            max(0.0, hours - generator.initial_h) / grid.slot_h for hours in (generator.min_up_h, generator.min_down_h)
        )
        still = np.arange(grid.n_slots)
        held = np.where(still < up - 1e-9, np.minimum(generator.initial_units, available), 0.0)
        yield from worst(week, "min-up", name, running, held, "units", "still runs", least=True)
        rested = np.where(still < down - 1e-9, generator.initial_units, generator.units)
        yield from worst(week, "min-down", name, running, rested, "units", "runs already")
    if generator.max_unit_h is not None:
        hours = float(units.sum()) * grid.slot_h
        if hours > generator.max_unit_h + ABSOLUTE_KW:
            sentence = f"{name} runs {hours:g} h of all units, more than the {generator.max_unit_h:g} h permitted"
            yield Violation("permit", name, None, hours, generator.max_unit_h, "h", sentence)


def _check_spells(
    week: Week,
    name: str,
    kind: str,
    moves: str,
    shortest_h: float,
    moved: npt.NDArray[np.int64],
    settled: npt.NDArray[np.int64],
) -> Iterator[Violation]:
    """Yield where more units moved within the shortest time than have stayed where they moved to."""
    slots = int(np.ceil(shortest_h / week.grid.slot_h - 1e-9))
    total = np.concatenate(([0], np.cumsum(moved)))
    ends = np.arange(1, len(moved) + 1)
    recent = total[ends] - total[np.maximum(0, ends - max(1, slots))]
    short = np.flatnonzero(recent > settled)
    if len(short):
        at = week.grid.starts[int(short[0])]
        sentence = (
            f"{name} {moves} {int(recent[short[0]])} units in the {shortest_h:g} h up to the slot of {iso(at)}, but "
            f"only {int(settled[short[0]])} stay so for that time"
        )
        yield Violation(kind, name, at, int(recent[short[0]]), int(settled[short[0]]), "units", sentence)
