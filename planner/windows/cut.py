"""One window of a horizon as a week of its own: what was done before it is its state, the pace is what is due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import CARBON, COST, LATENESS, WATER, Goal, Objective
from planner.optimize.scale.goals import capped
from planner.precedence import needed_tokens
from planner.run import Stage
from planner.timegrid import TimeGrid
from power.battery import AT_LEAST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import numpy.typing as npt

    from planner.precedence import After
    from planner.run import Run
    from planner.week import Block, Signals, Week
    from planner.windows.pace import Pace
    from planner.windows.spans import Span
    from power.tariff import Tariff


@dataclass(frozen=True)
class RunState:
    """A run as a window finds it; as the horizon starts, what the week says of it counts.

    Args:
        pool: Pool that it has used so far in the horizon, or None.
        running: Whether it goes on from the window before.
        since: Slot in which it was last turned on or off, of the whole horizon; 0 where it never was.
        spells: Spells begun so far.
        tokens: Tokens made so far in the horizon.
    """

    pool: str | None
    running: bool
    since: int
    spells: int
    tokens: float


@dataclass(frozen=True)
class State:
    """A site as a window finds it.

    Args:
        runs: Run -> its state.
        stored_share: Block -> what its battery holds, share of its energy.
        peak_kw: Highest billed peak of each register of demand so far in the horizon, kW.
        done: (run, stage) -> slot by which the stage was done, of the whole horizon; those not done are missing.
    """

    runs: Mapping[str, RunState]
    stored_share: Mapping[str, float]
    peak_kw: tuple[float, ...]
    done: Mapping[tuple[str, str], int]


def at_start(week: Week) -> State:
    """Return the state in which a horizon starts."""
    runs = {run.name: RunState(pool=None, running=False, since=0, spells=0, tokens=0.0) for run in week.runs}
    stored = {block.name: block.battery.initial_share for block in week.blocks if block.battery is not None}
    return State(runs, stored, tuple(r.owed_kw for r in week.demand_registers), {})


def cut(week: Week, span: Span, state: State, pace: Pace) -> Week:
    """Return a window as a week.

    Args:
        week: The whole horizon.
        span: The window.
        state: What it finds.
        pace: How far each run should be by its end, and what the site should hold then.
    """
    slots = slice(span.first, span.after)
    grid = TimeGrid(week.grid.starts[span.first], week.grid.slot_minutes, span.after - span.first)
    uncertainty = week.uncertainty
    if uncertainty is not None and uncertainty.heat is not None:
        heat = uncertainty.heat
        cooler = replace(heat, dry_bulb_c=heat.dry_bulb_c[slots], wet_bulb_c=heat.wet_bulb_c[slots])
        uncertainty = replace(uncertainty, heat=cooler)
    return replace(
        week,
        grid=grid,
        signals=_signals(week.signals, slots),
        blocks=tuple(_block(week, block, i, span, state, pace) for i, block in enumerate(week.blocks)),
        runs=tuple(_run(week, run, span, state, pace) for run in week.runs),
        tariff=_tariff(week, span, np.maximum(pace.prices.peak_kw, state.peak_kw)),
        objective=_objective(week, pace),
        uncertainty=uncertainty,
        bands=(),
    )


def _objective(week: Week, pace: Pace) -> Objective:
    """Return the goals, those that count what lies above an amount at the price that the whole horizon gives them."""
    of_site, late = capped(week, (CARBON, COST, WATER)), capped(week, (LATENESS,))
    priced = [*zip(of_site, pace.prices.caps, strict=True), *zip(late, pace.prices.late, strict=True)]
    whole = [goal for goal in week.objective.counted if goal.most is None]
    return Objective(goals=(*whole, *(Goal(goal.measure, float(price)) for goal, price in priced)))


def _signals(signals: Signals, slots: slice) -> Signals:
    wind = signals.wind_speed_m_per_s
    return replace(
        signals,
        ci_gco2_per_kwh=signals.ci_gco2_per_kwh[slots],
        price_per_kwh=signals.price_per_kwh[slots],
        dry_bulb_c=signals.dry_bulb_c[slots],
        wet_bulb_c=signals.wet_bulb_c[slots],
        ghi_w_per_m2=signals.ghi_w_per_m2[slots],
        wind_speed_m_per_s=None if wind is None else wind[slots],
    )


def _block(week: Week, block: Block, place: int, span: Span, state: State, pace: Pace) -> Block:
    powered, battery = block.idle_powered[span.first : span.after], block.battery
    powered.setflags(write=False)
    if battery is not None:
        battery = replace(battery, initial_share=state.stored_share[block.name])
        if span.after < week.grid.n_slots:
            wanted = float(pace.prices.stored_kwh[place, span.after - 1]) / battery.energy_kwh
            final = min(max(wanted, battery.min_share), battery.max_share)
            battery = replace(battery, final_rule=AT_LEAST, final_share=final)
    return replace(block, idle_powered=powered, battery=battery)


def _tariff(week: Week, span: Span, peak_kw: npt.NDArray[np.float64]) -> Tariff:
    """Return the tariff with peaks that are reached, or that the horizon comes to anyway, as those billed already."""
    months = week.grid.local_months(week.tz)
    peaks = dict(zip((r.name for r in week.demand_registers), peak_kw.tolist(), strict=True))
    here = f"month {int(months[span.first]) + 1}"
    tariff = week.tariff
    periods = tuple(
        replace(p, month_to_date_peak_kw=max(p.month_to_date_peak_kw, peaks.get(f"{here} {p.name}", 0.0)))
        for p in tariff.periods
    )
    to_date_kw = max(tariff.month_to_date_peak_kw, peaks.get(here, 0.0))
    return replace(tariff, month_to_date_peak_kw=to_date_kw, periods=periods)


def _run(week: Week, run: Run, span: Span, state: State, pace: Pace) -> Run:
    grid, now = week.grid, state.runs[run.name]
    end = grid.start + span.after * grid.slot
    stages = [stage for stage in run.stages if stage.deadline <= end]
    if len(stages) < len(run.stages):
        due = week.work_tokens(run)
        if span.after < grid.n_slots:
            due = _in_whole_spells(week, run, now, pace.tokens.get((run.name, span.after), 0.0))
        more = due + run.tokens_done - sum(stage.tokens for stage in stages)
        if more > 0.0:
            stages.append(Stage(run.stages[len(stages)].name, more, end))
    waits = [_wait(week, one, state, end) for one in run.after]
    earliest = max([run.earliest_start, *(since for _, since in waits)])
    # pauses are spread over the horizon: those of the first days leave some for the last
    allowed = int(np.ceil(run.max_pauses * span.after / grid.n_slots))
    pauses = allowed - now.spells + (1 if now.running else 0)
    if not now.running and now.spells:
        rest = timedelta(hours=run.min_pause_h)
        earliest = end if pauses < 0 else max(earliest, grid.start + now.since * grid.slot + rest)
    return replace(
        run,
        stages=tuple(stages),
        options=tuple(o for o in run.options if now.pool in {None, o.pool}),
        earliest_start=earliest,
        tokens_done=run.tokens_done + now.tokens,
        running_in=(now.pool if now.running else None) if span.first else run.running_in,
        max_pauses=max(0, pauses),
        after=tuple(one for kept, _ in waits for one in kept),
    )


def _in_whole_spells(week: Week, run: Run, now: RunState, tokens: float) -> float:
    """Return the tokens due by a window's end, with work for no spell shorter than the shortest here or behind it."""
    whole = week.work_tokens(run)
    least = min(run.min_run_h * 3600.0 * run.fastest_tokens_per_s, whole)
    more, left = tokens - now.tokens, whole - tokens
    if not now.running and 0.0 < more < least:
        more = least if more >= least / 2.0 else 0.0
        left = whole - now.tokens - more
    if 0.0 < left < least:
        more = more + left if left < least / 2.0 else more + left - least
    return now.tokens + max(0.0, more)


def _wait(week: Week, after: After, state: State, end: datetime) -> tuple[tuple[After, ...], datetime]:
    """Return what a run still waits for within a window, and from when on it may start by what it no longer does."""
    lag = timedelta(hours=after.lag_h)
    if needed_tokens(week, after) <= 0.0:
        return (), week.grid.start
    done = state.done.get((after.run, after.stage))
    if done is not None:
        return (), week.grid.start + done * week.grid.slot + lag
    deadline = next(s.deadline for s in week.run(after.run).stages if s.name == after.stage)
    # a stage that is due behind the window is paced in parts within it: it is not done there
    return ((after,), week.grid.start) if deadline <= end else ((), end)
