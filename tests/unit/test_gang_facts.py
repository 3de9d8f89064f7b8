"""What people are told of gangs: chances, holding against stopping, points that no plan uses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.evaluate.record import StageResult
from planner.export.view import failures, run_rows
from planner.gang_facts import (
    NO_FAILURES,
    chance,
    failure_lines,
    gang_facts,
    hold_break_even_h,
    hold_line,
    point_notes,
)
from planner.week import Week
from power.goodput import Goodput
from tests.outcomes import sample_outcome
from tests.weeks import POINTS, at, make_pool, make_run, tiny_week

GOODPUT = Goodput(1e-6, 9000.0, 1000.0, 600.0)
STAGE = StageResult("train", at(8), 1e9, 1e9, at(7), 1.0, met=True, announced=False)
SEEN = replace(STAGE, promised_probability=0.912, simulated_probability=0.9049, asked_probability=0.9)


@pytest.fixture(scope="module")
def outcome():
    return sample_outcome()


def failing(outcome, stage: StageResult = SEEN):
    """The outcome as if its first run failed now and then."""
    first, *others = outcome.evaluation.runs
    runs = (replace(first, stages=(stage,)), *others)
    week = replace(outcome.week, runs=(replace(outcome.week.runs[0], goodput=GOODPUT), *outcome.week.runs[1:]))
    return replace(outcome, week=week, evaluation=replace(outcome.evaluation, runs=runs))


def gpu_week(held_w: float | None) -> Week:
    pool = make_pool()
    pool = replace(pool, gpu=replace(pool.gpu, held_w_per_gpu=held_w))
    return tiny_week(pools=(pool,), runs=(make_run(checkpoint_s=120.0, reload_s=600.0),))


def test_without_failures_it_says_that_none_were_reckoned_with(outcome):
    (line,) = failure_lines(outcome)
    assert line.startswith("failures   none given (failures_per_gpu_day)")
    assert failures(outcome) == f"Failures: {NO_FAILURES}."
    assert set(gang_facts(outcome.week, outcome.evaluation.runs[0])) == {"hold_break_even_h"}


def test_each_promise_is_told_with_its_chance(outcome):
    lines = failure_lines(failing(outcome))
    name = outcome.week.runs[0].name
    assert lines[1].strip() == (
        f"{name}: {100 * GOODPUT.factor_share:.1f} % of its work is useful; train by Mon 13 May 10:00 is kept in "
        "90.5 % of weeks (promised 91.2 %, asked for 90 %)"
    )
    assert lines[2].endswith(": nothing is said of its failures")
    assert len(lines) == 1 + len(outcome.week.runs)
    assert failures(failing(outcome)) == "Failures: chances are shares of 10\u202f000 simulated weeks."


def test_a_run_without_a_deadline_this_week_has_no_chance_to_tell(outcome):
    assert "no deadline this week" in failure_lines(failing(outcome, STAGE))[1]


def test_chances_are_told_as_far_as_they_are_known():
    assert chance(STAGE) == ""
    assert chance(replace(SEEN, asked_probability=None)) == "kept in 90.5 % of weeks (promised 91.2 %)"
    assert chance(replace(SEEN, simulated_probability=None)) == "kept in 91.2 % of weeks by reckoning, asked for 90 %"


def test_the_report_tells_the_chance_beside_the_margin(outcome):
    (row,) = run_rows(failing(outcome))[0].stages
    assert row.margin == "1 h early; kept in 90.5 % of weeks (promised 91.2 %, asked for 90 %)"
    assert "kept in" not in run_rows(outcome)[0].stages[0].margin


def test_facts_for_machines(outcome):
    told = gang_facts(failing(outcome).week, failing(outcome).evaluation.runs[0])
    assert told["failures_per_day"] == pytest.approx(0.0864)
    assert (told["checkpoint_every_s"], told["checkpoint_s"]) == (9000.0, 1000.0)
    assert told["useful_share"] == GOODPUT.factor_share
    assert [stage["simulated_probability"] for stage in told["stages"]] == [0.9049]


def test_holding_beats_stopping_for_short_pauses_by_hand():
    # 1100 W in training, 150 W idle, 200 W held: 950 W for 720 s against 50 W
    week = gpu_week(200.0)
    assert hold_break_even_h(week, week.runs[0], "a1") == pytest.approx(950 * 720 / 50 / 3600)
    assert hold_break_even_h(week, week.runs[0], None) == pytest.approx(950 * 720 / 50 / 3600)
    still = gpu_week(None)
    assert hold_break_even_h(still, still.runs[0], "a1") is None


def test_the_line_about_holding_names_the_runs(outcome):
    line = hold_line(outcome)
    assert line.startswith("hold       takes less energy than a stop for pauses of ")
    assert f"{outcome.week.runs[0].name} of any length" in line
    many = replace(outcome.evaluation, runs=outcome.evaluation.runs * 3)
    assert "more in plan.json" in hold_line(replace(outcome, evaluation=many))


def test_points_that_no_plan_uses_are_noted_with_the_reason():
    deep = replace(POINTS[0], gpu_power_limit_w=200.0, it_w_per_gpu=500.0, relative_throughput=0.2)
    (note,) = point_notes(tiny_week(pools=(make_pool(points=(deep, *POINTS)),)))
    assert note.startswith("H100 is not planned at 200 W: pausing between spells at 350 W gives 0.490 of full")
    assert point_notes(tiny_week()) == ()
