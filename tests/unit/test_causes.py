"""Why a promise is not kept: every cause that is named can be counted in the plan, and no other is blamed."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from planner.optimize import PlanOptions, plan
from planner.optimize.causes import Solved, cause
from planner.optimize.facts import run_facts
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.places import locate
from planner.optimize.polish import polish
from planner.run import Stage
from planner.week import Prices
from tests.weeks import FULL_POWER, at, make_block, make_pool, make_run, tiny_week
from thermal.plant import dry_cooler

EXACT = PlanOptions(gap_target=0.0, time_limit_s=20.0)
SECONDS = 60.0
CHEAP_LATENESS = Prices("EUR", carbon_per_t=80.0, water_per_m3=2.0, lateness_per_gpu_h=0.001)


def said(week):
    (short,) = plan(week, EXACT).shortfalls
    return short.sentence


def solved(week, on, *, in_time):
    """The program of a week with the cells of its runs given, as text of 0 and 1."""
    program = build(week)
    matrix, index = from_pulp(program.problem)
    places = locate(program, index)
    x = np.zeros(matrix.n_columns)
    for gang, cells in zip(places.gangs, on, strict=True):
        x[gang[0].on] = [float(c) for c in cells]
    found = polish(matrix, places, places.choices, x[places.choices], time.monotonic() + SECONDS)
    assert found is not None
    return Solved(program, places, found.values, run_facts(program, places, found.values), 266.5, 0.059, in_time)


def of_first(found):
    return cause(found, 0, found.program.gangs[0].due[0])


def test_cooling_is_blamed_where_the_plant_is_the_lower_limit():
    block = make_block(n_slots=8, plant=dry_cooler(250.0))
    assert "in 8 h before it the cooling of block 'hall' leaves no more for it" in said(
        tiny_week(blocks=(block,), runs=(make_run(work_h=8),))
    )


def test_power_is_blamed_where_the_supply_is_the_lower_limit():
    block = make_block(capacity_kw=300.0, n_slots=8, plant=dry_cooler(1000.0))
    assert "in 8 h before it the power capacity of block 'hall' leaves no more for it" in said(
        tiny_week(blocks=(block,), runs=(make_run(work_h=8),))
    )


def test_cooling_is_not_blamed_where_gpus_are_what_is_missing():
    # the plant carries 600 kW; all 512 GPUs at full power take 563 kW, so that only GPUs can run out
    block = make_block(n_slots=8, plant=dry_cooler(600.0))
    runs = tuple(make_run(n, 512, 5, 8, priority=p, points=FULL_POWER) for n, p in (("low", 5), ("high", 1)))
    sentence = said(tiny_week(blocks=(block,), runs=runs))
    assert sentence.endswith("; in 5 h before it other runs take the GPUs of pool 'a1'")


def test_hours_of_both_kinds_are_told_longest_first():
    block = make_block(n_slots=8, plant=dry_cooler(400.0))
    pool = make_pool(gpus=384)
    found = solved(
        tiny_week(
            blocks=(block,),
            pools=(pool,),
            runs=(make_run("low", 256, 8, 8), make_run("high", 200, 3, 8, points=FULL_POWER)),
        ),
        ("00001111", "11100000"),
        in_time=True,
    )
    assert of_first(found) == "in 3 h before it other runs take the GPUs of pool 'a1'"
    tighter = replace(found.program.week, blocks=(make_block(n_slots=8, plant=dry_cooler(280.0)),))
    both = solved(tighter, ("00011111", "11100000"), in_time=True)
    assert of_first(both) == (
        "in 5 h before it the cooling of block 'hall' leaves no more for it and "
        "in 3 h before it other runs take the GPUs of pool 'a1'"
    )


def test_a_run_that_is_late_by_choice_is_told_so_with_the_gap():
    sentence = said(tiny_week(prices=CHEAP_LATENESS, runs=(make_run(work_h=4),)))
    assert sentence.endswith(
        "; keeping it is not possible or costs more than being late, certified to within 0.00 EUR (0.00%)"
    )


def test_a_plan_that_ran_out_of_time_never_says_that_being_in_time_costs_more():
    late = solved(tiny_week(runs=(make_run(work_h=4),)), ("00000000",), in_time=False)
    assert of_first(late) == (
        "the planning time ran out while a plan that keeps it and is up to 266.50 EUR (5.90%) cheaper was not ruled out"
    )


def test_what_is_counted_in_a_plan_that_ran_out_of_time_is_not_all_there_is_to_say():
    runs = (make_run("low", 512, 5, 8, points=FULL_POWER), make_run("high", 512, 5, 8, points=FULL_POWER))
    late = solved(tiny_week(runs=runs), ("00000111", "11111000"), in_time=False)
    assert of_first(late) == (
        "in 5 h before it other runs take the GPUs of pool 'a1'; "
        "the planning time ran out while a plan that keeps it and is up to 266.50 EUR (5.90%) cheaper was not ruled out"
    )


def test_what_no_plan_could_mend_is_said_whatever_the_gap():
    late = solved(tiny_week(runs=(make_run(work_h=10),)), ("11111111",), in_time=False)
    assert of_first(late).startswith("the work takes 10.0 h at full speed and its pools are open to it for 8.0 h")


def test_hours_after_the_deadline_are_no_cause():
    run = make_run("low", 512, 2, 3, points=FULL_POWER)
    run = replace(run, stages=(*run.stages, Stage("rest", 0.0, at(8))))
    other = make_run("high", 512, 5, 8, points=FULL_POWER)
    found = solved(tiny_week(runs=(run, other)), ("00000000", "00011111"), in_time=True)
    assert of_first(found).startswith("keeping it is not possible or costs more than being late")


@pytest.mark.parametrize(
    ("dear", "reason"), [(False, ""), (True, ", as deadlines, the billed peak or other runs weigh")]
)
def test_only_hours_dearer_than_the_mean_ask_for_a_reason(dear, reason):
    price = [0.10] * 4 + [0.02] * 4 if dear else [0.02] * 4 + [0.10] * 4
    week = tiny_week(price_per_kwh=price, runs=(make_run(work_h=4, deadline_h=4, points=FULL_POWER),))
    why = plan(week, EXACT).schedule.runs[0].why
    mine, mean = ("0.124", "0.084") if dear else ("0.044", "0.084")
    told = f"with its carbon a kWh costs {mine} EUR while it runs, {mean} over the horizon{reason}"
    assert told in why
    assert ("weigh more" in why) == dear
