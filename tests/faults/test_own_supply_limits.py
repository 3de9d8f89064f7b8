"""Own supply that cannot carry its block: told by block, hour and kW."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import Infeasible
from planner.optimize import PlanOptions, plan
from power.generation import Generator
from power.ppa import BASELOAD, PHYSICAL, Ppa
from tests.weeks import battery, make_block, make_pool, tiny_week


def refused(block) -> Infeasible:
    with pytest.raises(Infeasible) as told:
        plan(tiny_week(blocks=(block,)), PlanOptions())
    return told.value


def test_an_import_below_the_idle_load():
    told = refused(make_block(n_slots=8, grid_kw=50.0))
    assert "76.8 kW with 14.1 kW of cooling is above the 50.0 kW that import and own supply can give" in told.what
    assert "grid_kw" in told.fix


def test_a_permit_that_is_used_up_while_the_block_needs_its_generator():
    block = make_block(n_slots=8, grid_kw=50.0)
    told = refused(
        replace(block, generators=(Generator("sets", 1, 60.0, 0.4, 1.0, 1.0, 0.0, 0.1, 0.0, max_unit_h=3.0),))
    )
    assert any("kW are missing" in row or "h of running are missing in their permit" in row for row in told.conflicts)


def test_units_that_must_still_run_beyond_what_the_block_takes():
    sets = Generator("sets", 8, 200.0, 0.9, 6.0, 2.0, 30.0, 0.10, 500.0, initial_units=8, initial_h=1.0)
    told = refused(replace(make_block(n_slots=8), generators=(sets,)))
    # five hours are left of their shortest time
    hours = [f"block 'hall', 2024-05-13 0{hour}:00 CEST, generators 'sets': " for hour in range(2, 7)]
    assert [row.startswith(hour) for row, hour in zip(told.conflicts, hours, strict=True)] == [True] * 5
    assert all("of the units that must still run (min_up_h)" in row for row in told.conflicts)


def test_names_that_differ_in_signs_alone_are_kept_apart():
    names = ("gas sets", "gas-sets", "import")
    groups = tuple(Generator(name, 1, 60.0, 0.4, 1.0, 1.0, 0.0, 0.1, 0.0) for name in names)
    flat = tuple(Ppa(name, BASELOAD, PHYSICAL, 0.05, baseload_kw=10.0) for name in ("import", "a b", "a-b"))
    week = tiny_week(blocks=(replace(make_block(n_slots=8), generators=groups),))
    found = plan(replace(week, ppas=flat), PlanOptions())
    assert [group.generator for group in found.schedule.blocks[0].generators] == list(names)


def test_a_block_is_named_as_the_site_names_it():
    store = battery(200.0, 10.0, initial_share=0.1, final_share=0.9)
    with pytest.raises(Infeasible, match=r"block 'hall-a', .*: the battery lacks"):
        plan(
            tiny_week(blocks=(make_block("hall-a", n_slots=8, battery=store),), pools=(make_pool(block="hall-a"),)),
            PlanOptions(),
        )


def test_a_reserve_beyond_what_the_battery_holds():
    told = refused(make_block(n_slots=8, battery=battery(200.0, 100.0, reserve_min=120.0)))
    assert "the battery lacks" in told.what
    assert "kWh of the reserve for the block's load" in told.what
