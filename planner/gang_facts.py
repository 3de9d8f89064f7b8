"""What a plan says of its gangs: failures and chances, when to hold rather than stop, points that it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.evaluate.chances import SIMULATED_WEEKS
from planner.export import wording
from power.goodput import hold_break_even_s
from power.gpu import left_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.evaluate import RunResult, StageResult
    from planner.outcome import Outcome
    from planner.run import Run
    from planner.week import Week

NO_FAILURES = "none given (failures_per_gpu_day): the work is planned as if no GPU ever failed"
MOST_LINES = 40
MOST_NAMED = 8
_INDENT = " " * 11


def hold_break_even_h(week: Week, run: Run, pool: str | None) -> float | None:
    """Return the length of a pause up to which a run had better hold its GPUs than stop, h.

    Args:
        week: All inputs.
        run: The run.
        pool: Pool it uses; its first choice where it uses none.

    Returns:
        Hours, or None where holding draws no more than idle GPUs, so that it is never the dearer way.
    """
    option = next((o for o in run.options if o.pool == pool), run.options[0])
    gpu = week.pool(option.pool).gpu
    train_w = option.points[-1].it_w_per_gpu
    pause_s = hold_break_even_s(train_w, gpu.hold_w_per_gpu, gpu.idle_w_per_gpu, run.checkpoint_s, run.reload_s)
    return None if pause_s is None else pause_s / 3600.0


def gang_facts(week: Week, result: RunResult) -> dict[str, Any]:
    """Return what is known of one gang as JSON values: useful share, failures, promises with chances, break-even.

    Args:
        week: All inputs.
        result: The judge's figures of the run.
    """
    run = week.run(result.run)
    told: dict[str, Any] = {"hold_break_even_h": hold_break_even_h(week, run, result.pool)}
    if run.goodput is None:
        return told
    return {
        **told,
        "useful_share": run.goodput.factor_share,
        "failures_per_day": run.goodput.failures_per_s * 86_400.0,
        "checkpoint_every_s": run.goodput.interval_s,
        "checkpoint_s": run.goodput.save_s,
        "stages": [
            {
                "stage": stage.stage,
                "due_tokens": stage.due_tokens,
                "promised_probability": stage.promised_probability,
                "simulated_probability": stage.simulated_probability,
                "asked_probability": stage.asked_probability,
            }
            for stage in result.stages
            if stage.promised_probability is not None
        ],
    }


def chance(stage: StageResult) -> str:
    """Return the chance of a promise for people, or "" where nothing is said of failures."""
    if stage.promised_probability is None:
        return ""
    asked = "" if stage.asked_probability is None else f", asked for {_percent(stage.asked_probability)}"
    if stage.simulated_probability is None:
        return f"kept in {_percent(stage.promised_probability)} of weeks by reckoning{asked}"
    return (
        f"kept in {_percent(stage.simulated_probability)} of weeks (promised {_percent(stage.promised_probability)}"
        f"{asked})"
    )


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %".replace(".0 %", " %")


def failure_note(week: Week) -> str:
    """Return whether failures are reckoned with in a week, and how chances are stated."""
    if all(run.goodput is None for run in week.runs):
        return NO_FAILURES
    return f"chances are shares of {wording.count(SIMULATED_WEEKS)} simulated weeks"


def failure_lines(outcome: Outcome) -> tuple[str, ...]:
    """Return what is said of failures at the end of a planning: the chance of each promise, run by run.

    Args:
        outcome: The week, its calendar and the judge's figures.
    """
    week = outcome.week
    head = f"failures   {failure_note(week)}"
    if all(run.goodput is None for run in week.runs):
        return (head,)
    lines = list(_chance_lines(outcome))
    more = [f"{_INDENT}and {len(lines) - MOST_LINES} more in plan.json"] if len(lines) > MOST_LINES else []
    return (head, *lines[:MOST_LINES], *more)


def _chance_lines(outcome: Outcome) -> Iterator[str]:
    week = outcome.week
    for result in outcome.evaluation.runs:
        goodput = week.run(result.run).goodput
        if goodput is None:
            yield f"{_INDENT}{result.run}: nothing is said of its failures"
            continue
        promises = [
            f"{stage.stage} by {wording.local(stage.deadline, week.tz)} is {chance(stage)}"
            for stage in result.stages
            if stage.promised_probability is not None
        ]
        share = f"{_percent(goodput.factor_share)} of its work is useful"
        yield f"{_INDENT}{result.run}: {'; '.join([share, *(promises or ['no deadline this week'])])}"


def hold_line(outcome: Outcome) -> str:
    """Return up to which length of a pause each run had better hold its GPUs than stop.

    Args:
        outcome: The week, its calendar and the judge's figures.
    """
    week = outcome.week
    told = []
    for result in outcome.evaluation.runs:
        hours = hold_break_even_h(week, week.run(result.run), result.pool)
        told.append(f"{result.run} {'of any length' if hours is None else 'up to ' + wording.duration(hours)}")
    more = f" and {len(told) - MOST_NAMED} more in plan.json" if len(told) > MOST_NAMED else ""
    return f"hold       takes less energy than a stop for pauses of {', '.join(told[:MOST_NAMED])}{more}"


def points_left_out(week: Week) -> dict[str, list[dict[str, Any]]]:
    """Return the operating points that no plan of a week uses, by GPU type, with the reason.

    Args:
        week: All inputs.
    """
    found = {}
    for gpu in {pool.gpu.name: pool.gpu for pool in week.pools}.values():
        found[gpu.name] = [
            {"gpu_power_limit_w": point.gpu_power_limit_w, "reason": reason}
            for point, reason in left_out(gpu.points, gpu.idle_w_per_gpu)
        ]
    return found


def point_notes(week: Week) -> tuple[str, ...]:
    """Return one sentence for each GPU type some of whose operating points no plan uses."""
    notes = []
    for gpu, points in points_left_out(week).items():
        told = [f"{point['gpu_power_limit_w']:g} W: {point['reason']}" for point in points]
        if told:
            notes.append(f"{gpu} is not planned at {'; '.join(told)}.")
    return tuple(notes)
