"""Parts of the search over whole schedules, by hand: what belongs to whom, what work costs, what rows imply."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planner.optimize.generation import FINEST
from planner.optimize.implied import implied_bounds
from planner.optimize.matrix import Matrix
from planner.optimize.parts import SITE, take_apart
from planner.optimize.pricing import GangPricing
from planner.optimize.schedules import OwnProgram
from planner.optimize.worklevels import Fineness, stretches
from power.gpu import OperatingPoint
from tests.weeks import make_run, random_week, tiny_week
from tests.whole_schedules import drawn

FINE = Fineness(32, 1_000)
CONVEX = (OperatingPoint(350.0, 650.0, 0.70), OperatingPoint(500.0, 840.0, 0.85), OperatingPoint(700.0, 1100.0, 1.0))


def two_runs():
    return tiny_week(runs=(make_run("a", 256), make_run("b", 384, checkpoint_s=300.0, reload_s=600.0)))


def test_a_gang_owns_its_schedule_and_the_site_the_rest():
    found = drawn(two_runs())
    parts = take_apart(found.program, found.matrix, found.index)
    names = np.array(found.index.names)
    for r, run in enumerate(("a", "b")):
        mine = names[parts.columns(r)]
        assert {name.split("_")[0] for name in mine} == {"on", "start", "stop", "at", "short", "done"}
        assert all(f"_{r}_{run}" in name for name in mine)
    assert {name.split("_")[0] for name in names[parts.columns(SITE)]} >= {"it", "cooling", "import"}
    linking = [name for name in np.array(found.matrix.row_names)[parts.rows(SITE)] if name.startswith("gpus_")]
    assert linking


def test_gangs_that_meet_in_another_row_are_not_taken_apart():
    found = drawn(two_runs())
    on = [int(gang[0].on[0]) for gang in found.places.gangs]
    row = sparse.csr_array(([1.0, 1.0], ([0, 0], on)), shape=(1, found.matrix.n_columns))
    joined = replace(
        found.matrix,
        a=sparse.csr_array(sparse.vstack([found.matrix.a, row])),
        row_lower=np.append(found.matrix.row_lower, -np.inf),
        row_upper=np.append(found.matrix.row_upper, 1.0),
        row_names=(*found.matrix.row_names, "either_or"),
    )
    assert take_apart(found.program, joined, found.index) is None


def test_a_gang_whose_work_is_not_that_of_its_points_is_not_taken_apart():
    found = drawn(two_runs())
    row = next(i for i, name in enumerate(found.matrix.row_names) if name.startswith("work_"))
    scale = np.ones(found.matrix.n_rows)
    scale[row] = 0.5
    other = replace(found.matrix, a=sparse.csr_array(sparse.diags_array(scale) @ found.matrix.a))
    assert take_apart(found.program, other, found.index) is None


def one_stretch(points, fine=FINE):
    """The stretches of a run of one slot a cell, and the columns of its first cell."""
    found = drawn(tiny_week(runs=(make_run("a", 256, 3.0, points=points),)))
    gang = found.program.gangs[0]
    pieces = stretches(gang.cells, gang.options[0], [], found.index, gang.work_h, [0.0, 0.0], fine)
    return pieces, found.places.gangs[0][0], found.matrix.n_columns


def test_work_costs_what_its_points_do():
    pieces, option, n_columns = one_stretch(CONVEX)
    reduced = np.zeros(n_columns)
    reduced[option.on[0]], reduced[option.lower[0]] = 10.0, [-3.0, -2.0]
    work_h = (pieces.lowest[0] + np.arange(pieces.levels)) * pieces.unit_h
    assert (work_h[0], work_h[-1]) == pytest.approx((0.7, 1.0))
    # 7 at 0.70, 8 at 0.85, 10 at 1.00
    assert pieces.costs(reduced)[0] == pytest.approx(np.interp(work_h, [0.7, 0.85, 1.0], [7.0, 8.0, 10.0]))
    # a point that a mix of its neighbours beats is as good as that mix
    reduced[option.lower[0]] = [-3.0, -1.0]
    assert pieces.costs(reduced)[0] == pytest.approx(np.interp(work_h, [0.7, 1.0], [7.0, 10.0]))


def test_where_points_lie_beside_the_grid_the_cost_is_below_the_true_one_and_near():
    points = (
        OperatingPoint(350.0, 650.0, 0.71),
        OperatingPoint(500.0, 840.0, 0.888),
        OperatingPoint(700.0, 1100.0, 1.0),
    )
    pieces, option, n_columns = one_stretch(points)
    reduced = np.zeros(n_columns)
    reduced[option.lower[0]] = [-3.0, -2.0]
    cost = pieces.costs(reduced)[0][: pieces.count_of[0]]
    work_h = (pieces.lowest[0] + np.arange(len(cost))) * pieces.unit_h
    assert work_h[0] < 0.71
    assert work_h[-1] >= 1.0 - 1e-12
    at = np.linspace(0.71, 1.0, 200)
    true = np.interp(at, [0.71, 0.888, 1.0], [-3.0, -2.0, 0.0])
    told = np.interp(at, work_h, cost)
    assert (told <= true + 1e-12).all()
    assert (true - told).max() < 0.05


def test_a_coarser_count_has_no_more_levels_than_asked_for():
    for levels in (4, 8, 32):
        pieces, _, _ = one_stretch(CONVEX, Fineness(levels, 10_000))
        assert pieces.levels <= levels + 2


def test_rows_bound_columns_that_have_no_bound():
    # supply: x0 + x1 = 5 with x1 at most 2; the rise r of a peak is at least x0 and costs something
    matrix = Matrix(
        cost=np.array([1.0, 1.0, 4.0]),
        lower=np.zeros(3),
        upper=np.array([np.inf, 2.0, np.inf]),
        whole=np.zeros(3, dtype=bool),
        a=sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, -1.0]])),
        row_lower=np.array([5.0, -np.inf]),
        row_upper=np.array([5.0, 0.0]),
        row_names=("supply", "peak"),
    )
    lower, upper = implied_bounds(matrix)
    assert lower.tolist() == [0.0, 0.0, 0.0]
    assert upper.tolist() == [5.0, 2.0, 5.0]
    # what earns something as it grows has no bound
    assert implied_bounds(replace(matrix, cost=np.array([1.0, 1.0, -4.0])))[1][2] == np.inf


def test_bound_and_plan_are_the_same_every_time():
    week = random_week(0, n_runs=3, n_slots=8)
    bounds, plans = set(), set()
    for _ in range(2):
        found = drawn(week)
        found.schedules.work(found.deadline)
        bounds.add(found.schedules.bound(np.inf))
        plans.add(found.schedules.plan(found.deadline).tobytes())
    assert len(bounds) == len(plans) == 1


def test_the_bound_told_is_the_first_that_is_enough_however_far_the_work_went():
    week = random_week(0, n_runs=2, n_slots=8)
    far, near = drawn(week), drawn(week)
    far.schedules.work(far.deadline)
    best = far.schedules.bound(np.inf)
    first = far.schedules.bound(-np.inf)
    assert first < best
    near.schedules.stop_at(first)
    near.schedules.work(near.deadline)
    assert near.schedules.bound(np.inf) == near.schedules.bound(first) == far.schedules.bound(first) == first


@pytest.mark.parametrize(("deadline_h", "checkpoint_s", "reload_s"), [(8.0, 1200.0, 900.0), (12.0, 1200.0, 1477.0)])
def test_what_a_stop_and_the_first_start_lose_is_priced_to_the_minute(deadline_h, checkpoint_s, reload_s):
    """A run that is late by what it loses: with either loss left out the price would be too low."""
    run = make_run("a", 256, 7.9, deadline_h, points=CONVEX, checkpoint_s=checkpoint_s, reload_s=reload_s)
    found = drawn(tiny_week(n_slots=16, runs=(replace(run, on_off_grid_h=4.0, min_run_h=4.0, max_pauses=0),)))
    reduced = found.matrix.cost.copy()
    option = found.places.gangs[0][0]
    reduced[option.on[option.on >= 0]] += 40.0
    reduced[option.lower] -= np.array([9.0, 5.0])
    columns = take_apart(found.program, found.matrix, found.index)
    own = OwnProgram(found.matrix, columns, 0, found.places.gangs[0])
    starts = [np.flatnonzero([first <= c < after for c in range(4)]) for first in range(4) for after in range(first, 5)]
    told = [own.of(option.on[cells], reduced, found.deadline) for cells in starts]
    best = min(reduced[s.columns] @ s.values for s in told if s is not None)
    offer = GangPricing(found.program.gangs[0], found.index, FINEST).price(reduced)
    assert best * (1.0 - 2e-4) <= offer.least <= best * (1.0 + 1e-9)


def test_no_schedule_is_added_that_is_as_cheap_as_one_that_is_there():
    found = drawn(two_runs())
    found.schedules.work(found.deadline)
    generation = found.schedules._generation
    tried = generation.tried(generation.mix.price)
    generation._add(tried, found.deadline)
    count = len(generation.master.schedules)
    cheapest = generation.master.cheapest(tried.reduced)
    for r in range(2):
        costs = [tried.reduced[s.columns] @ s.values for s in generation.master.schedules if s.gang == r]
        assert cheapest[r] == pytest.approx(min(costs), abs=1e-9)
    assert generation._add(tried, found.deadline) == 0
    assert len(generation.master.schedules) == count
