"""Answers to grid events, on a small site with two halls, a battery and a ramp limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.errors import ConfigError, Infeasible
from planner.evaluate.event_limits import promised_limits
from planner.respond.new_calendar import carries_on
from power.connection import CapacityStep, Connection
from power.event_limits import as_text
from power.events import Ask, Asked
from power.flexibility import DemandResponse
from tests.answers import answer_to, decisions, grid_event, limit
from tests.judged import kept, published, site
from tests.weeks import at, make_block, make_run, tiny_week

WEEK = site()
CALENDAR = published(WEEK, kept())
IMPORT_KW = np.sum([plan.import_kw for plan in CALENDAR[0].blocks], axis=0)
NOW = at(8.5)


def answered(*events, week=WEEK, calendar=CALENDAR, **changes):
    return answer_to(week, calendar, *events, **({"now": NOW} | changes))


def cut(share: float, first: int = 9, after: int = 12) -> object:
    return limit(first, after, float((1.0 - share) * IMPORT_KW[first:after].min()))


def test_a_limit_is_kept_at_every_instant_and_the_judge_finds_nothing():
    response, _ = answered(cut(0.1))
    assert response.found.clean, response.found.violations
    assert response.changes
    (part,) = response.delivered
    assert part.highest_kw <= part.limit_kw * (1 + 1e-9)
    assert part.baseline_kw == pytest.approx(IMPORT_KW[9:12].mean())
    assert part.delivered_kw == pytest.approx(part.baseline_kw - part.import_kw)
    assert response.answer.status == "optimal"


def test_nothing_changes_before_the_instant_of_decision():
    _, runs = answered(cut(0.1))
    assert decisions(runs, NOW) == decisions(CALENDAR[1], NOW)


def test_runs_change_only_from_just_before_the_event():
    response, runs = answered(cut(0.1))
    begins = at(9) - timedelta(seconds=60)
    assert response.answer.question.span.begin_s == (begins - at(0)).total_seconds()
    assert decisions(runs, begins) == decisions(CALENDAR[1], begins)


def test_new_limits_are_set_ahead_of_the_event():
    response, runs = answered(cut(0.2))
    gives = next(run for run in response.runs if run.does == "throttles")
    (windows,) = (run.windows for run in runs if run.run == gives.run)
    assert at(9) - timedelta(seconds=60) in {w.start for w in windows}


def test_no_run_loses_more_than_its_tier_allows_with_the_way_in_and_out():
    response, _ = answered(cut(0.02), tiers={"big": 1, "late": 3, "long": 2})
    assert {run.run: run.tier for run in response.runs} == {"big": 1, "late": 3, "long": 2}
    for run in response.runs:
        assert run.kept_share >= 1.0 - run.max_loss_share - 1e-4, run


def test_a_limit_that_is_kept_anyway_changes_nothing():
    response, _ = answered(limit(9, 12, float(IMPORT_KW.max()) + 1.0))
    assert not response.changes
    assert {run.does for run in response.runs} == {"goes on"}
    assert response.kept_share == 1.0
    assert response.cost == pytest.approx(0.0, abs=1e-6)


def test_less_of_the_sun_or_of_the_battery_is_a_change():
    answer = answered(limit(9, 12, float(IMPORT_KW.max()) + 1.0))[0].answer
    assert carries_on(answer)
    for name in ("solar_kw", "charge_kw", "discharge_kw"):
        block = next(block for block, flows in answer.flows.items() if getattr(flows, name).any())
        flows = replace(answer.flows[block], **{name: 0.5 * getattr(answer.flows[block], name)})
        assert not carries_on(replace(answer, flows={**answer.flows, block: flows}))


def test_a_limit_that_cannot_be_kept_is_refused_with_the_lowest_that_can():
    with pytest.raises(Infeasible) as caught:
        answered(limit(9, 12, 1.0))
    told = str(caught.value)
    assert "asks the site to import 1.00 kW at most" in told
    assert "that the site can hold is" in told
    assert any("tier 2" in row for row in caught.value.conflicts)
    lowest_kw = float(caught.value.what.rpartition("hold is ")[2].removesuffix(" kW"))
    response, _ = answered(limit(9, 12, lowest_kw + 1.0))
    assert response.found.clean


def test_a_deeper_cut_costs_more_throughput():
    kept_shares = [answered(cut(share))[0].kept_share for share in (0.05, 0.15, 0.25)]
    assert kept_shares == sorted(kept_shares, reverse=True)
    assert kept_shares[0] > kept_shares[-1]


def test_a_block_alone_may_be_asked():
    hall = next(plan for plan in CALENDAR[0].blocks if plan.block == "hall-a")
    asked = 0.9 * float(np.array(hall.import_kw)[9:12].min())
    event = replace(limit(9, 12, asked), targets=("hall-a",))
    response, _ = answered(event)
    assert response.found.clean
    assert [part.block for part in response.delivered] == ["hall-a"]
    assert [run.run for run in response.runs if run.does == "throttles"] == ["big"]


def test_of_overlapping_events_the_first_in_priority_holds_then_the_tightest():
    low, high = 0.8 * float(IMPORT_KW[9:12].min()), 0.9 * float(IMPORT_KW[9:12].min())
    both = answered(limit(9, 12, low, name="low"), limit(10, 11, high, name="high"))[0]
    assert {part.limit_kw for part in both.delivered} == {low}
    first = replace(limit(10, 11, high, name="high"), asks=(Ask(Asked.IMPORT_LIMIT, at(10), at(11), high, "high", 0),))
    mixed = answered(limit(9, 12, low, name="low"), first)[0]
    assert [part.limit_kw for part in mixed.delivered] == [low, high, low]
    assert mixed.found.clean


def test_a_level_asks_for_the_share_that_the_site_agreed_to():
    agreed = DemandResponse(simple_shed_share=(0.05, 0.08, 0.2), emergency_shed_share=0.1)
    response, _ = answered(limit(9, 11, 2.0, Asked.SIMPLE), agreed=agreed)
    assert response.found.clean
    assert response.delivered[0].limit_kw == pytest.approx(0.92 * IMPORT_KW[9])
    assert response.delivered[-1].limit_kw == pytest.approx(0.92 * IMPORT_KW[10])
    emergency, _ = answered(limit(9, 10, 1.0, Asked.EMERGENCY), agreed=agreed)
    assert emergency.delivered[0].limit_kw == pytest.approx(0.9 * IMPORT_KW[9])
    nothing, _ = answered(limit(9, 11, 0.0, Asked.SIMPLE), agreed=agreed)
    assert not nothing.changes


def test_a_setpoint_is_met_from_above():
    response, _ = answered(limit(9, 12, 0.9 * float(IMPORT_KW[9:12].min()), Asked.SETPOINT))
    assert response.found.clean
    above, _ = answered(limit(9, 12, 2.0 * float(IMPORT_KW.max()), Asked.SETPOINT))
    assert not above.changes


def test_a_price_moves_work_out_of_its_hours_and_stands_in_the_new_inputs():
    week = tiny_week(n_slots=12, runs=(make_run("r", 256, 7.52, 12.0, on_off_grid_h=4.0),))
    calendar = published_at(week, "r", [700.0] * 4 + [500.0] * 4)
    dear, _ = answered(limit(4, 6, 5.0, Asked.PRICE), week=week, calendar=calendar, now=at(1))
    assert dear.found.clean
    assert dear.answer.question.week.signals.price_per_kwh.tolist() == [0.08] * 4 + [5.0] * 2 + [0.08] * 6
    assert {run.does for run in dear.runs} == {"throttles"}
    assert dear.runs[0].tokens_made_up >= dear.runs[0].tokens_lost > 0.0
    assert dear.lateness == pytest.approx(0.0, abs=0.1)
    assert dear.after.inputs["week"] != dear.before.inputs["week"]


def test_carbon_may_be_named_too_for_part_of_a_slot():
    response, _ = answered(limit(9.5, 10, 900.0, Asked.GHG))
    ci = response.answer.question.week.signals.ci_gco2_per_kwh
    assert ci[9] == pytest.approx(600.0)
    assert ci[10] == 300.0


def published_at(week, run, limits):
    from planner.publish import to_calendar
    from planner.schedule import BlockSchedule, RunSchedule, Schedule

    n = week.grid.n_slots
    padded = np.array(limits + [0.0] * (n - len(limits)))
    blocks = tuple(BlockSchedule(b.name, np.zeros(n), np.zeros(n), np.zeros(n)) for b in week.blocks)
    schedule = Schedule((RunSchedule(run, "a1", padded),), blocks)
    return to_calendar(week, schedule, status="optimal", certified_gap=0.0)


def test_where_throttling_does_not_do_runs_wait_with_their_gpus_held_as_long_as_the_site_allows():
    week = tiny_week(n_slots=8, runs=(make_run("r", 256, 8.0, 8.0, running_in="a1", max_pauses=0),))
    calendar = published_at(week, "r", [700.0] * 8)
    # the lowest point draws 256 x 650 W, and 256 other GPUs idle: less is had by waiting alone, for the lead too
    import_kw = calendar[0].blocks[0].import_kw[3]
    response, runs = answered(
        limit(3, 3.5, 0.4 * import_kw),
        week=week,
        calendar=calendar,
        now=at(1),
        most_lost=1.0,
        agreed=DemandResponse(max_hold_s=1900.0),
    )
    assert response.found.clean, response.found.violations
    assert response.answer.question.waits
    assert response.runs[0].does == "holds"
    assert "hold" in {w.state for w in runs[0].windows}
    assert response.runs[0].hold_s == 1860.0
    with pytest.raises(Infeasible):
        answered(
            limit(3, 3.5, 0.4 * import_kw), week=week, calendar=calendar, now=at(1), most_lost=1.0,
            agreed=DemandResponse(max_hold_s=900.0),
        )  # fmt: skip


def test_a_run_that_may_lose_all_stops_with_a_checkpoint_and_starts_again():
    week = tiny_week(
        n_slots=12, runs=(make_run("r", 256, 9.0, 12.0, running_in="a1", checkpoint_s=300.0, reload_s=600.0),)
    )
    calendar = published_at(week, "r", [700.0] * 10)
    import_kw = calendar[0].blocks[0].import_kw[3]
    response, runs = answered(limit(3, 6, 0.4 * import_kw), week=week, calendar=calendar, now=at(1), most_lost=1.0)
    assert response.found.clean, response.found.violations
    assert response.runs[0].does == "stops"
    states = [(w.state, w.checkpoint) for w in runs[0].windows]
    assert states[0] == ("run", "after")
    assert states[1][0] == "off"


def test_a_start_within_the_event_is_put_off_and_what_is_lost_is_made_up_after_the_planned_end():
    run = make_run("r", 256, 4.0, 12.0, earliest_h=4.0)
    week = tiny_week(n_slots=12, runs=(run,))
    calendar = published_at(week, "r", [0.0] * 4 + [700.0] * 4)
    idle_kw = calendar[0].blocks[0].import_kw[0]
    response, runs = answered(limit(4, 5, idle_kw * 1.01), week=week, calendar=calendar, now=at(1))
    assert response.found.clean, response.found.violations
    assert response.runs[0].does == "starts later"
    (on,) = ([w for w in r.windows if w.state == "run"] for r in runs)
    assert on[0].start == at(5)
    assert on[-1].end == at(9)
    assert response.lateness == pytest.approx(0.0, abs=1e-6)


def test_tier_one_starts_when_it_was_to_start():
    run = make_run("r", 256, 4.0, 12.0, earliest_h=4.0)
    week = tiny_week(n_slots=12, runs=(run,))
    calendar = published_at(week, "r", [0.0] * 4 + [700.0] * 4)
    idle_kw = calendar[0].blocks[0].import_kw[0]
    with pytest.raises(Infeasible):
        answered(limit(4, 5, idle_kw * 1.01), week=week, calendar=calendar, now=at(1), tiers={"r": 1})


def test_a_battery_gives_before_runs_do_and_is_back_where_it_was():
    from tests.weeks import battery

    n = 48
    block = make_block(n_slots=n, battery=battery(400.0, 150.0))
    week = tiny_week(n_slots=n, blocks=(block,), runs=(make_run("r", 256, 48.0, 48.0, running_in="a1"),))
    calendar = published_at(week, "r", [700.0] * n)
    import_kw = calendar[0].blocks[0].import_kw[6]
    response, _ = answered(limit(6, 8, 0.8 * import_kw), week=week, calendar=calendar, now=at(2))
    assert response.found.clean, response.found.violations
    assert response.changes
    assert {run.does for run in response.runs} == {"goes on"}
    plan = response.after.blocks[0]
    assert sum(plan.discharge_kw[6:8]) > 0.0
    (store,) = response.stores
    assert store.block == "hall"
    assert store.relieved_kw == pytest.approx(response.delivered[0].delivered_kw, abs=0.01)
    assert plan.battery_kwh[-1] == pytest.approx(calendar[0].blocks[0].battery_kwh[-1], abs=1e-3)


def test_ramps_are_kept_on_the_way_in_and_out():
    # idle to full is 243 kW; ten minutes of 9 kW each are 90 kW a step
    block = make_block(n_slots=12, ramp_kw_per_min=9.0, ramp_window_min=10.0)
    runs = tuple(make_run(f"r{i}", 128, 12.0, 12.0, running_in="a1") for i in range(2))
    week = tiny_week(n_slots=12, blocks=(block,), runs=runs)
    from planner.publish import to_calendar
    from planner.schedule import BlockSchedule, RunSchedule, Schedule

    still = np.zeros(12)
    schedule = Schedule(
        tuple(RunSchedule(r.name, "a1", np.full(12, 700.0)) for r in runs),
        (BlockSchedule("hall", still, still, still),),
    )
    calendar = to_calendar(week, schedule, status="optimal", certified_gap=0.0)
    import_kw = calendar[0].blocks[0].import_kw[4]
    response, _ = answered(limit(4, 6, 0.72 * import_kw), week=week, calendar=calendar, now=at(1), most_lost=0.5)
    assert response.found.clean, response.found.violations
    it_kw = response.answer.loads["hall"].it_kw
    assert np.abs(np.diff(it_kw)).max() <= 90.0 * (1 + 1e-6)
    assert response.answer.question.span.begin_s < 4 * 3600.0 - 60.0


def test_decided_too_late_the_limit_holds_as_soon_as_ramps_allow_and_that_is_said():
    block = make_block(n_slots=12, ramp_kw_per_min=9.0, ramp_window_min=10.0)
    week = tiny_week(n_slots=12, blocks=(block,), runs=(make_run("r", 256, 12.0, 12.0, running_in="a1"),))
    calendar = published_at(week, "r", [700.0] * 12)
    import_kw = calendar[0].blocks[0].import_kw[4]
    response, runs = answered(limit(4, 6, 0.75 * import_kw), week=week, calendar=calendar, now=at(4.5), most_lost=0.5)
    assert response.found.clean, response.found.violations
    assert "too late" in response.notes[-1]
    assert response.delivered[0].start > at(4.5)
    assert decisions(runs, at(4.5)) == decisions(calendar[1], at(4.5))


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (limit(1, 2, 100.0), "is over"),
        (limit(100, 101, 100.0), "is not in the calendar"),
        (replace(limit(9, 10, 100.0), targets=("elsewhere",)), "is for 'elsewhere', not for site 'tiny'"),
        (limit(9, 10, 2.0, Asked.SIMPLE), "level 2, and the site file does not say"),
        (limit(9, 10, 1.0, Asked.EMERGENCY), "set emergency_shed_share"),
        (replace(limit(9, 10, 0.1, Asked.PRICE), currency="USD"), "prices in USD; the site's money is EUR"),
        (replace(limit(9, 10, 0.1, Asked.PRICE), targets=("hall-a",)), "for block 'hall-a' alone"),
    ],
)
def test_what_an_event_cannot_ask_of_this_site(event, words):
    with pytest.raises(ConfigError) as caught:
        answered(event)
    assert words in str(caught.value)


def test_an_event_may_name_the_site_or_one_of_its_other_names():
    asked = 0.9 * float(IMPORT_KW[9:10].min())
    for name in ("tiny", "ven-17"):
        event = replace(limit(9, 10, asked), targets=("someone", name))
        response, _ = answered(event, agreed=DemandResponse(targets=("ven-17",)))
        assert response.delivered[0].block is None


def test_an_open_end_reaches_to_the_end_of_the_calendar():
    open_ended = grid_event(Ask(Asked.IMPORT_LIMIT, at(20), None, float(IMPORT_KW.max()), "cut"))
    response, _ = answered(open_ended)
    assert response.delivered[0].end == WEEK.grid.end


def test_the_same_question_has_the_same_answer():
    first, second = (answered(cut(0.1)) for _ in range(2))
    assert first[0].after == second[0].after
    assert first[1] == second[1]


def test_the_calendar_says_what_it_answers():
    response, _ = answered(cut(0.1))
    told = response.after.inputs["event"]
    assert told["name"] == "cut"
    assert told["answered_from"] == CALENDAR[0].calendar_id
    assert response.after.issued_at == NOW
    assert response.after.notes[-1].startswith("Changed from 2024-05-13T08:30:00Z on for event cut")


def test_the_calendar_carries_the_limits_that_it_keeps_and_later_answers_keep_them_too():
    first, runs = answered(cut(0.1))
    (limit_kept,) = promised_limits(first.after)
    assert (limit_kept.event, limit_kept.limit_kw) == ("cut", first.delivered[0].limit_kw)
    lower = replace(limit_kept, limit_kw=limit_kept.limit_kw - 5.0)
    text = as_text([lower, replace(lower, event="other")])
    before = replace(first.after, inputs={**first.after.inputs, "event": {"limits": text}})
    second, _ = answered(cut(0.2), calendar=(before, runs))
    # the same event asks anew in place of what it asked; another one's limit stands
    assert [limit.event for limit in promised_limits(second.after)] == ["other", "cut"]
    assert promised_limits(second.after)[0].limit_kw == lower.limit_kw


def test_what_is_made_up_later_stays_within_what_the_grid_lets_in():
    hall = CALENDAR[0].blocks[0]
    # solar power behind the connection: the hall takes more than the grid lets in after the event
    most_kw = max(hall.import_kw[12:]) + 0.5
    tight = Connection(steps=(CapacityStep(at(-1), 470.0), CapacityStep(at(12), most_kw)))
    blocks = [replace(b, power=replace(b.power, connection=tight)) if b.name == "hall-a" else b for b in WEEK.blocks]
    loose, _ = answered(cut(0.2), most_lost=0.5)
    assert max(loose.after.blocks[0].import_kw[12:]) > most_kw + 1.0
    held, _ = answered(cut(0.2), week=replace(WEEK, blocks=tuple(blocks)), most_lost=0.5)
    assert held.found.clean, held.found.violations
    assert held.changes
