from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.export.ics import calendar_ics
from planner.export.vtimezone import vtimezone
from tests.published import header, off, on, run


def events(content: bytes) -> list[icalendar.Event]:
    return list(icalendar.Calendar.from_ical(content).walk("VEVENT"))


def test_one_event_per_spell_with_pause_checkpoint_and_labels_told():
    calendar = header(notes=("Synthetic data.",))
    windows = (on(0, 2, 700.0), on(2, 6, 500.0, checkpoint="after"), off(6, 12), on(12, 24, 700.0))
    first, second = events(calendar_ics(calendar, [run("r1", windows)]))
    assert first["SUMMARY"] == "r1 (8 GPUs)"
    assert first["DTEND"].dt - first["DTSTART"].dt == timedelta(hours=6)
    told = str(first["DESCRIPTION"])
    assert "500 to 700 W" in told
    assert "A checkpoint is saved before the end." in told
    assert "Paused afterwards until Mon 13 May 14:00." in told
    assert "Synthetic data." in told
    assert "Paused" not in str(second["DESCRIPTION"])
    assert first["DTSTAMP"].dt == calendar.issued_at


def test_a_newer_plan_of_the_week_moves_the_events_instead_of_doubling_them():
    older = header()
    newer = replace(older, calendar_id="fedcba9876543210", issued_at=older.issued_at + timedelta(hours=1))
    (before,) = events(calendar_ics(older, [run("r1", (on(0, 2), off(2, 24)))]))
    (after,) = events(calendar_ics(newer, [run("r1", (off(0, 3), on(3, 5), off(5, 24)))]))
    assert before["UID"] == after["UID"]
    assert after["SEQUENCE"] > before["SEQUENCE"]


def test_every_run_and_spell_has_its_own_uid():
    windows = (on(0, 2), off(2, 4), on(4, 6), off(6, 24))
    uids = [event["UID"] for event in events(calendar_ics(header(), [run("a", windows), run("b", windows)]))]
    assert len(set(uids)) == 4


def test_names_are_escaped_and_lines_folded():
    name = 'a, b; c\\d "e" <script> ' + "λ" * 60
    content = calendar_ics(header(), [run(name, (on(0, 24),))])
    assert all(len(line) <= 75 for line in content.split(b"\r\n"))
    (event,) = events(content)
    assert str(event["SUMMARY"]) == f"{name} (8 GPUs)"


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=30).filter(lambda t: t.isprintable()))
def test_any_printable_name_is_read_back(name):
    (event,) = events(calendar_ics(header(), [run(name, (on(0, 24),))]))
    assert str(event["SUMMARY"]) == f"{name} (8 GPUs)"


def test_times_are_site_times_across_the_spring_change():
    start = datetime(2024, 3, 30, 12, tzinfo=UTC)
    calendar = header(start=start)
    (event,) = events(calendar_ics(calendar, [run("r", (on(0, 14, start=start), off(14, 24, start=start)), start)]))
    assert event["DTSTART"].to_ical() == b"20240330T130000"
    assert event["DTSTART"].params["TZID"] == "Europe/Berlin"
    assert event["DTEND"].to_ical() == b"20240331T040000"
    assert event["DTEND"].dt.astimezone(UTC) == start + timedelta(hours=14)


def test_a_local_time_that_exists_twice_is_told_in_utc():
    start = datetime(2024, 10, 26, 12, tzinfo=UTC)
    # 02:30 for the second time that night: 01:30 UTC.
    windows = (off(0, 13.5, start=start), on(13.5, 24, start=start))
    (event,) = events(calendar_ics(header(start=start), [run("r", windows, start)]))
    assert event["DTSTART"].to_ical() == b"20241027T013000Z"


def test_a_site_in_utc_needs_no_zone():
    content = calendar_ics(header(timezone="Etc/UTC"), [run("r", (on(0, 24),))])
    assert b"VTIMEZONE" not in content
    assert b"DTSTART:20240513T000000Z" in content


@pytest.mark.parametrize(
    "name", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kolkata"]
)
def test_the_zone_rules_written_give_the_zone_database_back(name):
    tz = ZoneInfo(name)
    start, end = datetime(2023, 6, 1, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC)
    rules = sorted(
        (rule["DTSTART"].dt.replace(tzinfo=UTC) - rule["TZOFFSETFROM"].td, rule["TZOFFSETTO"].td)
        for rule in vtimezone(tz, start, end).subcomponents
    )
    t = start
    while t < end:
        offset = [to for onset, to in rules if onset <= t][-1]
        assert offset == t.astimezone(tz).utcoffset(), t
        t += timedelta(hours=3, minutes=30)
