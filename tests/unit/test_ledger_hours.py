"""Telemetry by the hour, and telemetry let go: nothing is lost, nothing counts twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from planner.ledger import Ledger
from planner.ledger.hours import LET_GO, RAW, hours
from tests.published import CALENDAR_ID, START
from tests.unit.test_ledger import planned, record
from trainer_hooks.telemetry import Record

MIDNIGHT_S = int(START.timestamp())
DAY = timedelta(days=1)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        planned(opened)
        yield opened


def hour_rows(ledger, part=None):
    with ledger.reading() as session:
        found = hours(session, MIDNIGHT_S - 86_400, MIDNIGHT_S + 2 * 86_400)
        return {((r.hour_s - MIDNIGHT_S) // 3600, r.part): r for r in found if part in {None, r.part}}


def sums(ledger, name):
    return sum(getattr(row, name) for row in hour_rows(ledger).values())


def test_a_record_is_spread_over_the_hours_that_it_lies_in(ledger):
    # Half past ten to one: 0.5 h, 1 h, 1 h at 10 kWh and 9e5 useful tokens an hour; 0.2 kg/kWh before noon, 0.4 after.
    ledger.take_in([record(0, 10.5, 13.0, adherence=0.8)])
    ledger.roll_up()
    rows = hour_rows(ledger)
    assert {hour: row.energy_j for (hour, _), row in rows.items()} == pytest.approx({10: 18e6, 11: 36e6, 12: 36e6})
    assert [rows[hour, RAW].useful_tokens for hour in (10, 11, 12)] == pytest.approx([4.5e5, 9e5, 9e5])
    assert [rows[hour, RAW].records for hour in (10, 11, 12)] == [1, 0, 0]
    assert [rows[hour, RAW].kept_s for hour in (10, 11, 12)] == pytest.approx([1440.0, 2880.0, 2880.0])
    assert sums(ledger, "carbon_kg") == pytest.approx(25.0 * (1.5 * 0.2 + 1.0 * 0.4) / 2.5)


def test_late_and_repeated_records_end_in_the_sums_of_records_in_order(ledger, tmp_path):
    in_order = [record(i, i / 4, (i + 1) / 4) for i in range(16)]
    ledger.take_in(in_order[8:])
    ledger.roll_up()
    assert ledger.take_in([*reversed(in_order[:9]), *in_order[4:6]]).added == 8
    assert ledger.take_in(in_order).added == 0
    ledger.roll_up()
    with Ledger(tmp_path / "other.sqlite") as other:
        planned(other)
        other.take_in(in_order)
        other.roll_up()
        assert {k: r.energy_j for k, r in hour_rows(ledger).items()} == {
            k: r.energy_j for k, r in hour_rows(other).items()
        }
    assert ledger.roll_up() == 0


def test_a_board_metered_twice_counts_once_in_its_hour(ledger):
    ledger.take_in([record(0, 0.5, 1.5, boards=("GPU-a",))])
    ledger.roll_up()
    ledger.take_in([record(0, 1.0, 2.0, writer="x", boards=("GPU-a",), tokens=0, useful_tokens=0)])
    ledger.roll_up()
    # The second tells its first half for the second time: half of its 36 MJ is new, spread over its hour.
    assert {hour: row.energy_j for (hour, _), row in hour_rows(ledger).items()} == pytest.approx({0: 18e6, 1: 36e6})


def test_what_is_let_go_counts_as_before_and_is_never_taken_in_again(ledger):
    told = [
        record(0, 0.0, 2.5, boards=("GPU-a",), hold_j=3.6e6),
        record(0, 2.0, 4.0, writer="x", boards=("GPU-a", "GPU-b")),
        record(1, 5.0, 6.0, adherence=0.5),
        record(2, 6.0, 7.0, adherence=None),
    ]
    ledger.take_in(told)
    ledger.roll_up()
    until = START + timedelta(hours=24)
    before, rows = ledger.accounts(CALENDAR_ID, until), sums(ledger, "energy_j")
    for hour, gone in ((3, 1), (5, 1), (24, 2), (24, 0)):
        assert ledger.let_go(START + timedelta(hours=hour)) == gone
        (after,) = ledger.accounts(CALENDAR_ID, until)
        for name in ("tokens", "energy_kwh", "energy_error_kwh", "carbon_kg", "adherence", "planned_tokens"):
            assert getattr(after, name) == pytest.approx(getattr(before[0], name), rel=1e-12), name
        assert dict(after.wasted_kwh) == pytest.approx(dict(before[0].wasted_kwh))
        assert after.energy_sources == before[0].energy_sources
        assert sums(ledger, "energy_j") == pytest.approx(rows, rel=1e-12)
        assert sums(ledger, "records") == 4
        assert ledger.take_in(told).added == 0
    assert set(hour_rows(ledger, RAW)) == set()
    assert ledger.reported_until(CALENDAR_ID) == START + timedelta(hours=7)


def test_a_late_record_of_a_time_that_was_let_go_is_added(ledger):
    ledger.take_in([record(0, 0, 1), record(2, 2, 3)])
    ledger.let_go(START + DAY)
    assert ledger.take_in([record(0, 0, 1), record(1, 1, 2), record(2, 2, 3)]).added == 1
    ledger.roll_up()
    assert sums(ledger, "energy_j") == pytest.approx(3 * 36e6)
    ledger.let_go(START + DAY)
    assert sums(ledger, "energy_j") == pytest.approx(3 * 36e6)
    assert {part for _, part in hour_rows(ledger)} == {LET_GO}


def test_records_without_a_calendar_are_summed_and_let_go_too(ledger):
    ledger.take_in([replace(record(0, 0, 1), calendar_id=None)])
    assert ledger.let_go(START + DAY) == 1
    assert sums(ledger, "energy_j") == pytest.approx(36e6)
    assert sums(ledger, "carbon_kg") == 0.0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tokens": 2**63}, "64 bits"),
        ({"sequence": -(2**70)}, "64 bits"),
        ({"energy_j": 1e308}, "beyond 1e+16"),
        ({"node_j": -1.1e16}, "beyond 1e+16"),
        ({"energy_j": float("inf")}, "beyond 1e+16"),
        ({"run": "a\0b"}, "NUL"),
        ({"writer": "w" * 2000}, "1024 characters"),
        ({"boards": ("x",) * 300}, "300 boards"),
        ({"t_end": START - DAY}, "ends before it begins"),
        ({"t_end": START + 40 * DAY}, "more than 31 days"),
        ({"t_end": START + 2 * DAY}, "still to come"),
        ({"t_start": START.replace(year=1), "t_end": START.replace(year=1)}, "not in the years"),
    ],
)
def test_a_record_that_cannot_be_is_told_and_the_others_are_kept(ledger, changes, why):
    bad = Record(**({n: getattr(record(0, 0, 1), n) for n in Record.__dataclass_fields__} | changes))
    found = ledger.take_in([bad, record(5, 0, 1)], latest=START + DAY)
    assert found.added == 1
    assert len(found.faults) == 1
    assert why in found.faults[0]
    assert len(found.faults[0]) < 400
