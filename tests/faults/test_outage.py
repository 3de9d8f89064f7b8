"""A block without power for a while: nothing runs there, not even its cooling, and the week is planned all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.baseline import counterfactuals
from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from power.blocks import Derating
from tests.weeks import at, battery, make_block, make_run, solar, tiny_week
from thermal.plant import dry_cooler, room_air

OUTAGE = {"deratings": (Derating(at(2), at(4), 0.0, "transformer inspection"),)}
OPTIONS = PlanOptions(gap_target=0.01, time_limit_s=20.0)


def outage_week(plant, idle_powered=(True, True, False, False, True, True, True, True), **changes):
    block = make_block(n_slots=8, plant=plant, idle_powered=np.array(idle_powered), **(OUTAGE | changes))
    return tiny_week(blocks=(block,), runs=(make_run(work_h=2.0),))


def judged(week):
    found = plan(week, OPTIONS)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return evaluate(calendar, runs, week), calendar, runs


@pytest.mark.parametrize("plant", [dry_cooler(1000.0), room_air(1000.0)])
def test_in_an_outage_nothing_is_powered_and_the_rest_of_the_week_is_planned(plant):
    week = outage_week(plant)
    found, calendar, _ = judged(week)
    assert found.violations == ()
    assert found.deadlines_missed == 0
    (block,) = calendar.blocks
    for series in (block.it_kw, block.cooling_kw, block.import_kw):
        assert series[2:4] == (0.0, 0.0)
        assert min(series[:2] + series[4:]) > 0.0
    for baseline in counterfactuals(week, found):
        assert baseline.evaluation.violations == ()
        assert baseline.savings is not None


def test_with_sun_and_a_battery_an_outage_is_planned_too():
    week = outage_week(room_air(1000.0), solar=solar(300.0), battery=battery())
    week = replace(week, signals=replace(week.signals, ghi_w_per_m2=np.full(8, 500.0)))
    assert judged(week)[0].violations == ()


@pytest.mark.parametrize(
    ("service", "dark"), [({"available_from": at(4)}, slice(0, 4)), ({"available_until": at(5)}, slice(5, 8))]
)
def test_a_block_that_begins_or_ends_service_within_the_week(service, dark):
    powered = np.ones(8, dtype=bool)
    powered[dark] = False
    found, calendar, _ = judged(outage_week(room_air(1000.0), tuple(powered), deratings=(), **service))
    assert found.violations == ()
    assert found.deadlines_missed == 0
    assert np.flatnonzero(np.array(calendar.blocks[0].cooling_kw) == 0.0).tolist() == list(range(8))[dark]


def test_a_block_never_in_service_leaves_its_runs_short_by_name():
    week = outage_week(room_air(1000.0), (False,) * 8, deratings=(), available_from=at(400))
    found, calendar, _ = judged(week)
    assert found.violations == ()
    assert [short.run for short in calendar.shortfalls] == ["r1"]


def test_the_judge_names_a_run_in_an_outage():
    week = outage_week(room_air(1000.0))
    lured = [0.2, 0.2, 0.01, 0.01, 0.2, 0.2, 0.2, 0.2]
    unaware = tiny_week(blocks=(make_block(n_slots=8, plant=room_air(1000.0)),), price_per_kwh=lured)
    _, calendar, runs = judged(unaware)
    kinds = {violation.kind for violation in evaluate(calendar, runs, week).violations}
    assert {"capacity", "cooling-limit"} <= kinds


def test_the_plant_is_off_only_where_the_block_cannot_carry_its_standing_power():
    plant = room_air(1000.0)
    standing_kw = float(plant.room.room_fan_w_per_kw * plant.room.room_fan_floor**3)  # affinity law, IT power 0
    for capacity_kw, powered in ((0.0, False), (standing_kw * 0.5, False), (standing_kw * 2.0, True)):
        week = outage_week(plant, deratings=(Derating(at(2), at(4), capacity_kw, "inspection"),))
        assert week.plant_powered(week.blocks[0]).tolist() == [True, True, powered, powered, True, True, True, True]
