"""The billed peak: what whole gangs raise it to at least, and bands of its height that together hold every plan."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from planner.optimize import PlanOptions, plan
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.peaks import Band, PeakTree, hull_of
from planner.optimize.places import locate
from planner.optimize.skyline import skylines
from planner.optimize.solver import Highs
from power.tariff import ContractedDemand, Period, Tariff
from tests.weeks import FULL_POWER, battery, make_block, make_pool, make_run, random_week, solar, tiny_week
from thermal.plant import dry_cooler

CHARGED = Tariff(demand_charge_per_kw_month=8.0)
PAIR = (make_run("a", 128, 10, 24, points=FULL_POWER), make_run("b", 64, 10, 24, points=FULL_POWER))
DAY = (Period("day", from_min=480, until_min=1200, demand_charge_per_kw_month=4.0),)
LONG_S = 60.0


class Case:
    """A week's program with its skylines."""

    def __init__(self, week):
        self.program = build(week)
        self.matrix, index = from_pulp(self.program.problem)
        self.places = locate(self.program, index)
        self.skylines = skylines(self.program, self.places)

    def root(self):
        return Highs(self.matrix, whole=False).run(LONG_S)

    def least_rise(self, choices):
        """The least rise of the peaks, their sum, with the on/off and pool columns given; None if that is no plan."""
        cost = np.zeros(self.matrix.n_columns)
        cost[self.places.peaks] = 1.0
        highs = Highs(replace(self.matrix, cost=cost), whole=False)
        highs.bound_columns(self.places.choices, choices, choices)
        return highs.run(LONG_S).values

    def split(self, enough=np.inf):
        return PeakTree(self.matrix, self.skylines).split(enough, time.monotonic() + LONG_S)


def two_gangs(**changes):
    given = {"n_slots": 24, "runs": PAIR, "tariff": CHARGED, "pools": (make_pool(gpus=192),)}
    return tiny_week(**(given | changes))


def test_heights_are_those_of_the_sets_of_gangs_in_power_and_cooling():
    week = two_gangs()
    case = Case(week)
    (skyline,) = case.skylines
    assert list(skyline.sizes) == [128, 64]
    assert list(skyline.sums) == [0, 64, 128, 192]
    envelope = case.program.blocks[0].limits.envelope
    both_kw = 192 * 1.1
    import_kw = both_kw + float(envelope.cooling_kw(np.full(24, both_kw))[0])
    assert skyline.levels[-1] * case.program.power_kw == pytest.approx(import_kw, rel=1e-9)


def test_below_a_height_the_sets_that_need_more_do_not_fit():
    (skyline,) = Case(two_gangs()).skylines
    one, both = skyline.levels[-2:]
    (packing,) = skyline.packings(both - 1e-6)
    assert packing.room == 128
    assert skyline.packings(both + 1e-6) == []
    assert skyline.packings(one - 1e-6) == []
    assert skyline.throttles(one + 1e-6) == []
    shut = skyline.throttles(one - 1e-6)
    assert [row.columns[0] for row in shut] == list(skyline.columns[:, 0])
    assert all(row.values[0] > 0.0 == row.upper for row in shut)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"runs": (make_run("a", 128, 10, 24), make_run("b", 64, 10, 24))},
        {"tariff": Tariff(demand_charge_per_kw_month=8.0, month_to_date_peak_kw=150.0)},
        {"start": datetime(2024, 5, 31, 10, tzinfo=UTC), "runs": ()},
        {"blocks": (make_block(n_slots=24, solar=solar(80.0), battery=battery()),), "ghi_w_per_m2": 500.0},
        {"blocks": (make_block(n_slots=24, idle_powered=np.arange(24) < 12),)},
        {"tariff": Tariff(8.0, 8.0, 100.0, periods=DAY, contracted=ContractedDemand(300.0, 0.5))},
    ],
    ids=[
        "full power",
        "three points",
        "billed before",
        "two months",
        "sun and battery",
        "idle powered down",
        "by the hour",
    ],
)
def test_no_plan_is_lower_than_its_skyline(changes):
    if "start" in changes:
        pair = [make_run(r.name, r.gpus, 10, 24, start=changes["start"]) for r in PAIR]
        changes = changes | {"runs": tuple(pair)}
    case = Case(two_gangs(**changes))
    rng = np.random.default_rng(7)
    checked = 0
    for _ in range(20):
        first = rng.integers(0, 24, 2)
        after = first + rng.integers(1, 11, 2)
        choices = np.concatenate(
            [(np.arange(24) >= f) & (np.arange(24) < a) for f, a in zip(first, after, strict=True)]
        )
        x = case.least_rise(choices.astype(float))
        if x is None:
            continue
        checked += 1
        for skyline in case.skylines:
            on = np.where(skyline.columns >= 0, x[skyline.columns], 0.0)
            heights = skyline.base + skyline.step * (on @ skyline.sizes)
            assert x[skyline.column] >= heights.max() - 1e-7
            for row in skyline.throttles(float(x[skyline.column])):
                assert row.values @ x[row.columns] <= 1e-7
    assert checked > 5
    assert len(case.skylines) == len(case.program.week.demand_registers)
    assert len(case.skylines) == (2 if "start" in changes or case.program.week.tariff.periods else 1)


@pytest.mark.parametrize("seed", [5, 8, 21])
def test_no_plan_is_lower_than_its_skyline_with_pools_ramps_and_stages(seed):
    week = replace(random_week(seed, n_runs=3, n_pools=2), tariff=CHARGED)
    case = Case(week)
    best = plan(week, PlanOptions(gap_target=0.0, time_limit_s=30.0))
    assert case.skylines
    bands = case.split()
    assert min(band.bound for band in bands) * case.program.power_kw <= best.objective * (1 + 1e-7)


def test_demand_over_several_slots_has_no_skyline():
    runs = tuple(replace(run, on_off_grid_h=0.25) for run in PAIR)
    half_hours = Tariff(demand_charge_per_kw_month=8.0, demand_interval_min=30)
    assert Case(two_gangs(slot_minutes=15, runs=runs, tariff=half_hours)).skylines == ()


def test_a_tree_begins_where_the_least_that_is_billed_lies():
    owed = Tariff(demand_charge_per_kw_month=8.0, contracted=ContractedDemand(400.0, 0.85))
    # June owes 340 kW from its first hour on
    start = datetime(2024, 5, 31, 10, tzinfo=UTC)
    pair = tuple(make_run(r.name, r.gpus, 10, 24, start=start) for r in PAIR)
    case = Case(two_gangs(tariff=owed, start=start, runs=pair))
    for band in case.split():
        assert band.lower[1] * case.program.power_kw >= 340.0 - 1e-6
    best = plan(case.program.week, PlanOptions(gap_target=0.0, time_limit_s=30.0))
    assert min(band.bound for band in case.split()) * case.program.power_kw <= best.objective * (1 + 1e-7)


def test_a_peak_that_lets_gangs_on_one_by_one_only_bounds_the_power_of_each():
    """The relaxation mixes both in every hour, as if a gang could be on at a fraction of its lowest power."""
    runs = (make_run("a", 128, 0.7 * 30, 40), make_run("b", 64, 0.7 * 20, 36))
    week = two_gangs(n_slots=48, price_per_kwh=0.14, runs=runs)
    found = plan(week, PlanOptions(gap_target=0.01, time_limit_s=20.0))
    assert found.status == "optimal"
    assert found.mip_gap < 1e-3
    together = [(r.gpu_power_limit_w > 0).astype(int) for r in found.schedule.runs]
    assert sum(together).max() == 1


def test_bands_cover_every_height_and_raise_the_bound():
    case = Case(two_gangs(price_per_kwh=0.14))
    root, bands = case.root(), case.split()
    assert bands[0].bound > root.objective * 1.05
    edges = sorted((float(b.lower[0]), float(b.upper[0])) for b in bands)
    assert edges[0][0] == 0.0
    assert edges[-1][1] == np.inf
    assert [after for _, after in edges[:-1]] == [before for before, _ in edges[1:]]
    assert [b.bound for b in bands] == sorted(b.bound for b in bands)


def test_a_bound_that_is_enough_is_not_raised():
    case = Case(two_gangs())
    root = case.root()
    (band,) = case.split(enough=root.objective)
    assert band.bound == pytest.approx(root.objective, rel=1e-9)
    assert (band.lower[0], band.upper[0], band.cuts, band.throttles) == (0.0, np.inf, (), ())


def test_where_better_plans_may_lie_is_the_hull_of_the_bands_worth_it():
    rise = np.zeros(1)
    bands = [
        Band(np.array([low]), np.array([high]), bound, rise)
        for low, high, bound in ((2.0, 3.0, 10.0), (5.0, 6.0, 11.0), (0.0, 2.0, 20.0))
    ]
    worthy = hull_of(bands, 15.0)
    assert (worthy.lower[0], worthy.upper[0], worthy.bound) == (2.0, 6.0, 10.0)
    assert hull_of(bands, 5.0).upper[0] == 3.0


def test_without_a_demand_charge_there_is_no_skyline():
    assert Case(two_gangs(tariff=Tariff())).skylines == ()


def test_a_gang_that_takes_no_more_than_idle_gpus_has_no_size():
    lone = (replace(FULL_POWER[0], it_w_per_gpu=150.0),)
    assert Case(two_gangs(runs=(make_run("a", 128, 10, 24, points=lone),))).skylines == ()


def test_two_gangs_under_a_demand_charge_are_certified_in_seconds():
    hour = np.arange(168)
    cells = {"on_off_grid_h": 2.0, "min_run_h": 2.0, "checkpoint_s": 120.0, "reload_s": 600.0}
    week = tiny_week(
        n_slots=168,
        price_per_kwh=0.14,
        ci_gco2_per_kwh=150 + 50 * np.sin(2 * np.pi * (hour - 9) / 24),
        dry_bulb_c=15 + 6 * np.sin(2 * np.pi * (hour - 9) / 24),
        pools=(make_pool(gpus=256),),
        blocks=(make_block(capacity_kw=400.0, n_slots=168, plant=dry_cooler(350.0)),),
        runs=(make_run("llm", 128, 81.4, 138, **cells), make_run("eval", 64, 54.3, 114, **cells)),
        tariff=CHARGED,
    )
    found = plan(week, PlanOptions(gap_target=0.01, time_limit_s=45.0))
    assert found.status == "optimal"
    assert found.mip_gap < 0.004
    assert found.solve_s < 20.0
    assert found.shortfalls == ()
