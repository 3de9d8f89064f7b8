"""What an outage leaves of a block, and the answer to it, on a small site with two halls and a battery."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from planner.errors import ConfigError
from planner.outages import derated, left_kw
from planner.respond.outage import answer_outage
from planner.sources.outage_file import outage_from
from power.flexibility import DemandResponse, flexibility
from power.outage import Outage
from tests.judged import kept, published, site
from tests.weeks import at
from thermal.plant import w_max_n1_kw

WEEK = site()
CALENDAR = published(WEEK, kept())
NOW = at(8.5)
DARK = Outage("hv-1", "hall-a", NOW, at(12), "transformer fault", capacity_kw=0.0)


def answered(outage, *, calendar=CALENDAR, week=WEEK, now=NOW, since=None):
    flexible = {run.name: flexibility(run.priority) for run in week.runs}
    return answer_outage(week, *calendar, outage, now=now, since=since, agreed=DemandResponse(), flexibility=flexible)


def does(runs, name, instant):
    (run,) = (run for run in runs if run.run == name)
    return run.window_at(instant)


def test_a_block_that_is_dark_stops_its_runs_at_once_and_the_others_go_on():
    response, runs = answered(DARK)
    for name in ("big", "long"):
        before, now = does(CALENDAR[1], name, at(10)), does(runs, name, at(10))
        assert (before.state, now.state) == ("run", "off")
        assert does(runs, name, NOW - timedelta(minutes=1)) is not None
        assert does(runs, name, NOW - timedelta(minutes=1)).state == before.state
        assert does(runs, name, at(12.5)).state == does(CALENDAR[1], name, at(12.5)).state
    other, was = does(runs, "late", at(10)), does(CALENDAR[1], "late", at(10))
    assert (other.state, other.gpu_power_limit_w, other.tokens) == (was.state, was.gpu_power_limit_w, was.tokens)
    (plan,) = (plan for plan in response.after.blocks if plan.block == "hall-a")
    assert not np.array([plan.it_kw, plan.cooling_kw, plan.import_kw, plan.solar_kw, plan.charge_kw])[:, 9:12].any()
    assert {run.does for run in response.runs} == {"stops", "goes on"}
    assert response.changes
    assert response.after.inputs["event"]["name"] == "outage hv-1"
    assert response.after.inputs["event"]["answered_from"] == CALENDAR[0].calendar_id


def test_a_block_that_carries_half_throttles_before_it_stops_anything():
    planned = next(plan for plan in CALENDAR[0].blocks if plan.block == "hall-a")
    full_kw = max(planned.facility_kw[9:12])
    response, runs = answered(replace(DARK, capacity_kw=0.9 * full_kw))
    assert [run.does for run in response.runs] == ["throttles", "goes on", "goes on"]  # the others are at their lowest
    drawn = next(plan for plan in response.after.blocks if plan.block == "hall-a").facility_kw[9:12]
    assert max(drawn) <= 0.9 * full_kw
    assert max(drawn) >= 0.85 * full_kw  # no more is given up than need be
    assert does(runs, "big", at(10)).gpu_power_limit_w < does(CALENDAR[1], "big", at(10)).gpu_power_limit_w


def test_where_throttling_does_not_do_the_less_urgent_run_stops():
    urgent = replace(WEEK, runs=tuple(replace(r, priority=1 if r.name == "long" else 4) for r in WEEK.runs))
    planned = next(plan for plan in CALENDAR[0].blocks if plan.block == "hall-a")
    response, _ = answered(replace(DARK, capacity_kw=0.6 * max(planned.facility_kw[9:12])), week=urgent)
    found = {run.run: run.does for run in response.runs}
    assert (found["big"], found["late"]) == ("stops", "goes on")
    assert found["long"] in {"goes on", "throttles"}


def test_later_word_of_an_end_brings_runs_back_and_leaves_what_was():
    _, first = answered(replace(DARK, end=None))
    assert does(first, "long", at(20)).state == "off"
    response, runs = answered(replace(DARK, end=at(10)), now=at(10), since=NOW)
    assert does(runs, "long", at(9)).state == "off"
    assert does(runs, "long", at(10)).state == does(CALENDAR[1], "long", at(10)).state == "run"
    assert response.changes
    assert does(runs, "long", at(9)).tokens == 0.0


def test_what_is_no_use_after_an_outage_is_left_out():
    week = replace(WEEK, runs=tuple(replace(r, reload_s=3600.0 * 12) for r in WEEK.runs))
    _, runs = answered(DARK, week=week)
    assert does(runs, "big", at(12.5)).state == "off"


def test_an_outage_that_is_over_or_of_another_block_is_refused():
    with pytest.raises(ConfigError, match="asks for nothing"):
        answered(replace(DARK, start=at(2), end=at(3)))
    with pytest.raises(ConfigError, match=r"'hall-x'; .* has hall-a, hall-b"):
        answered(replace(DARK, block="hall-x"))
    with pytest.raises(ConfigError, match="9 CDUs of block 'hall-a' out, which has 8"):
        answered(replace(DARK, capacity_kw=None, cdus_out=9))


def test_a_week_is_derated_in_whole_slots_and_its_idle_gpus_go_dark():
    week = derated(WEEK, [DARK])
    block = week.block("hall-a")
    assert week.capacity_kw(block).tolist() == [470.0] * 9 + [0.0] * 3 + [470.0] * 12
    assert not week.idle_kw(block)[9:12].any()
    assert week.idle_kw(block)[8] == WEEK.idle_kw(WEEK.block("hall-a"))[8] > 0.0
    assert week.block("hall-b") is WEEK.block("hall-b")
    assert derated(WEEK, []) is WEEK
    assert derated(WEEK, [replace(DARK, start=at(-9), end=at(-1))]) is WEEK


def test_one_cdu_out_leaves_what_the_plant_carries_without_it():
    block, here = WEEK.block("hall-a"), WEEK.signals
    left = left_kw(WEEK, block, replace(DARK, capacity_kw=None, cdus_out=1))
    least = w_max_n1_kw(block.plant, here.dry_bulb_c, here.wet_bulb_c)
    assert (left > least).all()  # its cooling comes on top, and the worst unit may be another
    more = left_kw(WEEK, block, replace(DARK, capacity_kw=None, cdus_out=7))
    assert (more < left).all()


GOOD = {"id": "cdu-7", "block": "hall-a", "cause": "CDU 7 leaks", "cdus_out": 1, "end": "2024-05-13T14:00:00+02:00"}


def test_what_people_of_the_halls_write_is_read():
    assert outage_from(json.dumps(GOOD).encode(), "x", NOW) == Outage(
        "cdu-7", "hall-a", NOW, datetime(2024, 5, 13, 12, tzinfo=UTC), "CDU 7 leaks", cdus_out=1
    )
    open_end = {**GOOD, "end": None, "start": "2024-05-13T09:00:00Z", "cdus_out": None, "capacity_kw": 12}
    found = outage_from(json.dumps(open_end).encode(), "x", NOW)
    assert (found.start, found.end, found.capacity_kw, found.cdus_out) == (at(9), None, 12.0, None)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"blok": "x"}, "no such key"),
        ({"capacity_kw": 3}, "capacity_kw and cdus_out is given"),
        ({"cdus_out": None}, "neither it nor cdus_out"),
        ({"cdus_out": 0}, "not within 1 to 10000"),
        ({"cdus_out": None, "capacity_kw": -1}, "not within 0 to"),
        ({"end": "2024-05-13T14:00:00"}, "with its offset"),
        ({"end": "2024-05-13T01:00:00Z"}, "before the start"),
        ({"end": "9999-12-31T23:59:59-14:00"}, "with its offset"),
        ({"end": "1901-01-01T00:00:00Z", "start": "1900-01-01T00:00:00Z"}, "not in the years"),
        ({"cause": " "}, "1 to 200 characters"),
        ({"id": "a\nb"}, "in one line"),
    ],
)
def test_what_is_not_understood_is_refused_by_its_key(changes, told):
    with pytest.raises(ConfigError) as caught:
        outage_from(json.dumps(GOOD | changes).encode(), "x", NOW)
    assert told in f"{caught.value}"
