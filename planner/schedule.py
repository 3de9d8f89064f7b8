"""What a planner decides: when each gang runs, in which pool, how hard; and the power that follows.

`optimize` and `baseline` make schedules, `publish` turns them into the published calendar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    import numpy.typing as npt

    from planner.moves import Stay


@dataclass(frozen=True)
class RunSchedule:
    """One run's slots.

    Args:
        run: Name of the run.
        pool: Pool it uses in the horizon, the first where it moves, or None if it does not run.
        gpu_power_limit_w: Limit per slot, W; 0 where the run is off, shape (T,).
        ends: Instant inside the last on-slot at which the work is complete and the gang let go, UTC; None for the
            slot's end.
        why: One line for people: why the run stands where it does.
        late_s: Seconds after its start at which a slot's running begins, where a spell starts with it, shape (T,); None
            for none anywhere.
        early_s: Seconds before its end at which a slot's running stops, where a spell ends with it, likewise.
        stays: Where and with how many GPUs a run that may move is on, in order, `pool` first; none for one that keeps
            its pool and its own count.
    """

    run: str
    pool: str | None
    gpu_power_limit_w: npt.NDArray[np.float64]
    ends: datetime | None = None
    why: str = ""
    late_s: npt.NDArray[np.float64] | None = None
    early_s: npt.NDArray[np.float64] | None = None
    stays: tuple[Stay, ...] = ()


@dataclass(frozen=True)
class GeneratorSchedule:
    """One group's decisions.

    Args:
        generator: Name of the group.
        units_on: Units that run in each slot, shape (T,).
        power_kw: Power of the group, slot mean, kW, shape (T,).
    """

    generator: str
    units_on: npt.NDArray[np.int64]
    power_kw: npt.NDArray[np.float64]


@dataclass(frozen=True)
class BlockSchedule:
    """One block's energy decisions, slot averages in kW, shape (T,).

    Args:
        block: Name of the block.
        solar_used_kw: Solar power used, at most what is on offer; the rest is curtailed.
        charge_kw: Battery charging, AC.
        discharge_kw: Battery discharging, AC.
        fill_kw_th: Heat rejected to fill the tank with cold; None stands for none.
        draw_kw_th: Heat of the racks that goes into the tank; None stands for none.
        heat_sold_kw_th: Heat sold; None stands for none.
        wind_used_kw: Wind power used, at most what is on offer, or None without any.
        export_kw: Export to the grid, or None without any.
        generators: Decisions for each group of generators, in the block's order.
    """

    block: str
    solar_used_kw: npt.NDArray[np.float64]
    charge_kw: npt.NDArray[np.float64]
    discharge_kw: npt.NDArray[np.float64]
    fill_kw_th: npt.NDArray[np.float64] | None = None
    draw_kw_th: npt.NDArray[np.float64] | None = None
    heat_sold_kw_th: npt.NDArray[np.float64] | None = None
    wind_used_kw: npt.NDArray[np.float64] | None = None
    export_kw: npt.NDArray[np.float64] | None = None
    generators: tuple[GeneratorSchedule, ...] = ()


@dataclass(frozen=True)
class Shortfall:
    """A promise that the plan does not keep.

    Args:
        run: Name of the run.
        stage: Name of its stage.
        deadline: When the tokens were due, UTC.
        tokens_short: Tokens missing then.
        hours_short: The same in hours of the whole gang at full speed.
        made_up_at: Instant at which the plan has made the missing tokens up, UTC, or None if not in this horizon.
        sentence: For people, with the cause where it is known.
    """

    run: str
    stage: str
    deadline: datetime
    tokens_short: float
    hours_short: float
    made_up_at: datetime | None
    sentence: str


@dataclass(frozen=True)
class CoolingFit:
    """How well the program's cooling curves of one block follow its plant.

    Args:
        block: Name of the block.
        energy_kwh: Cooling energy by the program's curves.
        rough_h: Hours in which the plant's curve is not convex to within 0.25 % of its rated IT power.
        binary_h: Hours of these in which a binary chooses between two pieces of the curve.
        one_piece_h: Hours of these in which the IT power that the block can take lies on one piece: no choice is left.
        hull_gap_kw: Largest distance between the plant's curve and its convex hull.
        piece_gap_kw: The same within the pieces that the program uses.
        fit_error_kw: Largest distance between the plant's curve and the program's; the program never takes less.
        sentence: For people, where the plant's curve is not convex; else "".
    """

    block: str
    energy_kwh: float
    rough_h: float
    binary_h: float
    one_piece_h: float
    hull_gap_kw: float
    piece_gap_kw: float
    fit_error_kw: float
    sentence: str


@dataclass(frozen=True)
class Schedule:
    """The decisions for all runs and blocks of a week.

    Args:
        runs: Decisions for each run.
        blocks: Decisions for each block.
        bought_share: (offer of an energy contract, share of it that is bought); offers not named are not bought.
    """

    runs: tuple[RunSchedule, ...]
    blocks: tuple[BlockSchedule, ...]
    bought_share: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Plan:
    """A schedule with what is known about its quality.

    Args:
        schedule: The decisions.
        status: "optimal" (gap target reached), "time-limit" (a plan, but the gap target was not reached).
        objective: Value of the program's objective, money.
        bound: No plan of the program can cost less, money.
        mip_gap: (objective - bound) / |objective|, 0 where both are equal.
        terms: Name -> money, as `planner.optimize.model` names them; below zero where they earn. They add up to the
            objective.
        shortfalls: Promises not kept.
        build_s: Seconds to build the program.
        solve_s: Seconds to solve it.
        size: Name -> count: columns, rows, binaries, cuts.
        cooling: How well the program follows each block's cooling.
        measures: (measure, what the plan comes to in it by the program), as `planner.objective` names them; none where
            the plan was made by classes of like runs.
    """

    schedule: Schedule
    status: str
    objective: float
    bound: float
    mip_gap: float
    terms: tuple[tuple[str, float], ...]
    shortfalls: tuple[Shortfall, ...]
    build_s: float
    solve_s: float
    size: tuple[tuple[str, int], ...]
    cooling: tuple[CoolingFit, ...] = ()
    measures: tuple[tuple[str, float], ...] = ()
