"""Parts of an explanation: the same here as in other processes, and what makes them quick changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from planner.backtest_pool import in_processes
from planner.optimize import explain as explaining
from planner.optimize.changes import Deadline, MoreGpus
from planner.optimize.explain import Asked, explain
from planner.optimize.explain_parts import part_of
from planner.optimize.fixed import fix
from planner.optimize.move_bounds import MoveBounds
from planner.optimize.solver import Highs
from planner.optimize.warm import relaxed
from tests.explained import explained
from tests.weeks import at, random_week


@pytest.fixture(scope="module")
def found():
    return explained(random_week(5, n_runs=3, n_slots=12))


def test_parts_are_the_same_in_other_processes(found, monkeypatch):
    given = (found.week, found.calendar, found.runs)
    here = explain(*given, asked=Asked(), options=None)
    monkeypatch.setattr(explaining, "LARGE", 0)
    carried = []

    def carry(parts):
        carried.append(len(parts))
        return in_processes(part_of, 2, lambda _n, _of: None)(parts)

    apart = explain(*given, asked=Asked(), options=None, carry=carry)
    assert carried == [len(here.why) + len(here.changes)]
    assert apart.why == here.why
    assert [(c.told, c.worth, c.at_most) for c in apart.changes] == [(c.told, c.worth, c.at_most) for c in here.changes]


def test_a_small_program_is_worked_out_at_once(found):
    def never(parts):
        raise AssertionError(parts)

    told = explain(found.week, found.calendar, found.runs, asked=Asked(), options=None, carry=never)
    assert len(told.why) == 3


def test_moves_that_are_ruled_out_are_those_that_no_solve_would_take(found):
    fixed, choices = found.fixed, found.fixed.places.choices
    bounds, highs = MoveBounds(fixed.whole, choices), Highs(fixed.whole, whole=False)
    x, random = np.round(fixed.polished.values[choices]), np.random.default_rng(0)
    ruled_out = solved = 0
    for _ in range(80):
        moved = x.copy()
        flipped = random.choice(len(choices), 2, replace=False)
        moved[flipped] = 1.0 - moved[flipped]
        least = bounds.least(moved)
        highs.bound_columns(choices, moved, moved)
        answer = highs.run(60.0)
        if answer.status != "optimal":
            ruled_out += least == np.inf
            continue
        assert least <= answer.objective + 1e-6 * max(1.0, abs(answer.objective))
        bounds.learn(answer.objective, moved, highs.column_duals()[choices])
        assert bounds.least(moved) == pytest.approx(answer.objective)
        solved += 1
    assert ruled_out
    assert solved


@pytest.mark.parametrize("same", [True, False])
def test_a_relaxation_that_starts_from_another_ends_where_one_from_scratch_does(found, same):
    week = found.week
    run = week.runs[0]
    change = Deadline(run.name, run.stages[-1].name, at(12.0)) if same else MoreGpus(week.pools[0].name, 64)
    other = fix(change.apply(week), found.choices)
    _, warm = relaxed(found.fixed)
    scratch, _ = relaxed(other)
    started, _ = relaxed(other, warm, same_gpus=same)
    assert (started.status, scratch.status) == ("optimal", "optimal")
    assert started.objective == pytest.approx(scratch.objective, rel=2e-3, abs=1e-6)
