"""Names that PuLP writes alike are kept apart, and change nothing of a plan."""

from __future__ import annotations

import pytest

from planner.optimize import PlanOptions, plan
from planner.optimize.labels import labels
from tests.weeks import make_block, make_pool, make_run, tiny_week

EXACT = PlanOptions(gap_target=1e-6, time_limit_s=20.0)


def test_names_are_left_as_pulp_writes_them():
    assert labels(["hall a", "hall-b"]) == {"hall a": "hall_a", "hall-b": "hall_b"}


def test_names_that_are_written_alike_carry_their_place():
    found = labels(["hall-a", "hall_a", "hall_a.0"])
    assert len(set(found.values())) == 3
    assert found["hall_a"] == "hall_a.1"


def two_blocks(first, second):
    blocks = (make_block(first, n_slots=8), make_block(second, n_slots=8))
    pools = (make_pool("a1", 512, first), make_pool("a2", 256, second))
    runs = tuple(make_run(f"r{i}", 256, 5.0, pools=("a1", "a2")) for i in range(4))
    return tiny_week(n_slots=8, blocks=blocks, pools=pools, runs=runs)


def two_pools(first, second):
    pools = (make_pool(first, 256), make_pool(second, 256))
    runs = tuple(make_run(f"r{i}", 256, 3.0, pools=(first, second)) for i in range(4))
    return tiny_week(n_slots=8, pools=pools, runs=runs)


@pytest.mark.parametrize("week", [two_blocks, two_pools])
def test_a_plan_is_the_same_whatever_its_names(week):
    alike, apart = (plan(week(*names), EXACT) for names in (("a-1", "a_1"), ("first", "second")))
    assert alike.objective == pytest.approx(apart.objective, rel=1e-6)
    assert alike.shortfalls == apart.shortfalls == ()
