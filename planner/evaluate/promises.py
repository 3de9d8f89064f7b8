"""What is promised of runs: windows, gangs, pools, limits, spells, checkpoints, tokens and deadlines."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import figure, instant
from planner.evaluate.ramp import most_moved_s
from planner.evaluate.record import StageResult, Violation
from planner.evaluate.trace import saves_after
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from planner.evaluate.record import RunResult
    from planner.evaluate.trace import RunTrace
    from planner.run import PoolOption, Run
    from planner.week import Week
    from trainer_hooks.calendar import Calendar, Window
    from trainer_hooks.calendar import Shortfall as NamedShortfall

SECOND_H = 1.0 / 3600.0
STATED_SHARE = 1e-6
KEPT_SHARE = 1e-5
SHORTFALL_SHARE = 0.01


def check_windows(week: Week, run: Run, given: Sequence[Window]) -> Iterator[Violation]:
    """Yield what is wrong with how a run's windows cover the horizon: order, gaps, overlaps."""
    if not given:
        yield _about("windows", run.name, None, "no windows", "windows over the whole horizon", "has")
        return
    expected = week.grid.start
    for window in given:
        if window.end <= window.start:
            yield _about("windows", run.name, window.start, f"a window that ends at {iso(window.end)}", "later", "has")
        elif window.start != expected:
            fault = "an overlap" if window.start < expected else "a gap"
            yield _about("windows", run.name, window.start, f"{fault} at {iso(window.start)}", iso(expected), "has")
        expected = window.end
    if expected != week.grid.end:
        yield _about("windows", run.name, expected, f"its last end at {iso(expected)}", iso(week.grid.end), "has")


def check_places(week: Week, seen: RunTrace) -> Iterator[Violation]:
    """Yield what is wrong with where a run's gang sits: pool, block, island, whole gang, earliest start."""
    run = seen.run
    allowed = {option.pool: option for option in run.options}
    pools = {pool.name: pool for pool in week.pools}
    used = [w for w in seen.windows if w.state != "off"]
    for window in used:
        pool = pools.get(window.pool or "")
        if pool is None or window.pool not in allowed:
            yield _about(
                "pool", run.name, window.start, f"pool {window.pool}", f"one of {', '.join(allowed)}", "sits in"
            )
        elif window.block != pool.place:
            yield _about(
                "block", run.name, window.start, f"block {window.block}", f"{pool.place}, where {pool.name} is", "names"
            )
        sizes = {run.size(option) for option in run.options if option.pool == window.pool}
        if window.gpus not in (sizes or {run.gpus}):
            yield _number("gang", run.name, window.start, window.gpus, run.gpus, "GPUs", "holds", "but its gang has")
        if window.state == "run" and window.pool in allowed:
            yield from _check_limit(run, allowed[window.pool], window)
    names = sorted({w.pool for w in used if w.pool in pools and w.pool is not None})
    if len(names) > 1 and run.migration is None:
        first = next(w.start for w in used if w.pool != used[0].pool)
        yield _about("one-pool", run.name, first, " and ".join(names), "one pool for the whole horizon", "uses")
        islands = sorted({pools[name].island for name in names})
        if len(islands) > 1:
            yield _about("island", run.name, first, " and ".join(islands), "one fabric island", "spans")
    if used and used[0].start < run.earliest_start:
        begins, allowed_from = iso(used[0].start), iso(run.earliest_start)
        sentence = f"run {run.name} starts at {begins}, before its earliest start at {allowed_from}"
        yield Violation("earliest-start", run.name, used[0].start, begins, allowed_from, "", sentence)


def _check_limit(run: Run, option: PoolOption, window: Window) -> Iterator[Violation]:
    lowest, highest = option.points[0].gpu_power_limit_w, option.points[-1].gpu_power_limit_w
    limit_w = window.gpu_power_limit_w
    if limit_w is None:
        yield _about("limit", run.name, window.start, "no power limit", f"{lowest:g} to {highest:g} W", "has")
    elif not lowest - STATED_SHARE <= limit_w <= highest + STATED_SHARE:
        bound = lowest if limit_w < lowest else highest
        against = "outside its operating points, which end at"
        yield _number("limit", run.name, window.start, limit_w, bound, "W per GPU", "is limited to", against)


def check_spells(week: Week, seen: RunTrace) -> Iterator[Violation]:
    """Yield what is wrong with how a run stops and starts: checkpoints, shortest run and pause, count of pauses.

    A spell that goes on from before the horizon or past its end may be shorter than the shortest run in the horizon,
    and so may the spell in which all work of the horizon is done. No spell need be longer than that work takes at full
    speed, and its length counts with what ramp limits may take off both its ends.
    """
    run, horizon_s = seen.run, 3600.0 * week.grid.hours
    spells = seen.spells
    least_h = min(run.min_run_h, week.work_tokens(run) / (3600.0 * run.fastest_tokens_per_s))
    for spell in spells:
        at = instant(week, spell.end_s)
        runs = [i for i in range(spell.first, spell.after) if seen.running[i]]
        if spell.end_s < horizon_s and runs and not saves_after(seen.windows, runs[-1]):
            yield _about("checkpoint", run.name, at, "no checkpoint", "a checkpoint before every stop", "asks for")
        goes_on = spell.end_s >= horizon_s or (spell.start_s <= 0.0 and run.running_in is not None)
        done = seen.tokens_by(spell.end_s) >= week.work_tokens(run) * (1.0 - STATED_SHARE)
        hours = (spell.end_s - spell.start_s + 2.0 * most_moved_s(week, run)) / 3600.0
        if not goes_on and not done and hours < least_h - SECOND_H:
            yield _number(
                "min-run", run.name, instant(week, spell.start_s), hours, least_h, "h", "runs for", "less than"
            )
    for before, after in pairwise(spells):
        hours = (after.start_s - before.end_s) / 3600.0
        if run.moves and hours <= 0.0:
            continue
        if hours < run.min_pause_h - SECOND_H:
            since = instant(week, before.end_s)
            yield _number(
                "min-pause",
                run.name,
                since,
                hours,
                run.min_pause_h,
                "h",
                "pauses for",
                "less than",
            )
    if len(spells) - 1 > run.max_pauses:
        yield _number("max-pauses", run.name, None, len(spells) - 1, run.max_pauses, "pauses", "has", "more than")


def check_work(week: Week, seen: RunTrace) -> Iterator[Violation]:
    """Yield what is wrong with a run's tokens: stated against replayed, and more than the horizon's work.

    A gang that is whole or off may end up to one cell of its on-off grid past its work, and past it by what it loses
    less at starts and stops where it runs slower than at its highest limit: plans count that time at full speed. They
    count the most, too, that a ramp limit may make it wait.
    """
    run = seen.run
    stated = np.array([w.tokens for w in seen.windows])
    off = np.abs(stated - seen.tokens)
    over = np.flatnonzero(off > 1.0 + STATED_SHARE * seen.tokens)
    if len(over):
        i = int(over[np.argmax(off[over])])
        yield _number(
            "tokens",
            run.name,
            seen.windows[i].start,
            stated[i],
            seen.tokens[i],
            "tokens",
            "states",
            "but the replay makes",
        )
    slowest = min(point.relative_throughput for option in run.options for point in option.points)
    lost_s = len(seen.spells) * (run.reload_s + run.checkpoint_s) * (1.0 - slowest)
    lost_s += sum(way.time_s for way in seen.ways if way is not None) * (1.0 - slowest)
    lost_s += len(seen.spells) * 2.0 * most_moved_s(week, run)
    spare_tokens = run.fastest_tokens_per_s * (3600.0 * run.on_off_grid_h + lost_s)
    allowed = week.work_tokens(run)
    made = float(seen.tokens.sum())
    if made > allowed * (1.0 + STATED_SHARE) + spare_tokens:
        yield _number("too-many-tokens", run.name, None, made, allowed, "tokens", "makes", "more than the work of")


def stages(week: Week, seen: RunTrace, named: Sequence[NamedShortfall]) -> tuple[StageResult, ...]:
    """Return how each promise of work went; a second of the whole gang and 0.001 % are forgiven."""
    run = seen.run
    second = run.fastest_tokens_per_s
    found = []
    for stage, deadline, due in week.due_tokens(run):
        slack = min(due, second + KEPT_SHARE * due)
        deadline_s = (deadline - week.grid.start).total_seconds()
        made = seen.tokens_by(deadline_s)
        reached_s = seen.reached_s(due - slack)
        found.append(
            StageResult(
                stage=stage,
                deadline=deadline,
                due_tokens=due,
                tokens=made,
                reached_at=None if reached_s is None else instant(week, reached_s),
                margin_h=None if reached_s is None else (deadline_s - reached_s) / 3600.0,
                met=made >= due - slack,
                announced=any((s.run, s.stage) == (run.name, stage) for s in named),
            )
        )
    return tuple(found)


def check_deadlines(run: Run, results: Sequence[StageResult]) -> Iterator[Violation]:
    """Yield every missed deadline that the calendar does not name itself."""
    for stage in results:
        if not stage.met and not stage.announced:
            yield Violation(
                "deadline",
                f"{run.name} {stage.stage}",
                stage.deadline,
                stage.tokens,
                stage.due_tokens,
                "tokens",
                f"run {run.name} makes {stage.tokens:,.0f} tokens by {iso(stage.deadline)}, less than the "
                f"{stage.due_tokens:,.0f} due at the end of stage {stage.stage}, and the calendar does not say so",
            )


def check_shortfalls(week: Week, calendar: Calendar, results: dict[str, RunResult]) -> Iterator[Violation]:
    """Yield every shortfall that the calendar names wrongly: of no such stage, or off by over 1 % of the tokens due.

    Where the deadline lies inside a slot, the planner may spread reload and checkpoint seconds evenly over that slot;
    as many tokens are forgiven too, and as many as ramp limits may cost in waiting at starts and stops.
    """
    for short in calendar.shortfalls:
        stages_of = results[short.run].stages if short.run in results else ()
        stage = next((s for s in stages_of if s.stage == short.stage), None)
        subject = f"{short.run} {short.stage}"
        if stage is None:
            yield _about("shortfall", subject, short.deadline, "a shortfall", "stages due in the horizon", "names")
            continue
        missing = max(0.0, stage.due_tokens - stage.tokens)
        run = week.run(short.run)
        fastest = run.fastest_tokens_per_s
        slack = SHORTFALL_SHARE * stage.due_tokens
        slack += 2.0 * (results[short.run].pauses + 1) * most_moved_s(week, run) * fastest
        if week.grid.position(stage.deadline) % 1.0:
            slack += (run.reload_s + run.checkpoint_s) * fastest
        if abs(missing - short.tokens_short) > slack:
            yield _number(
                "shortfall",
                subject,
                short.deadline,
                short.tokens_short,
                missing,
                "tokens",
                "is named short by",
                "but the replay is short by",
            )


def _about(kind: str, subject: str, at: datetime | None, value: str, limit: str, verb: str) -> Violation:
    when = "" if at is None else f" ({iso(at)})"
    return Violation(kind, subject, at, value, limit, "", f"run {subject} {verb} {value}; allowed: {limit}{when}")


def _number(
    kind: str, subject: str, at: datetime | None, value: float, limit: float, unit: str, verb: str, against: str
) -> Violation:
    when = "" if at is None else f" at {iso(at)}"
    return Violation(
        kind,
        subject,
        at,
        float(value),
        float(limit),
        unit,
        f"run {subject} {verb} {figure(value)} {unit}{when}, {against} {figure(limit)} {unit}",
    )
