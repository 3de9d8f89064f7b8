"""Long horizons window after window: paced, handed over, one calendar that the judge passes, bounded as a whole."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from planner.config import site_from_text
from planner.config.faults import SiteFaults
from planner.errors import ConfigError, Infeasible
from planner.evaluate import evaluate
from planner.objective import CarbonBudget, Objective
from planner.optimize import PlanOptions, plan
from planner.optimize.limits import block_limits
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.places import locate
from planner.optimize.scale.crowd import crowd
from planner.precedence import After
from planner.publish import to_calendar
from planner.run import Stage
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from planner.stagger import longest_moves
from planner.timegrid import horizon_grid, horizon_name, iso_week, month_grid
from planner.uncertainty import Scenario, Uncertainty
from planner.windows import by_windows, plan_by_windows
from planner.windows.course import Course
from planner.windows.cut import at_start, cut
from planner.windows.hold import held
from planner.windows.pace import pace
from planner.windows.plan import _window
from planner.windows.spans import Span, spans
from power.export import GridExport
from power.tariff import Tariff
from tests.many_gangs import many_gangs
from tests.two_pools import SITE
from tests.weeks import FULL_POWER, at, battery, make_block, make_pool, make_run, tiny_week

DAILY = PlanOptions(gap_target=0.05, time_limit_s=600.0, windows_h=24.0)
BERLIN = ZoneInfo("Europe/Berlin")


def no_stage(_):
    return nullcontext()


def days(n_slots=72, start=None, **changes):
    """Three days whose nights are cheap; two runs, a battery and a demand charge."""
    step = np.arange(n_slots)
    moved = {} if start is None else {"start": start}
    given = {
        "n_slots": n_slots,
        "price_per_kwh": 0.08 + 0.04 * np.sin(2 * np.pi * (step - 8) / 24),
        "blocks": (make_block(n_slots=n_slots, battery=battery()),),
        "runs": (
            make_run("long", 256, 40.0, n_slots - 4.0, min_run_h=3.0, min_pause_h=2.0, reload_s=600.0, **moved),
            make_run("soon", 128, 9.0, 20.0, min_run_h=2.0, checkpoint_s=300.0, **moved),
        ),
        "tariff": Tariff(demand_charge_per_kw_month=2.0),
        **moved,
    }
    return tiny_week(**(given | changes))


def judged(week, found):
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return [v.sentence for v in evaluate(calendar, runs, week, simulated_weeks=0).violations]


def gangs(week):
    return crowd(week, [block_limits(week, block) for block in week.blocks])


def test_windows_overlap_begin_on_every_grid_and_leave_no_short_last_one():
    week = tiny_week(
        n_slots=400, slot_minutes=15, runs=(make_run(on_off_grid_h=4.0), make_run("r2", on_off_grid_h=1.5))
    )
    found = spans(week, 24.0)
    # 100 h: both grids meet every 12 h, a third of 24 h is nearest to 12 h, and the last 4 h join the window before
    assert [(s.first, s.kept, s.after) for s in found] == [
        (0, 96, 144),
        (96, 192, 240),
        (192, 288, 336),
        (288, 400, 400),
    ]
    assert spans(tiny_week(n_slots=24), 24.0) == (Span(0, 24, 24),)


def test_long_horizons_go_by_windows_unless_classes_plan_them_at_once():
    short, month = days(), many_gangs(1, n_runs=4, n_slots=744, n_pools=1)
    assert not by_windows(short, PlanOptions())
    assert by_windows(short, DAILY)
    assert not by_windows(short, replace(DAILY, windows_h=72.0))
    assert by_windows(month, PlanOptions())
    assert not by_windows(month, PlanOptions(method="scale"))
    many = replace(month, runs=tuple(replace(month.runs[0], name=f"r{i}") for i in range(41)))
    assert not by_windows(many, PlanOptions())
    assert by_windows(many, PlanOptions(method="gangs"))


@pytest.fixture(scope="module")
def planned():
    """`days` by windows, with what was said meanwhile."""
    said = []
    found = plan_by_windows(days(), DAILY, lambda text: said.append(text) or nullcontext())
    return found, said


def test_one_calendar_that_the_judge_passes_near_the_best_plan_of_the_whole(planned):
    found, said = planned
    best = plan(days(), PlanOptions(gap_target=0.03, time_limit_s=60.0, method="gangs"))
    assert judged(days(), found) == []
    assert found.shortfalls == ()
    assert found.bound <= best.objective + 1e-6
    assert best.bound <= found.objective + 1e-6
    assert found.objective <= 1.05 * best.objective
    assert found.mip_gap < 0.06
    assert [text.split(",")[0] for text in said] == [
        "pacing the whole horizon", "planning window 1 of 3", "planning window 2 of 3", "planning window 3 of 3",
        "joining the windows",
    ]  # fmt: skip


def test_the_same_horizon_gives_the_same_plan(planned):
    again = plan_by_windows(days(), DAILY, no_stage)
    for one, other in zip(planned[0].schedule.runs, again.schedule.runs, strict=True):
        assert np.array_equal(one.gpu_power_limit_w, other.gpu_power_limit_w)


def test_a_deadline_in_the_last_days_is_paced_from_the_first():
    # 60 of 72 hours at full power, and the last day is so cheap that a window by itself would leave all of it to it
    prices = [0.2] * 48 + [0.01] * 24
    run = make_run("long", 256, 58.0, 72.0, min_run_h=3.0, min_pause_h=2.0)
    week = days(price_per_kwh=prices, runs=(run,), blocks=(make_block(n_slots=72),))
    found = plan_by_windows(week, DAILY, no_stage)
    assert found.shortfalls == ()
    assert judged(week, found) == []
    on = found.schedule.runs[0].gpu_power_limit_w > 0.0
    # the last day holds 24 h of it: 34 h lie before
    assert on[:48].sum() >= 34


def test_clocks_and_the_month_may_change_within():
    start = datetime(2024, 3, 29, 23, tzinfo=UTC)
    week = days(start=start)
    offsets = {t.astimezone(BERLIN).utcoffset() for t in week.grid.starts}
    assert len(offsets) == 2
    assert len(week.demand_registers) == 2
    found = plan_by_windows(week, DAILY, no_stage)
    assert judged(week, found) == []
    assert found.shortfalls == ()


def test_a_run_waits_across_windows():
    proto = make_run("proto", 128, 20.0, 30.0, min_run_h=2.0)
    full = make_run("full", 256, 12.0, 70.0, min_run_h=2.0, after=(After("proto", "train", 2.0),))
    week = days(runs=(full, proto), blocks=(make_block(n_slots=72),))
    found = plan_by_windows(week, DAILY, no_stage)
    assert judged(week, found) == []
    assert found.shortfalls == ()


def handed_over(limit_w, **changes):
    """The state after the first of three days, in which the long run has some limits and the battery charged."""
    week = days(**changes)
    still, charge = np.zeros(32), np.zeros(32)
    charge[2] = 40.0
    one = gangs(week)
    course = Course(one, at_start(week))
    runs = (RunSchedule("long", "a1", np.array(limit_w)), RunSchedule("soon", None, still))
    span = Span(0, 24, 32)
    course.go_on(span, Schedule(runs, (BlockSchedule("hall", still, charge, still),)))
    paced = pace(one, [32, 56, 72], 60.0)
    return week, course, cut(week, Span(24, 48, 56), course.state, paced), paced


def test_what_a_window_leaves_is_what_the_next_one_finds():
    week, course, window, paced = handed_over([0.0] * 4 + [700.0] * 6 + [0.0] * 12 + [500.0] * 7 + [0.0] * 3)
    run = window.run("long")
    assert (window.grid.start, window.grid.n_slots) == (at(24), 32)
    assert window.signals.price_per_kwh.tolist() == week.signals.price_per_kwh[24:56].tolist()
    # six hours without ten minutes of reload, and two of the second spell likewise
    made = 256 * 1000 * (3600 * 6 - 600 + (3600 * 2 - 600) * 0.88)
    assert run.tokens_done == pytest.approx(made)
    assert (run.running_in, [o.pool for o in run.options]) == ("a1", ["a1"])
    due = window.due_tokens(run)
    assert due[0][1] == window.grid.end
    assert due[0][2] == pytest.approx(paced.tokens["long", 56] - made, rel=0.2)
    held = window.blocks[0].battery
    assert held.initial_share == pytest.approx(0.5 + 40.0 * 0.95 / 200.0)
    assert held.final_rule == "at_least"
    assert window.tariff.month_to_date_peak_kw >= paced.prices.peak_kw[0] - 1e-9
    handover = course.handover(Span(24, 48, 56))
    # the second spell began two hours before: one more hour makes its three, and all seven were planned
    assert handover.kept == {"long": 1, "soon": 0}
    assert handover.on["long"].tolist() == [True] * 5 + [False] * 27
    assert handover.it_kw["hall"] == pytest.approx(512 * 0.15 + 256 * (0.84 - 0.15), rel=1e-4)


def test_a_pause_that_has_just_begun_goes_on_and_pauses_are_counted():
    _, _, window, _ = handed_over([0.0] * 4 + [700.0] * 6 + [0.0] * 4 + [700.0] * 9 + [0.0] * 9)
    run = window.run("long")
    # off since hour 23, with two hours of pause at least
    assert run.earliest_start == at(25)
    assert run.running_in is None
    # eight of ten pauses by hour 56; two spells have begun
    assert run.max_pauses == 6


def test_power_moves_on_from_where_it_was_and_spells_that_have_just_begun_go_on():
    ramped = make_block(n_slots=72, battery=battery(), ramp_kw_per_min=12.0)
    limit_w = [0.0] * 22 + [700.0] * 8 + [0.0] * 2
    _, course, window, _ = handed_over(limit_w, blocks=(ramped,))
    program = build(longest_moves(window))
    matrix, index = from_pulp(program.problem)
    places = locate(program, index)
    found = held(program, places, matrix, handover=course.handover(Span(24, 48, 56)))
    it, before_kw = places.blocks[0].it, 512 * 0.15 + 256 * (1.1 - 0.15)
    # 12 kW/min over a quarter hour: 180 kW either way, of which the first slot of the window alone knows
    low, high = (sides[it] * program.power_kw for sides in (found.matrix.lower, found.matrix.upper))
    assert low[0] == pytest.approx(before_kw - 180.0, rel=1e-4)
    assert high[0] == pytest.approx(before_kw + 180.0, rel=1e-4)
    assert low[1] == pytest.approx(matrix.lower[it[1]] * program.power_kw)
    (option,) = places.gangs[0]
    # two of three hours of the spell lie before: one is left, and six were planned
    assert found.matrix.lower[option.on].tolist() == [1.0] + [0.0] * 31
    start = np.zeros(matrix.n_columns)
    start[places.choices] = found.start
    assert start[option.on].tolist() == [1.0] * 6 + [0.0] * 26


def test_parts_that_only_the_whole_program_plans_are_named():
    week = days(blocks=(replace(make_block(n_slots=72), export=GridExport(limit_kw=10.0)),))
    with pytest.raises(ConfigError, match="the export of block 'hall'"):
        plan_by_windows(week, DAILY, no_stage)


def test_orders_of_measures_and_paths_are_not_planned_by_windows():
    with pytest.raises(ConfigError, match="the order of measures"):
        plan_by_windows(replace(days(), objective=Objective(order=("lateness", "carbon"))), DAILY, no_stage)
    paths = Uncertainty(scenarios=(Scenario(1.0, days().signals),))
    with pytest.raises(ConfigError, match="paths of the forecast"):
        plan_by_windows(replace(days(), uncertainty=paths), DAILY, no_stage)


def test_a_window_whose_battery_cannot_end_as_paced_ends_as_it_can():
    # full at the end of a window that begins empty: a battery that charges 1 kW cannot get there
    slow = battery(initial_share=0.1, final_share=0.1)
    week = days(n_slots=24, blocks=(make_block(n_slots=24, battery=replace(slow, charge_kw=1.0, final_share=0.9)),))
    with pytest.raises(Infeasible):
        plan(week, DAILY)
    assert _window(week, DAILY, None).schedule.runs[0].pool == "a1"


def test_a_budget_is_planned_by_its_price():
    plain = dict(plan_by_windows(days(), DAILY, no_stage).measures)["carbon"]
    tight = replace(days(), objective=Objective(budget=CarbonBudget(0.99 * plain, 3000.0)))
    found = plan_by_windows(tight, DAILY, no_stage)
    assert judged(tight, found) == []
    assert dict(found.measures)["carbon"] < plain


def test_a_month_is_from_midnight_to_midnight_in_site_time():
    spring, autumn = (month_grid(text, BERLIN, 15) for text in ("2024-03", "2024-10"))
    assert (spring.n_slots, autumn.n_slots) == (31 * 96 - 4, 31 * 96 + 4)
    assert spring.start == datetime(2024, 2, 29, 23, tzinfo=UTC)
    assert horizon_grid("2024-12", BERLIN, 60).end == datetime(2024, 12, 31, 23, tzinfo=UTC)
    assert horizon_grid("2024-W20", BERLIN, 60) == iso_week("2024-W20", BERLIN, 60)
    assert horizon_name(spring.start, spring.end, BERLIN) == "2024-03"
    week = iso_week("2024-W14", BERLIN, 60)
    # a week that starts with a month is none
    assert horizon_name(week.start, week.end, BERLIN) == "2024-W14"
    for text, said in (("2024-13", "no month"), ("1234-05", "not in the years")):
        with pytest.raises(ConfigError, match=said):
            month_grid(text, BERLIN, 60)


def test_stages_within_a_window_stay_and_those_behind_it_are_paced():
    run = replace(
        make_run("staged", 256, 10.0, 20.0, points=FULL_POWER),
        stages=(Stage("warm-up", 256 * 3.6e6 * 10, at(20)), Stage("train", 256 * 3.6e6 * 30, at(72))),
    )
    week = days(runs=(run,), blocks=(make_block(n_slots=72),), pools=(make_pool(),))
    one = gangs(week)
    paced = pace(one, [32, 72], 60.0)
    window = cut(week, Span(0, 24, 32), at_start(week), paced)
    warm_up, train = window.due_tokens(window.run("staged"))
    assert (warm_up[0], warm_up[1], warm_up[2]) == ("warm-up", at(20), pytest.approx(256 * 3.6e6 * 10))
    assert (train[0], train[1]) == ("train", at(32))
    assert train[2] == pytest.approx(paced.tokens["staged", 32], rel=0.15)
    assert paced.tokens["staged", 72] == pytest.approx(256 * 3.6e6 * 40, rel=1e-6)


def test_site_files_name_a_week_or_a_month():
    asked = SITE.replace("[prices]", '[horizon]\nmonth = "2024-05"\n[plan]\nwindows_h = 48\n[prices]', 1)
    asked = asked.replace("PROTO", "").replace("STAGES", "").replace("FULL", "")
    site = site_from_text(asked, Path("site.toml"))
    assert (site.horizon.month, site.plan.windows_h) == ("2024-05", 48.0)
    for wrong, said in (
        ('month = "2024-05"\nweek = "2024-W20"', "week and month are both given"),
        ('month = "2024-5"', "'2024-5' is no month"),
    ):
        with pytest.raises(SiteFaults, match=said):
            site_from_text(asked.replace('month = "2024-05"', wrong), Path("site.toml"))
