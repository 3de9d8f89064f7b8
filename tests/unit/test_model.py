"""What the program decides, seen through the schedule: hand-worked optima and one test per rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from planner.errors import ConfigError, Infeasible
from planner.optimize import PlanOptions, plan
from planner.run import PoolOption, Stage
from planner.timegrid import iso_week, zone
from power.battery import FREE, states_kwh
from power.blocks import Derating
from power.gpu import OperatingPoint, at_limit
from power.tariff import Tariff
from tests.enumeration import cooling_curve
from tests.weeks import FULL_POWER, POINTS, at, battery, make_block, make_pool, make_run, solar, tiny_week

EXACT = PlanOptions(gap_target=0.0, time_limit_s=20.0)
CHEAP_LATE = [0.10] * 4 + [0.02] * 4


def limits(found, i=0):
    return found.schedule.runs[i].gpu_power_limit_w


def on(found, i=0):
    return "".join("1" if w > 0 else "0" for w in limits(found, i))


def it_kw(week, found, block=0):
    """IT power of a block per slot, worked out from the schedule alone."""
    block = week.blocks[block]
    kw = week.idle_kw(block).copy()
    for run, decided in zip(week.runs, found.schedule.runs, strict=True):
        if decided.pool is None or week.pool(decided.pool).block != block.name:
            continue
        option = next(o for o in run.options if o.pool == decided.pool)
        watts, _ = at_limit(option.points, decided.gpu_power_limit_w)
        idle = np.where(block.idle_powered, week.pool(decided.pool).gpu.idle_w_per_gpu, 0.0)
        kw += np.where(decided.gpu_power_limit_w > 0, run.gpus * (watts - idle) / 1000, 0.0)
    return kw


def cooling_kw(week, kw, block=0):
    return cooling_curve(week, week.blocks[block]).cooling_kw(kw)


def import_kw(week, found, block=0):
    flows = found.schedule.blocks[block]
    kw = it_kw(week, found, block)
    return kw + cooling_kw(week, kw, block) + flows.charge_kw - flows.discharge_kw - flows.solar_used_kw


def term(found, name):
    return dict(found.terms)[name]


def test_full_power_work_goes_to_the_cheapest_hours_at_a_cost_worked_by_hand():
    week = tiny_week(
        price_per_kwh=[0.10, 0.09, 0.03, 0.02, 0.02, 0.03, 0.09, 0.10], runs=(make_run(work_h=4, points=FULL_POWER),)
    )
    found = plan(week, EXACT)
    assert on(found) == "00111100"
    load = np.where([0, 0, 1, 1, 1, 1, 0, 0], 512 * 0.15 + 256 * (1.1 - 0.15), 512 * 0.15)
    load = load + cooling_kw(week, load)
    assert term(found, "energy") == pytest.approx(float(week.signals.price_per_kwh @ load), rel=1e-6)
    assert term(found, "carbon") == pytest.approx(float(load.sum()) * 300 * 80 / 1e6, rel=1e-6)
    assert found.shortfalls == ()


def test_a_carbon_price_moves_the_work_to_green_hours():
    ci = [500.0] * 4 + [50.0] * 4
    found = plan(tiny_week(ci_gco2_per_kwh=ci, runs=(make_run(points=FULL_POWER),)), EXACT)
    assert on(found) == "00001111"


def test_work_with_time_to_spare_runs_at_an_efficient_point():
    found = plan(tiny_week(runs=(make_run(work_h=4),)), EXACT)
    used = limits(found)[limits(found) > 0]
    assert used.max() <= 500.0
    tokens = at_limit(POINTS, used)[1].sum()
    assert tokens == pytest.approx(4.0, rel=1e-5)
    assert tokens >= 4.0 * (1 - 1e-9)


def test_no_more_work_is_done_than_there_is():
    week = tiny_week(price_per_kwh=-0.20, ci_gco2_per_kwh=0.0, runs=(make_run(work_h=3),))
    found = plan(week, EXACT)
    assert at_limit(POINTS, limits(found)[limits(found) > 0])[1].sum() == pytest.approx(3.0, rel=1e-5)


def test_paid_import_is_not_burnt_by_mixing_distant_points_or_by_cooling_or_by_the_battery():
    block = make_block(n_slots=8, battery=battery(400.0, 100.0))
    week = tiny_week(price_per_kwh=-0.20, ci_gco2_per_kwh=0.0, blocks=(block,), runs=(make_run(work_h=3.3),))
    found = plan(week, EXACT)
    flows = found.schedule.blocks[0]
    assert not ((flows.charge_kw > 1e-6) & (flows.discharge_kw > 1e-6)).any()
    assert term(found, "energy") == pytest.approx(float((week.signals.price_per_kwh * import_kw(week, found)).sum()))
    assert found.status == "optimal"


def test_an_impossible_deadline_is_named_with_tokens_and_hours():
    run = make_run(work_h=10, deadline_h=8, name="too-long")
    found = plan(tiny_week(runs=(run,)), EXACT)
    (short,) = found.shortfalls
    assert on(found) == "11111111"
    assert limits(found) == pytest.approx(np.full(8, 700.0))
    assert short.hours_short == pytest.approx(2.0, rel=1e-6)
    assert short.tokens_short == pytest.approx(2.0 * 3600 * 256 * 1000, rel=1e-6)
    assert short.made_up_at is None
    assert "'too-long'" in short.sentence
    assert "2024-05-13 10:00 CEST" in short.sentence
    assert "10.0 h at full speed" in short.sentence
    assert term(found, "lateness") == pytest.approx(2.0 * 256 * 3.0, rel=1e-6)


def test_work_made_up_after_the_deadline_says_when():
    run = make_run(work_h=6, deadline_h=4)
    found = plan(tiny_week(runs=(replace(run, stages=(*run.stages, Stage("rest", 0.0, at(8)))),)), EXACT)
    (short,) = found.shortfalls
    assert short.hours_short == pytest.approx(2.0, rel=1e-6)
    assert short.made_up_at == at(6)


def test_lateness_is_paid_again_for_every_further_day():
    run = make_run(work_h=1, deadline_h=2, earliest_h=30)
    run = replace(run, stages=(*run.stages, Stage("rest", 0.0, at(60))))
    found = plan(tiny_week(n_slots=60, runs=(run,)), EXACT)
    assert term(found, "lateness") == pytest.approx(256 * 3.0 * 2, rel=1e-6)


@pytest.mark.parametrize(("priority", "weight"), [(1, 4.0), (3, 1.0), (5, 0.25)])
def test_priority_weighs_lateness(priority, weight):
    found = plan(tiny_week(runs=(make_run(work_h=9, priority=priority),)), EXACT)
    assert term(found, "lateness") == pytest.approx(256 * 3.0 * weight, rel=1e-6)


def test_the_run_that_matters_more_gets_the_gpus():
    runs = tuple(make_run(n, 512, 5, 8, priority=p, points=FULL_POWER) for n, p in (("low", 5), ("high", 1)))
    found = plan(tiny_week(runs=runs), EXACT)
    assert [s.run for s in found.shortfalls] == ["low"]
    assert found.shortfalls[0].sentence.endswith("in 5 h before it other runs take the GPUs of pool 'a1'")


def test_start_and_stop_cost_tokens():
    run = make_run(work_h=3, reload_s=1800, checkpoint_s=900, points=FULL_POWER)
    found = plan(tiny_week(runs=(run,), price_per_kwh=CHEAP_LATE), EXACT)
    assert on(found) == "00001111"  # the spell that reaches the end of the horizon saves no checkpoint
    assert found.shortfalls == ()
    two_h = plan(tiny_week(runs=(replace(run, stages=make_run(work_h=3.75).stages),), price_per_kwh=CHEAP_LATE), EXACT)
    assert on(two_h) == "00011111"


def test_a_run_that_goes_on_reloads_nothing():
    run = make_run(work_h=4, reload_s=3600, points=FULL_POWER, running_in="a1", deadline_h=4)
    price = [0.01] * 4 + [0.2] * 4
    assert on(plan(tiny_week(runs=(run,), price_per_kwh=price), EXACT)) == "11110000"
    cold = plan(tiny_week(runs=(replace(run, running_in=None),), price_per_kwh=price), EXACT)
    assert cold.shortfalls[0].hours_short == pytest.approx(1.0, rel=1e-6)


def test_spells_and_pauses_last_their_shortest_length():
    price = [0.01, 0.5, 0.01, 0.5, 0.01, 0.5, 0.01, 0.5, 0.01, 0.5]
    free = make_run(work_h=5, deadline_h=10, points=FULL_POWER)
    assert on(plan(tiny_week(n_slots=10, price_per_kwh=price, runs=(free,)), EXACT)) == "1010101010"
    long_run = plan(tiny_week(n_slots=10, price_per_kwh=price, runs=(replace(free, min_run_h=3),)), EXACT)
    assert all(len(spell) >= 3 for spell in on(long_run).strip("0").split("0") if spell)
    long_pause = plan(tiny_week(n_slots=10, price_per_kwh=price, runs=(replace(free, min_pause_h=2.5),)), EXACT)
    assert all(len(pause) >= 3 for pause in on(long_pause).strip("0").split("1") if pause)


def test_pauses_are_counted():
    price = [0.01, 0.5] * 5
    run = make_run(work_h=4, deadline_h=10, points=FULL_POWER, max_pauses=1)
    found = plan(tiny_week(n_slots=10, price_per_kwh=price, runs=(run,)), EXACT)
    assert len([s for s in on(found).split("0") if s]) == 2


def test_nothing_starts_before_its_earliest_start():
    run = make_run(earliest_h=2.5, work_h=4, points=FULL_POWER)
    price = [0.01] * 4 + [0.2] * 4
    assert on(plan(tiny_week(price_per_kwh=price, runs=(run,)), EXACT)).startswith("000")


def test_gpus_count_from_their_commissioning_on():
    pool = make_pool(commissioning=((datetime(2020, 1, 1, tzinfo=UTC), 128), (at(4.5), 512)))
    found = plan(tiny_week(pools=(pool,), runs=(make_run(work_h=3, points=FULL_POWER),)), EXACT)
    assert on(found) == "00000111"


def test_maintenance_keeps_a_block_below_its_derating():
    block = make_block(n_slots=8, deratings=(Derating(at(2), at(4), 100.0, "inspection"),))
    week = tiny_week(blocks=(block,), runs=(make_run(work_h=6, points=FULL_POWER),))
    found = plan(week, EXACT)
    assert on(found) == "11001111"
    assert (it_kw(week, found) + cooling_kw(week, it_kw(week, found)) <= week.capacity_kw(block) * (1 + 1e-9)).all()


def test_a_block_too_small_for_full_power_throttles_the_gang():
    block = make_block(capacity_kw=300.0, n_slots=8)
    week = tiny_week(blocks=(block,), runs=(make_run(work_h=8),))
    found = plan(week, EXACT)
    assert 0 < limits(found).max() < 700.0
    assert "in 8 h before it the power capacity of block 'hall' leaves no more" in found.shortfalls[0].sentence


def test_heat_that_leaves_no_room_keeps_the_gang_off():
    cool = plan(tiny_week(runs=(make_run(work_h=8, points=FULL_POWER),)), EXACT)
    hot = [15.0] * 4 + [58.0] * 4
    week = tiny_week(
        dry_bulb_c=hot,
        runs=(make_run(work_h=8, points=FULL_POWER),),
        blocks=(make_block(n_slots=8, idle_powered=np.array([True] * 4 + [False] * 4)),),
    )
    found = plan(week, EXACT)
    assert on(cool) == "11111111"
    assert on(found) == "11110000"
    assert "cooling" in found.shortfalls[0].sentence


def test_ramp_limits_the_step_between_slots():
    block = make_block(n_slots=8, ramp_kw_per_min=12.0, ramp_window_min=15.0)
    runs = (make_run("a", 256, 4, 8), make_run("b", 256, 4, 8))
    week = tiny_week(blocks=(block,), runs=runs, price_per_kwh=CHEAP_LATE)
    found = plan(week, EXACT)
    assert np.abs(np.diff(it_kw(week, found))).max() <= 180.0 + 1e-3
    free = tiny_week(runs=runs, price_per_kwh=CHEAP_LATE)
    assert np.abs(np.diff(it_kw(free, plan(free, EXACT)))).max() > 180.0


def test_a_ramp_too_slow_for_the_gang_is_named():
    block = make_block(n_slots=8, ramp_kw_per_min=2.0, ramp_window_min=15.0)
    pool = make_pool(commissioning=((at(-100), 256),))
    found = plan(tiny_week(blocks=(block,), pools=(pool,), runs=(make_run(work_h=4, earliest_h=1),)), EXACT)
    assert on(found) == "00000000"
    assert found.shortfalls[0].hours_short == pytest.approx(4.0, rel=1e-6)


def test_the_battery_moves_energy_within_its_window_and_ends_full_enough():
    store = battery(400.0, 100.0)
    block = make_block(n_slots=8, battery=store)
    week = tiny_week(blocks=(block,), price_per_kwh=[0.01] * 4 + [0.5] * 4)
    found = plan(week, EXACT)
    flows = found.schedule.blocks[0]
    state = states_kwh(store, flows.charge_kw, flows.discharge_kw, 1.0)
    assert flows.discharge_kw[4:].sum() > 100.0
    assert state.min() >= 0.1 * 400 - 1e-3
    assert state.max() <= 0.9 * 400 + 1e-3
    assert state[-1] >= 0.5 * 400 - 1e-3
    assert term(found, "wear") == pytest.approx(0.01 * flows.discharge_kw.sum(), rel=1e-6)


def test_the_sun_is_used_before_the_grid_and_never_exported():
    block = make_block(n_slots=8, solar=solar(600.0))
    week = tiny_week(blocks=(block,), ghi_w_per_m2=[0, 0, 900, 900, 900, 0, 0, 0], runs=(make_run(work_h=2),))
    found = plan(week, EXACT)
    flows = found.schedule.blocks[0]
    assert set(np.flatnonzero(limits(found) > 0)) <= {2, 3, 4}
    assert (flows.solar_used_kw <= week.solar_kw(block) + 1e-6).all()
    assert import_kw(week, found).min() >= -1e-3


def test_demand_charge_pays_only_what_rises_above_the_billed_peak():
    def found_with(billed):
        tariff = Tariff(demand_charge_per_kw_month=10.0, month_to_date_peak_kw=billed)
        week = tiny_week(tariff=tariff, runs=(make_run(work_h=4, points=FULL_POWER),))
        return week, plan(week, EXACT)

    week, free = found_with(1000.0)
    assert term(free, "demand") == 0.0
    week, found = found_with(200.0)
    assert term(found, "demand") == pytest.approx(10.0 * (import_kw(week, found).max() - 200.0), rel=1e-5)


def test_each_calendar_month_of_site_time_has_its_own_peak():
    start = datetime(2024, 5, 31, 18, tzinfo=UTC)  # 20:00 in Berlin: June begins after four slots
    run = make_run(work_h=8, start=start, points=FULL_POWER)
    tariff = Tariff(demand_charge_per_kw_month=1.0, month_to_date_peak_kw=5000.0)
    week = tiny_week(start=start, tariff=tariff, runs=(run,))
    found = plan(week, EXACT)
    assert term(found, "demand") == pytest.approx(import_kw(week, found)[4:].max(), rel=1e-5)


def test_a_run_keeps_to_one_of_its_pools_and_prefers_the_faster():
    pools = (make_pool("a1", 256), make_pool("b1", 256))
    fast = PoolOption("b1", 1500.0, POINTS)
    run = make_run(work_h=4, deadline_h=8, pools=("a1",))
    run = replace(run, options=(*run.options, fast))
    found = plan(tiny_week(pools=pools, runs=(run,)), EXACT)
    assert found.schedule.runs[0].pool == "b1"
    assert at_limit(POINTS, limits(found)[limits(found) > 0])[1].sum() * 1500 == pytest.approx(4000, rel=1e-5)


def test_two_gangs_that_do_not_fit_together_take_two_pools():
    pools = (make_pool("a1", 256), make_pool("a2", 256))
    runs = tuple(make_run(n, 256, 7, 8, pools=("a1", "a2"), points=FULL_POWER) for n in ("x", "y"))
    found = plan(tiny_week(pools=pools, runs=runs), EXACT)
    assert {r.pool for r in found.schedule.runs} == {"a1", "a2"}
    assert found.shortfalls == ()


@pytest.mark.parametrize("slot_minutes", [15, 30, 60])
def test_hours_stay_hours_on_any_slot_length(slot_minutes):
    n_slots = 8 * 60 // slot_minutes
    run = make_run(work_h=4, min_run_h=2, on_off_grid_h=1.0, points=FULL_POWER)
    price = np.repeat(CHEAP_LATE, 60 // slot_minutes)
    found = plan(tiny_week(n_slots=n_slots, slot_minutes=slot_minutes, price_per_kwh=price, runs=(run,)), EXACT)
    assert on(found) == "0" * (n_slots // 2) + "1" * (n_slots // 2)
    assert found.objective == pytest.approx(plan(tiny_week(price_per_kwh=CHEAP_LATE, runs=(run,)), EXACT).objective)


@pytest.mark.parametrize(("week", "hours"), [("2024-W13", 167), ("2024-W20", 168), ("2024-W43", 169)])
def test_weeks_of_167_and_169_hours_end_in_a_shorter_cell(week, hours):
    grid = iso_week(week, zone("Europe/Berlin"), 60)
    run = make_run(work_h=hours - 2, deadline_h=hours, start=grid.start, on_off_grid_h=4.0, points=FULL_POWER)
    found = plan(tiny_week(n_slots=grid.n_slots, start=grid.start, runs=(run,)), PlanOptions(0.001, 20.0))
    assert grid.n_slots == hours
    assert found.shortfalls == ()
    assert (limits(found) > 0).sum() >= hours - 2


def test_a_deadline_inside_a_slot_counts_the_part_before_it():
    run = make_run(work_h=2.5, deadline_h=2.5, points=FULL_POWER)
    run = replace(run, stages=(*run.stages, Stage("rest", 0.0, at(8))))
    assert plan(tiny_week(runs=(run,)), EXACT).shortfalls == ()


def test_a_single_point_that_cannot_land_exactly_ends_its_cell():
    found = plan(tiny_week(runs=(make_run(work_h=2.5, points=FULL_POWER),)), EXACT)
    assert on(found).count("1") == 3
    assert found.shortfalls == ()


def test_an_outage_ends_a_spell_as_any_stop_does():
    powered = np.array([True, True, False, False, True, True, True, True])
    block = make_block(n_slots=8, deratings=(Derating(at(2), at(4), 0.0, "outage"),), idle_powered=powered)
    week = tiny_week(price_per_kwh=[0.02] * 2 + [0.3] * 4 + [0.2] * 2, blocks=(block,))
    assert on(plan(replace(week, runs=(make_run(work_h=3, min_run_h=2),)), EXACT)) == "11000011"
    found = plan(replace(week, runs=(make_run(work_h=3, min_run_h=3),)), EXACT)
    assert on(found)[:4] == "0000"
    assert on(found).strip("0") in {"111", "1111"}
    assert found.shortfalls == ()


def test_a_week_larger_than_can_be_planned_is_refused_by_its_size():
    runs = tuple(make_run(f"r{i}") for i in range(40_000))
    with pytest.raises(ConfigError, match=r"1,280,000 decisions \(40,000 runs, 8 slots.*at most 1,000,000"):
        plan(tiny_week(runs=runs), replace(EXACT, method="gangs"))


def test_a_run_with_less_work_than_its_shortest_spell_may_stop_when_done():
    found = plan(tiny_week(runs=(make_run(work_h=2, min_run_h=6, points=FULL_POWER),)), EXACT)
    assert on(found).count("1") == 2


def test_idle_power_above_capacity_names_block_slot_and_numbers():
    block = make_block(n_slots=8, deratings=(Derating(at(3), at(4), 40.0, "outage"),))
    with pytest.raises(Infeasible) as caught:
        plan(tiny_week(blocks=(block,)), EXACT)
    (conflict,) = caught.value.conflicts
    assert "block 'hall', 2024-05-13T03:00:00Z" in conflict
    assert "76.8 kW" in conflict
    assert "40.0 kW" in conflict


def test_a_battery_that_cannot_reach_its_final_state_is_named():
    store = battery(2000.0, 50.0, initial_share=0.1, final_share=0.9)
    with pytest.raises(Infeasible) as caught:
        plan(tiny_week(blocks=(make_block(n_slots=8, battery=store),)), EXACT)
    assert "battery lacks" in caught.value.conflicts[0]
    assert "1,800.0 kWh" in caught.value.conflicts[0]


def test_a_battery_whose_end_is_free_lacks_only_what_must_always_stay():
    # it loses half of what it holds in 8 h, and there is nothing that may charge it
    losing = {"self_discharge_share": 0.9, "initial_share": 0.1, "grid_charging": False}
    store = battery(2000.0, 50.0, final_rule=FREE, final_share=0.9, **losing)
    with pytest.raises(Infeasible) as caught:
        plan(tiny_week(blocks=(make_block(n_slots=8, battery=store),)), EXACT)
    assert "on its way to the 200.0 kWh wanted at the end" in caught.value.conflicts[0]


def test_idle_power_that_jumps_past_the_ramp_is_named():
    pool = make_pool(commissioning=((at(-10), 512), (at(4), 2048)))
    block = make_block(n_slots=8, ramp_kw_per_min=10.0, ramp_window_min=15.0)
    with pytest.raises(Infeasible) as caught:
        plan(tiny_week(blocks=(block,), pools=(pool,), runs=()), EXACT)
    assert "idle IT power moves by 230.4 kW, 80.4 kW more than the ramp step of 150.0 kW" in caught.value.conflicts[0]


def test_a_gang_may_bridge_a_jump_of_idle_power_that_nothing_else_can():
    pool = make_pool(commissioning=((at(-10), 512), (at(4), 2048)))
    block = make_block(n_slots=8, ramp_kw_per_min=10.0, ramp_window_min=15.0)
    week = tiny_week(blocks=(block,), pools=(pool,), runs=(make_run(work_h=3, deadline_h=4),))
    found = plan(week, EXACT)
    assert on(found)[3] == "1"
    assert np.abs(np.diff(it_kw(week, found))).max() <= 150.0 + 1e-3


def test_an_on_off_grid_that_is_no_whole_number_of_slots_is_refused():
    with pytest.raises(ConfigError, match=r"on_off_grid_h is 0.75 h"):
        plan(tiny_week(runs=(make_run(on_off_grid_h=0.75),)), EXACT)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gap_target": 1.0}, "gap target is 1"),
        ({"time_limit_s": 0.0}, "time limit is 0 s"),
        ({"time_limit_s": float("inf")}, "at most 86400 s"),
    ],
)
def test_options_out_of_range_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        PlanOptions(**options)


def test_a_week_without_runs_is_planned():
    found = plan(tiny_week(runs=()), EXACT)
    assert found.schedule.runs == ()
    assert found.objective > 0
    assert found.mip_gap == 0.0


def test_names_that_look_alike_stay_apart():
    runs = tuple(make_run(n, 128, 2, 8) for n in ("a b", "a-b", "a_b"))
    found = plan(tiny_week(runs=runs), EXACT)
    assert [r.run for r in found.schedule.runs] == ["a b", "a-b", "a_b"]
    assert found.shortfalls == ()


def test_a_line_says_why_each_run_stands_where_it_does():
    found = plan(tiny_week(price_per_kwh=CHEAP_LATE, runs=(make_run(points=FULL_POWER),)), EXACT)
    assert found.schedule.runs[0].why == (
        "4 h in 1 spell in pool a1: 300 gCO2e/kWh and 0.020 EUR/kWh while it runs, 300 and 0.060 over the horizon; "
        "with its carbon a kWh costs 0.044 EUR while it runs, 0.084 over the horizon"
    )


def test_points_below_the_measured_ones_are_never_asked_for():
    lone = (OperatingPoint(400.0, 700.0, 1.0),)
    found = plan(tiny_week(runs=(make_run(points=lone, work_h=3),)), EXACT)
    assert set(limits(found)) == {0.0, 400.0}


def test_a_deadline_long_past_is_named_as_such():
    run = make_run(work_h=1, deadline_h=-5)
    run = replace(run, stages=(*run.stages, Stage("rest", 0.0, at(8))))
    found = plan(tiny_week(runs=(run,)), EXACT)
    assert "the deadline lay before the horizon" in found.shortfalls[0].sentence
    assert found.shortfalls[0].made_up_at == at(1) + timedelta(hours=int(np.flatnonzero(limits(found) > 0)[-1]))


def test_a_gang_larger_than_its_pool_is_named():
    found = plan(tiny_week(runs=(make_run(gpus=1024, work_h=2),)), EXACT)
    assert found.schedule.runs[0].pool is None
    assert "no hours are open to it" in found.shortfalls[0].sentence


def test_a_run_with_nothing_due_does_not_run():
    found = plan(tiny_week(runs=(make_run(work_h=2, tokens_done=1e15),)), EXACT)
    assert found.schedule.runs[0].pool is None
    assert found.schedule.runs[0].why == "does not run: nothing is due"
