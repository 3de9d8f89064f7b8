"""Shadow prices against finite differences by another solver, and against the changed week itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from planner.optimize.changes import BiggerBattery, MorePower, Warmer
from planner.optimize.duals import price
from planner.optimize.fixed import fix
from planner.optimize.worth import asked_changes, change_worth, hour_prices, load_prices
from tests.explained import explained
from tests.weeks import FULL_POWER, battery, make_block, make_pool, make_run, random_week, tiny_week
from thermal.plant import room_air

STEP = 1e-3  # of the program's unit of power


def of_blocks(found):
    """What the changes of the blocks are worth."""
    asked = asked_changes(found.week, lambda kind, _: kind == "block")
    return [change_worth(found.fixed, found.week, found.choices, one, None) for one in asked]


def value(matrix):
    """The optimum of a linear program, inf without one."""
    parts, rhs = [], []
    equal = matrix.row_lower == matrix.row_upper
    for sign, side in ((1.0, matrix.row_upper), (-1.0, matrix.row_lower)):
        rows = np.flatnonzero(np.isfinite(side) & ~equal)
        parts.append(sign * matrix.a[rows].toarray())
        rhs.append(sign * side[rows])
    answer = linprog(
        matrix.cost,
        np.vstack(parts),
        np.concatenate(rhs),
        matrix.a[np.flatnonzero(equal)].toarray(),
        matrix.row_upper[equal],
        np.column_stack([matrix.lower, matrix.upper]),
        method="highs",
    )
    return answer.fun if answer.status == 0 else np.inf


def with_side(matrix, row, step):
    """The program with the finite sides of a row moved."""
    lower, upper = matrix.row_lower.copy(), matrix.row_upper.copy()
    lower[row] += step
    upper[row] += step
    return replace(matrix, row_lower=lower, row_upper=upper)


@pytest.mark.parametrize("seed", [1, 4])
def test_the_dual_of_every_row_lies_between_its_two_finite_differences(seed):
    found = explained(random_week(seed, n_runs=2, n_slots=8, fill=1.2))
    priced, matrix = price(found.fixed), found.fixed.matrix
    at = value(matrix)
    assert at == pytest.approx(found.fixed.polished.objective, rel=1e-9)
    loud = np.flatnonzero(np.abs(priced.total.row) > 1e-9)
    quiet = np.setdiff1d(np.arange(matrix.n_rows), loud)
    rows = np.random.default_rng(seed).permutation(loud)[:20].tolist() + quiet[:: len(quiet) // 5][:5].tolist()
    assert len(rows) == 25  # fifty over both weeks
    for row in rows:
        below = (at - value(with_side(matrix, row, -STEP))) / STEP
        above = (value(with_side(matrix, row, STEP)) - at) / STEP
        assert below - 1e-5 <= priced.total.row[row] <= above + 1e-5, matrix.row_names[row]


def test_a_cost_splits_into_parts_that_add_up():
    found = explained(random_week(1, n_runs=2, n_slots=8, fill=1.2))
    priced, parts = price(found.fixed), found.fixed.parts
    paid = replace(found.fixed, parts=replace(parts, carbon_kg=parts.total - parts.lateness))
    assert price(paid).carbon_kg.row + priced.lateness.row == pytest.approx(priced.total.row, abs=1e-7)
    worth = found.fixed.worth
    terms = dict(found.plan.terms)
    assert worth.total == pytest.approx(found.plan.objective, rel=1e-6)
    assert worth.lateness == pytest.approx(terms["lateness"], abs=1e-6)
    assert worth.carbon_kg * 0.08 == pytest.approx(terms["carbon"], rel=1e-6)
    assert worth.paid == pytest.approx(found.plan.objective - terms["lateness"] - terms["carbon"], rel=1e-6)


def hungry_week(**changes):
    """A block too small for the gang at full power, which is late by what power is missing."""
    n_slots = 6
    run = make_run("late", 256, work_h=6.0, deadline_h=6.0)
    block = make_block(capacity_kw=300.0, n_slots=n_slots, plant=room_air(1000.0))
    price_per_kwh = [0.05, 0.06, 0.07, 0.08, 0.09, 0.10]
    return tiny_week(n_slots=n_slots, blocks=(block,), runs=(run,), price_per_kwh=price_per_kwh, **changes)


def test_more_power_from_an_hour_on_is_worth_the_prices_of_its_hours():
    found = explained(hungry_week())
    prices = hour_prices(price(found.fixed), found.week, ("hall",))
    assert sorted(p.slot for p in prices) == list(range(6))
    assert [p.slot for p in prices] == sorted(range(6), key=lambda t: -{p.slot: p.per_kw.total for p in prices}[t])
    kw = 0.5
    for first in (0, 3):
        changed = MorePower("hall", kw, found.week.grid.starts[first]).apply(found.week)
        spared = found.fixed.worth.less(fix(changed, found.choices).worth)
        told = [p.per_kw for p in prices if p.slot >= first]
        assert spared.total == pytest.approx(kw * sum(w.total for w in told), rel=1e-3)
        assert spared.carbon_kg == pytest.approx(kw * sum(w.carbon_kg for w in told), rel=1e-3)
        assert spared.lateness == pytest.approx(kw * sum(w.lateness for w in told), rel=1e-3)
        assert spared.carbon_kg < 0.0 < spared.lateness  # more power is more work and more carbon


def test_a_price_says_how_far_it_holds():
    found = explained(hungry_week())
    for priced in hour_prices(price(found.fixed), found.week, ("hall",)):
        assert priced.step_kw == 30.0  # a tenth of the block
        assert 0.0 < priced.step.total <= priced.per_kw.total * priced.step_kw * (1 + 1e-6)
        assert priced.holds_kw in {0.0, 0.3, 3.0, 30.0}
        if priced.holds_kw == 30.0:
            assert priced.step.total == pytest.approx(priced.per_kw.total * 30.0, rel=0.01)


def test_only_the_hour_that_is_asked_about_is_priced():
    found = explained(hungry_week())
    assert [p.slot for p in hour_prices(price(found.fixed), found.week, ("hall",), slot=2)] == [2]


def test_power_that_nothing_waits_for_is_worth_nothing():
    found = explained(tiny_week())
    assert hour_prices(price(found.fixed), found.week, ("hall",)) == ()


def test_a_kwh_of_load_costs_its_import_where_nothing_else_gives():
    prices, carbon = [0.05, 0.10, 0.02, 0.08], [100.0, 200.0, 300.0, 400.0]
    run = make_run(work_h=1.0, deadline_h=4.0)
    found = explained(tiny_week(n_slots=4, price_per_kwh=prices, ci_gco2_per_kwh=carbon, runs=(run,)))
    told = load_prices(price(found.fixed))
    assert [p.per_kwh.paid for p in told] == pytest.approx(prices, abs=1e-9)
    assert [p.per_kwh.carbon_kg for p in told] == pytest.approx([c / 1000 for c in carbon], abs=1e-9)
    assert [p.per_kwh.total for p in told] == pytest.approx(
        [p + c / 1000 * 0.08 for p, c in zip(prices, carbon, strict=True)], abs=1e-9
    )


def test_a_warmer_supply_spares_compressors_on_a_hot_day_and_nothing_on_a_cool_one():
    for dry_bulb_c, spares in ((30.0, True), (10.0, False)):
        block = make_block(n_slots=8, plant=room_air(1000.0))
        found = explained(tiny_week(blocks=(block,), dry_bulb_c=dry_bulb_c))
        worth = of_blocks(found)[0]
        assert isinstance(worth.change, Warmer)
        assert (worth.worth.total > 0.01) is spares
        changed = fix(worth.change.apply(found.week), found.choices)
        assert worth.worth.total == pytest.approx(found.fixed.worth.total - changed.worth.total)


def test_a_degree_that_the_chips_do_not_take_is_refused_in_words():
    found = explained(tiny_week())
    plant = found.week.blocks[0].plant
    hot = replace(plant.loop, supply_limit_c=plant.loop.cold_plate.case_limit_c - plant.loop.design_plate_k - 0.1)
    block = replace(found.week.blocks[0], plant=replace(plant, loop=hot))
    found = explained(replace(found.week, blocks=(block,)))
    worth = of_blocks(found)[0]
    assert worth.worth is None
    assert "cold_plate_case_limit_c" in worth.reason


def test_a_bigger_battery_is_worth_the_spread_of_prices_less_its_losses():
    n_slots = 4
    store = battery(100.0, 100.0, initial_share=0.1, final_share=0.1, wear_cost_per_kwh=0.0)
    block = make_block(n_slots=n_slots, battery=store)
    run = make_run(work_h=1.0, deadline_h=2.0, points=FULL_POWER)
    week = tiny_week(n_slots=n_slots, blocks=(block,), runs=(run,), price_per_kwh=[0.0, 0.0, 0.5, 0.5])
    found = explained(replace(week, prices=replace(week.prices, carbon_per_t=0.0)))
    worth = of_blocks(found)[1]
    assert worth.change == BiggerBattery("hall", 100.0)
    # 80 % of 100 kWh more, at the price of the late hours, less what discharging loses
    assert worth.worth.paid == pytest.approx(80.0 * 0.95 * 0.5, rel=1e-6)
    assert worth.worth.total == pytest.approx(worth.worth.paid)


def test_gpus_that_let_two_gangs_run_at_once_are_worth_their_lateness():
    runs = tuple(make_run(name, 256, work_h=4.0, deadline_h=4.0) for name in ("one", "two"))
    found = explained(tiny_week(pools=(make_pool(gpus=256),), runs=runs))
    assert found.plan.shortfalls
    worth = of_blocks(found)[-1]
    assert worth.told == "256 GPUs more in pool 'a1'"
    assert worth.worth.lateness == pytest.approx(found.fixed.worth.lateness)
    assert worth.worth.total <= worth.at_most + 1e-6
