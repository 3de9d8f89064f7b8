"""The verdict for people: the cause first where a calendar is judged by another site file, and then a few sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.evaluate import evaluate
from planner.verdict import FEW, verdict, verdict_lines
from tests.outcomes import full_week, sample_outcome
from tests.weeks import make_block, make_pool


@pytest.fixture(scope="module")
def outcome():
    return sample_outcome(full_week(names=("vision", "speech")), kept=True)


def lines_of(outcome, week):
    found = evaluate(outcome.calendar, outcome.runs, week)
    lines = verdict_lines(outcome.calendar, found, None, "EUR")
    assert lines[-1].startswith(f"{outcome.calendar.calendar_id}: {len(found.violations)} broken; ")
    assert len(verdict(outcome.calendar, found, None)["violations"]) == len(found.violations)
    return found.violations, lines


def test_another_site_file_is_named_as_the_cause_before_a_few_of_what_follows(outcome):
    halls = (make_block("hall-a", 700.0, n_slots=168), make_block("hall-c", 100.0, n_slots=168))
    pools = (make_pool("a1", 512, "hall-a"), make_pool("b1", 256, "hall-c"))
    names = ("speech", *(f"r{i}" for i in range(6)))
    other = full_week(names=names, blocks=halls, pools=pools)
    violations, lines = lines_of(outcome, other)
    assert lines[0] == (
        "inputs: the site file is not the calendar's: run vision is only in the calendar; "
        "runs r0, r1, r2, r3, r4 and 1 more are only in the site file; block hall-b is only in the calendar; "
        "block hall-c is only in the site file"
    )
    named = {"inputs", "run-unknown", "run-missing", "block-unknown", "block-missing"}
    rest = [one for one in violations if one.kind not in named]
    assert len(rest) > FEW
    assert list(lines[1 : FEW + 1]) == [f"{one.kind}: {one.sentence}" for one in rest[:FEW]]
    assert lines[FEW + 1] == f"and {len(rest) - FEW} more; --json has all {len(violations)}"
    assert len(lines) == FEW + 3


def test_inputs_that_changed_under_the_same_names_are_the_cause_too(outcome):
    violations, lines = lines_of(outcome, replace(outcome.week, labels=("changed",), site="elsewhere"))
    assert [one.kind for one in violations] == ["header", "inputs"]
    assert lines[0] == (
        "inputs: the calendar was made from other inputs: the site file or its series have changed since"
    )
    assert lines[1].startswith("header: header key site is sample, but")
    assert len(lines) == 3


def test_a_calendar_of_these_inputs_has_every_break_told(outcome):
    found = replace(outcome.evaluation, violations=())
    breaks = tuple(
        replace(one, kind="capacity")
        for one in evaluate(outcome.calendar, outcome.runs, full_week(names=("a", "b", "c", "d"))).violations
    )
    assert len(breaks) > FEW
    lines = verdict_lines(outcome.calendar, replace(found, violations=breaks), None, "EUR")
    assert list(lines[:-1]) == [f"capacity: {one.sentence}" for one in breaks]
