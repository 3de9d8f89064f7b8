"""Runs that move: to another pool where that saves more than it costs, to fewer GPUs where power is short."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from planner.baseline import asap
from planner.errors import ConfigError
from planner.evaluate import evaluate
from planner.export import moves_view
from planner.moved import Moved, moves_of
from planner.moves import Migration, Stay, Way
from planner.optimize import PlanOptions, plan
from planner.optimize.choices import choices_of, scheduled
from planner.optimize.fixed import fix
from planner.optimize.scale import unsupported
from planner.precedence import After
from planner.publish import to_calendar
from planner.respond.outage import answer_outage
from planner.respond.respond import respond
from planner.rolling.in_force import InForce, changed_gpu_h
from planner.rolling.replan import replan
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from planner.stagger import longest_moves
from planner.stochastic.plan import plan as plan_on_paths
from planner.uncertainty import Scenario, Uncertainty
from power.blocks import Derating
from power.outage import Outage
from tests.moving import best_moving_cost, moving_week, ways, with_sizes
from tests.two_sites import two_sites
from tests.weeks import FULL_POWER, IDLE_W, at, make_block, make_pool, make_run, tiny_week

EXACT = PlanOptions(gap_target=0.0, time_limit_s=30.0)
ADDED_KW = 256 * (FULL_POWER[0].it_w_per_gpu - IDLE_W) / 1000.0
"""What a gang of 256 GPUs adds where its GPUs would idle under power."""


def published(week, planned=plan):
    found = planned(week, EXACT)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return found, runs, evaluate(calendar, runs, week)


def turned(*between, dear=0.3, **changes):
    """Eight hours of work in eight: the south is cheap in the first four, the north in the last four."""
    run = make_run(work_h=8.0, deadline_h=8.0, pools=("s1", "n1"), points=FULL_POWER, **changes)
    week = two_sites(
        n_slots=8,
        south={"price_per_kwh": [0.1] * 4 + [dear] * 4, "ci_gco2_per_kwh": 0.0},
        north={"price_per_kwh": [dear] * 4 + [0.1] * 4, "ci_gco2_per_kwh": [100.0] * 4 + [500.0] * 4},
        runs=(run if not between else replace(run, migration=Migration(1.0, between)),),
    )
    # carbon is counted but costs nothing, so that prices alone decide
    return replace(week, prices=replace(week.prices, carbon_per_t=0.0))


def places(runs, run=0):
    return [(w.pool, w.gpus) for w in runs[run].windows if w.state == "run"]


def saving():
    free = plan(turned(*ways("s1", "n1")), EXACT).objective
    return plan(turned(), EXACT).objective - free


def test_what_a_move_saves_is_four_hours_of_the_difference_in_price():
    # 243.2 kW for 4 h at 0.2 a kWh less are 194.56, and as much again for each kW of cooling
    assert 4 * 0.2 * ADDED_KW < saving() < 1.1 * 4 * 0.2 * ADDED_KW


def test_a_run_migrates_where_the_saving_exceeds_the_cost_and_not_where_it_does_not():
    worth = saving()
    found, runs, verdict = published(turned(*ways("s1", "n1", cost=0.99 * worth, energy_kwh=40.0)))
    assert found.schedule.runs[0].stays == (Stay(0, 4, "s1", 256), Stay(4, 8, "n1", 256))
    assert places(runs) == [("s1", 256), ("n1", 256)]
    assert [w.checkpoint for w in runs[0].windows] == ["after", "none"]
    assert [w.block for w in runs[0].windows] == ["hall-s", "hall-n"]
    assert verdict.violations == ()
    assert verdict.terms.transfer == pytest.approx(0.99 * worth)
    assert verdict.terms.objective == pytest.approx(found.objective, rel=1e-6)
    # half of 40 kWh at 0 g in the south, half at 500 g in the north
    assert verdict.transfer_kg == pytest.approx(10.0)
    assert verdict.transfer_kwh == 40.0
    assert (verdict.runs[0].moves, verdict.runs[0].pauses) == (1, 1)
    stays, *_ = published(turned(*ways("s1", "n1", cost=1.01 * worth)))
    assert len({stay.pool for stay in stays.schedule.runs[0].stays}) == 1


def test_time_and_restart_of_a_move_are_work_not_done():
    week = turned(*ways("s1", "n1", time_s=360.0), checkpoint_s=120.0, reload_s=240.0)
    found, runs, verdict = published(week)
    # a reload of 240 s and a checkpoint of 120 s in the south, 240 and 360 s in the north; it runs to the end there
    made = [w.tokens / (256 * 1000.0) for w in runs[0].windows]
    assert made == pytest.approx([4 * 3600.0 - 240.0 - 120.0, 4 * 3600.0 - 240.0 - 360.0])
    assert verdict.violations == ()
    (short,) = found.shortfalls
    assert short.hours_short == pytest.approx((240 + 120 + 240 + 360) / 3600.0)


def test_a_stay_shorter_than_its_move_makes_nothing_and_takes_nothing_from_the_next():
    week = turned(*ways("s1", "n1", time_s=5400.0), on_off_grid_h=1.0)
    stays = (Stay(0, 2, "s1", 256), Stay(2, 3, "n1", 256), Stay(3, 8, "s1", 256))
    still = np.zeros(8)
    schedule = Schedule(
        (RunSchedule("r1", "s1", np.full(8, 700.0), stays=stays),),
        tuple(BlockSchedule(block.name, still, still, still) for block in week.blocks),
    )
    calendar, runs = to_calendar(week, schedule, status="x", certified_gap=None)
    assert [w.tokens / 256e3 for w in runs[0].windows] == pytest.approx([7200.0, 0.0, 5 * 3600.0 - 5400.0])
    assert not {v.kind for v in evaluate(calendar, runs, week).violations} & {"tokens", "move"}


def test_no_way_is_no_move_and_a_move_is_a_pause_too():
    assert len(published(turned(Way("n1", "s1", 0.0, 0.0, 0.0)))[0].schedule.runs[0].stays) == 1
    assert len(published(turned(*ways("s1", "n1"), max_pauses=0))[0].schedule.runs[0].stays) == 1


def test_a_run_that_lies_in_a_pool_pays_for_its_first_start_elsewhere():
    week = turned(*ways("s1", "n1", time_s=60.0))
    lies = replace(week.runs[0], migration=replace(week.runs[0].migration, lies_in="n1"), max_pauses=0)
    found, runs, verdict = published(replace(week, runs=(lies,)))
    assert verdict.violations == ()
    assert places(runs) == [("n1", 256)]
    runs_there = replace(week.runs[0], running_in="s1")
    found, runs, verdict = published(replace(week, runs=(runs_there,)))
    assert moves_of(week, found.schedule) == (
        Moved("r1", 4, "s1", "n1", 256, 256, week.runs[0].migration.way("s1", "n1")),
    )
    assert verdict.violations == ()


def short_of_power(**changes):
    """Four hours, in the middle two of which 256 GPUs do not fit into the block's capacity and 128 do."""
    block = make_block(capacity_kw=400.0, n_slots=4, deratings=(Derating(at(1), at(3), 260.0, "work on a breaker"),))
    run = make_run(work_h=4.0, deadline_h=4.0, points=FULL_POWER, checkpoint_s=180.0, reload_s=360.0, **changes)
    return tiny_week(n_slots=4, blocks=(block,), pools=(make_pool(points=FULL_POWER),), runs=(run,))


def test_a_gang_shrinks_where_power_is_short_instead_of_stopping():
    week = short_of_power()
    _, runs, _ = published(week)
    # one hour, less reload and checkpoint, and one hour less the reload
    assert sum(w.tokens for w in runs[0].windows) == pytest.approx((3600 - 540 + 3600 - 360) * 256e3)
    elastic = replace(week, runs=(with_sizes(week.runs[0], {128: 0.55}),))
    found, runs, verdict = published(elastic)
    assert places(runs) == [("a1", 256), ("a1", 128), ("a1", 256)]
    made = [w.tokens / 256e3 for w in runs[0].windows]
    assert made == pytest.approx([3600 - 540, 0.55 * (7200 - 540), 3600 - 360])
    assert [w.checkpoint for w in runs[0].windows] == ["after", "after", "none"]
    assert [w.energy_kwh for w in runs[0].windows] == pytest.approx([281.6, 2 * 140.8, 281.6])
    assert verdict.violations == ()
    assert verdict.runs[0].moves == 2
    assert found.objective == pytest.approx(best_moving_cost(elastic), rel=1e-6)


def test_the_other_way_keeps_the_run_s_own_count_of_gpus():
    elastic = replace(short_of_power(), runs=(with_sizes(short_of_power().runs[0], {128: 0.55, 512: 1.8}),))
    (decided,) = asap(elastic, {"r1": elastic.work_tokens(elastic.runs[0])}).schedule.runs
    assert decided.stays == ()
    assert (decided.gpu_power_limit_w > 0.0).tolist() == [True, False, False, True]


def test_more_gpus_meet_a_deadline_that_its_own_count_does_not():
    run = with_sizes(make_run(work_h=3.0, deadline_h=2.0, points=FULL_POWER), {512: 1.6})
    week = tiny_week(n_slots=2, pools=(make_pool(points=FULL_POWER),), runs=(run,))
    found, runs, verdict = published(week)
    # two hours at 1.6 are 3.2 h of work: an hour at each count would be 2.6
    assert found.shortfalls == ()
    assert places(runs) == [("a1", 512)]
    assert verdict.violations == ()


@pytest.mark.parametrize("seed", [0, 1, 4, 5])
def test_a_small_week_with_moves_reaches_its_optimum(seed):
    week = moving_week(seed, 3)
    found, _, verdict = published(week)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best_moving_cost(longest_moves(week)), rel=1e-6, abs=1e-6)
    assert verdict.violations == ()


@pytest.mark.parametrize("seed", range(3))
def test_a_free_move_between_like_pools_is_never_worse(seed):
    week = moving_week(seed, 5, migrates=False, sizes=False)
    free = replace(week.runs[0], migration=Migration(0.0, ways("a1", "a2")))
    kept, moved = plan(week, EXACT), plan(replace(week, runs=(free, *week.runs[1:])), EXACT)
    assert moved.objective <= kept.objective + 1e-6 * abs(kept.objective)


def test_the_judge_finds_moves_that_cost_nothing_or_go_no_way():
    week = turned(*ways("s1", "n1", time_s=360.0))
    found, _, _ = published(week)
    calendar, runs = to_calendar(week, found.schedule, status="x", certified_gap=None)

    def kinds(between, given=runs):
        other = replace(week, runs=(replace(week.runs[0], migration=between and Migration(1.0, between)),))
        return {v.kind for v in evaluate(calendar, given, other).violations} - {"inputs", "shortfall", "deadline"}

    assert kinds(ways("s1", "n1", time_s=360.0)) == set()
    assert "tokens" in kinds(ways("s1", "n1", time_s=720.0))
    assert "move" in kinds(ways("n1", "x1"))
    assert {"one-pool", "island"} <= kinds(None)
    first, second = runs[0].windows
    shrunk = replace(runs[0], windows=(first, replace(second, gpus=128)))
    assert {"gang", "tokens"} <= kinds(ways("s1", "n1", time_s=360.0), [shrunk])


def test_where_a_run_goes_is_told():
    week = turned(*ways("s1", "n1", time_s=360.0, energy_kwh=40.0, cost=5.0))
    found = plan(week, EXACT)
    calendar, runs = to_calendar(week, found.schedule, status="x", certified_gap=None)
    assert (
        "Run 'r1' goes on Mon 13 May 06:00 CEST on 256 GPUs of pool n1 after pool s1: 360 s, 40 kWh, 5.00 EUR."
        in calendar.notes
    )
    verdict = evaluate(calendar, runs, week)
    outcome = SimpleNamespace(week=week, runs=runs, evaluation=verdict)
    (result,) = verdict.runs
    assert moves_view.figures(outcome, result) == {
        "moves": 1,
        "places": [{"pool": "s1", "gpus": 256, "hours": 4.0}, {"pool": "n1", "gpus": 256, "hours": 4.0}],
    }
    assert moves_view.closing_lines(outcome) == (
        "moves      r1: 256 GPUs of s1 in hall-s for 4 h; 256 GPUs of n1 in hall-n for 4 h; 1 move",
    )
    assert moves_view.totals(outcome) == {}
    assert "4 h on 256 GPUs of pool s1" in runs[0].windows[0].why


def test_a_published_plan_with_moves_can_be_explained():
    week = turned(*ways("s1", "n1"))
    found = plan(week, EXACT)
    calendar, runs = to_calendar(week, found.schedule, status="x", certified_gap=None)
    again = choices_of(week, calendar, runs)
    assert again.runs["r1"].stays == scheduled(found.schedule).runs["r1"].stays
    assert fix(week, again).worth.total == pytest.approx(found.objective, rel=1e-6)


def test_a_run_that_waits_for_one_that_moves_waits_for_its_move_too():
    week = turned(*ways("s1", "n1", time_s=1800.0), dear=0.9)
    first = replace(week.runs[0], stages=(replace(week.runs[0].stages[0], tokens=5.0 * 3600 * 256e3),))
    then = make_run("then", 128, 1.0, 7.0, pools=("s1",), points=FULL_POWER)
    then = replace(then, after=(After("r1", "train"),))
    week = replace(week, runs=(first, then), pools=(make_pool("s1", 512, "hall-s", points=FULL_POWER), week.pools[1]))
    found, runs, verdict = published(week)
    assert verdict.violations == ()
    # 4 h in the south, half an hour on the way and 1 h in the north: not done before the sixth hour
    assert places(runs) == [("s1", 256), ("n1", 256)]
    assert (found.schedule.runs[1].gpu_power_limit_w > 0.0).argmax() == 6


def test_a_plan_in_force_with_moves_goes_on():
    announced = plan(turned(*ways("s1", "n1")), EXACT).schedule
    # two hours later the prices of the last hours turn out the other way round: the run stays
    now = turned(*ways("s1", "n1"))
    south = now.signals.price_per_kwh.copy()
    south[4:] = 0.05
    now = replace(now, signals=replace(now.signals, price_per_kwh=south))
    found = replan(now, InForce(announced, 2, 2), EXACT)
    assert found.found.schedule.runs[0].stays == (Stay(0, 8, "s1", 256),)
    assert found.changed_gpu_h == 4 * 2 * 256 == changed_gpu_h(now, announced, found.found.schedule)
    frozen = replan(now, InForce(announced, 2, 6), EXACT)
    assert frozen.found.schedule.runs[0].stays[:2] == (Stay(0, 4, "s1", 256), Stay(4, 6, "n1", 256))
    assert frozen.note == ""


def test_paths_share_the_moves():
    week = turned(*ways("s1", "n1"))
    one = Scenario(0.5, week.signals)
    unsure = replace(week, uncertainty=Uncertainty((one, one), cvar_alpha=0.9, cvar_weight=0.5))
    found = plan_on_paths(unsure, EXACT)
    assert found.schedule.runs[0].stays == (Stay(0, 4, "s1", 256), Stay(4, 8, "n1", 256))
    assert found.objective == pytest.approx(plan(week, EXACT).objective, rel=1e-6)


def test_who_does_not_know_moves_says_so():
    week = turned(*ways("s1", "n1"))
    assert "the moves of run 'r1'" in unsupported(week)
    found = plan(week, EXACT)
    header, runs = to_calendar(week, found.schedule, status="x", certified_gap=None)
    with pytest.raises(ConfigError, match="an answer to an event does not know runs that change their pool"):
        respond(week, header, runs, [], now=week.grid.start, agreed=None, flexibility={})
    dark = Outage("dark", week.blocks[0].name, week.grid.start, None, "a fuse", capacity_kw=0.0)
    with pytest.raises(ConfigError, match="an answer to an outage does not know runs that change their pool"):
        answer_outage(week, header, runs, dark, now=week.grid.start, agreed=None, flexibility={})


def test_a_week_without_moves_has_the_digest_that_it_had_before():
    told = tiny_week().canonical().decode()
    assert not any(f'"{key}"' in told for key in ("migration", "running_gpus"))
    assert '"options":[{"points"' in told
