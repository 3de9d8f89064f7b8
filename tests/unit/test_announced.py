"""What a calendar in force announces, and how far runs are ahead of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.band import Band
from planner.errors import ConfigError
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.rolling.announced import announced
from planner.rolling.behind import AHEAD, GOES_ON, ahead_tokens, as_made_from, expected_tokens, told_ahead, with_ahead
from planner.rolling.known import known_until, series_until
from planner.uncertainty import Scenario, Uncertainty
from tests.weeks import START, battery, make_block, make_run, tiny_week

EXACT = PlanOptions(gap_target=1e-6, time_limit_s=20.0)
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def made():
    week = tiny_week(
        price_per_kwh=[0.1, 0.1, 0.3, 0.3, 0.1, 0.1, 0.3, 0.3],
        runs=(make_run(reload_s=600.0),),
        blocks=(make_block(n_slots=8, battery=battery()),),
    )
    schedule = plan(week, EXACT).schedule
    return week, schedule, *to_calendar(week, schedule, status="x", certified_gap=None)


def test_a_calendar_says_what_its_schedule_said(made):
    week, schedule, header, runs = made
    found = announced(week, header, runs, 8)
    assert found.runs[0].pool == schedule.runs[0].pool
    assert found.runs[0].gpu_power_limit_w == pytest.approx(schedule.runs[0].gpu_power_limit_w, abs=1e-6)
    again, windows = to_calendar(week, found, status="x", certified_gap=None)
    assert [w.tokens for w in windows[0].windows] == [w.tokens for w in runs[0].windows]
    assert [(w.start, w.end) for w in windows[0].windows] == [(w.start, w.end) for w in runs[0].windows]
    assert again.blocks == header.blocks


def test_steps_of_an_answer_count_where_they_are_to_come_and_not_where_they_have_passed(made):
    week, _, header, runs = made
    (run,) = runs
    first = next(i for i, window in enumerate(run.windows) if window.state == "run")
    window = run.windows[first]
    half = window.start + (window.end - window.start) / 4
    held = (replace(window, end=half), replace(window, start=half, state="hold", gpu_power_limit_w=None, tokens=0.0))
    answer = replace(run, windows=(*run.windows[:first], *held, *run.windows[first + 1 :]))
    slot = int(week.grid.position(window.start))
    found = announced(week, header, [answer], slot)
    plain = announced(week, header, runs, slot)
    assert np.array_equal(found.runs[0].gpu_power_limit_w > 0.0, plain.runs[0].gpu_power_limit_w > 0.0)
    with pytest.raises(ConfigError, match="holds, starts, stops or changes its power within a slot"):
        announced(week, header, [answer], slot + 2)


def test_other_runs_than_the_calendars_are_refused(made):
    week, _, header, runs = made
    with pytest.raises(ConfigError, match="'new'"):
        announced(replace(week, runs=(replace(week.runs[0], name="new"),)), header, runs, 1)


def test_ahead_and_behind_by_hand(made):
    _, _, _, runs = made
    (run,) = runs
    window = next(w for w in run.windows if w.state == "run")
    rate = window.tokens / ((window.end - window.start) / HOUR)
    start_s = int(window.start.timestamp())
    assert expected_tokens(run, window.start, window.start + HOUR) == pytest.approx(rate)
    told = {run.run: {start_s: rate + 50.0, start_s + 3600: 1e9}}
    # the second hour is not over: it does not count
    now = window.start + 1.5 * HOUR
    assert ahead_tokens(runs, told, now) == {run.run: pytest.approx(50.0, abs=1e-5)}
    # an hour without any telemetry between two with it counts as one without tokens
    gone = {run.run: {start_s: rate, start_s + 3600 * 3: 0.0}}
    missing = expected_tokens(run, window.start, window.start + 4 * HOUR) - rate
    assert missing > 0.0
    assert ahead_tokens(runs, gone, window.start + 4 * HOUR) == {run.run: pytest.approx(-missing, abs=1e-5)}
    assert ahead_tokens(runs, {}, now) == {}


def test_a_run_behind_has_more_to_do_and_none_is_ahead_by_more_than_all(made):
    week, _, _, runs = made
    (run,) = week.runs
    work = week.work_tokens(run)
    behind = with_ahead(week, runs, {run.name: -0.1 * work}, START)
    assert behind.work_tokens(behind.runs[0]) == pytest.approx(1.1 * work)
    far = with_ahead(week, runs, {run.name: 9.0 * work}, START + 2 * HOUR)
    left = far.work_tokens(far.runs[0]) - expected_tokens(runs[0], START, START + 2 * HOUR)
    assert left == pytest.approx(0.0, abs=1e-6 * work)


def test_a_calendar_says_how_far_ahead_it_took_its_runs_to_be(made):
    week, _, header, runs = made
    behind = with_ahead(week, runs, {week.runs[0].name: -1234.5}, START)
    said = replace(header, inputs={**header.inputs, GOES_ON: {AHEAD: told_ahead(behind, week)}})
    assert as_made_from(week, said).sha256 == behind.sha256
    assert as_made_from(week, header) is week
    for text in ("[]", "{", '{"r1": "x"}'):
        with pytest.raises(ConfigError, match="cannot be read"):
            as_made_from(week, replace(header, inputs={GOES_ON: {AHEAD: text}}))


def test_the_forecast_before_keeps_its_weight_in_carbon_alone():
    before = tiny_week(n_slots=4, ci_gco2_per_kwh=300.0, price_per_kwh=0.1)
    newest = tiny_week(n_slots=4, ci_gco2_per_kwh=100.0, price_per_kwh=0.2)
    path = Scenario(1.0, replace(newest.signals, ci_gco2_per_kwh=np.array([10.0, 10.0, 130.0, 90.0])))
    newest = replace(newest, uncertainty=Uncertainty((path,)))
    found = known_until(before, newest, 2, 0.75)
    assert found.signals.ci_gco2_per_kwh == pytest.approx([300.0, 300.0, 150.0, 150.0])
    assert found.signals.price_per_kwh == pytest.approx([0.1, 0.1, 0.2, 0.2])
    # paths lie around it as they lay around the newest forecast
    (moved,) = found.uncertainty.scenarios
    assert moved.signals.ci_gco2_per_kwh == pytest.approx([300.0, 300.0, 180.0, 140.0])
    assert known_until(before, newest, 2).signals.ci_gco2_per_kwh == pytest.approx([300.0, 300.0, 100.0, 100.0])


def test_series_that_go_on_say_what_they_are():
    before = tiny_week(n_slots=4, ci_gco2_per_kwh=300.0)
    newest = tiny_week(n_slots=4, ci_gco2_per_kwh=100.0)
    rows = np.array([[90.0] * 4, [110.0] * 4])
    newest = replace(newest, bands=(Band("ci_gco2_per_kwh", "made up", START, (0.1, 0.9), rows, rows),))
    found = series_until(before, newest, 2, 0.75)
    assert found.bands[0].quantiles == pytest.approx(
        np.array([[300.0, 300.0, 140.0, 140.0], [300.0, 300.0, 160.0, 160.0]])
    )
    assert "75% of the newest forecast and 25%" in found.labels[-1]
    assert series_until(before, newest, 2).labels == newest.labels


def test_what_may_be_below_zero_stays_so_in_bands_that_go_on():
    before = tiny_week(n_slots=4, price_per_kwh=0.3, dry_bulb_c=4.0)
    newest = tiny_week(n_slots=4, price_per_kwh=0.1, dry_bulb_c=-9.0)
    bands = tuple(
        Band(name, "made up", START, (0.1, 0.9), np.array([[low] * 4, [high] * 4]), np.array([[low] * 4]))
        for name, low, high in (("price_per_kwh", -0.2, 0.2), ("dry_bulb_c", -12.0, -6.0))
    )
    price, dry = series_until(before, replace(newest, bands=bands), 2, 0.75).bands
    assert price.quantiles == pytest.approx(np.array([[0.3, 0.3, -0.2, -0.2], [0.3, 0.3, 0.2, 0.2]]))
    assert price.paths == pytest.approx(np.array([[0.3, 0.3, -0.2, -0.2]]))
    assert dry.quantiles == pytest.approx(np.array([[4.0, 4.0, -12.0, -12.0], [4.0, 4.0, -6.0, -6.0]]))
