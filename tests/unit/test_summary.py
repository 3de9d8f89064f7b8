from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from planner.schedule import CoolingFit, Plan, Schedule
from planner.summary import closing_lines, ended_early, summary
from tests.outcomes import sample_outcome

FILES = {"calendar": "out/s/2024-W20/calendars/ab", "report": "out/s/2024-W20/report.html"}
PLAN = Plan(Schedule((), ()), "optimal", 100.0, 99.2, 0.008, (("energy", 100.0),), (), 0.5, 3.25, (("rows", 7),))


@pytest.fixture(scope="module")
def outcome():
    return sample_outcome()


def test_the_object_has_the_agreed_keys_and_is_json(outcome):
    told = json.loads(json.dumps(summary(outcome, PLAN, FILES), allow_nan=False))
    assert told["calendar_id"] == outcome.calendar.calendar_id
    assert (told["status"], told["mip_gap"], told["build_s"], told["solve_s"]) == ("optimal", 0.008, 0.5, 3.25)
    assert told["violations"] == 0
    assert told["files"] == FILES
    assert {"energy_kwh", "carbon_kg", "cost", "water_l", "tokens", "peak_kw"} <= told.keys()
    assert {"energy_kwh", "carbon_kg", "cost", "tokens"} <= told["baseline"]["asap"].keys() & told["baseline"][
        "steady"
    ].keys()
    assert told["tokens"] == pytest.approx(sum(run["tokens"] for run in told["runs"]))
    assert told["cost"] == pytest.approx(sum(told["terms"][name] for name in ("energy", "demand", "water", "wear")))


def test_only_a_search_that_used_its_time_is_told_to_want_more():
    assert ended_early(PLAN, 4.0) == "the planning time ran out at a certified gap of 0.80 %; --time-limit gives more."
    assert "ended at a certified gap of 0.80 % before its time was over" in ended_early(PLAN, 60.0)


def test_savings_are_stated_against_asap_and_withheld_with_the_reason(outcome):
    saved = summary(outcome, PLAN, FILES)["saved"]
    assert (saved["against"], saved["carbon_pct"], saved["cost_pct"]) == ("asap", 16.7, 3.2)
    assert saved["asap"]["carbon_pct"] == 16.7
    assert saved["steady"]["carbon_pct"] is None
    assert "steady cannot make" in saved["steady"]["reason"]


def test_a_promise_that_is_not_kept_is_counted_and_named(outcome):
    told = summary(outcome, PLAN, FILES)
    assert (told["deadlines_kept"], told["deadlines"]) == (6, 7)
    assert told["shortfalls"][0]["run"] == outcome.week.runs[1].name


def test_how_well_the_program_follows_the_cooling_stands_beside_the_replay(outcome):
    block = outcome.evaluation.blocks[0]
    replay_kwh = float(block.cooling_kw.sum()) * outcome.evaluation.slot_h
    fit = CoolingFit(block.block, 1.01 * replay_kwh, 31.0, 20.0, 11.0, 420.0, 40.0, 60.0, "not convex")
    (told,) = summary(outcome, replace(PLAN, cooling=(fit,)), FILES)["cooling"]
    assert (told["block"], told["rough_h"], told["binary_h"], told["hull_gap_kw"]) == (block.block, 31.0, 20.0, 420.0)
    assert told["replay_kwh"] == pytest.approx(replay_kwh)
    assert told["off_pct"] == pytest.approx(1.0)


def test_what_the_calendar_notes_is_a_label_once(outcome):
    noted = replace(outcome, calendar=replace(outcome.calendar, notes=(*outcome.week.labels, "The curve is rough.")))
    assert summary(noted, PLAN, FILES)["labels"] == [*outcome.week.labels, "The curve is rough."]


def test_five_lines_close_a_planning(outcome):
    lines = closing_lines(outcome, FILES)
    assert [line.split()[0] for line in lines] == ["carbon", "cost", "energy", "deadlines", "files"]
    assert "16.7 % less than asap" in lines[0]
    assert "steady" not in lines[0]
    assert "6 of 7 kept, late: =1+1 train" in lines[3]
    assert lines[4].endswith("out/s/2024-W20: calendars/ab, report.html")
    assert not any("\n" in line for line in lines)


def test_broken_promises_are_said_in_the_closing_lines(outcome):
    broken = replace(outcome, evaluation=replace(outcome.evaluation, violations=(SimpleNamespace(sentence="x"),)))
    assert "the judge finds 1 broken promise" in closing_lines(broken, FILES)[3]


def test_of_many_late_stages_three_are_named(outcome):
    runs = tuple(
        replace(run, stages=tuple(replace(stage, met=False) for stage in run.stages)) for run in outcome.evaluation.runs
    )
    late = replace(outcome, evaluation=replace(outcome.evaluation, runs=runs))
    assert "0 of 7 kept, late: " in closing_lines(late, FILES)[3]
    assert closing_lines(late, FILES)[3].endswith(" and 4 more")
