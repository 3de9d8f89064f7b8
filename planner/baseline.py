"""What would have happened without a plan: the same work, on the same physics, by two plain rules.

`asap`: runs are taken by priority, then in file order, behind those that they wait for. Each starts at full power in
the first slot in which it fits and runs until its work is done; where capacity, cooling or GPUs held by runs before it
make a hole, it saves, waits and goes on, if that finishes sooner than one unbroken spell. Only a run that full power
nowhere lets finish takes a lower operating point. Where a run still cannot finish in the horizon, all are placed again
with that run first.

`steady`: each run is spread evenly from its earliest start to its last deadline in the horizon, at the one power limit
that finishes then. A run whose lowest limit is still too fast ends sooner. Where the gangs then do not all fit side by
side, the spans of all runs are shortened by the same share until they do; where even a tenth of the spans is too long,
steady is asap.

In both, the battery rests (what it loses by itself is charged again, and where the horizon must end with more than it
starts, the difference is charged in proportion to the power that idle GPUs leave), solar and wind power are used as far
as the load takes them, generators run only as needed (`planner.baseline_supply`), and the coarser on-off grid does not
bind. The tank rests at its state. Heat is sold as much as the buyer takes and the racks give, where that pays on the
whole: a site sells heat without a plan too. A gang takes whole slots of GPUs and power, also the one in which it ends;
it keeps its pool and its own count of GPUs, also where a plan may change them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.baseline_supply import resting_supply
from planner.evaluate import evaluate
from planner.outcome import Counterfactual, Savings
from planner.placing import Ground, Placement, decisions, room_kw
from planner.precedence import in_order
from planner.publish import to_calendar
from planner.schedule import Schedule
from planner.slots import spells
from planner.spell import Spell, spell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.evaluate import Evaluation
    from planner.run import PoolOption, Run
    from planner.week import Week

SAME_WORK = 1e-6
SAME_STORE = 1e-6  # of the plan's energy: less is rounding
SPREADS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
ROUNDS = 12


@dataclass(frozen=True)
class BaselineResult:
    """A baseline's decisions.

    Args:
        schedule: The decisions.
        tokens_missing: Run -> tokens that it cannot make in the horizon; only runs that miss some.
    """

    schedule: Schedule
    tokens_missing: Mapping[str, float]


def asap(week: Week, tokens: Mapping[str, float]) -> BaselineResult:
    """Return the schedule of runs that start as soon as they fit, by priority, at full power.

    Args:
        week: All inputs.
        tokens: Run -> tokens to make in the horizon.
    """
    order, best, room = _by_priority(week), None, room_kw(week)
    for _ in range(ROUNDS):
        placed = _placed(Ground(week, room), order, tokens, None)
        result = _result(week, tokens, placed, "starts as soon as it fits, at full power where that fits")
        if best is None or _missing_share(result, tokens) < _missing_share(best, tokens):
            best = result
        first = [run for run in order if run.name in result.tokens_missing]
        again = in_order(first + [run for run in order if run.name not in result.tokens_missing])
        if again == order:
            break
        order = again
    assert best is not None
    return best


def steady(week: Week, tokens: Mapping[str, float]) -> BaselineResult:
    """Return the schedule of runs that are spread evenly over their time.

    Args:
        week: All inputs.
        tokens: Run -> tokens to make in the horizon.
    """
    order, room = _by_priority(week), room_kw(week)
    for spread in SPREADS:
        placed = _placed(Ground(week, room), order, tokens, spread)
        result = _result(week, tokens, placed, f"spread evenly over {spread:.0%} of its time")
        if not result.tokens_missing:
            return result
    return asap(week, tokens)


def counterfactuals(week: Week, plan: Evaluation) -> tuple[Counterfactual, ...]:
    """Return both baselines with the work that the plan does, judged, and what the plan saves against each.

    Args:
        week: All inputs.
        plan: The judge's figures of the plan.
    """
    tokens = {run.run: run.tokens for run in plan.runs}
    found = []
    for name, result in (("asap", asap(week, tokens)), ("steady", steady(week, tokens))):
        calendar, runs = to_calendar(week, result.schedule, status=name, certified_gap=None)
        judged = evaluate(calendar, runs, week, simulated_weeks=0)
        savings, reason = compare(plan, judged)
        found.append(Counterfactual(name, judged, savings, reason))
    return tuple(found)


def compare(plan: Evaluation, baseline: Evaluation) -> tuple[Savings | None, str]:
    """Return what a plan saves against a baseline that did the same work, or None with the reason.

    Args:
        plan: The judge's figures of the plan.
        baseline: The judge's figures of the baseline.

    Returns:
        Savings in % of the baseline's figures, or None where there is no work, any run's tokens differ by over 1e-6, or
        the plan leaves less energy in the batteries or less cold in the tanks; a figure is None where the baseline's is
        not above zero. The reason is "" where savings are stated.
    """
    if not plan.tokens > 0.0:
        return None, "the plan makes no tokens"
    made = {run.run: run.tokens for run in baseline.runs}
    for run in plan.runs:
        other = made.get(run.run, 0.0)
        if abs(run.tokens - other) > SAME_WORK * max(run.tokens, 1.0):
            return None, f"run {run.run} makes {other:,.0f} tokens, but {run.tokens:,.0f} in the plan"
    drawn_kwh = baseline.battery_change_kwh - plan.battery_change_kwh
    if drawn_kwh > SAME_STORE * plan.energy_kwh:
        return None, f"the plan leaves {drawn_kwh:,.0f} kWh less in the batteries"
    drawn_kwh = baseline.cold_change_kwh_th - plan.cold_change_kwh_th
    if drawn_kwh > SAME_STORE * plan.energy_kwh:
        return None, f"the plan leaves {drawn_kwh:,.0f} kWh less cold in the tanks"
    return (
        Savings(
            carbon_pct=_saved_pct(plan.carbon_kg, baseline.carbon_kg),
            cost_pct=_saved_pct(plan.cost, baseline.cost),
            energy_pct=_saved_pct(plan.energy_kwh, baseline.energy_kwh),
        ),
        "",
    )


def _saved_pct(plan: float, baseline: float) -> float | None:
    return 100.0 * (baseline - plan) / baseline if baseline > 0.0 else None


def _by_priority(week: Week) -> list[Run]:
    return in_order(sorted(week.runs, key=lambda run: run.priority))


def _missing_share(result: BaselineResult, tokens: Mapping[str, float]) -> float:
    return sum(missing / tokens[run] for run, missing in result.tokens_missing.items())


def _placed(
    ground: Ground, order: Sequence[Run], tokens: Mapping[str, float], spread: float | None
) -> dict[str, Placement]:
    placed: dict[str, Placement] = {}
    for run in order:
        asked = tokens.get(run.name, 0.0)
        evenly = None if spread is None else _evenly(ground, run, asked, spread)
        found = evenly or _soonest(ground, run, asked)
        if found is not None:
            ground.place(run, found)
            placed[run.name] = found
    return placed


def _soonest(ground: Ground, run: Run, tokens: float) -> Placement | None:
    if tokens <= 0.0:
        return None
    most: Placement | None = None
    for level in range(max(len(option.points) for option in run.own_size)):
        found = [
            placement
            for option in run.own_size
            if level < len(option.points)
            for placement in _at_limit(ground, run, option, option.points[-1 - level].gpu_power_limit_w, tokens)
        ]
        complete = [placement for placement in found if placement.complete]
        if complete:
            return min(complete, key=lambda placement: placement.end)
        for placement in found:
            if most is None or placement.tokens > most.tokens:
                most = placement
    return most


def _at_limit(ground: Ground, run: Run, option: PoolOption, limit_w: float, tokens: float) -> Iterator[Placement]:
    always = np.full(ground.week.grid.n_slots, limit_w)
    stretches = spells(ground.fits(run, option, ground.added_kw(run, option, always)))
    for stretch in stretches:
        whole = _grow(ground, run, option, limit_w, tokens, [stretch])
        if whole is not None and whole.complete:
            yield whole
            break
    broken = _grow(ground, run, option, limit_w, tokens, stretches)
    if broken is not None:
        yield broken


def _grow(
    ground: Ground, run: Run, option: PoolOption, limit_w: float, tokens: float, stretches: list[tuple[int, int]]
) -> Placement | None:
    grid = ground.week.grid
    limits, end, made, complete, count, earliest = np.zeros(grid.n_slots), 0.0, 0.0, False, 0, 0
    for begin, before in stretches:
        if complete or count > run.max_pauses:
            break
        for first in range(max(begin, earliest), before):
            found = spell(grid, run, option, limit_w, first, before, tokens - made)
            if found.tokens <= 0.0 or _too_short(ground.week, run, found, first, tokens):
                break
            if ground.ramp_holds(ground.added_kw(run, option, limits + found.limit_w), found.end):
                limits, end, complete = limits + found.limit_w, found.end, found.complete
                made, count = made + found.tokens, count + 1
                earliest = before + int(np.ceil(run.min_pause_h / grid.slot_h))
                break
    return Placement(option, limits, end, made, complete) if count else None


def _too_short(week: Week, run: Run, found: Spell, first: int, tokens: float) -> bool:
    does_all_work = found.complete and tokens >= week.work_tokens(run) * (1.0 - SAME_WORK)
    goes_on = found.end >= week.grid.n_slots or (first == 0 and run.running_in is not None)
    return not (does_all_work or goes_on) and (found.end - first) * week.grid.slot_h < run.min_run_h


def _evenly(ground: Ground, run: Run, tokens: float, spread: float) -> Placement | None:
    grid = ground.week.grid
    due = ground.week.due_tokens(run)
    if tokens <= 0.0 or not due:
        return None
    deadline = grid.position(due[-1][1])
    best: Placement | None = None
    started = grid.n_slots
    for option in run.own_size:
        has_gpus = ground.has_gpus(run, option)
        for first in range(ground.first_slot(run, option), min(int(np.ceil(deadline)), started)):
            if not has_gpus[first]:
                continue
            limit_w = _even_limit_w(ground, run, option, tokens, first, first + spread * (deadline - first))
            found = spell(grid, run, option, limit_w, first, grid.n_slots, tokens)
            added_kw = ground.added_kw(run, option, found.limit_w)
            taken = found.limit_w > 0.0
            if (
                found.complete
                and not _too_short(ground.week, run, found, first, tokens)
                and ground.fits(run, option, added_kw)[taken].all()
                and ground.ramp_holds(added_kw, found.end)
            ):
                best, started = Placement(option, found.limit_w, found.end, found.tokens, complete=True), first
                break
    return best


def _even_limit_w(ground: Ground, run: Run, option: PoolOption, tokens: float, first: int, until: float) -> float:
    grid = ground.week.grid
    lost_s = 0.0 if first == 0 and run.runs_on(option.pool, run.gpus) else run.reload_s
    lost_s += 0.0 if until >= grid.n_slots else run.checkpoint_s
    useful_s = (until - first) * 60.0 * grid.slot_minutes - lost_s
    relative = [point.relative_throughput for point in option.points]
    limits_w = [point.gpu_power_limit_w for point in option.points]
    if useful_s <= 0.0:
        return limits_w[-1]
    return float(np.interp(tokens / (run.gpus * option.tokens_per_gpu_s * useful_s), relative, limits_w))


def _result(week: Week, tokens: Mapping[str, float], placed: Mapping[str, Placement], why: str) -> BaselineResult:
    runs = [decisions(week, run, placed.get(run.name), why) for run in week.runs]
    blocks = resting_supply(week, runs)
    missing = {}
    for run in week.runs:
        asked = tokens.get(run.name, 0.0)
        made = placed[run.name].tokens if run.name in placed else 0.0
        if asked - made > SAME_WORK * asked:
            missing[run.name] = asked - made
    return BaselineResult(Schedule(tuple(runs), blocks), missing)
