"""Several sites in one plan: each by its own grid, price and weather; data that has to be brought first."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.baseline import asap
from planner.calendar_id import content_id
from planner.errors import ConfigError
from planner.evaluate import carbon_per_it_kwh, evaluate
from planner.geography import Transfer, one_site_only, ready_h, site_parts, transfer_kg
from planner.optimize import PlanOptions, plan
from planner.optimize.scale import unsupported
from planner.publish import to_calendar
from tests.enumeration import best_cost
from tests.two_sites import NORTH, one_of, random_two_sites, two_sites, with_transfers
from tests.weeks import FULL_POWER, at, make_pool, make_run, tiny_week

EXACT = PlanOptions(gap_target=0.0, time_limit_s=30.0)
DATA = Transfer("tiny", NORTH, size_tb=45.0, hours=2.5, energy_kwh=100.0, cost=30.0)


def published(week):
    found = plan(week, EXACT)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return found, calendar, runs, evaluate(calendar, runs, week)


def test_a_week_of_one_site_has_the_digest_that_it_had_before():
    told = json.loads(tiny_week().canonical())
    assert {"others", "zone"}.isdisjoint(told)
    assert all("site" not in block for block in told["blocks"])
    assert all("transfers" not in option for run in told["runs"] for option in run["options"])
    assert [block.get("site") for block in json.loads(two_sites().canonical())["blocks"]] == [None, "north"]


def test_a_block_sees_its_own_site():
    week = two_sites(
        south={"price_per_kwh": 0.1, "dry_bulb_c": 30.0}, north={"price_per_kwh": 0.2}, north_adder_per_kwh=0.05
    )
    south, north = week.blocks
    assert week.here(south) is week
    assert week.here(north).rates().total_per_kwh.tolist() == [0.25] * 6
    assert week.here(north).signals.dry_bulb_c.tolist() == [15.0] * 6
    assert week.here(north).here(north) is week.here(north)
    assert [(p.name, p.zone, [b.name for b in p.blocks]) for p in site_parts(week)] == [
        ("tiny", "zone-s", ["hall-s"]),
        ("north", "zone-n", ["hall-n"]),
    ]


def test_the_run_goes_where_energy_and_carbon_cost_least():
    # carbon at 50 a tonne: 500 g are 0.025 a kWh. South 0.10 + 0.025, north 0.08 + 0.005 + 0.01 of fees
    week = two_sites(
        south={"price_per_kwh": 0.1, "ci_gco2_per_kwh": 500.0},
        north={"price_per_kwh": 0.08, "ci_gco2_per_kwh": 100.0},
        north_adder_per_kwh=0.01,
    )
    found, _, _, judged = published(week)
    assert [r.pool for r in found.schedule.runs] == ["n1"]
    assert judged.violations == ()
    assert judged.terms.objective == pytest.approx(found.objective, rel=1e-6)
    dear = replace(week, others=(replace(week.others[0], tariff=replace(week.others[0].tariff, adder_per_kwh=0.08)),))
    assert [r.pool for r in plan(dear, EXACT).schedule.runs] == ["s1"]


def test_each_site_is_judged_by_its_own_grid():
    week = two_sites(
        south={"price_per_kwh": 0.1, "ci_gco2_per_kwh": 500.0},
        north={"price_per_kwh": 0.05, "ci_gco2_per_kwh": 100.0},
        runs=(
            make_run("s", work_h=2.0, deadline_h=6.0, pools=("s1",), points=FULL_POWER),
            make_run("n", work_h=2.0, deadline_h=6.0, pools=("n1",), points=FULL_POWER),
        ),
    )
    _, _, runs, judged = published(week)
    south, north = judged.sites
    imported = {block.block: float(block.import_kw.sum()) for block in judged.blocks}
    assert south.import_kwh == pytest.approx(imported["hall-s"])
    assert south.carbon_kg == pytest.approx(0.5 * imported["hall-s"])
    assert north.carbon_kg == pytest.approx(0.1 * imported["hall-n"])
    assert north.energy_cost == pytest.approx(0.05 * imported["hall-n"])
    assert judged.carbon_kg == pytest.approx(south.carbon_kg + north.carbon_kg)
    assert judged.terms.energy == pytest.approx(south.energy_cost + north.energy_cost)
    # both gangs have a site to themselves beside its idle GPUs: a run pays its own site's carbon
    by_run = {run.run: run.carbon_kg / run.energy_kwh for run in judged.runs}
    assert by_run["s"] / by_run["n"] == pytest.approx(5.0, rel=1e-6)
    stated = {run.run: sum(w.kgco2e for w in run.windows) for run in runs}
    assert stated == pytest.approx({run.run: run.carbon_kg for run in judged.runs}, abs=1e-5)
    assert judged.violations == ()
    # telemetry is taken at the mean of all sites by IT energy
    mean = carbon_per_it_kwh(week, week.signals, judged.blocks)
    assert float(mean @ np.sum([b.it_kw for b in judged.blocks], axis=0)) == pytest.approx(judged.carbon_kg)


def test_a_gang_that_spans_both_sites_pays_the_carbon_of_both():
    week = two_sites(south={"ci_gco2_per_kwh": 600.0}, north={"ci_gco2_per_kwh": 100.0})
    pool = make_pool("both", 400, "hall-s", points=FULL_POWER, split=(("hall-s", 0.25), ("hall-n", 0.75)))
    run = make_run("r1", 400, 2.0, 6.0, pools=("both",), points=FULL_POWER)
    week = replace(week, pools=(pool,), runs=(run,))
    _, _, _, judged = published(week)
    # 400 GPUs of 1.1 kW in the two hours in which they run: 110 kW of them in the south, 330 kW in the north
    kg = 0.0
    for block, gco2, gang_kw in zip(judged.blocks, (600.0, 100.0), (110.0, 330.0), strict=True):
        running = block.it_kw > block.it_kw.min() * 1.01
        assert running.sum() == 2
        kg += float((gco2 / 1000.0 * block.import_kw / block.it_kw)[running].sum()) * gang_kw
    assert judged.runs[0].carbon_kg == pytest.approx(kg, rel=1e-6)
    assert judged.violations == ()


def test_a_transfer_by_hand():
    week = two_sites(
        south={"ci_gco2_per_kwh": [100, 200, 300, 0, 0, 0]}, north={"ci_gco2_per_kwh": [500, 400, 700, 0, 0, 0]}
    )
    # 100 kWh over 2.5 h: 40, 40 and 20 kWh at means of 300, 300 and 500 g
    assert transfer_kg(week, DATA) == pytest.approx(0.04 * 300 + 0.04 * 300 + 0.02 * 500)


def test_data_is_brought_before_the_run_starts_and_is_paid_for():
    week = two_sites(
        south={"price_per_kwh": 1.0, "ci_gco2_per_kwh": [100, 200, 300, 0, 0, 0]},
        north={"price_per_kwh": 0.05, "ci_gco2_per_kwh": [500, 400, 700, 0, 0, 0]},
    )
    found, calendar, runs, judged = published(with_transfers(week, "r1", DATA))
    assert [r.pool for r in found.schedule.runs] == ["n1"]
    first = next(w for w in runs[0].windows if w.state == "run")
    assert first.start >= at(3.0)  # 2.5 h, and starts lie on the hour
    assert judged.violations == ()
    assert (judged.transfer_kg, judged.transfer_kwh, judged.terms.transfer) == (pytest.approx(34.0), 100.0, 30.0)
    assert judged.carbon_kg == pytest.approx(sum(site.carbon_kg for site in judged.sites) + 34.0)
    assert judged.terms.objective == pytest.approx(found.objective, rel=1e-6)
    assert dict(found.terms)["transfer"] == pytest.approx(30.0)
    assert judged.sites[1].brought_tb == 45.0
    assert calendar.notes[-1] == (
        "The data of run 'r1', 45 TB, goes from tiny to north: 2.5 h from the start of the week, 100 kWh, 30.00 EUR."
    )


def test_data_that_costs_more_than_it_saves_stays():
    week = two_sites(south={"price_per_kwh": 0.10}, north={"price_per_kwh": 0.05})
    # two hours of 256 GPUs are some 600 kWh: 30 saved at most
    assert [r.pool for r in plan(with_transfers(week, "r1", replace(DATA, cost=20.0)), EXACT).schedule.runs] == ["n1"]
    assert [r.pool for r in plan(with_transfers(week, "r1", replace(DATA, cost=40.0)), EXACT).schedule.runs] == ["s1"]


def test_data_that_comes_too_late_is_named_as_the_cause():
    runs = (make_run(work_h=2.0, deadline_h=3.0, pools=("n1",), points=FULL_POWER),)
    found, _, _, judged = published(with_transfers(two_sites(runs=runs), "r1", DATA))
    assert "its data is only there in n1 after 2.5 h" in found.shortfalls[0].sentence
    assert judged.violations == ()


def test_the_judge_sees_a_start_before_the_data_is_there():
    week = two_sites(north={"price_per_kwh": 0.01}, south={"price_per_kwh": 1.0})
    _, calendar, runs, _ = published(week)
    late = with_transfers(week, "r1", DATA)
    broken = evaluate(calendar, runs, late).violations
    (found,) = [one for one in broken if one.kind == "data"]
    assert "before its 45 TB from tiny are there at 2024-05-13T02:30:00Z" in found.sentence


def test_the_judge_holds_a_run_to_the_carbon_of_its_own_site():
    week = two_sites(south={"ci_gco2_per_kwh": 500.0, "price_per_kwh": 1.0}, north={"ci_gco2_per_kwh": 100.0})
    _, calendar, runs, _ = published(week)
    wrong = [replace(run, windows=tuple(replace(w, kgco2e=5.0 * w.kgco2e) for w in run.windows)) for run in runs]
    name = content_id(calendar, wrong)
    calendar, wrong = replace(calendar, calendar_id=name), [replace(run, calendar_id=name) for run in wrong]
    assert {one.kind for one in evaluate(calendar, wrong, week).violations} >= {"carbon"}


def test_without_a_plan_too_the_data_comes_first():
    week = with_transfers(two_sites(runs=(make_run(work_h=2.0, deadline_h=6.0, pools=("n1",)),)), "r1", DATA)
    placed = asap(week, {"r1": week.work_tokens(week.runs[0])})
    on = np.flatnonzero(placed.schedule.runs[0].gpu_power_limit_w > 0.0)
    assert on[0] == 3
    assert ready_h(week.runs[0].options[0]) == 2.5


@pytest.mark.parametrize("seed", range(5))
def test_the_best_plan_of_two_sites_is_the_best_over_all_ways_to_share_the_runs_out(seed):
    """The oracle knows nothing of sites: each of the two is a week of its own, with the runs that are sent there."""
    week = random_two_sites(seed)
    best = np.inf
    for sent in itertools.product((0, 1), repeat=len(week.runs)):
        cost = 0.0
        for place in (0, 1):
            runs = [run for run, where in zip(week.runs, sent, strict=True) if where == place]
            if place == 1:
                for i, run in enumerate(runs):
                    for one in run.options[1].transfers:
                        kg = _kg(week, one)
                        cost += one.cost + kg * week.prices.carbon_per_t / 1000.0
                        runs[i] = replace(run, earliest_start=week.grid.start + timedelta(hours=one.hours))
            idle = runs or [_nothing(week, place)]
            cost += best_cost(one_of(week, place, idle))
        best = min(best, cost)
    found, _, _, judged = published(week)
    assert found.objective == pytest.approx(best, rel=1e-5, abs=1e-5)
    assert judged.violations == ()


def _kg(week, one):
    """Carbon of a transfer: half of its energy at either end, hour by hour."""
    ends = (week.signals.ci_gco2_per_kwh, week.others[0].signals.ci_gco2_per_kwh)
    hours = [min(1.0, max(0.0, one.hours - t)) for t in range(week.grid.n_slots)]
    return sum(0.5 * h / one.hours * one.energy_kwh * end[t] / 1000.0 for end in ends for t, h in enumerate(hours))


def _nothing(week, place):
    """A run without work, as a week has one at least."""
    run = make_run("none", 128, 1.0, 6.0, pools=(week.pools[place].name,), points=FULL_POWER)
    return replace(run, tokens_done=run.stages[0].tokens)


def test_what_knows_one_site_says_so():
    with pytest.raises(ConfigError, match="gridpace respond knows one site, and this file has 2: tiny, north"):
        one_site_only("gridpace respond", "tiny", ["north"])
    one_site_only("gridpace respond", "tiny", [])
    assert "site 'north'" in unsupported(two_sites())
