"""The aggregate program with every run by itself is the relaxation of the program of record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.optimize.limits import block_limits
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.scale.classes import EVERY_RUN, Fineness, classes
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.fluid import Fluid
from planner.optimize.solver import Highs
from tests.many_gangs import many_gangs
from tests.weeks import random_week


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


WEEKS = {
    "solar, battery and a demand charge": flowing(many_gangs(5, n_runs=9, n_slots=48, n_pools=2)),
    "a ramp limit": flowing(many_gangs(6, n_runs=8, n_slots=36, n_pools=1, ramp_kw_per_min=0.8)),
    "quarter hours": flowing(many_gangs(7, n_runs=6, n_slots=96, slot_minutes=15, n_pools=1)),
    **{f"drawn week {seed}": flowing(random_week(seed, n_runs=4, n_slots=12)) for seed in range(8)},
}


@pytest.mark.parametrize("name", WEEKS)
def test_the_same_fluid_program_costs_the_same_by_both_ways(name):
    week = WEEKS[name]
    program = build(week)
    matrix, _ = from_pulp(program.problem)
    record = Highs(matrix, whole=False).run(60.0)
    assert record.objective is not None
    found = Fluid(gangs(week), EVERY_RUN).solve(60.0)
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
    for fine in (EVERY_RUN, Fineness(12.0, 3, 1.0), Fineness(48.0, 1, 1.0)):
        like = classes(found, fine)
        assert sum(one.gpus for one in like) == sum(run.gpus for run in week.runs)
        lost_h = (week.runs[0].reload_s + week.runs[0].checkpoint_s) / 3600.0
        gpus = np.array([run.gpus for run in week.runs])
        work = found.dues.work_h + lost_h * np.ceil(found.dues.work_h / 16.0)
        assert sum(one.work.sum() for one in like) == pytest.approx((work * gpus[:, None]).sum())
    assert len(classes(found, Fineness(48.0, 1, 1.0))) < len(classes(found, EVERY_RUN)) == 120
