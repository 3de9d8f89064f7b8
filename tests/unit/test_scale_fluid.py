"""The aggregate program with every run by itself is the relaxation of the program of record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.objective import CARBON, COST, LATENESS, WATER, Goal, Objective
from planner.optimize.limits import block_limits
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.scale.certificate import Certificate
from planner.optimize.scale.classes import EVERY_RUN, Fineness, classes
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.fluid import Fluid
from planner.optimize.scale.goals import valued
from planner.optimize.scale.plan import TOGETHER
from planner.optimize.solver import Highs
from tests.many_gangs import many_gangs
from tests.weeks import make_block, make_pool, make_run, random_week, tiny_week
from thermal.ready import tower_chiller


def flowing(week):
    """The week without what only whole gangs know: starts, stops, spells, a choice of pools."""
    slot_h = week.grid.slot_h
    free = {
        "checkpoint_s": 0.0, "reload_s": 0.0, "min_run_h": slot_h, "min_pause_h": slot_h, "max_pauses": 1000,
        "on_off_grid_h": slot_h,
    }  # fmt: skip
    return replace(week, runs=tuple(replace(run, options=run.options[:1], **free) for run in week.runs))


def gangs(week):
    return crowd(week, [block_limits(week, block) for block in week.blocks])


GOALS = (
    (Goal(CARBON, 0.4, 900.0), Goal(COST, 0.5)),
    (Goal(COST, 2.0, 300.0), Goal(WATER, 0.02), Goal(LATENESS, 0.5)),
    (Goal(LATENESS, 30.0, 400.0), Goal(WATER, 0.1, 200.0), Goal(CARBON, -0.02)),
    (Goal(LATENESS, 5.0, 300.0), Goal(LATENESS, 5.0, 500.0), Goal(CARBON, 0.3)),
)


def aiming(*goals):
    """A crowded week with water, and goals beside its prices."""
    week = many_gangs(9, n_runs=9, n_slots=36, n_pools=2, fill=1.2)
    blocks = tuple(replace(block, plant=tower_chiller(block.plant.rated_it_kw)) for block in week.blocks)
    return flowing(replace(week, blocks=blocks, objective=Objective(goals=goals)))


WEEKS = {
    "solar, battery and a demand charge": flowing(many_gangs(5, n_runs=9, n_slots=48, n_pools=2)),
    "a ramp limit": flowing(many_gangs(6, n_runs=8, n_slots=36, n_pools=1, ramp_kw_per_min=0.8)),
    "quarter hours": flowing(many_gangs(7, n_runs=6, n_slots=96, slot_minutes=15, n_pools=1)),
    **{f"goals {i}": aiming(*goals) for i, goals in enumerate(GOALS)},
    **{f"drawn week {seed}": flowing(random_week(seed, n_runs=4, n_slots=12)) for seed in range(8)},
}


@pytest.mark.parametrize("name", WEEKS)
def test_the_same_fluid_program_costs_the_same_by_both_ways(name):
    week = WEEKS[name]
    program = build(week)
    matrix, _ = from_pulp(program.problem)
    record = Highs(matrix, whole=False).run(60.0)
    assert record.objective is not None
    found = Fluid(valued(gangs(week)), EVERY_RUN).solve(60.0)
    assert found is not None
    assert found.objective == pytest.approx(record.objective * program.power_kw, rel=1e-6)


def test_the_fluid_weeks_ask_for_what_ties_them():
    ramped = WEEKS["a ramp limit"]
    free = replace(
        ramped, blocks=tuple(replace(b, power=replace(b.power, ramp_kw_per_min=None)) for b in ramped.blocks)
    )
    with_ramp, without = (Fluid(gangs(week), EVERY_RUN).solve(60.0).objective for week in (ramped, free))
    assert with_ramp > without * (1.0 + 1e-6)


def test_classes_hold_every_gpu_and_all_work_once():
    week = many_gangs(1, n_runs=120, n_slots=48, n_pools=2)
    found = gangs(week)
    gpus = np.array([run.gpus for run in week.runs])
    lost_h = (week.runs[0].reload_s + week.runs[0].checkpoint_s) / 3600.0
    work = (found.dues.work_h + lost_h * np.ceil(found.dues.work_h / 16.0)) * gpus[:, None]
    for fine in (EVERY_RUN, Fineness(12.0, 3, 1.0), Fineness(48.0, 1, 1.0)):
        like = classes(found, fine)
        assert sum(one.gpus for one in like) == gpus.sum()
        assert sum(one.work[-1] if len(one.work) == 1 else one.work.max() for one in like) == pytest.approx(
            work.max(axis=1).sum()
        )
        for one in like:
            assert one.room.max() <= one.gpus
    assert len(classes(found, Fineness(48.0, 1, 1.0))) < len(classes(found, EVERY_RUN)) == 120


def test_a_class_owes_what_its_members_owe_by_then_and_has_their_gpus_while_they_may_run():
    week = tiny_week(
        n_slots=48,
        blocks=(make_block("hall-1", 100.0, n_slots=48),),
        pools=(make_pool("a1", 100, "hall-1"),),
        runs=(
            make_run("early", 8, 5.0, 20.0, pools=("a1",), min_run_h=1.0, min_pause_h=1.0),
            make_run("late", 16, 10.0, 40.0, pools=("a1",), min_run_h=1.0, min_pause_h=1.0),
        ),
    )
    (both,) = classes(gangs(week), Fineness(48.0, 1, 1.0))
    assert both.marks[:, 0].tolist() == [20.0, 40.0]
    lost_h = [(run.reload_s + run.checkpoint_s) / 3600.0 for run in week.runs]
    assert both.work.tolist() == pytest.approx([8 * (5 + lost_h[0]), 8 * (5 + lost_h[0]) + 16 * (10 + lost_h[1])])
    assert both.room.tolist() == [24.0] * 20 + [16.0] * 20 + [0.0] * 8


def test_classes_give_a_bound_as_good_as_every_run_by_itself():
    found = gangs(many_gangs(2, n_runs=60, n_slots=48, n_pools=2))
    together, each = (Fluid(found, fine).solve(60.0, interior=True) for fine in (TOGETHER, Fineness(1e-6, 1000, 1.0)))
    certificate = Certificate(found)
    bounds = [certificate.bound(one.it, one.gpu, 60.0) for one in (together, each)]
    assert bounds[0] == pytest.approx(bounds[1], rel=2e-3)
