"""The judge's figures, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.run import Stage
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from power.tariff import Tariff
from tests.judged import decide, judged, kept, kinds, limits, published, renamed, site
from tests.weeks import at, battery, make_block, make_pool, make_run, solar, tiny_week
from thermal.plant import cooling, dry_cooler, tower_chiller, w_max_n1_kw
from thermal.reserve import Reserve
from trainer_hooks.calendar import Window

MINUTE = timedelta(minutes=1)


def one_run(week, *watts, ends=None, pool="a1", **flows):
    still = np.zeros(week.grid.n_slots)
    block = BlockSchedule("hall", **({"solar_used_kw": still, "charge_kw": still, "discharge_kw": still} | flows))
    return Schedule((RunSchedule("r1", pool, np.array(watts, dtype=float), ends, "because"),), (block,))


def rewindowed(week, schedule, change):
    """The verdict after the windows of the one run are changed and renamed; stated figures follow the replay."""
    calendar, runs = published(week, schedule)
    runs = [replace(runs[0], windows=tuple(change(list(runs[0].windows))))]
    return evaluate(*renamed(calendar, runs), week)


def test_tokens_leave_out_reload_and_checkpoint():
    week = tiny_week(runs=(make_run(work_h=3.0, reload_s=900.0, checkpoint_s=600.0),))
    found = judged(week, one_run(week, 0, 700, 700, 0, 500, 500, 0, 0))
    full = 256 * 1000.0 * 3600
    lost_h = 1500 / 3600
    assert found.runs[0].tokens == pytest.approx(full * ((2 - lost_h) + 0.88 * (2 - lost_h)), rel=1e-12)
    assert found.runs[0].hours == 4.0
    assert found.runs[0].pauses == 1


def test_a_spell_to_the_end_of_the_horizon_saves_nothing():
    week = tiny_week(runs=(make_run(work_h=2.0, reload_s=900.0, checkpoint_s=600.0),))
    found = judged(week, one_run(week, 0, 0, 0, 0, 0, 0, 700, 700))
    assert found.runs[0].tokens == pytest.approx(256 * 1000.0 * (7200 - 900), rel=1e-12)


def test_a_run_that_goes_on_reloads_nothing_in_its_pool():
    run = make_run(work_h=2.0, reload_s=900.0, checkpoint_s=600.0, running_in="a1", pools=("a1", "a2"))
    pools = (make_pool("a1"), make_pool("a2"))
    week = tiny_week(runs=(run,), pools=pools, blocks=(make_block(n_slots=8),))
    at_once = judged(week, one_run(week, 700, 700, 0, 0, 0, 0, 0, 0))
    assert at_once.runs[0].tokens == pytest.approx(256 * 1000.0 * (7200 - 600), rel=1e-12)
    elsewhere = judged(week, one_run(week, 700, 700, 0, 0, 0, 0, 0, 0, pool="a2"))
    assert elsewhere.runs[0].tokens == pytest.approx(256 * 1000.0 * (7200 - 1500), rel=1e-12)
    later = judged(week, one_run(week, 0, 700, 700, 0, 0, 0, 0, 0))
    assert later.runs[0].tokens == pytest.approx(256 * 1000.0 * (7200 - 1500), rel=1e-12)


def test_reload_and_checkpoint_spill_over_slots_and_windows():
    run = make_run(work_h=2.0, reload_s=4500.0, checkpoint_s=4500.0)
    week = tiny_week(runs=(run,))
    found = judged(week, one_run(week, 700, 500, 350, 350, 0, 0, 0, 0))
    # 75 min of reload fill the first slot and a quarter of the second; the checkpoint likewise from the back.
    assert found.runs[0].tokens == pytest.approx(256 * 1000.0 * 2700 * (0.88 + 0.70), rel=1e-12)
    assert found.violations[0].kind == "deadline"
    assert len(found.violations) == 1


def test_a_spell_too_short_for_reload_and_checkpoint_takes_nothing_from_its_neighbours():
    run = make_run(work_h=2.0, reload_s=3 * 3600.0, checkpoint_s=3 * 3600.0, running_in="a1")
    week = tiny_week(n_slots=16, runs=(run,))
    found = judged(week, one_run(week, *[700.0] * 5, 0, 700, 0, *[700.0] * 8))
    # 5 h less the checkpoint, nothing, 8 h to the horizon's end less the reload
    assert found.runs[0].tokens == pytest.approx(256e3 * 3600 * (2 + 0 + 5), rel=1e-12)


def test_work_that_ends_inside_a_slot():
    week = tiny_week(runs=(make_run(work_h=1.5),))
    found = judged(week, one_run(week, 700, 700, 0, 0, 0, 0, 0, 0, ends=at(1.5)))
    assert found.violations == ()
    result = found.runs[0]
    assert result.hours == 1.5
    assert result.energy_kwh == pytest.approx(256 * 1.1 * 1.5)
    idle_kw, on_kw = 512 * 0.15, 512 * 0.15 + 256 * 0.95
    assert found.blocks[0].it_kw[:3] == pytest.approx([on_kw, (on_kw + idle_kw) / 2, idle_kw])
    plant = week.blocks[0].plant
    parts = cooling(plant, np.array([on_kw, idle_kw]), 15.0, 10.0).cooling_kw
    assert found.blocks[0].cooling_kw[1] == pytest.approx(parts.mean())


def test_energy_carbon_and_money_of_a_flat_day():
    week = tiny_week(
        price_per_kwh=0.10,
        ci_gco2_per_kwh=400.0,
        tariff=Tariff(adder_per_kwh=0.02, demand_charge_per_kw_month=5.0, month_to_date_peak_kw=100.0),
    )
    found = judged(week, one_run(week, 700, 700, 700, 700, 0, 0, 0, 0))
    idle_kw, on_kw = 512 * 0.15, 512 * 0.15 + 256 * 0.95
    cool = cooling(week.blocks[0].plant, np.array([on_kw, idle_kw]), 15.0, 10.0).cooling_kw
    facility_kwh = 4 * (on_kw + cool[0]) + 4 * (idle_kw + cool[1])
    assert found.it_energy_kwh == pytest.approx(4 * (on_kw + idle_kw))
    assert found.energy_kwh == pytest.approx(facility_kwh)
    assert found.import_kwh == pytest.approx(facility_kwh)
    assert found.pue == pytest.approx(facility_kwh / (4 * (on_kw + idle_kw)))
    assert found.carbon_kg == pytest.approx(0.4 * facility_kwh)
    assert found.peak_kw == pytest.approx(on_kw + cool[0])
    assert found.terms.energy == pytest.approx(0.12 * facility_kwh)
    assert found.terms.demand == pytest.approx(5.0 * (on_kw + cool[0] - 100.0))
    assert found.terms.carbon == pytest.approx(0.4 * facility_kwh / 1000 * 80.0)
    assert found.terms.water == 0.0
    assert found.cost == pytest.approx(found.terms.energy + found.terms.demand)
    assert found.terms.objective == pytest.approx(found.cost + found.terms.carbon + found.terms.lateness)
    run = found.runs[0]
    assert run.energy_kwh == pytest.approx(4 * 256 * 1.1)
    # the run's carbon is its share of IT energy times the site's carbon in the hours in which it runs
    assert run.carbon_kg == pytest.approx(4 * 0.4 * (on_kw + cool[0]) * 256 * 1.1 / on_kw)
    assert run.tokens_per_joule == pytest.approx(1000.0 / 1100.0)


def test_gpus_that_are_powered_down_draw_nothing_until_a_gang_takes_them():
    powered = np.array([True, True, False, False, True, True, True, True])
    week = tiny_week(blocks=(make_block(n_slots=8, idle_powered=powered),), runs=(make_run(work_h=2.0),))
    found = judged(week, one_run(week, 0, 700, 700, 0, 0, 0, 0, 0))
    assert found.violations == ()
    assert found.blocks[0].it_kw[:4] == pytest.approx([76.8, 76.8 + 256 * 0.95, 256 * 1.1, 0.0])


def test_water_is_paid_by_the_cubic_metre():
    plant = dry_cooler(1000.0, pad_effectiveness=0.7)
    block = make_block(n_slots=8, plant=plant)
    week = tiny_week(dry_bulb_c=38.0, wet_bulb_c=20.0, blocks=(block,))
    found = judged(week, one_run(week, 700, 700, 700, 700, 0, 0, 0, 0))
    on_kw = 512 * 0.15 + 256 * 0.95
    per_hour = cooling(plant, np.array([on_kw, 512 * 0.15]), 38.0, 20.0).water_l_per_h
    assert per_hour[0] > 0.0
    assert found.water_l == pytest.approx(4 * per_hour.sum())
    assert found.terms.water == pytest.approx(found.water_l / 1000 * 2.0)


def test_battery_and_solar_flows():
    block = make_block(n_slots=8, solar=solar(50.0), battery=battery())
    week = tiny_week(ghi_w_per_m2=500.0, blocks=(block,))
    charge, discharge = np.zeros(8), np.zeros(8)
    charge[0], discharge[5] = 40.0, 36.0
    decided = one_run(
        week, 700, 700, 700, 700, 0, 0, 0, 0, solar_used_kw=np.full(8, 10.0), charge_kw=charge, discharge_kw=discharge
    )
    found = judged(week, decided)
    assert found.violations == ()
    flows = found.blocks[0]
    assert flows.import_kw == pytest.approx(flows.facility_kw + charge - discharge - 10.0)
    assert flows.battery_kwh[0] == pytest.approx(100 + 40 * 0.95)
    assert flows.battery_kwh[-1] == pytest.approx(138 - 36 / 0.95)
    assert found.battery_change_kwh == pytest.approx(38 - 36 / 0.95)
    assert found.solar_kwh == pytest.approx(80.0)
    assert found.curtailed_kwh == pytest.approx(week.solar_kw(block).sum() - 80.0)
    assert found.terms.wear == pytest.approx(0.36)


def test_lateness_is_paid_at_the_deadline_and_each_day_after():
    week = tiny_week(n_slots=60, runs=(make_run(work_h=4.0, deadline_h=6.0, priority=1),))
    watts = [0.0] * 60
    watts[4:6] = [700.0, 700.0]
    watts[40:42] = [700.0, 700.0]
    found = judged(week, one_run(week, *watts))
    # 2 h of 256 GPUs are missing at hour 6 and at hour 30; at hour 54 nothing is.
    assert found.terms.lateness == pytest.approx(2 * 2 * 256 * 3.0 * 4.0)
    stage = found.runs[0].stages[0]
    assert stage.tokens == pytest.approx(2 * 3600 * 256e3)
    assert not stage.met
    assert stage.margin_h == pytest.approx(6.0 - 42.0, abs=1e-3)


def test_margins_of_two_stages():
    stages = (Stage("warm-up", 256e3 * 3600, at(3)), Stage("rest", 256e3 * 3600 * 2, at(8)))
    week = tiny_week(runs=(replace(make_run(), stages=stages),))
    found = judged(week, one_run(week, 0, 700, 0, 0, 700, 700, 0, 0))
    margins = [s.margin_h for s in found.runs[0].stages]
    assert margins == pytest.approx([1.0, 2.0], abs=1e-3)
    assert [s.due_tokens for s in found.runs[0].stages] == [256e3 * 3600, 256e3 * 3600 * 3]
    assert found.deadlines == 2
    assert found.deadlines_missed == 0


def test_a_deadline_inside_a_slot_counts_what_is_made_by_then():
    week = tiny_week(runs=(make_run(work_h=1.5, deadline_h=1.5),))
    assert judged(week, one_run(week, 700, 700, 0, 0, 0, 0, 0, 0)).deadlines_missed == 0
    assert judged(week, one_run(week, 500, 700, 0, 0, 0, 0, 0, 0)).deadlines_missed == 1


def test_a_hold_keeps_the_gpus_idle_and_needs_no_reload():
    run = make_run(work_h=2.0, reload_s=900.0, checkpoint_s=600.0)
    week = tiny_week(runs=(run,))
    decided = one_run(week, 700, 700, 700, 700, 0, 0, 0, 0)

    def with_hold(windows: list[Window]) -> list[Window]:
        train = windows[0]
        held = replace(
            train, start=at(1), end=at(2), state="hold", gpu_power_limit_w=None, checkpoint="none", tokens=0.0
        )
        return [replace(train, end=at(1), checkpoint="none"), held, replace(train, start=at(2)), *windows[1:]]

    found = rewindowed(week, decided, with_hold)
    assert found.runs[0].tokens == pytest.approx(256e3 * (3 * 3600 - 900 - 600))
    assert found.runs[0].pauses == 0
    assert found.runs[0].hours == 3.0
    assert found.blocks[0].it_kw[1] == pytest.approx(512 * 0.15)
    assert "checkpoint" not in kinds(found)


def test_a_checkpoint_asked_for_while_running_costs_its_seconds():
    run = make_run(work_h=2.0, checkpoint_s=600.0)
    week = tiny_week(runs=(run,))
    decided = one_run(week, 700, 700, 700, 700, 0, 0, 0, 0)

    def saved_twice(windows: list[Window]) -> list[Window]:
        train = windows[0]
        return [replace(train, end=at(2), checkpoint="after"), replace(train, start=at(2)), *windows[1:]]

    assert rewindowed(week, decided, saved_twice).runs[0].tokens == pytest.approx(256e3 * (4 * 3600 - 2 * 600))


def test_a_checkpoint_before_an_off_window_is_as_good_as_one_after_the_run_window():
    week = tiny_week(runs=(make_run(checkpoint_s=600.0),))
    decided = one_run(week, 700, 700, 700, 700, 700, 0, 0, 0)

    def moved(windows: list[Window]) -> list[Window]:
        return [replace(windows[0], checkpoint="none"), replace(windows[1], checkpoint="before")]

    assert rewindowed(week, decided, moved).violations == ()


def test_off_windows_of_zero_tokens_split_at_will_change_nothing():
    week = tiny_week(runs=(make_run(work_h=2.0),))
    decided = one_run(week, 0, 700, 700, 0, 0, 0, 0, 0)

    def split(windows: list[Window]) -> list[Window]:
        last = windows[-1]
        middle = last.start + 7 * MINUTE
        return [*windows[:-1], replace(last, end=middle), replace(last, start=middle)]

    assert rewindowed(week, decided, split).violations == ()


def test_gpus_that_leave_service_inside_a_slot_are_gone_at_that_instant():
    pool = make_pool(commissioning=((at(-100), 512), (at(2.5), 128)))
    week = tiny_week(pools=(pool,), runs=(make_run(work_h=2.0),))
    found = judged(week, one_run(week, 700, 700, 700, 0, 0, 0, 0, 0))
    gone = next(v for v in found.violations if v.kind == "gpus")
    assert gone.at == at(2.5)
    assert (gone.value, gone.limit) == (256.0, 128.0)
    assert "0.5 h in all" in gone.sentence


def test_gpus_that_enter_service_inside_a_slot_are_there_from_that_instant():
    pool = make_pool(commissioning=((at(1.5), 512),))
    week = tiny_week(pools=(pool,), runs=(make_run(work_h=2.0),))
    early = judged(week, one_run(week, 0, 700, 700, 700, 0, 0, 0, 0))
    assert [v.at for v in early.violations if v.kind == "gpus"] == [at(1)]
    assert "gpus" not in kinds(judged(week, one_run(week, 0, 0, 700, 700, 700, 0, 0, 0)))


def test_two_gangs_let_go_within_one_staggering_window_count_as_one_step():
    runs = (make_run("r1", 128, 1.5), make_run("r2", 128, 1.5))
    block = make_block(n_slots=8, ramp_kw_per_min=10.0, ramp_window_min=15.0)
    week = tiny_week(runs=runs, blocks=(block,))
    still = np.zeros(8)

    def together(second_end):
        watts = np.array([700.0, 700.0, 0, 0, 0, 0, 0, 0])
        return judged(
            week,
            Schedule(
                (
                    RunSchedule("r1", "a1", watts, at(1.5)),
                    RunSchedule("r2", "a1", np.roll(watts * [1, 0, 0, 0, 0, 0, 0, 0], 1), second_end),
                ),
                (BlockSchedule("hall", still, still, still),),
            ),
        )

    step_kw = 128 * 0.95
    assert step_kw <= 150.0 < 2 * step_kw
    assert "ramp" in kinds(together(at(1.6)))
    assert "ramp" not in kinds(together(at(1.75)))


def test_a_short_spell_is_allowed_where_the_work_is_done_or_the_horizon_ends():
    run = make_run(work_h=0.9, min_run_h=3.0)
    week = tiny_week(runs=(run,))
    assert judged(week, one_run(week, 0, 700, 0, 0, 0, 0, 0, 0)).violations == ()
    longer = replace(week, runs=(make_run(work_h=4.0, deadline_h=8.0, min_run_h=3.0),))
    assert kinds(judged(longer, one_run(longer, 700, 700, 700, 0, 0, 0, 0, 700))) == set()
    assert kinds(judged(longer, one_run(longer, 700, 700, 0, 0, 0, 700, 700, 700))) == {"min-run"}


def test_no_spell_need_be_longer_than_the_work_takes_at_full_speed():
    week = tiny_week(runs=(make_run(work_h=4.0, min_run_h=6.0),))
    assert kinds(judged(week, one_run(week, 0, 500, 500, 500, 500, 0, 0, 0))) == {"deadline"}
    assert kinds(judged(week, one_run(week, 0, 500, 500, 500, 0, 0, 0, 0))) == {"deadline", "min-run"}


def test_what_a_slow_run_loses_less_at_its_start_and_stop_is_not_too_much():
    week = tiny_week(runs=(make_run(work_h=1.0, reload_s=5400.0, checkpoint_s=7200.0),))
    # 3.5 h useful: 2.45 h of work at 350 W, 3.08 h at 500 W; allowed are 1 h, a cell of 1 h and 30 % of 3.5 h.
    assert judged(week, one_run(week, 350, 350, 350, 350, 350, 350, 350, 0)).violations == ()
    assert kinds(judged(week, one_run(week, 500, 500, 500, 500, 500, 500, 500, 0))) == {"too-many-tokens"}


def test_by_actual_signals_solar_follows_the_sun_and_statements_the_plan():
    block = make_block(n_slots=8, solar=solar(300.0))
    week = tiny_week(ghi_w_per_m2=500.0, ci_gco2_per_kwh=300.0, blocks=(block,))
    offer = week.solar_kw(block)
    decided = one_run(week, 700, 700, 700, 700, 0, 0, 0, 0, solar_used_kw=np.minimum(offer, [300] * 4 + [40.0] * 4))
    calendar, runs = published(week, decided)
    dull = replace(week.signals, ghi_w_per_m2=np.full(8, 50.0), ci_gco2_per_kwh=np.full(8, 600.0))
    found = evaluate(calendar, runs, week, dull)
    assert found.violations == ()
    flows = found.blocks[0]
    dim = week.solar_kw(block, dull)
    assert flows.solar_kw == pytest.approx(dim)
    assert found.carbon_kg == pytest.approx(0.6 * (flows.facility_kw - dim).sum())
    share = 256 * 1.1 / flows.it_kw[:4]
    assert found.runs[0].carbon_kg == pytest.approx(0.6 * ((flows.facility_kw - dim)[:4] * share).sum())
    bright = replace(week.signals, ghi_w_per_m2=np.full(8, 1000.0))
    seen = evaluate(calendar, runs, week, bright).blocks[0]
    # all that is there while the plan used all; no more than planned where it curtailed
    assert seen.solar_kw[:4] == pytest.approx(np.minimum(week.solar_kw(block, bright), seen.facility_kw)[:4])
    assert seen.solar_kw[4:] == pytest.approx(40.0)


def test_by_actual_signals_heat_breaks_the_cooling_limit():
    week = tiny_week(blocks=(make_block(n_slots=8, plant=dry_cooler(400.0)),))
    calendar, runs = published(week, one_run(week, 700, 700, 700, 700, 0, 0, 0, 0))
    assert evaluate(calendar, runs, week).violations == ()
    hot = replace(week.signals, dry_bulb_c=np.full(8, 43.0))
    assert "cooling-limit" in kinds(evaluate(calendar, runs, week, hot))


def test_by_actual_signals_the_plant_holds_what_the_calendar_asks_for_where_it_can():
    plant = tower_chiller(400.0)
    week = tiny_week(dry_bulb_c=24.0, wet_bulb_c=18.0, blocks=(make_block(n_slots=8, plant=plant),))
    calendar, runs = published(week, one_run(week, 700, 700, 700, 700, 0, 0, 0, 0))
    warmer = replace(calendar, blocks=(replace(calendar.blocks[0], supply_setpoint_c=(31.0,) * 4 + (None,) * 4),))
    milder = replace(week.signals, wet_bulb_c=np.full(8, 20.0))
    seen = evaluate(*renamed(warmer, runs), week, milder).blocks[0]
    asked = cooling(plant, seen.it_kw[:4], 24.0, 20.0, supply_c=31.0)
    own = cooling(plant, seen.it_kw[4:], 24.0, 20.0)
    assert asked.cooling_kw[0] < cooling(plant, seen.it_kw[:4], 24.0, 20.0).cooling_kw[0]
    assert seen.cooling_kw == pytest.approx(np.concatenate([asked.cooling_kw, own.cooling_kw]))


def test_a_request_colder_than_the_weather_allows_warms_and_is_no_broken_promise():
    plant = dry_cooler(1000.0)
    week = tiny_week(dry_bulb_c=20.0, blocks=(make_block(n_slots=8, plant=plant),))
    calendar, runs = published(week, one_run(week, 700, 700, 700, 700, 0, 0, 0, 0))
    assert calendar.blocks[0].supply_setpoint_c[0] == 40.0
    hot = replace(week.signals, dry_bulb_c=np.full(8, 36.0))
    found = evaluate(calendar, runs, week, hot)
    assert "cooling-limit" not in kinds(found)
    seen = found.blocks[0]
    state = cooling(plant, seen.it_kw, 36.0, 10.0, supply_c=40.0)
    assert state.fan_speed[0] > 0.5
    assert seen.cooling_kw == pytest.approx(state.cooling_kw)


def test_with_a_unit_in_reserve_the_limit_is_what_is_carried_without_it():
    plant = dry_cooler(1000.0, cooler_count=2)
    free = make_block(n_slots=8, plant=plant)
    week = tiny_week(dry_bulb_c=33.0, blocks=(free,))
    decided = one_run(week, 700, 700, 700, 700, 0, 0, 0, 0)
    assert judged(week, decided).violations == ()
    spared = replace(week, blocks=(replace(free, reserve=Reserve(one_out=True)),))
    found = judged(spared, decided)
    assert found.blocks[0].w_max_kw == pytest.approx(
        w_max_n1_kw(plant, week.signals.dry_bulb_c, week.signals.wet_bulb_c)
    )
    late = replace(week.signals, dry_bulb_c=np.full(8, 41.0))
    (broken,) = (v for v in evaluate(*published(spared, decided), spared, late).violations if v.kind == "cooling-limit")
    assert "puts on its cooling with one unit out" in broken.sentence


def test_totals_add_up_over_runs_and_blocks():
    week = site()
    found = judged(week, kept())
    assert found.tokens == pytest.approx(sum(r.tokens for r in found.runs))
    idle_kwh = sum(float(week.idle_kw(b).sum()) for b in week.blocks)
    held_idle = sum(r.hours * week.run(r.run).gpus * 0.15 for r in found.runs)
    assert found.it_energy_kwh == pytest.approx(sum(r.energy_kwh for r in found.runs) + idle_kwh - held_idle)
    assert sum(r.carbon_kg for r in found.runs) < found.carbon_kg


def test_a_run_that_is_off_all_week_is_a_missed_deadline_and_nothing_worse():
    found = judged(site(), decide(kept(), "big", pool=None, gpu_power_limit_w=limits()))
    assert kinds(found) == {"deadline"}
    result = found.runs[0]
    assert (result.pool, result.tokens, result.tokens_per_joule) == (None, 0.0, 0.0)
    assert result.stages[0].reached_at is None
