"""The week without a plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.baseline import asap, compare, counterfactuals, steady
from planner.evaluate import evaluate
from planner.publish import to_calendar
from planner.run import Stage
from power.blocks import Derating
from tests.judged import judged, kept, kinds, site
from tests.weeks import at, battery, make_block, make_pool, make_run, solar, tiny_week
from thermal.plant import dry_cooler

FULL_TOKENS_PER_H = 256e3 * 3600


def work(week):
    return {run.name: week.work_tokens(run) for run in week.runs}


def verdict(week, result):
    calendar, runs = to_calendar(week, result.schedule, status="baseline", certified_gap=None)
    return evaluate(calendar, runs, week)


def clean(week, result):
    """The verdict, which knows of no broken promise but deadlines, and of just the tokens asked for."""
    found = verdict(week, result)
    assert kinds(found) <= {"deadline"}, [v.sentence for v in found.violations]
    for run in found.runs:
        asked = week.work_tokens(week.run(run.run)) - result.tokens_missing.get(run.run, 0.0)
        assert run.tokens == pytest.approx(asked, rel=1e-6, abs=1e-6)
    return found


def on_limits(result, run=0):
    return result.schedule.runs[run].gpu_power_limit_w.tolist()


def test_asap_starts_at_once_at_full_power_and_ends_when_the_work_is_done():
    week = tiny_week(runs=(make_run(work_h=2.5, earliest_h=1.0),))
    result = asap(week, work(week))
    assert on_limits(result) == [0, 700, 700, 700, 0, 0, 0, 0]
    assert result.schedule.runs[0].ends == at(3.5)
    assert result.tokens_missing == {}
    clean(week, result)


def test_asap_pays_for_reload_and_checkpoint():
    week = tiny_week(runs=(make_run(work_h=2.0, reload_s=900.0, checkpoint_s=600.0),))
    result = asap(week, work(week))
    assert result.schedule.runs[0].ends == at(2.0) + timedelta(seconds=1500)
    clean(week, result)


def test_asap_takes_priority_before_file_order():
    pools = (make_pool(gpus=256),)
    runs = (make_run("second", work_h=2.0), make_run("third", work_h=1.0), make_run("first", work_h=2.0, priority=1))
    week = tiny_week(pools=pools, runs=runs)
    result = asap(week, work(week))
    assert [on_limits(result, i) for i in range(3)] == [
        [0, 0, 700, 700, 0, 0, 0, 0],
        [0, 0, 0, 0, 700, 0, 0, 0],
        [700, 700, 0, 0, 0, 0, 0, 0],
    ]
    assert clean(week, result).deadlines_missed == 0


def test_asap_pauses_where_capacity_drops_and_obeys_the_shortest_run():
    derating = Derating(at(3), at(4.5), 100.0, "inspection")
    block = make_block(n_slots=8, deratings=(derating,))
    run = make_run(work_h=4.0, checkpoint_s=600.0, reload_s=300.0)
    week = tiny_week(blocks=(block,), runs=(run,))
    result = asap(week, work(week))
    assert on_limits(result) == [700, 700, 700, 0, 0, 700, 700, 0]
    clean(week, result)
    slow = replace(week, runs=(replace(run, min_pause_h=3.0, stages=(Stage("t", 3.5 * FULL_TOKENS_PER_H, at(8)),)),))
    assert on_limits(asap(slow, work(slow))) == [700, 700, 700, 0, 0, 0, 700, 0]
    patient = replace(week, runs=(replace(run, min_run_h=3.5, stages=(Stage("t", FULL_TOKENS_PER_H, at(8)),)),))
    assert on_limits(asap(patient, work(patient)))[:2] == [700, 700]
    stubborn = replace(week, runs=(replace(run, max_pauses=0, stages=(Stage("t", 4 * FULL_TOKENS_PER_H, at(8)),)),))
    stuck = asap(stubborn, work(stubborn))
    assert set(stuck.tokens_missing) == {"r1"}
    assert "max-pauses" not in kinds(verdict(stubborn, stuck))


def test_asap_takes_less_power_only_where_full_power_never_fits():
    block = make_block(n_slots=8, capacity_kw=240.0, plant=dry_cooler(1000.0))
    week = tiny_week(blocks=(block,), runs=(make_run(work_h=2.0),))
    result = asap(week, work(week))
    assert on_limits(result)[:3] == [350, 350, 350]
    clean(week, result)


def test_asap_staggers_starts_to_the_ramp_limit():
    runs = tuple(make_run(f"r{i}", 128, 2.0) for i in range(3))
    block = make_block(n_slots=8, ramp_kw_per_min=10.0)
    week = tiny_week(blocks=(block,), runs=runs)
    result = asap(week, work(week))
    starts = [int(np.flatnonzero(on_limits(result, i))[0]) for i in range(3)]
    assert starts == [0, 1, 2]  # 122 kW each, 150 kW allowed: one start an hour, the third as the first stops
    clean(week, result)


def test_asap_does_not_let_two_gangs_go_at_once_if_the_ramp_forbids_it():
    runs = (make_run("r1", 128, 1.5), make_run("r2", 128, 0.6, earliest_h=1.0))
    block = make_block(n_slots=8, ramp_kw_per_min=10.0)
    week = tiny_week(blocks=(block,), runs=runs)
    result = asap(week, work(week))
    assert on_limits(result, 1) == [0, 0, 700, 0, 0, 0, 0, 0]  # from hour 1 it would end 6 min after the first
    clean(week, result)


def test_asap_waits_for_gpus_to_come_on_line():
    week = tiny_week(pools=(make_pool(commissioning=((at(2.5), 512),)),), runs=(make_run(work_h=2.0),))
    assert on_limits(asap(week, work(week))) == [0, 0, 0, 700, 700, 0, 0, 0]


def test_asap_leaves_gpus_before_the_slot_in_which_they_leave_service():
    pool = make_pool(commissioning=((at(-100), 512), (at(2.5), 128), (at(5), 512)))
    week = tiny_week(pools=(pool,), runs=(make_run(work_h=4.0),))
    result = asap(week, work(week))
    assert on_limits(result) == [700, 700, 0, 0, 0, 700, 700, 0]
    clean(week, result)


def test_asap_takes_the_pool_that_finishes_first():
    pools = (make_pool("a1", commissioning=((at(3), 512),)), make_pool("a2"))
    week = tiny_week(pools=pools, runs=(make_run(work_h=2.0, pools=("a1", "a2")),))
    assert asap(week, work(week)).schedule.runs[0].pool == "a2"


def test_a_run_that_cannot_finish_is_placed_before_others():
    pools = (make_pool(gpus=256),)
    runs = (make_run("early", 128, 4.0), make_run("late", 128, 3.0, earliest_h=3.0), make_run("large", 256, 3.0))
    week = tiny_week(pools=pools, runs=runs)
    result = asap(week, work(week))
    assert result.tokens_missing == {}
    assert on_limits(result, 2) == [700, 700, 700, 0, 0, 0, 0, 0]
    clean(week, result)


def test_work_that_does_not_fit_is_told():
    week = tiny_week(pools=(make_pool(gpus=256),), runs=(make_run("r1", work_h=6.0), make_run("r2", work_h=6.0)))
    result = asap(week, work(week))
    assert sum(result.tokens_missing.values()) == pytest.approx(4 * FULL_TOKENS_PER_H)
    roomy = tiny_week(pools=(make_pool(gpus=512),), runs=week.runs)
    plan = judged(roomy, asap(roomy, work(roomy)).schedule)
    for other in counterfactuals(week, plan):
        assert other.savings is None
        assert other.reason.startswith("run r2 makes")


def test_steady_uses_all_the_time_there_is():
    week = tiny_week(runs=(make_run(work_h=5.0, deadline_h=6.5, earliest_h=0.5, checkpoint_s=600.0),))
    result = steady(week, work(week))
    watts = on_limits(result)
    assert watts[0] == watts[7] == 0.0
    assert len(set(watts[1:7])) == 1
    # 5 h of work in 5.5 h less 10 min: throughput 0.9375, between the points at 500 and 700 W
    assert watts[1] == pytest.approx(500 + 200 * (5 / (5.5 - 1 / 6) - 0.88) / 0.12)
    assert result.schedule.runs[0].ends == at(6.5)
    found = clean(week, result)
    assert found.deadlines_missed == 0
    assert found.runs[0].stages[0].margin_h == pytest.approx(0.0, abs=0.2)


def test_steady_to_the_end_of_the_horizon_needs_no_checkpoint():
    week = tiny_week(runs=(make_run(work_h=6.0, deadline_h=8.0, checkpoint_s=600.0),))
    result = steady(week, work(week))
    assert on_limits(result) == [pytest.approx(350 + 150 * (0.75 - 0.70) / 0.18)] * 8
    assert result.schedule.runs[0].ends is None
    clean(week, result)


def test_steady_runs_at_its_lowest_point_and_ends_early_where_that_is_enough():
    week = tiny_week(runs=(make_run(work_h=1.4),))
    result = steady(week, work(week))
    assert on_limits(result) == [350, 350, 0, 0, 0, 0, 0, 0]
    clean(week, result)


def test_steady_shortens_all_spans_until_the_gangs_fit():
    week = tiny_week(pools=(make_pool(gpus=256),), runs=(make_run("r1", work_h=3.5), make_run("r2", work_h=3.5)))
    result = steady(week, work(week))
    assert result.tokens_missing == {}
    first, second = np.array(on_limits(result, 0)), np.array(on_limits(result, 1))
    assert not ((first > 0) & (second > 0)).any()
    clean(week, result)


def test_a_spell_that_would_be_done_without_saving_slows_down_at_the_end():
    week = tiny_week(runs=(make_run(work_h=6.95, earliest_h=1.0, checkpoint_s=1200.0),))
    result = asap(week, work(week))
    watts = on_limits(result)
    assert watts[1:7] == [700.0] * 6
    assert watts[7] == pytest.approx(500 + 200 * (0.95 - 0.88) / 0.12)
    clean(week, result)


def test_the_battery_rests_and_solar_is_used_first():
    block = make_block(n_slots=8, solar=solar(600.0), battery=battery())
    week = tiny_week(blocks=(block,), ghi_w_per_m2=900.0, runs=(make_run(work_h=2.0),))
    found = clean(week, asap(week, work(week)))
    flows = found.blocks[0]
    assert not flows.charge_kw.any()
    assert not flows.discharge_kw.any()
    assert flows.solar_kw == pytest.approx(np.minimum(week.solar_kw(block), flows.facility_kw), abs=1e-5)


def test_a_battery_that_must_end_fuller_is_charged_while_it_rests():
    block = make_block(n_slots=8, battery=battery(final_share=0.8))
    week = tiny_week(blocks=(block,), runs=(make_run(work_h=2.0),))
    found = clean(week, asap(week, work(week)))
    assert found.blocks[0].battery_kwh[-1] == pytest.approx(160.0, abs=1e-3)


def test_a_charging_battery_leaves_less_room_for_gangs():
    block = make_block(n_slots=8, capacity_kw=340.0, plant=dry_cooler(1000.0), battery=battery(final_share=0.9))
    week = tiny_week(blocks=(block,), runs=(make_run(work_h=2.0),))
    result = asap(week, work(week))
    assert on_limits(result)[:2] == [500, 500]
    clean(week, result)
    idle = replace(week, blocks=(replace(block, battery=battery()),))
    assert on_limits(asap(idle, work(idle)))[:2] == [700, 700]


def test_gpus_that_are_powered_down_need_their_whole_power():
    block = make_block(n_slots=8, capacity_kw=310.0, plant=dry_cooler(1000.0), idle_powered=False)
    week = tiny_week(blocks=(block,), runs=(make_run(work_h=2.0),))
    result = asap(week, work(week))
    assert on_limits(result)[:2] == [700, 700]
    clean(week, result)
    less = replace(
        week, blocks=(make_block(n_slots=8, capacity_kw=295.0, plant=dry_cooler(1000.0), idle_powered=False),)
    )
    assert on_limits(asap(less, work(less)))[:2] == [500, 500]


def test_a_run_without_work_stays_off():
    week = tiny_week(runs=(make_run(tokens_done=1e12),))
    assert asap(week, work(week)).schedule.runs[0].pool is None
    assert steady(week, work(week)).schedule.runs[0].pool is None


def test_savings_are_shares_of_the_baseline():
    week = site()
    plan = judged(week, kept())
    found = counterfactuals(week, plan)
    assert [c.name for c in found] == ["asap", "steady"]
    for other in found:
        assert other.reason == ""
        assert other.savings is not None
        for run, same in zip(plan.runs, other.evaluation.runs, strict=True):
            assert same.tokens == pytest.approx(run.tokens, rel=1e-6)
        carbon, base = plan.carbon_kg, other.evaluation.carbon_kg
        assert other.savings.carbon_pct == pytest.approx(100 * (1 - carbon / base))
        assert other.savings.cost_pct == pytest.approx(100 * (1 - plan.cost / other.evaluation.cost))


def test_no_savings_are_stated_where_the_work_differs():
    week = tiny_week()
    plan = judged(week, asap(week, work(week)).schedule)
    less = judged(week, asap(week, {"r1": 0.999 * week.work_tokens(week.runs[0])}).schedule)
    savings, reason = compare(plan, less)
    assert savings is None
    assert "run r1" in reason


def test_a_saving_of_money_that_is_earned_is_not_a_share():
    week = tiny_week(price_per_kwh=-0.10)
    plan = judged(week, asap(week, work(week)).schedule)
    savings, reason = compare(plan, plan)
    assert (savings.cost_pct, savings.carbon_pct, reason) == (None, 0.0, "")


def test_no_savings_are_stated_for_no_work():
    week = tiny_week()
    nothing = judged(week, asap(week, {"r1": 0.0}).schedule)
    assert compare(nothing, nothing) == (None, "the plan makes no tokens")


def test_no_savings_are_stated_where_the_plan_draws_on_the_store():
    week = tiny_week()
    plan = judged(week, asap(week, work(week)).schedule)
    savings, reason = compare(replace(plan, battery_change_kwh=-12.0), plan)
    assert (savings, reason) == (None, "the plan leaves 12 kWh less in the batteries")
    assert compare(replace(plan, battery_change_kwh=12.0), plan)[1] == ""
