"""A plan that goes on from an answer to a grid event keeps what was promised to it."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest

from planner.folders import read_published
from planner.rolling.behind import GOES_ON
from tests.mini_site import ISSUED
from tests.unit.test_replan_command import MONDAY, SITE, folder, grams, replan, run, write

__all__ = ["folder"]
pytestmark = pytest.mark.deep


def test_a_promise_to_an_event_still_to_come_is_kept(folder):
    busy = SITE.replace("1.4e10", "2.9e10").replace(
        "gap_target = 0.001", "gap_target = 0.01"
    )  # high power, most of the week
    (folder / "site.toml").write_text(busy, encoding="utf-8")
    assert run("plan", "site.toml", "--out", "week", "--issued-at", ISSUED, "--offline").exit_code == 0
    before, _, _ = read_published(folder / "week")
    # the hour of most import after the frozen ones of Wednesday
    slot = 76 + int(np.argmax(before.blocks[0].import_kw[76:150]))
    start, limit_kw = MONDAY + timedelta(hours=slot), 0.93 * before.blocks[0].import_kw[slot]
    event = {
        "programID": "7",
        "eventName": "a cut",
        "intervalPeriod": {"start": start.isoformat(), "duration": "PT1H30M"},
        "intervals": [{"id": 0, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [limit_kw]}]}],
    }
    (folder / "event.json").write_text(json.dumps(event), encoding="utf-8")
    asked = ("respond", "event.json", "--site", "site.toml", "--out", "week", "--offline", "--publish")
    answered = run(*asked, "--at", "2024-05-14T10:00:00Z")
    assert answered.exit_code == 0, answered.output
    answer, _, _ = read_published(folder / "week")
    assert answer.calendar_id != before.calendar_id
    write(folder, grams([1, 4]))  # Thursday turned dirty: more of the work wants to lie on Friday
    done = replan()
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["violations"] == 0
    header, _, _ = read_published(folder / "week")
    assert header.inputs[GOES_ON]["from"] == answer.calendar_id
    assert header.inputs["event"]["limits"] == answer.inputs["event"]["limits"]
    assert max(header.blocks[0].import_kw[slot : slot + 2]) <= limit_kw * (1.0 + 1e-9)
    # that one has whole slots alone: a plan goes on from it after the event too
    later = run("replan", "site.toml", "--out", "week", "--at", "2024-05-18T10:00:00Z", "--offline")
    assert later.exit_code == 0, later.output
