"""What is too large, or not known, is refused with what would do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import ConfigError
from planner.optimize import PlanOptions
from planner.optimize.size import check_by_gangs, check_size
from power.export import GridExport
from tests.many_gangs import many_gangs


def test_a_week_of_many_decisions_names_what_keeps_it_from_classes(monkeypatch):
    week = many_gangs(1, n_runs=50, n_slots=24, n_pools=1)
    check_size(week)
    monkeypatch.setattr("planner.optimize.size.MOST_DECISIONS", 1000)
    with pytest.raises(ConfigError, match=r"50 runs, 24 slots.*at most 1,000 can be planned at once"):
        check_size(week)
    sold = replace(week, blocks=(replace(week.blocks[0], export=GridExport(limit_kw=10.0)),))
    with pytest.raises(ConfigError, match="does not know the export of block 'hall-1'"):
        check_size(sold)


def test_paths_count_as_programs_of_their_own(monkeypatch):
    week = many_gangs(1, n_runs=50, n_slots=24, n_pools=1)
    points = sum(24 * (len(option.points) + 1) for run in week.runs for option in run.options)
    monkeypatch.setattr("planner.optimize.size.MOST_DECISIONS", 5 * points)
    check_by_gangs(week, PlanOptions(), 5)
    with pytest.raises(ConfigError, match=f"{6 * points:,} decisions with 5 paths of the forecast"):
        check_by_gangs(week, PlanOptions(), 6)


@pytest.mark.parametrize(("programs", "named"), [(1, "a plan in force to go on from"), (9, "8 paths of the forecast")])
def test_classes_know_neither_paths_nor_a_plan_in_force(programs, named):
    week = many_gangs(1, n_runs=50, n_slots=24, n_pools=1)
    with pytest.raises(ConfigError, match=f"does not know {named}") as caught:
        check_by_gangs(week, PlanOptions(method="scale"), programs)
    assert 'method = "gangs"' in str(caught.value)
