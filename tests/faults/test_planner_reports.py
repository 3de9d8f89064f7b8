"""Faults that planners of others had, each by the public report that names it, shown absent here."""

from __future__ import annotations

import ast
import itertools
import re
import threading
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from scipy import sparse

from planner.errors import GapInSeries, Infeasible
from planner.optimize import PlanOptions, plan, solver
from planner.optimize.matrix import Matrix, Row
from planner.optimize.solver import Highs
from planner.publish import to_calendar
from planner.sources.align import align
from planner.timegrid import TimeGrid, iso_week
from power.tariff import Period, Tariff, rates
from tests.feed_reports import local_file, report
from tests.planner_reports import SURE, hours_on, planned, spells
from tests.starter import edited, faults_of, site_of
from tests.unit.test_solver import knapsack, line
from tests.weeks import FULL_POWER, at, battery, make_block, make_pool, make_run, random_week, tiny_week

REFERENCE = (
    "emhass#180", "emhass#1049", "emhass#767", "emhass-add-on#65", "haeo#253", "haeo#208", "flexmeasures#2414",
    "REopt.jl#488", "calliope#805", "flexmeasures#842", "flexmeasures#2329", "flexmeasures#1780", "emhass#324",
    "emhass#1048", "PyPSA#1493", "PyPSA#598", "emhass#126", "emhass#224", "emhass#496", "emhass#778",
    "flexmeasures#1230", "evcc#28831", "emhass-add-on#5", "oemof-solph-PR#1021", "PyPSA#1905", "emhass#348",
    "hsem#1002", "emhass#1084", "evcc-io/optimizer#82", "aio_energy_management-PR#163", "haeo#234", "emhass-PR#292",
    "calliope#472", "emhass#1105", "emhass#750", "emhass#624", "emhass#565", "calliope#307", "GenX#547", "haeo#423",
    "haeo#501", "emhass#124", "pulp#793", "HiGHS#885", "HiGHS#2226",
)  # fmt: skip
"""Reports that the planner is to be immune to."""


def refused(week):
    with pytest.raises(Infeasible) as told:
        plan(week, SURE)
    return told.value


# no reason for infeasible


@report("emhass#180", "emhass-add-on#65")
def test_a_limit_below_the_load_is_named_with_its_hour_and_kilowatts(report):
    told = refused(tiny_week(blocks=(make_block(n_slots=8, grid_kw=50.0),)))
    assert re.match(r"block 'hall', 2024-05-13.*: idle IT power 76.8 kW .* is above the 50.0 kW", told.what)
    assert "grid_kw" in told.fix


@report("emhass#767", "emhass#1049")
def test_a_battery_leaves_no_plan_only_where_its_end_is_out_of_reach_and_says_so(report):
    planned(tiny_week(blocks=(make_block(n_slots=8, battery=battery()),)))
    slow = battery(200.0, 10.0, initial_share=0.1, final_share=0.9)
    told = refused(tiny_week(blocks=(make_block(n_slots=8, battery=slow),)))
    assert re.search(r"block 'hall', .*: the battery lacks [\d.]+ kWh", told.what)


@report("haeo#253", "haeo#208", "REopt.jl#488", "calliope#805")
def test_what_clashes_is_told_in_few_sentences_with_block_hour_amount_and_mend(report):
    blocks = (make_block("a", n_slots=8, grid_kw=50.0), make_block("b", n_slots=8))
    told = refused(tiny_week(blocks=blocks, pools=(make_pool("a1", block="a"), make_pool("b1", block="b"))))
    assert 1 <= len(told.conflicts) <= 5
    for row in told.conflicts:
        assert re.match(r"block 'a', 2024-05-13.\d\d:00.*[\d.]+ kW", row)
    assert told.fix


@report("flexmeasures#2414")
def test_a_target_out_of_reach_costs_no_plan_and_is_named(report):
    found, seen = planned(tiny_week(runs=(make_run(work_h=9.0, deadline_h=6.0),)))
    (short,) = found.shortfalls
    assert short.hours_short == pytest.approx(3.0, abs=1e-3)
    assert "run 'r1' misses stage 'train'" in short.sentence
    assert spells(found.schedule.runs[0])[0] == (0, 6)
    assert seen.clean


# silent wrong answers


@report("flexmeasures#842")
def test_a_plan_cut_short_says_so_with_its_gap(report):
    week = random_week(5, n_runs=6, n_slots=48, n_pools=2)
    found = plan(week, PlanOptions(gap_target=0.0, time_limit_s=0.001))
    assert found.status == "time-limit"
    assert found.mip_gap > 0.0
    calendar, _ = to_calendar(week, found.schedule, status=found.status, certified_gap=found.mip_gap)
    assert (calendar.status, calendar.certified_gap) == ("time-limit", found.mip_gap)


@report("flexmeasures#2329", "flexmeasures#1780")
def test_gangs_that_share_a_block_stay_within_it_together(report):
    blocks = (make_block("hall", 380.0, n_slots=8),)
    runs = tuple(make_run(f"r{i}", 256, 3.0, 8.0, points=FULL_POWER) for i in range(2))
    found, seen = planned(tiny_week(blocks=blocks, runs=runs))
    assert seen.clean
    assert seen.blocks[0].facility_kw.max() <= 380.0
    both = (found.schedule.runs[0].gpu_power_limit_w > 0) & (found.schedule.runs[1].gpu_power_limit_w > 0)
    assert not both.any()


@report("emhass#324", "emhass#1048")
def test_what_is_called_optimal_is_within_limits_and_what_is_not_is_found(report):
    from planner.evaluate import evaluate

    week = tiny_week(runs=(make_run(points=FULL_POWER),))
    found, seen = planned(week)
    assert (found.status, seen.clean) == ("optimal", True)
    calendar, runs = to_calendar(week, found.schedule, status=found.status, certified_gap=0.0)
    smaller = replace(week, blocks=(make_block("hall", 100.0, n_slots=8),))
    assert "capacity" in {broken.kind for broken in evaluate(calendar, runs, smaller).violations}


@report("PyPSA#1493")
def test_a_block_without_a_ramp_limit_has_none_beside_one_that_has(report):
    blocks = (make_block("a", n_slots=8, ramp_kw_per_min=1.0), make_block("b", n_slots=8))
    pools = (make_pool("a1", block="a"), make_pool("b1", block="b"))
    _, seen = planned(tiny_week(blocks=blocks, pools=pools, runs=(make_run(pools=("b1",), points=FULL_POWER),)))
    assert seen.clean
    assert np.diff(seen.blocks[1].it_kw, prepend=seen.blocks[1].it_kw.min()).max() > 15.0 * 1.0
    assert any("ramp_kw_per_min" in fault.key for fault in faults_of(edited(("per_min = 20", "per_min = nan"))))


@report("PyPSA#598")
def test_no_value_is_read_where_the_solver_has_no_solution(report):
    answer = Highs(line(row_lower=10.0), whole=False).run(5.0)
    assert (answer.status, answer.values, answer.objective) == ("infeasible", None, None)


# time


@report("emhass#126", "emhass#224", "emhass#348")
@pytest.mark.parametrize(("week", "hours"), [("2024-W13", 167), ("2024-W43", 169)])
def test_a_week_in_which_clocks_change_has_every_instant_once(report, week, hours):
    grid = iso_week(week, ZoneInfo("Europe/Berlin"), 60)
    assert grid.n_slots == hours
    assert {(b - a).total_seconds() for a, b in itertools.pairwise(grid.starts)} == {3600.0}
    assert (grid.end - grid.start).total_seconds() == hours * 3600.0


@report("emhass#496", "emhass#778")
def test_the_length_of_a_slot_changes_neither_cost_nor_tokens(report):
    seen = {}
    for minutes in (15, 30, 60):
        n_slots = 8 * 60 // minutes
        price = np.repeat([0.05, 0.09, 0.02, 0.07, 0.11, 0.03, 0.08, 0.06], 60 // minutes)
        week = tiny_week(n_slots=n_slots, slot_minutes=minutes, price_per_kwh=price)
        found, judged = planned(week)
        seen[minutes] = found.objective, judged.tokens
    assert seen[15] == pytest.approx(seen[60], rel=1e-5)
    assert seen[30] == pytest.approx(seen[60], rel=1e-5)


@report("flexmeasures#1230")
def test_times_with_and_without_an_offset_are_one_instant(report):
    local = site_of()
    utc = site_of(("deadline = 2024-05-16T18:00:00 }", "deadline = 2024-05-16T16:00:00Z }"))
    assert local.runs == utc.runs
    assert local.runs[0].stages[0].deadline == datetime(2024, 5, 16, 16, tzinfo=UTC)


@report("evcc#28831")
def test_hours_of_a_tariff_hold_by_the_clock_on_the_day_it_changes(report):
    zone = ZoneInfo("Australia/Sydney")
    grid = iso_week("2026-W14", zone, 60)
    week = replace(tiny_week(n_slots=grid.n_slots), grid=grid, timezone="Australia/Sydney")
    evening = Tariff(periods=(Period("evening", from_min=18 * 60, until_min=20 * 60, price_per_kwh=0.15),))
    dear = rates(evening, np.full(grid.n_slots, 0.3), week.quarters).energy_per_kwh == 0.15
    clock = [start.astimezone(zone) for start in grid.starts]
    assert grid.n_slots == 169
    assert [c for c, d in zip(clock, dear, strict=True) if d] == [c for c in clock if c.hour in {18, 19}]
    assert sum(c.date() == date(2026, 4, 5) for c, d in zip(clock, dear, strict=True) if d) == 2


@report("emhass-add-on#5")
@pytest.mark.parametrize("minutes", [15, 30, 60])
def test_hours_of_work_are_hours_whatever_the_slot(report, minutes):
    run = make_run(work_h=8.0, deadline_h=10.0, points=FULL_POWER)
    week = tiny_week(n_slots=10 * 60 // minutes, slot_minutes=minutes, runs=(run,))
    found, _ = planned(week)
    assert hours_on(week, found.schedule.runs[0]) == pytest.approx(8.0)


@report("oemof-solph-PR#1021")
@pytest.mark.parametrize("minutes", [15, 60])
def test_shortest_spells_and_pauses_are_hours_and_no_counts_of_slots(report, minutes):
    price = np.repeat([0.01, 0.5] * 6, 60 // minutes)
    run = make_run(work_h=6.0, deadline_h=12.0, points=FULL_POWER, min_run_h=2.0, min_pause_h=2.0)
    week = tiny_week(n_slots=12 * 60 // minutes, slot_minutes=minutes, price_per_kwh=price, runs=(run,))
    found, seen = planned(week)
    on = spells(found.schedule.runs[0])
    assert all((b - a) * week.grid.slot_h >= 2.0 for a, b in on)
    assert all((c - b) * week.grid.slot_h >= 2.0 for (_, b), (c, _) in itertools.pairwise(on))
    assert seen.clean


@report("PyPSA#1905")
def test_what_was_before_the_horizon_counts(report):
    cold = make_run(work_h=4.0, deadline_h=4.0, reload_s=900.0, points=FULL_POWER)
    going, half = replace(cold, running_in="a1"), replace(cold, tokens_done=0.5 * cold.stages[0].tokens)
    (late,) = planned(tiny_week(runs=(cold,)))[0].shortfalls
    assert late.hours_short == pytest.approx(0.25, abs=1e-3)
    assert planned(tiny_week(runs=(going,)))[0].shortfalls == ()
    week = tiny_week(runs=(half,))
    assert hours_on(week, planned(week)[0].schedule.runs[0]) == 3.0
    full, empty = (battery(initial_share=share, final_share=0.1) for share in (0.9, 0.1))
    cost = [planned(tiny_week(blocks=(make_block(n_slots=8, battery=b),)))[0].objective for b in (full, empty)]
    assert cost[0] < cost[1]


# data and units


def half_full_file(folder, missing):
    rows = [f"2024-05-13T{h:02d}:00:00,{'' if h in missing else 100.0}" for h in range(24)]
    series = local_file(folder, rows, tz="UTC").fetch("price", "X", datetime(2024, 5, 13, tzinfo=UTC), at(24.0))
    return align(series, TimeGrid(datetime(2024, 5, 13, tzinfo=UTC), 60, 24), ZoneInfo("UTC"))


@report("hsem#1002")
def test_a_missing_price_is_never_free(report, tmp_path):
    bridged = half_full_file(tmp_path, {5})
    assert bridged.values.tolist() == pytest.approx([0.1] * 24)
    assert dict(bridged.flags) == {"filled": 1}
    with pytest.raises(GapInSeries):
        half_full_file(tmp_path, set(range(5, 15)))


@report("aio_energy_management-PR#163")
def test_a_day_that_lacks_one_slot_is_whole_with_the_slot_marked(report, tmp_path):
    rows = [f"2024-05-13T{q // 4:02d}:{q % 4 * 15:02d}:00,{100 + q}" for q in range(96) if q != 37]
    source = local_file(tmp_path, rows, tz="UTC", step_minutes=15)
    first = datetime(2024, 5, 13, tzinfo=UTC)
    day = align(source.fetch("price", "X", first, at(24.0)), TimeGrid(first, 15, 96), ZoneInfo("UTC"))
    assert day.values == pytest.approx((100.0 + np.arange(96)) / 1000.0)
    assert dict(day.flags) == {"filled": 1}


@report("emhass#1084", "evcc-io/optimizer#82")
def test_one_value_far_out_bends_neither_scale_nor_plan(report):
    price = np.array([0.05, 0.09, 4000.0, 0.07, 0.11, 0.03, 0.08, 0.06])
    found, seen = planned(tiny_week(price_per_kwh=price))
    plain, _ = planned(tiny_week(price_per_kwh=np.where(price > 1.0, 0.5, price)))
    assert (found.status, seen.clean, found.shortfalls) == ("optimal", True, ())
    assert found.schedule.runs[0].gpu_power_limit_w[2] == 0.0
    assert found.schedule.runs[0].gpu_power_limit_w == pytest.approx(plain.schedule.runs[0].gpu_power_limit_w, abs=1.0)


@report("haeo#234")
def test_watts_in_place_of_kilowatts_are_refused(report):
    (fault,) = faults_of(edited(("rated_it_kw = 90", "rated_it_kw = 90000")))
    assert "W, kW and MW are mixed up" in fault.what


@report("emhass-PR#292")
def test_a_price_means_the_same_in_every_unit(report, tmp_path):
    read = []
    for unit, value in (("EUR/MWh", 71.0), ("EUR/kWh", 0.071)):
        columns = {"price": {"column": "v", "unit": unit}}
        rows = [f"2024-05-13T{h:02d}:00:00,{value}" for h in range(24)]
        source = local_file(tmp_path, rows, tz="UTC", columns=columns)
        read.append(source.fetch("price", "X", datetime(2024, 5, 13, tzinfo=UTC), at(24.0)).rows.value.tolist())
    assert read[0] == pytest.approx(read[1], rel=1e-12)


@report("calliope#472")
def test_a_key_or_a_value_that_means_nothing_is_refused_and_never_skipped(report):
    (unknown,) = faults_of(edited(("capacity_kw = 100 #", "capacity_mw = 100 #\ncapacity_kw = 100 #")))
    assert "capacity_mw" in unknown.key
    (worded,) = faults_of(edited(("count = 64", 'count = "64"')))
    assert "count" in worded.key


# model and solver


@report("emhass#1105")
def test_work_that_is_no_whole_number_of_slots_is_done_whole(report):
    week = tiny_week(runs=(make_run(work_h=2.3, deadline_h=8.0),))
    found, seen = planned(week)
    assert (found.status, found.shortfalls, seen.clean) == ("optimal", (), True)
    assert hours_on(week, found.schedule.runs[0]) == 3.0
    assert seen.runs[0].tokens == pytest.approx(week.work_tokens(week.runs[0]), rel=1e-6)


@report("emhass#750")
def test_a_start_costs_time_where_energy_is_free(report):
    run = make_run(work_h=4.0, deadline_h=6.0, reload_s=1800.0, checkpoint_s=600.0, points=FULL_POWER, max_pauses=1)
    free = replace(tiny_week(price_per_kwh=0.0, ci_gco2_per_kwh=0.0, runs=(run,)))
    found, seen = planned(free)
    assert not found.shortfalls
    losses_h = (len(spells(found.schedule.runs[0])) * 1800.0 + seen.runs[0].pauses * 600.0) / 3600.0
    assert seen.runs[0].hours >= 4.0 + losses_h - 1e-3
    whole = replace(free, runs=(replace(run, max_pauses=0),))
    assert len(spells(planned(whole)[0].schedule.runs[0])) == 1


@report("emhass#624")
def test_lateness_costs_what_the_page_says(report, root):
    page = (root / "docs/site-file.md").read_text(encoding="utf-8")
    assert "multiplied by a run's weight: 4, 2, 1, 1/2, 1/4 for priority 1 to 5" in page
    later = make_pool(commissioning=((at(100.0), 512),))
    for priority, weight in zip(range(1, 6), (4.0, 2.0, 1.0, 0.5, 0.25), strict=True):
        run = make_run(work_h=4.0, deadline_h=8.0, gpus=256, priority=priority)
        found, _ = planned(tiny_week(pools=(later,), runs=(run,)))
        # 256 GPUs x 4 h missing at the deadline, at 3.0 per GPU-hour
        assert dict(found.terms)["lateness"] == pytest.approx(256 * 4.0 * 3.0 * weight)


@report("emhass#565")
def test_planning_again_does_not_flip(report):
    # two gangs that are alike, and hours that cost the same
    week = tiny_week(
        n_slots=6, price_per_kwh=0.08, runs=tuple(make_run(name, work_h=2.0, deadline_h=6.0) for name in "ab")
    )
    quick = PlanOptions(gap_target=0.01, time_limit_s=20.0)
    first, *others = (plan(week, quick).schedule.runs for _ in range(3))
    for other in others:
        assert [r.gpu_power_limit_w.tolist() for r in other] == [r.gpu_power_limit_w.tolist() for r in first]


@report("calliope#307", "GenX#547")
def test_a_battery_never_charges_and_discharges_at_once(report):
    price = np.array([-0.3, -0.3, 0.2, 0.2, -0.3, 0.2, -0.3, 0.2])
    block = make_block(n_slots=8, battery=battery(wear_cost_per_kwh=0.0))
    found, seen = planned(tiny_week(price_per_kwh=price, ci_gco2_per_kwh=0.0, blocks=(block,)))
    (held,) = found.schedule.blocks
    assert np.minimum(held.charge_kw, held.discharge_kw).max() == 0.0
    assert held.charge_kw.max() > 0.0
    assert seen.clean


@report("haeo#423")
def test_prices_of_energy_are_per_kilowatt_hour_whatever_the_slot(report):
    from planner.optimize.duals import price
    from planner.optimize.worth import load_prices
    from tests.explained import explained

    for minutes in (15, 60):
        n_slots = 4 * 60 // minutes
        week = tiny_week(n_slots=n_slots, slot_minutes=minutes, ci_gco2_per_kwh=0.0, runs=(make_run(work_h=1.0),))
        prices = load_prices(price(explained(week).fixed))
        assert [one.per_kwh.total for one in prices] == pytest.approx([0.08] * n_slots)


@report("haeo#501")
def test_a_program_that_had_no_solution_is_solved_once_it_has_one(report):
    highs = Highs(line(), whole=False)
    highs.mark()
    highs.add_rows([Row("clash", np.array([0, 1]), np.array([1.0, 1.0]), -5.0)])
    assert highs.run(5.0).status == "infeasible"
    highs.back_to_mark()
    assert highs.run(5.0).objective == pytest.approx(-8.0)


@report("emhass#124")
def test_plans_leave_nothing_running(report):
    plan(tiny_week(), SURE)
    before = threading.active_count()
    plan(random_week(3, n_slots=6), SURE)
    assert threading.active_count() == before


@report("pulp#793")
def test_the_solver_comes_back_when_its_time_is_up(report):
    began = time.monotonic()
    answer = Highs(knapsack(200), whole=True).run(0.2)
    assert time.monotonic() - began < 0.2 + 5.0
    assert answer.status in {"feasible", "optimal", "none"}


@report("HiGHS#885")
def test_a_solver_that_does_not_keep_its_limit_is_left_and_never_read(report, monkeypatch):
    monkeypatch.setattr(solver, "OVERRUN_S", 0.05)
    highs, done = Highs(knapsack(), whole=True), threading.Event()
    with monkeypatch.context() as patched:
        patched.setattr(highs, "_highs", NeverDone(highs._highs, done))
        began = time.monotonic()
        assert highs.run(0.05).status == "none"
        assert time.monotonic() - began < 5.0
        assert highs.run(5.0).status == "none"  # it may still be at work on the same memory
        done.set()


class NeverDone:
    """HiGHS that comes back when it is told to, and no sooner."""

    def __init__(self, highs, done):
        self._highs, self._done = highs, done

    def run(self):
        self._done.wait()

    def __getattr__(self, name):
        return getattr(self._highs, name)


@report("HiGHS#2226")
def test_whole_numbers_without_bounds_end_in_time_without_a_presolve(report):
    # the reported program in our form: 4 y = z and 8 x + z = -19, which no whole numbers solve
    endless = Matrix(
        cost=np.zeros(3),
        lower=np.full(3, -np.inf),
        upper=np.full(3, np.inf),
        whole=np.ones(3, dtype=bool),
        a=sparse.csr_array(np.array([[0.0, 4.0, -1.0], [8.0, 0.0, 1.0]])),
        row_lower=np.array([0.0, -19.0]),
        row_upper=np.array([0.0, -19.0]),
        row_names=("even", "odd"),
    )
    answer = Highs(endless, whole=True, presolve="off").run(0.1)
    assert answer.status in {"none", "infeasible"}
    assert answer.values is None


def test_every_report_of_the_list_has_a_test_of_its_name():
    calls = (
        node
        for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "report"
    )
    assert sorted(argument.value for call in calls for argument in call.args) == sorted(REFERENCE)
