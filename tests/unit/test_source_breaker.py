"""A provider that fails is left alone, and asked again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from planner.sources.breaker import TRIES, Breakers

NOW = datetime(2024, 5, 13, 12, tzinfo=UTC)


def test_it_opens_after_three_failures_in_a_row_and_for_twice_as_long_each_time(tmp_path):
    breakers = Breakers(tmp_path)
    for _ in range(TRIES - 1):
        breakers.failed("a", NOW)
        assert breakers.open_until("a", NOW) is None
    pauses_min = []
    for _ in range(7):
        breakers.failed("a", NOW)
        pauses_min.append((breakers.open_until("a", NOW) - NOW) / timedelta(minutes=1))
    assert pauses_min == [2, 4, 8, 16, 32, 60, 60]
    assert Breakers(tmp_path).open_until("a", NOW + timedelta(minutes=59)) is not None
    assert Breakers(tmp_path).open_until("a", NOW + timedelta(minutes=60)) is None
    assert breakers.open_until("b", NOW) is None


def test_one_answer_closes_it(tmp_path):
    breakers = Breakers(tmp_path)
    for _ in range(TRIES):
        breakers.failed("a", NOW)
    breakers.worked("a")
    assert breakers.open_until("a", NOW) is None
    breakers.failed("a", NOW)
    assert breakers.open_until("a", NOW) is None


def test_a_pause_that_a_provider_asks_for_is_kept_at_once(tmp_path):
    breakers = Breakers(tmp_path)
    breakers.failed("a", NOW, 600.0)
    assert breakers.open_until("a", NOW) == NOW + timedelta(minutes=10)


def test_a_clock_that_was_set_back_does_not_silence_a_provider(tmp_path):
    breakers = Breakers(tmp_path)
    breakers.failed("a", NOW + timedelta(days=400), 600.0)
    assert breakers.open_until("a", NOW) is None


def test_a_disk_that_refuses_leaves_every_provider_open(tmp_path):
    (tmp_path / "file").write_text("in the way")
    breakers = Breakers(tmp_path / "file" / "folder")
    breakers.failed("a", NOW, 600.0)
    assert breakers.open_until("a", NOW) is None
