from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from planner.service.live import view as said
from planner.service.live.figures import figures
from planner.service.live.hours import Measured, Sums, hours_between, planned
from planner.service.live.look import Look, Open
from tests.published import START, header, off, on, run

HOUR = timedelta(hours=1)
NOON = START + 12 * HOUR
DAY = run("r1", (on(0, 4), off(4, 10), on(10, 14), off(14, 24)))


def hour(at_h: float, kwh=9.0, tokens=8e5, kg=1.5, minutes=60) -> Measured:
    start = START + at_h * HOUR
    return Measured(start, start + timedelta(minutes=minutes), Sums(kwh, tokens, kg))


def shown(*hours: Measured, now=NOON) -> Look:
    return Look("site", now, header(), (DAY,), {"r1": hours}, (), ())


def alarm(severity, owner) -> Open:
    return Open(severity, "feed", "It is stale.", "Look.", owner, START)


def test_what_is_planned_of_a_part_of_windows_is_their_share():
    assert planned(DAY, START + 3.5 * HOUR, START + 10.25 * HOUR) == Sums(7.5, 0.75e6, 1.5)
    assert planned(DAY, START + 5 * HOUR, START + 6 * HOUR) == Sums()


def test_an_hour_that_goes_on_is_compared_up_to_its_last_record():
    power, carbon, tokens, efficiency = said.cards(shown(hour(12, kwh=5.0, minutes=30)), NOON)
    assert (power.value, power.note, power.far) == ("10.0 kW", "planned 10.0 kW (+0%)", False)
    assert (carbon.value, carbon.note, carbon.far) == ("3.00 kg CO2e", "planned 2.00 kg CO2e (+50%)", True)
    assert (tokens.value, tokens.note) == ("1.60\u202fM", "planned 1.00\u202fM (+60%)")
    assert efficiency.value == f"{8e5 / 18e6:.3g}"


def test_without_telemetry_the_plan_is_shown_and_said_to_be_one():
    power, *_ = said.cards(shown(), NOON)
    assert (power.value, power.note) == ("10.0 kW", "as planned; no telemetry of this hour")
    assert said.cards(shown(), START + 5 * HOUR)[3].value == said.NONE  # no energy is planned: no efficiency either
    off_plan = said.cards(shown(hour(5)), START + 5 * HOUR)[0]
    assert (off_plan.note, off_plan.far) == ("nothing is planned", True)


def test_the_margin_is_in_hours_of_the_run_s_own_rate():
    hours = [hour(k, tokens=5e5) for k in range(4)]
    (row,) = said.run_rows(shown(*hours), NOON)
    # 2 M of 4 M tokens by 04:00, at 1 M an hour; the hours since then that are not reported are not counted
    assert (row.margin, row.behind) == ("2.0 h behind plan", True)
    assert row.done == "2.00\u202fM of 4.00\u202fM"
    assert row.state == "trains: 8 GPUs in a1 at 700 W"
    assert row.until == "until Mon 13 May 16:00, then is off"
    (row,) = said.run_rows(shown(hour(0, tokens=1.5e6)), NOON)
    assert (row.margin, row.behind) == ("0.5 h before plan", False)
    (row,) = said.run_rows(shown(), START + 20 * HOUR)
    assert (row.state, row.until, row.done, row.margin) == (
        "is off",
        "to the calendar's end",
        "no telemetry",
        said.NONE,
    )


def test_the_light_is_that_of_the_worst_and_own_alarms_come_first():
    red, amber = alarm("red", "facilities"), alarm("amber", "training")
    assert said.light((), is_stale=False) == "green"
    assert said.light((), is_stale=True) == "amber"
    assert said.light((amber,), is_stale=False) == "amber"
    assert said.light((amber, red), is_stale=True) == "red"
    assert said.own_first((red, amber), "training") == (amber, red)
    assert said.own_first((amber, red), "sustainability") == (red, amber)


@pytest.mark.parametrize(
    ("hours", "now_h", "stale"),
    [((), 12, True), ((), 1, False), ((hour(10), hour(11)), 12.5, False), ((hour(13),), 23, False), ((), 30, False)],
)
def test_silence_is_told_where_runs_were_to_train(hours, now_h, stale):
    assert (said.stale_since(shown(*hours, now=START + now_h * HOUR)) is not None) == stale


def test_the_hour_shown_lies_within_the_calendar():
    look = shown(now=NOON + 0.4 * HOUR)
    assert said.hour_shown(look, None) == NOON
    assert said.hour_shown(look, START - 5 * HOUR) == START
    assert said.hour_shown(look, START + 90 * HOUR) == START + 23 * HOUR
    assert said.hour_shown(replace(look, calendar=None), None) == NOON


def test_blocks_are_shown_as_planned_in_the_slot_of_the_hour():
    (row,) = said.block_rows(shown(), START + 7 * HOUR)
    assert (row.block, row.it, row.supply) == ("hall", "7.00 kW", said.NONE)


@pytest.mark.parametrize("view", said.VIEWS)
def test_figures_hold_what_is_planned_and_measured_of_each_hour(view):
    found = figures(shown(hour(0), hour(1)), view, NOON)
    assert len(found) == 2
    assert not figures(replace(shown(), calendar=None), view, NOON)
    lines = {line.get("name"): line["y"] for line in found[0]["data"]}
    if view == "sustainability":
        assert lines["planned"][:5] == [2.0] * 4 + [0.0]
        assert lines["measured"][:3] == [1.5, 1.5, None]
    marked = found[0]["layout"]["shapes"][0]
    assert (marked["x0"], marked["x1"]) == ("2024-05-13T12:00:00Z", "2024-05-13T13:00:00Z")


def test_hours_of_a_calendar_that_begins_within_one_are_whole():
    assert hours_between(START + 0.5 * HOUR, START + 2.25 * HOUR) == (START, START + HOUR, START + 2 * HOUR)


def luminance(color: str) -> float:
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_and_background_differ_as_much_as_wcag_aa_asks():
    """Contrast of 4.5 for text and 3 for lines (WCAG 2.2, 1.4.3 and 1.4.11)."""
    text = (Path(said.__file__).parent / "static/live.css").read_text(encoding="utf-8")
    colors = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", text))
    grounds = [colors["paper"], colors["wash"], "#fff4ec", "#fff6dc"]
    pairs = list(product((colors[name] for name in ("ink", "muted", "good", "bad", "warn", "link")), grounds))
    pairs += [("#ffffff", colors[name]) for name in ("good", "bad", "warn", "ink")]
    for front, ground in pairs:
        low, high = sorted((luminance(front), luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (front, ground)
    low, high = sorted((luminance(colors["line"]), luminance(colors["paper"])))
    assert (high + 0.05) / (low + 0.05) >= 3.0
