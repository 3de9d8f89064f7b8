"""Own supply broken on purpose: the judge names each break, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.publish import to_calendar
from planner.schedule import BlockSchedule, GeneratorSchedule, RunSchedule, Schedule
from power.battery import EQUAL
from power.export import GridExport
from power.generation import Generator
from power.ppa import BASELOAD, PHYSICAL, Ppa
from power.wind import WindTurbines
from tests.judged import renamed
from tests.weeks import at, battery, make_block, make_run, tiny_week
from trainer_hooks.calendar import GeneratorPlan

SETS = Generator("sets", 2, 100.0, 0.35, 2.0, 2.0, 10.0, 0.1, 500.0, initial_units=1, initial_h=1.0, max_unit_h=9.0)
UNITS = (1, 1, 1, 1, 1, 1, 1, 1)
STORE = {"reserve_min": 3.0, "final_rule": EQUAL, "grid_charging": False}


def week_of():
    """Eight idle hours of about 91 kW with wind, one unit running, a battery at rest and a baseload."""
    block = make_block(n_slots=8, battery=battery(200.0, 100.0, **STORE))
    block = replace(
        block,
        wind=WindTurbines("ridge", 300.0, 100.0, available_share=1.0),
        generators=(SETS,),
        export=GridExport(60.0),
        power=replace(block.power, grid_kw=80.0),
    )
    week = tiny_week(blocks=(block,), runs=(make_run(work_h=0.0),))
    signals = replace(week.signals, wind_speed_m_per_s=np.full(8, 6.0))
    return replace(week, signals=signals, ppas=(Ppa("flat", BASELOAD, PHYSICAL, 0.05, baseload_kw=20.0),))


def calendar_of(week):
    """A calendar that keeps every promise: the unit at its lowest load, some wind, the rest from the grid."""
    still = np.zeros(8)
    group = GeneratorSchedule("sets", np.array(UNITS), np.full(8, 35.0))
    block = BlockSchedule(
        "hall", still, still, still, wind_used_kw=np.full(8, 12.0), export_kw=still, generators=(group,)
    )
    schedule = Schedule((RunSchedule("r1", None, still),), (block,))
    return to_calendar(week, schedule, status="optimal", certified_gap=None)


def broken(change, week=None):
    """Kinds of what the judge finds once the block's plan is changed and its import balanced again."""
    week = week or replace(week_of(), ppas=())
    calendar, runs = calendar_of(week)
    plan = change(calendar.blocks[0])
    made = sum(np.array(group.generation_kw) for group in plan.generators)
    taken = np.array(plan.facility_kw) + plan.charge_kw + (plan.export_kw or np.zeros(8))
    imported = taken - plan.solar_kw - plan.discharge_kw - plan.wind_kw - made
    states = 100.0 + np.cumsum(np.array(plan.charge_kw) * 0.95 - np.array(plan.discharge_kw) / 0.95)
    plan = replace(plan, import_kw=tuple(imported.tolist()), battery_kwh=tuple(states.tolist()))
    found = evaluate(*renamed(replace(calendar, blocks=(plan,)), runs), week)
    return {violation.kind for violation in found.violations}, found


def group(units=UNITS, kw=(35.0,) * 8, name="sets"):
    return lambda plan: replace(plan, generators=(GeneratorPlan(name, tuple(units), tuple(kw)),))


def series(**values):
    def change(plan):
        told = {name: list(getattr(plan, name)) for name in values}
        for name, slots in values.items():
            for t, kw in slots.items():
                told[name][t] = kw
        return replace(plan, **{name: tuple(kw) for name, kw in told.items()})

    return change


def dam(plan):
    return replace(plan, generators=(*plan.generators, GeneratorPlan("dam", UNITS, (0.0,) * 8)))


def test_the_calendar_that_is_broken_here_keeps_every_promise():
    assert broken(lambda plan: plan)[0] == set()


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (group(kw=[35.0] * 7 + [20.0]), {"generation"}),
        (group(kw=[35.0] * 7 + [101.0]), {"generation", "export"}),
        (group([1] * 7 + [0], [35.0] * 8), {"generation"}),
        (group([3, *UNITS[1:]], [105.0] + [35.0] * 7), {"units", "min-up", "min-down", "permit", "export"}),
        # the unit that ran for an hour before must run for another
        (group([0, *UNITS[1:]], [0.0] + [35.0] * 7), {"min-up"}),
        # the unit that rested for an hour before must rest for another
        (group([2, *UNITS[1:]], [70.0] + [35.0] * 7), {"min-down"}),
        (group([1, 1, 0, 0, 1, 0, 0, 0], [35.0, 35.0, 0.0, 0.0, 35.0, 0.0, 0.0, 0.0]), {"min-up"}),
        (group([1, 2, 2, 1, 2, 1, 1, 1], [35.0, 70.0, 70.0, 35.0, 70.0, 35.0, 35.0, 35.0]), {"min-down", "permit"}),
        (group([1, 1, 1, 1, 2, 2, 1, 1], [35.0] * 4 + [70.0] * 2 + [35.0] * 2), {"permit"}),
        (dam, {"generator-unknown"}),
        (series(wind_kw={3: 50.0}), {"wind"}),
        (series(wind_kw={3: -1.0}), {"wind"}),
        (series(export_kw={3: 61.0}), {"export-limit", "export-both", "import-capacity"}),
        (series(export_kw={3: -1.0}), {"export-limit"}),
        (series(export_kw={3: 5.0}), {"export-both"}),
        (
            series(charge_kw={2: 50.0}, discharge_kw={3: 25.0 * 0.9025, 4: 25.0 * 0.9025}),
            {"battery-grid", "import-capacity"},
        ),
        (series(charge_kw={2: 20.0}), {"battery-final"}),
        (series(discharge_kw={2: 30.0}), {"battery-final"}),
        (series(discharge_kw={2: 39.0, 3: 38.0}), {"battery-final", "battery-reserve", "battery-state"}),
    ],
)
def test_each_break_is_named(change, kinds):
    assert broken(change)[0] == kinds


def test_a_reserve_that_is_broken_alone_is_named():
    week = week_of()
    # 60 min of 91 kW are 96 kWh of the store, of which 80 are there above the lowest state
    store = replace(week.blocks[0].battery, reserve_min=60.0)
    week = replace(week, blocks=(replace(week.blocks[0], battery=store),))
    kinds, found = broken(lambda plan: plan, week)
    assert kinds == {"battery-reserve"}
    (told,) = found.violations
    assert told.limit == pytest.approx(20.0 + found.blocks[0].facility_kw[0] / 0.95)


def test_a_unit_out_of_service_does_not_run():
    week = week_of()
    late = replace(SETS, available_until=at(7.5), initial_h=None)
    week = replace(week, blocks=(replace(week.blocks[0], generators=(late,)),))
    assert broken(lambda plan: plan, week)[0] == {"units"}


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (lambda deal: replace(deal, used_kw=(25.0,) * 8), {"ppa-volume"}),
        (lambda deal: replace(deal, volume_kw=(25.0,) * 8, used_kw=(25.0,) * 8), {"ppa-volume"}),
        (lambda deal: replace(deal, used_kw=(15.0,) * 8, curtailed_kw=(5.0,) * 8), {"ppa-curtailed"}),
        (lambda deal: replace(deal, used_kw=(21.0,) * 8, sold_kw=(-1.0,) * 8), {"ppa"}),
        (lambda deal: replace(deal, ppa="other"), {"ppa-unknown", "ppa-missing"}),
    ],
)
def test_each_break_of_an_agreement_is_named(change, kinds):
    week = week_of()
    calendar, runs = calendar_of(week)
    (deal,) = calendar.ppas
    assert deal.used_kw == (20.0,) * 8
    found = evaluate(*renamed(replace(calendar, ppas=(change(deal),)), runs), week)
    assert {violation.kind for violation in found.violations} == kinds


def test_more_use_than_import_is_named():
    week = week_of()
    week = replace(week, ppas=(Ppa("flat", BASELOAD, PHYSICAL, 0.05, baseload_kw=60.0),))
    calendar, runs = calendar_of(week)
    (deal,) = calendar.ppas
    over = replace(deal, used_kw=(60.0,) * 8, sold_kw=(0.0,) * 8)
    assert deal.sold_kw[0] > 0.0
    found = evaluate(*renamed(replace(calendar, ppas=(over,)), runs), week)
    assert {violation.kind for violation in found.violations} == {"ppa-used"}


def test_by_actual_weather_export_falls_before_import_rises():
    week = week_of()
    still = np.zeros(8)
    unit = GeneratorSchedule("sets", np.array(UNITS), np.full(8, 35.0))
    calm = replace(week.signals, wind_speed_m_per_s=np.full(8, 4.0))
    windy = replace(week.signals, wind_speed_m_per_s=np.full(8, 9.0))
    week = replace(week, signals=windy)
    offer = week.wind_kw(week.blocks[0])
    load = calendar_of(week)[0].blocks[0].facility_kw[0]
    block = BlockSchedule(
        "hall", still, still, still, wind_used_kw=offer, export_kw=offer + 35.0 - load, generators=(unit,)
    )
    schedule = Schedule((RunSchedule("r1", None, still),), (block,))
    week = replace(week, blocks=(replace(week.blocks[0], export=GridExport(200.0)),))
    calendar, runs = to_calendar(week, schedule, status="optimal", certified_gap=None)
    assert evaluate(calendar, runs, week).violations == ()
    seen = evaluate(calendar, runs, week, calm).blocks[0]
    less = week.wind_kw(week.blocks[0], calm)
    assert seen.wind_kw == pytest.approx(less)
    assert seen.export_kw == pytest.approx(np.maximum(less + 35.0 - load, 0.0), abs=1e-5)
    assert seen.import_kw == pytest.approx(np.maximum(load - less - 35.0, 0.0), abs=1e-5)
