"""The answer to an event: a small exact program, then the decisions as courses and flows, checked on the physics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import LAST, rounded_down, without_noise
from planner.errors import Infeasible
from planner.export.wording import power
from planner.optimize.solver import Highs
from planner.respond.course import HOLD, OFF, RUN, throughput
from planner.respond.peak_rows import MARGIN
from planner.respond.rows import Rows
from planner.respond.run_columns import SAME, add_run
from planner.respond.site_load import block_load, flows_of
from planner.respond.site_rows import add_site, cooling_lines
from planner.timegrid import iso
from power.battery import states_kwh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.solver import Answer as Solved
    from planner.respond.course import Course
    from planner.respond.question import Question
    from planner.respond.run_columns import Mix, RunColumns
    from planner.respond.site_load import BlockLoad, Flows
    from planner.respond.site_rows import BlockColumns, CoolingLines
    from planner.week import Block

ROUNDS = 6
FREE_ROUNDS = 2
CLOSE_SHARE = 1e-4
GAP = 1e-3
STATE_KWH, STATE_SHARE = 5e-4, 5e-7
"""Sums of flows with their last decimal rounded: half of what the judge lets pass, and a share of the energy."""
TIME_LIMIT_S = 2.0
"""For the choice of waits, stops and added hours; with that made, what remains is a linear program of a moment."""
OVER_COST = 1e4
"""A kW above a limit costs this many GPU-hours of lateness: far more than all that a kW of GPUs makes in a week."""
LIMIT_STEPS_PER_W = 1000.0
WORTH_A_CHANGE = 1e-3
"""Of full throughput: later windows are left alone for less."""


@dataclass(frozen=True)
class Answer:
    """What the site does.

    Args:
        question: What was asked.
        courses: Every run, in the week's order.
        flows: Block -> battery and sources.
        loads: Block -> what it draws per piece.
        status: "optimal" or "time-limit".
    """

    question: Question
    courses: tuple[Course, ...]
    flows: Mapping[str, Flows]
    loads: Mapping[str, BlockLoad]
    status: str

    def import_kw(self, block: str | None) -> npt.NDArray[np.float64]:
        """Return the import of a block, or of the site, per piece, kW, shape (P,)."""
        return np.asarray(np.sum([v.import_kw for k, v in self.loads.items() if block in {None, k}], axis=0))


@dataclass(frozen=True)
class Beyond:
    """The limits cannot be kept.

    Args:
        over_kw: How far above them the best answer stays at its worst instant, kW.
        proven: Whether no answer stays less far above them.
    """

    over_kw: float
    proven: bool


def answer(ask: Callable[[bool], Question], limit_s: float = TIME_LIMIT_S) -> Answer:
    """Return the best answer that keeps every limit at every instant.

    Runs give way first; only where that does not do may they also wait.

    Args:
        ask: Returns the question, by whether runs may wait with their GPUs held.
        limit_s: Longest time for each choice of waits, stops and added hours, s.

    Raises:
        Infeasible: The limits cannot be kept; it says what is the lowest that can.
    """
    question = ask(False)  # noqa: FBT003 - the one thing that differs
    planned = _as_planned(question)
    if not question.priced.any() and _keeps(planned, planned):
        return planned
    found = _settled(question, planned, limit_s)
    if isinstance(found, Beyond) and question.limits:
        question = ask(True)  # noqa: FBT003
        found = _settled(question, _as_planned(question), limit_s)
    if isinstance(found, Beyond):
        raise _cannot(question, found)
    return found


def _as_planned(question: Question) -> Answer:
    """Return the calendar in force as an answer."""
    flows = {name: flows_of(plan) for name, plan in question.plans.items()}
    loads = {
        b.name: block_load(question.week, b, question.plans[b.name], flows[b.name], question.courses, question.pieces)
        for b in question.week.blocks
    }
    return Answer(question, question.courses, flows, loads, "optimal")


def _keeps(answered: Answer, planned: Answer) -> bool:
    """Return whether an answer keeps every limit, and every block's capacity where the plan does, at every instant."""
    question = answered.question
    pieces, week = question.pieces, question.week
    for limit in question.limits:
        here = pieces.inside(*question.seconds(limit))
        if (answered.import_kw(limit.block)[here] > limit.limit_kw + LAST).any():
            return False
    for block in week.blocks:
        load, was = answered.loads[block.name], planned.loads[block.name]
        for now_kw, before_kw, room_kw in (
            (load.import_kw, was.import_kw, week.import_limit_kw(block)),
            (load.it_kw + load.plant_kw, was.it_kw + was.plant_kw, week.capacity_kw(block)),
        ):
            if (now_kw > np.maximum(room_kw[pieces.slot], before_kw) + LAST).any():
                return False
        if block.battery is not None and not _stored(question, block, answered.flows[block.name]):
            return False
    return True


def _stored(question: Question, block: Block, flows: Flows) -> bool:
    """Return whether a battery stays within its window, and ends where the calendar in force has it."""
    battery = block.battery
    assert battery is not None
    planned = np.array(question.plans[block.name].battery_kwh)
    kwh = states_kwh(battery, flows.charge_kw, flows.discharge_kw, question.week.grid.slot_h)
    tiny_kwh = STATE_KWH + STATE_SHARE * battery.energy_kwh
    low = np.minimum(battery.min_share * battery.energy_kwh, planned) - tiny_kwh
    high = np.maximum(battery.max_share * battery.energy_kwh, planned) + tiny_kwh
    return bool(((kwh >= low) & (kwh <= high)).all() and abs(kwh[-1] - planned[-1]) <= tiny_kwh)


def _settled(question: Question, planned: Answer, limit_s: float) -> Answer | Beyond:
    """Solve, see what the exact cooling draws, and solve again until all is kept and no limit is missed by much."""
    lines = {block.name: cooling_lines(question, block) for block in question.week.blocks}
    chosen: npt.NDArray[np.float64] | None = None
    best: Answer | None = None
    for turn in range(ROUNDS):
        found = _solve(question, lines, chosen, limit_s)
        if isinstance(found, Beyond):
            return found if best is None else best
        answered, chosen = found
        kept = _keeps(answered, planned)
        best = answered if kept else best
        if kept and _close(answered, lines):
            return answered
        for name, was in lines.items():
            load = answered.loads[name]
            lift_kw = load.plant_kw - was.counted_kw(load.it_kw, question.pieces.slot)
            # at a kink of the curve exact lifts may go back and forth: the later ones are on the safe side
            lines[name] = replace(was, lift_kw=lift_kw if turn < FREE_ROUNDS else np.maximum(lift_kw, was.lift_kw))
    return Beyond(np.inf, proven=False) if best is None else best


def _close(answered: Answer, lines: Mapping[str, CoolingLines]) -> bool:
    """Return whether the program counted the import of the event so well that no limit is left unused by mistake."""
    question = answered.question
    for limit in question.limits:
        here = question.pieces.inside(*question.seconds(limit))
        off_kw = np.zeros(len(here))
        for name, load in answered.loads.items():
            if limit.block in {None, name}:
                counted_kw = lines[name].counted_kw(load.it_kw, question.pieces.slot) + lines[name].lift_kw
                off_kw += np.abs(load.plant_kw - counted_kw)
        if (off_kw[here] > CLOSE_SHARE * limit.limit_kw).any():
            return False
    return True


def _solve(
    question: Question, lines: Mapping[str, CoolingLines], chosen: npt.NDArray[np.float64] | None, limit_s: float
) -> tuple[Answer, npt.NDArray[np.float64]] | Beyond:
    """Solve once; `chosen` holds the whole columns of an earlier round, which then stay."""
    rows = Rows()
    runs = [add_run(rows, question, course) for course in question.courses]
    over_cost = OVER_COST * question.week.prices.lateness_per_gpu_h
    site = add_site(rows, question, runs, lines, over_cost)
    matrix = rows.matrix()
    if chosen is not None:
        matrix = _with_whole(matrix, chosen)
    scale_kw = max((limit.limit_kw for limit in question.limits), default=0.0)
    most_over_kw = 2.0 * MARGIN * scale_kw + 1e-3
    start: npt.NDArray[np.float64] | None = None
    if question.waits and chosen is None:
        # whether the limits can be kept at all comes first: many waits cost nearly the same, and few sets of them do
        lowest = _lowest(matrix, site.over, limit_s)
        if lowest.values is None or lowest.values[site.over] > most_over_kw:
            over_kw = np.inf if lowest.values is None else float(lowest.values[site.over])
            return Beyond(over_kw, proven=lowest.status == "optimal")
        fixed = Highs(_with_whole(matrix, lowest.values), whole=False).run(limit_s)
        start = lowest.values if fixed.values is None else fixed.values
    solver = Highs(matrix, whole=chosen is None, mip_rel_gap=GAP)
    if start is not None:
        solver.start_from(start)
    told = solver.run(limit_s)
    x = start if told.values is None else told.values
    if x is None:
        return Beyond(np.inf, proven=False)
    if x[site.over] > most_over_kw:
        return Beyond(float(x[site.over]), proven=told.status == "optimal")
    courses = tuple(_decided(question, run, x) for run in runs)
    flows = {b.block.name: _flows(b, x) for b in site.blocks}
    loads: dict[str, BlockLoad] = {}
    for block in question.week.blocks:
        name = block.name
        loads[name] = block_load(question.week, block, question.plans[name], flows[name], courses, question.pieces)
        flows[name], loads[name] = _without_export(question, name, flows[name], loads[name])
    answered = Answer(question, courses, flows, loads, "optimal" if told.status == "optimal" else "time-limit")
    return answered, x


def _with_whole(matrix: Matrix, x: npt.NDArray[np.float64]) -> Matrix:
    """Return the program with its whole columns fixed."""
    lower, upper = (np.where(matrix.whole, np.round(x), bound) for bound in (matrix.lower, matrix.upper))
    return replace(matrix, lower=lower, upper=upper)


def _lowest(matrix: Matrix, over: int, limit_s: float) -> Solved:
    """Return the columns that stay least above the limits, whatever they cost."""
    cost = np.zeros(matrix.n_columns)
    cost[over] = 1.0
    return Highs(replace(matrix, cost=cost), whole=True, mip_rel_gap=GAP).run(limit_s)


def _flows(columns: BlockColumns, x: npt.NDArray[np.float64]) -> Flows:
    flows = columns.flows
    charge, discharge, solar = flows.charge_kw.copy(), flows.discharge_kw.copy(), flows.solar_kw.copy()
    if columns.battery is not None:
        at = list(columns.battery.slots)
        charge[at], discharge[at] = x[list(columns.battery.charge)], x[list(columns.battery.discharge)]
        both = np.minimum(charge, discharge) > 0.0
        battery = columns.block.battery
        assert battery is not None
        # what goes in and out in one slot goes through the store for nothing
        stored = charge * battery.charge_efficiency - discharge / battery.discharge_efficiency
        charge = np.where(both, np.maximum(stored, 0.0) / battery.charge_efficiency, charge)
        discharge = np.where(both, np.maximum(-stored, 0.0) * battery.discharge_efficiency, discharge)
    for slot, column in columns.unused.items():
        solar[slot] -= x[column]
    charge, discharge, solar = (without_noise(v) for v in (charge, discharge, solar))
    return replace(flows, charge_kw=charge, discharge_kw=discharge, solar_kw=solar)


def _without_export(question: Question, name: str, flows: Flows, load: BlockLoad) -> tuple[Flows, BlockLoad]:
    """Use less solar power, then discharge less, where the exact load is below what the program counted on."""
    low_kw = np.minimum(0.0, np.array(question.plans[name].import_kw))
    over_kw = np.maximum(0.0, low_kw - question.pieces.slot_mean(load.import_kw))
    over_kw = np.where(over_kw > LAST, -rounded_down(-over_kw), 0.0)
    solar_kw = np.minimum(over_kw, flows.solar_kw)
    discharge_kw = np.minimum(over_kw - solar_kw, flows.discharge_kw)
    kept = replace(flows, solar_kw=flows.solar_kw - solar_kw, discharge_kw=flows.discharge_kw - discharge_kw)
    more_kw = (solar_kw + discharge_kw)[question.pieces.slot]
    return kept, replace(load, import_kw=load.import_kw + more_kw)


def _decided(question: Question, run: RunColumns, x: npt.NDArray[np.float64]) -> Course:
    course = run.course
    state, limit_w, why = course.state.copy(), course.limit_w.copy(), list(course.why)
    planned = throughput(course)
    named = " and ".join(dict.fromkeys(limit.event for limit in question.limits)) or "the event"
    for mix in run.changed:
        p = mix.piece
        if p in run.waits and x[run.waits[p]] > 0.5:
            state[p], limit_w[p], why[p] = HOLD, 0.0, f"holds: {named}"
            continue
        if run.absence is not None and p in run.absence.pieces and x[run.absence.column] > 0.5:
            state[p], limit_w[p] = OFF, 0.0
            why[p] = f"starts later: {named}" if run.absence.later else f"paused: {named}"
            continue
        watts = _watts(mix, x)
        if abs(_speed(course, watts) - planned[p]) > 10.0 * SAME:
            limit_w[p], why[p] = _limit(course, watts), f"throttled: {named}"
    for mix in (*run.raised, *run.added):
        p = mix.piece
        watts = _watts(mix, x)
        if run.absence is not None and p in run.absence.pieces and x[run.absence.column] > 0.5:
            state[p], limit_w[p], why[p] = OFF, 0.0, f"paused: {named}"
        elif _speed(course, watts) - planned[p] > WORTH_A_CHANGE:
            state[p], limit_w[p], why[p] = RUN, _limit(course, watts), f"makes up for {named}"
    return replace(course, state=state, limit_w=limit_w, why=tuple(why))


def _watts(mix: Mix, x: npt.NDArray[np.float64]) -> float:
    """Return the IT power per GPU that the program counts, W; 0 where the run is not on.

    A mix of points that are no neighbours becomes the one point of the same power: no limit of power is lost to it, and
    it makes more tokens than were counted.
    """
    shares = np.clip(x[list(mix.columns)], 0.0, 1.0)
    total = float(shares.sum())
    return float(shares @ mix.it_w_per_gpu) / total if total > 0.5 else 0.0


def _speed(course: Course, watts: float) -> float:
    assert course.option is not None
    points = course.option.points
    if watts <= 0.0:
        return 0.0
    return float(np.interp(watts, [p.it_w_per_gpu for p in points], [p.relative_throughput for p in points]))


def _limit(course: Course, watts: float) -> float:
    """Return the GPU power limit that takes a power, W: rounded down, so that no power limit is lost to it."""
    assert course.option is not None
    points = course.option.points
    asked = np.interp(watts, [p.it_w_per_gpu for p in points], [p.gpu_power_limit_w for p in points])
    stepped = np.floor(float(asked) * LIMIT_STEPS_PER_W + SAME) / LIMIT_STEPS_PER_W
    return float(np.clip(stepped, points[0].gpu_power_limit_w, points[-1].gpu_power_limit_w))


def _cannot(question: Question, found: Beyond) -> Infeasible:
    tightest = min(question.limits, key=lambda limit: limit.limit_kw)
    who = "the site" if tightest.block is None else f"block {tightest.block!r}"
    if not np.isfinite(found.over_kw):
        return Infeasible(
            f"event {tightest.event!r} asks {who} for {power(tightest.limit_kw)} from {iso(tightest.start)}, and no "
            "answer was found in time",
            fix="ask again with a shorter event, or take the event to the operators",
        )
    reachable = tightest.limit_kw + found.over_kw
    tiers = sorted({(f.tier, f.max_loss_share) for f in question.flexibility.values()})
    rows = tuple(f"tier {tier}: no run loses more than {100 * share:g} % of its throughput" for tier, share in tiers)
    lowest = "the lowest that the site can hold is" if found.proven else "the lowest found that the site can hold is"
    return Infeasible(
        f"event {tightest.event!r} asks {who} to import {power(tightest.limit_kw)} at most from "
        f"{iso(tightest.start)} to {iso(tightest.end)}; {lowest} {power(reachable)}",
        "what the runs' flexibility, the GPUs' idle power and their cooling leave is more than that",
        f"agree on {power(reachable)} or more, or let runs lose more (max_loss_share, max_hold_min)",
        conflicts=rows,
    )
