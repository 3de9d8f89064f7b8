from __future__ import annotations

import pytest

from tests.run_calendars import two_hours
from trainer_hooks.calendar import CalendarError, run_file, write_calendar
from trainer_hooks.feed import CalendarFeed


def _publish(folder, calendar_id):
    header, runs = two_hours("a", "b", calendar_id=calendar_id)
    return write_calendar(folder, header, runs)


def test_a_root_folder_gives_each_calendar_once(tmp_path):
    _publish(tmp_path, "first")
    feed = CalendarFeed(tmp_path, "a")
    assert feed.poll().calendar_id == "first"
    assert feed.poll() is None
    _publish(tmp_path, "second")
    assert feed.poll().calendar_id == "second"
    assert feed.poll() is None


def test_a_calendars_own_folder_and_a_runs_file(tmp_path):
    home = _publish(tmp_path, "first")
    assert CalendarFeed(home, "b").poll().run == "b"
    feed = CalendarFeed(home / run_file("b"), "")
    assert feed.poll().run == "b"
    assert feed.poll() is None
    other = _publish(tmp_path, "second") / run_file("b")
    other.replace(home / run_file("b"))
    assert feed.poll().calendar_id == "second"


def test_faults_come_back_until_they_are_mended(tmp_path):
    feed = CalendarFeed(tmp_path / "later", "a")
    for _ in range(2):
        with pytest.raises(CalendarError, match="GRIDPACE_CALENDAR"):
            feed.poll()
    _publish(tmp_path / "later", "first")
    assert feed.poll().calendar_id == "first"


def test_the_run_must_be_named_and_be_the_right_one(tmp_path):
    home = _publish(tmp_path, "first")
    with pytest.raises(CalendarError, match="GRIDPACE_RUN"):
        CalendarFeed(tmp_path, "").poll()
    with pytest.raises(CalendarError, match="'b', not 'a'"):
        CalendarFeed(home / run_file("b"), "a").poll()
    with pytest.raises(CalendarError, match="it has no run 'c'; its runs are a, b") as told:
        CalendarFeed(tmp_path, "c").poll()
    assert "Set GRIDPACE_RUN to one of them." in str(told.value)
