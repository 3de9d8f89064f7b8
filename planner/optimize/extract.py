"""From column values to the schedule that people and machines read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import LAST
from planner.moves import Stay
from planner.schedule import BlockSchedule, CoolingFit, GeneratorSchedule, RunSchedule, Schedule
from planner.slots import spells

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.model import Program
    from planner.optimize.places import BlockPlaces, OptionPlaces, Places
    from planner.week import Block

LIMIT_STEPS_PER_W = 1000.0  # NVML takes milliwatts
BELOW_A_STEP = 1e-4  # of a step: a solver's noise above a measured point is no reason to leave it
SHARE_DIGITS = 6
THREE_DIGITS = 100.0


def schedule(program: Program, places: Places, x: npt.NDArray[np.float64], why: tuple[str, ...]) -> Schedule:
    """Return the schedule that column values stand for.

    Args:
        program: The program.
        places: Where its columns stand.
        x: Column values, shape (N,).
        why: One line per run.
    """
    runs = tuple(
        _run(run.name, gang, x, program.week.grid.n_slots, line)
        for run, gang, line in zip(program.week.runs, places.gangs, why, strict=True)
    )
    blocks = tuple(
        _block(block, place, x, program.power_kw)
        for block, place in zip(program.week.blocks, places.blocks, strict=True)
    )
    bought = tuple((name, max(0.0, round(float(x[place]), SHARE_DIGITS))) for name, place in places.bought.items())
    return Schedule(runs, blocks, bought)


def options_used(gang: tuple[OptionPlaces, ...], x: npt.NDArray[np.float64]) -> tuple[OptionPlaces, ...]:
    """Return the options that a run uses, the first one first; several only where it may move."""
    used = [o for o in gang if (x[o.on[o.on >= 0]] > 0.5).any()]
    return tuple(sorted(used, key=lambda o: int(o.slots[x[o.on_of_row] > 0.5][0])))


def on_slots(option: OptionPlaces, x: npt.NDArray[np.float64], n_slots: int) -> npt.NDArray[np.bool_]:
    """Return in which slots a run is on, shape (T,)."""
    on = np.zeros(n_slots, dtype=bool)
    on[option.slots] = x[option.on_of_row] > 0.5
    return on


def _run(name: str, gang: tuple[OptionPlaces, ...], x: npt.NDArray[np.float64], n_slots: int, why: str) -> RunSchedule:
    limit, used = np.zeros(n_slots), options_used(gang, x)
    for option in used:
        on = on_slots(option, x, n_slots)[option.slots]
        throughput = option.shares(x) @ option.throughput
        asked = np.interp(throughput, option.throughput, option.limit_w)
        # rounded up: a promise of tokens must not be lost to the last milliwatt
        stepped = np.ceil(asked * LIMIT_STEPS_PER_W - BELOW_A_STEP) / LIMIT_STEPS_PER_W
        limit[option.slots[on]] = np.clip(stepped, option.limit_w[0], option.limit_w[-1])[on]
    limit.setflags(write=False)
    stays = stays_of(used, x, n_slots) if any(option.moves for option in used) else ()
    return RunSchedule(name, used[0].pool if used else None, limit, why=why, stays=stays)


def stays_of(used: tuple[OptionPlaces, ...], x: npt.NDArray[np.float64], n_slots: int) -> tuple[Stay, ...]:
    """Return the unbroken stretches in which a run is on in one of the options that it uses, in order."""
    found = [
        Stay(first, after, option.pool, option.gpus)
        for option in used
        for first, after in spells(on_slots(option, x, n_slots))
    ]
    return tuple(sorted(found, key=lambda stay: stay.first))


def _block(block: Block, place: BlockPlaces, x: npt.NDArray[np.float64], power_kw: float) -> BlockSchedule:
    n_slots = len(place.it)
    solar, charge, discharge = (_kw(c, x, power_kw, n_slots) for c in (place.solar, place.charge, place.discharge))
    # where the sun gives more than is needed, cooling above its curve costs nothing in the program
    spare = np.maximum(x[place.cooling] - place.needed(x), 0.0) * power_kw
    own, cold = place.own, place.cold
    made = sum((_kw(columns, x, power_kw, n_slots) for columns in (own.wind, *(g for g, _ in own.generators))), solar)
    # a battery that the grid may not charge keeps what charges it
    asked = charge - (made - solar) if block.battery is not None and not block.battery.grid_charging else 0.0 * solar
    solar = np.maximum(solar - spare, np.clip(asked, 0.0, solar))
    heat: dict[str, npt.NDArray[np.float64]] = {}
    if cold is not None:
        filled, drawn = (_kw(c, x, power_kw, n_slots) for c in (cold.filled, cold.drawn))
        heat["fill_kw_th"] = np.maximum(filled - drawn, 0.0)
        heat["draw_kw_th"] = np.maximum(drawn - filled, 0.0)
        heat["heat_sold_kw_th"] = _kw(cold.sold, x, power_kw, n_slots)
    for kw in (solar, charge, discharge, *heat.values()):
        kw.setflags(write=False)
    generators: list[GeneratorSchedule] = []
    for group, (power, on) in zip(block.generators, own.generators, strict=True):
        units = np.round(x[on]).astype(np.int64)
        generators.append(GeneratorSchedule(group.name, units, _kw(power, x, power_kw, n_slots)))
    return BlockSchedule(
        block.name,
        solar,
        charge,
        discharge,
        **heat,
        wind_used_kw=None if block.wind is None else _kw(own.wind, x, power_kw, n_slots),
        export_kw=None if block.export is None else _kw(own.export, x, power_kw, n_slots),
        generators=tuple(generators),
    )


def cooling_fits(program: Program, places: Places, x: npt.NDArray[np.float64]) -> tuple[CoolingFit, ...]:
    """Return, per block, how well the program's cooling curves follow its plant; arguments as for `schedule`."""
    slot_h, found = program.week.grid.slot_h, []
    for block, place in zip(program.blocks, places.blocks, strict=True):
        curves = block.limits.curves
        rough_h, binary_h = (float(np.count_nonzero(slots)) * slot_h for slots in (curves.rough, curves.chosen))
        fit = CoolingFit(
            block=block.limits.block.name,
            energy_kwh=float(place.needed(x).sum()) * program.power_kw * slot_h,
            rough_h=rough_h,
            binary_h=binary_h,
            one_piece_h=rough_h - binary_h,
            hull_gap_kw=float(curves.hull_gap_kw.max()),
            piece_gap_kw=float(curves.piece_gap_kw.max()),
            fit_error_kw=float(curves.fit_error_kw.max()),
            sentence="",
        )
        found.append(replace(fit, sentence=_told(fit)) if rough_h else fit)
    return tuple(found)


def _told(fit: CoolingFit) -> str:
    one_piece = f"; in {fit.one_piece_h:g} h all IT power lies on one piece" if fit.one_piece_h else ""
    return (
        f"The cooling curve of block {fit.block!r} is not convex in {fit.rough_h:g} h (up to "
        f"{_figure(fit.hull_gap_kw)} kW off its convex hull): a binary chooses between two pieces of it in "
        f"{fit.binary_h:g} h{one_piece}; the plan counts at most {_figure(fit.fit_error_kw)} kW too much, never too "
        "little."
    )


def _figure(kw: float) -> str:
    """Return a power for people, of a laboratory as of a gigawatt."""
    return f"{kw:,.0f}" if kw >= THREE_DIGITS else f"{kw:.3g}"


def _kw(
    columns: npt.NDArray[np.int64] | None, x: npt.NDArray[np.float64], power_kw: float, n_slots: int
) -> npt.NDArray[np.float64]:
    kw = np.zeros(n_slots) if columns is None else x[columns] * power_kw
    kw[kw < LAST] = 0.0
    return kw
