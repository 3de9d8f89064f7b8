"""The chance of each promise under failures: promised by reckoning, and seen in simulated weeks."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.promises import KEPT_SHARE
from planner.evaluate.record import Violation
from planner.timegrid import iso
from power.failure_budget import TrainingPlan, TrainingSpell, reach_probability
from power.failure_weeks import simulated_probability

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.evaluate.record import StageResult
    from planner.evaluate.trace import RunTrace
    from planner.run import Run
    from planner.week import Week

SIMULATED_WEEKS = 10_000
KEPT_WITHIN = 0.02
"""By how much the simulated chance may lie below the one asked for."""


def with_chances(
    week: Week, seen: RunTrace, stages: Sequence[StageResult], calendar_id: str, weeks: int
) -> tuple[StageResult, ...]:
    """Return the promises of a run with the chance that each is kept, where its failures are known.

    The chance is that of the tokens due without their margin, with as much forgiven as at any deadline: a second of the
    whole gang and 0.001 %. The random numbers depend on the calendar and the run alone. A promise for the horizon's
    end, which stands for a share of a later stage, has no chance of its own.

    Args:
        week: All inputs.
        seen: The run's windows.
        stages: How each promise went without failures.
        calendar_id: Seeds the simulated weeks.
        weeks: Count of simulated weeks; 0 for the reckoned chance alone.
    """
    goodput = seen.run.goodput
    promised = week.promised_tokens(seen.run)
    if goodput is None or not promised:
        return tuple(stages)
    plan = _training_plan(week, seen)
    due = []
    for stage, tokens in promised:
        forgiven = min(tokens, seen.run.fastest_tokens_per_s + KEPT_SHARE * tokens)
        due.append((tokens - forgiven, (stage.deadline - week.grid.start).total_seconds()))
    simulated: tuple[float | None, ...] = (None,) * len(due)
    if weeks:
        simulated = simulated_probability(goodput, plan, due, weeks, _seed(calendar_id, seen.run))
    found = [
        replace(
            result,
            promised_probability=reach_probability(goodput, plan, tokens, deadline_s),
            simulated_probability=share,
            asked_probability=stage.deadline_confidence,
        )
        for result, (stage, _), (tokens, deadline_s), share in zip(stages, promised, due, simulated, strict=False)
    ]
    return (*found, *stages[len(found) :])


def check_chances(run: str, stages: Sequence[StageResult]) -> Iterator[Violation]:
    """Yield every chance that is missed by over two points though the calendar names no shortfall of its stage."""
    for stage in stages:
        asked = stage.asked_probability
        seen = stage.promised_probability if stage.simulated_probability is None else stage.simulated_probability
        if asked is None or seen is None or stage.announced or seen >= asked - KEPT_WITHIN:
            continue
        yield Violation(
            "confidence",
            f"{run} {stage.stage}",
            stage.deadline,
            seen,
            asked,
            "",
            f"run {run} reaches stage {stage.stage} by {iso(stage.deadline)} in {100 * seen:.1f} % of the weeks with "
            f"failures, less than the {100 * asked:g} % asked for, and the calendar does not say so",
        )


def _training_plan(week: Week, seen: RunTrace) -> TrainingPlan:
    """Return what the windows would make if nothing failed: the planned tokens count failures already."""
    run, horizon_s = seen.run, 3600.0 * week.grid.hours
    assert run.goodput is not None
    spells = []
    for spell, way in zip(seen.spells, seen.ways, strict=True):
        first = seen.windows[spell.first]
        goes_on = spell.start_s <= 0.0 and run.runs_on(str(first.pool), first.gpus)
        moving_s = 0.0 if way is None else way.time_s
        spells.append(
            TrainingSpell(
                start_s=spell.start_s,
                end_s=spell.end_s,
                reload_s=0.0 if goes_on else run.reload_s + moving_s,
                save_s=run.checkpoint_s if spell.end_s < horizon_s else 0.0,
            )
        )
    return TrainingPlan(tuple(spells), seen.made_s, np.asarray(seen.made_tokens / run.goodput.factor_share))


def _seed(calendar_id: str, run: Run) -> int:
    return int.from_bytes(hashlib.sha256(f"{calendar_id} {run.name}".encode()).digest()[:8], "big")
