"""Properties that every plan has, against exhaustive enumeration and against its own inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.stagger import longest_moves
from power.contracts import EnergyContract
from power.tariff import ContractedDemand, Period, Tariff
from tests.enumeration import best_cost
from tests.weeks import random_week, tiny_week

EXACT = PlanOptions(gap_target=0.0, time_limit_s=30.0)


@pytest.mark.parametrize("seed", range(28))
def test_two_runs_reach_the_optimum_that_enumeration_finds(seed):
    week = random_week(seed, n_runs=2, n_slots=5, n_pools=1)
    found = plan(week, EXACT)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best_cost(longest_moves(week)), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(100, 106))
def test_two_pools_reach_the_optimum_that_enumeration_finds(seed):
    week = random_week(seed, n_runs=2, n_slots=4, n_pools=2)
    assert plan(week, EXACT).objective == pytest.approx(best_cost(longest_moves(week)), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(200, 205))
def test_three_runs_on_half_hours_reach_the_optimum_that_enumeration_finds(seed):
    week = random_week(seed, n_runs=3, n_slots=4, slot_minutes=30, on_off_grid_h=0.5)
    assert plan(week, EXACT).objective == pytest.approx(best_cost(longest_moves(week)), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("seed", "n_pools"), [(0, 1), (5, 1), (6, 1), (8, 1), (12, 1), (106, 2), (107, 2)])
def test_weeks_with_hours_that_are_paid_for_reach_the_optimum_that_enumeration_finds(seed, n_pools):
    week = random_week(seed, n_runs=2, n_slots=6 - n_pools, n_pools=n_pools, negative_prices=True)
    found = plan(week, EXACT)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best_cost(longest_moves(week)), rel=1e-6, abs=1e-6)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    assert evaluate(calendar, runs, week).clean


def with_bills(week, seed):
    """The week with a tariff by the hour, contracted demand, and contracts in force and on offer, by chance."""
    rng = np.random.default_rng(seed)
    size_kw = week.blocks[0].power.capacity_kw
    peak = Period(
        "peak",
        from_min=60 * int(rng.integers(2, 6)),
        until_min=60 * int(rng.integers(6, 12)),
        price_per_kwh=None if rng.random() < 0.5 else 0.12,
        adder_per_kwh=float(rng.choice([0.0, 0.03])),
        demand_charge_per_kw_month=float(rng.choice([0.0, 1.5])),
    )
    contracted = ContractedDemand(size_kw, 0.5, 0.4, (0.9 * size_kw,)) if rng.random() < 0.5 else None
    tariff = Tariff(0.01, 2.0, 0.2 * size_kw, int(rng.choice([15, 60])), (peak,), contracted)
    contracts = (
        EnergyContract("base", 0.4 * size_kw, float(rng.choice([0.03, 0.08])), min_take_share=0.85),
        EnergyContract("whole", 0.3 * size_kw, 0.06, min_take_share=1.0, offered=True, all_or_none=True),
        EnergyContract("part", 0.5 * size_kw, float(rng.choice([0.02, 0.07])), min_take_share=0.5, offered=True),
    )
    return replace(week, tariff=tariff, contracts=contracts[: int(rng.integers(1, 4))])


@pytest.mark.parametrize("seed", range(300, 312))
def test_tariffs_and_contracts_reach_the_optimum_that_enumeration_finds(seed):
    minutes = 30 if seed % 3 == 0 else 60
    drawn = random_week(seed, n_runs=2, n_slots=5, slot_minutes=minutes, on_off_grid_h=minutes / 60)
    week = with_bills(drawn, seed)
    found = plan(week, EXACT)
    assert found.objective == pytest.approx(best_cost(longest_moves(week)), rel=1e-6, abs=1e-6)
    calendar, runs = to_calendar(week, found.schedule, status=found.status, certified_gap=0.0)
    seen = evaluate(calendar, runs, week)
    assert not {v.kind for v in seen.violations} & {"contract-take", "contract-cover", "contract-bought", "ramp"}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(1000, 100_000), slot_minutes=st.sampled_from([15, 30, 60]), negative=st.booleans())
def test_terms_add_up_and_the_bound_is_below(seed, slot_minutes, negative):
    week = random_week(seed, n_slots=12, slot_minutes=slot_minutes, negative_prices=negative)
    found = plan(week, PlanOptions(gap_target=0.02, time_limit_s=20.0))
    assert [name for name, _ in found.terms] == ["energy", "demand", "carbon", "water", "wear", "lateness", "heat"]
    assert sum(value for _, value in found.terms) == pytest.approx(found.objective, rel=1e-9, abs=1e-9)
    assert found.bound <= found.objective
    assert found.mip_gap == pytest.approx((found.objective - found.bound) / abs(found.objective), abs=1e-6)
    assert (found.status == "optimal") == (found.mip_gap <= 0.02)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_week_gives_the_same_schedule_to_the_byte(seed):
    week = random_week(seed, n_runs=3, n_slots=20, n_pools=2)
    unhurried = PlanOptions(gap_target=0.02, time_limit_s=600.0)
    first, second = plan(week, unhurried), plan(week, unhurried)
    for one, other in zip(first.schedule.runs, second.schedule.runs, strict=True):
        assert one.pool == other.pool
        assert one.gpu_power_limit_w.tobytes() == other.gpu_power_limit_w.tobytes()
    for one, other in zip(first.schedule.blocks, second.schedule.blocks, strict=True):
        assert one.charge_kw.tobytes() == other.charge_kw.tobytes()
        assert one.solar_used_kw.tobytes() == other.solar_used_kw.tobytes()
    assert (first.objective, first.mip_gap, first.shortfalls) == (second.objective, second.mip_gap, second.shortfalls)


@settings(max_examples=10, deadline=None)
@given(scale=st.floats(0.5, 3.0))
def test_dearer_energy_never_makes_a_plan_cheaper(scale):
    price = np.array([0.05, 0.09, 0.02, 0.07, 0.11, 0.03, 0.08, 0.06])
    cheap, dear = (plan(tiny_week(price_per_kwh=price * k), EXACT).objective for k in (1.0, scale))
    assert (dear >= cheap - 1e-9) == (scale >= 1.0)
