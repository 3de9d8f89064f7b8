from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from threading import Barrier

import pytest

from planner.errors import ConfigError, ExportError
from planner.ledger import Ledger
from planner.ledger.board_time import shares_not_told_before
from planner.ledger.intake import columns_of
from planner.ledger.tables import Telemetry
from tests.old_ledger import make_old
from tests.published import CALENDAR_ID, START, header, off, on, run
from trainer_hooks.telemetry import Record, TelemetryWriter, record_line

RATE = tuple(0.2 if hour < 12 else 0.4 for hour in range(24))


def record(sequence: int, first_h: float, end_h: float, **changes) -> Record:
    """An hour trains 9e5 useful tokens and takes 10 kWh unless told otherwise."""
    hours = end_h - first_h
    given = {
        "run": "r1",
        "calendar_id": CALENDAR_ID,
        "writer": "w",
        "sequence": sequence,
        "t_start": START + timedelta(hours=first_h),
        "t_end": START + timedelta(hours=end_h),
        "state": "run",
        "tokens": round(1e6 * hours),
        "useful_tokens": round(9e5 * hours),
        "position_tokens": 0,
        "energy_j": 36e6 * hours,
        "energy_error_j": 1.8e6 * hours,
        "energy_source": "counter",
        "gpus": 8,
        "gpu_power_limit_w": 700.0,
        "enforced_limit_w": 700.0,
        "adherence": 1.0,
    }
    return Record(**(given | changes))


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "folder" / "ledger.sqlite") as opened:
        yield opened


def write(path, *records: Record):
    path.write_bytes(b"".join(record_line(r) for r in records))
    return path


def planned(ledger: Ledger):
    return ledger.record_plan(header(), [run("r1", (on(0, 4), off(4, 10), on(10, 14), off(14, 24)))], RATE)


@pytest.mark.parametrize("folder", ["%2E.%2F..", "a?b=c", "a#b", "50 %", "a:b@c"])
def test_the_ledger_stands_where_it_was_asked_for_whatever_the_folder_is_called(tmp_path, folder):
    path = tmp_path / folder / "ledger.sqlite"
    with Ledger(path) as opened:
        assert planned(opened) is True
    assert [found for found in tmp_path.rglob("*") if found.is_file()] == [path]


def test_several_that_make_the_ledger_and_enter_the_same_plan_at_once_all_succeed(tmp_path):
    barrier = Barrier(6)

    def enter(path) -> bool:
        barrier.wait()
        with Ledger(path) as opened:
            return planned(opened)

    with ThreadPoolExecutor(6) as several:
        for i in range(5):
            assert sorted(several.map(enter, [tmp_path / f"{i}.sqlite"] * 6)) == [False] * 5 + [True]


def test_a_plan_is_entered_once(ledger):
    assert planned(ledger) is True
    assert planned(ledger) is False


def test_a_record_counts_once_however_often_it_comes(ledger, tmp_path):
    file = write(tmp_path / "t.jsonl", record(0, 0, 1), record(1, 1, 2))
    assert ledger.ingest(file).added == 2
    file.write_bytes(file.read_bytes() + record_line(record(2, 2, 3)))
    again = ledger.ingest(file)
    assert (again.added, again.repeated, again.faults) == (1, 2, ())


def test_of_many_writers_of_one_process_each_has_its_turn(tmp_path, monkeypatch):
    monkeypatch.setattr("planner.ledger.engine.BUSY_S", 0.02)  # so that whoever waits for SQLite itself soon gives up
    with Ledger(tmp_path / "ledger.sqlite") as ledger, ThreadPoolExecutor(6) as several:

        def hold(_):
            with ledger.writing() as session:
                session.connection()
                time.sleep(0.05)

        assert len(list(several.map(hold, range(6)))) == 6


def test_the_same_number_from_another_writer_is_another_record(ledger, tmp_path):
    file = write(tmp_path / "t.jsonl", record(0, 0, 1), record(0, 0, 1, writer="other"))
    assert ledger.ingest(file).added == 2


def test_a_folder_is_taken_in_and_bad_lines_are_told(ledger, tmp_path):
    folder = tmp_path / "telemetry"
    TelemetryWriter(folder, "r1", "w").write(record(0, 0, 1))
    (folder / "bad.jsonl").write_bytes(b'{"schema": "gridpace.telemetry/9"}\nnot json\n')
    intake = ledger.ingest(folder)
    assert intake.added == 1
    assert len(intake.faults) == 2
    assert "bad.jsonl, line 2" in intake.faults[1]


def test_plan_and_telemetry_are_laid_side_by_side(ledger, tmp_path):
    planned(ledger)
    ledger.ingest(write(tmp_path / "t.jsonl", record(0, 0, 4), record(1, 10, 13, adherence=0.5)))
    (account,) = ledger.accounts(CALENDAR_ID, START + timedelta(hours=12))
    # Planned until 12 h: 4 h and 2 of 4 h; reported: 4 h and 2 of 3 h.
    assert account.planned_tokens == pytest.approx(6e6)
    assert account.tokens == pytest.approx(0.9 * 6e6)
    assert account.planned_energy_kwh == pytest.approx(60.0)
    assert account.energy_kwh == pytest.approx(60.0)
    assert account.energy_error_kwh == pytest.approx(3.0)
    assert account.planned_carbon_kg == pytest.approx(12.0)
    assert account.carbon_kg == pytest.approx(60.0 * 0.2)
    assert account.adherence == pytest.approx((4 * 1.0 + 2 * 0.5) / 6)
    assert account.tokens_per_joule == pytest.approx(0.9e6 / 36e6)
    assert account.planned_tokens_per_joule == pytest.approx(1e6 / 36e6)


def test_carbon_follows_the_slots_a_record_lies_in(ledger, tmp_path):
    planned(ledger)
    ledger.ingest(write(tmp_path / "t.jsonl", record(0, 11, 13)))
    (account,) = ledger.accounts(CALENDAR_ID, START + timedelta(hours=24))
    assert account.carbon_kg == pytest.approx(10 * 0.2 + 10 * 0.4)


def test_a_rollback_takes_tokens_away_and_a_silent_run_has_no_adherence(ledger, tmp_path):
    ledger.record_plan(header(), [run("r1", (on(0, 24),)), run("r2", (on(0, 24),))], RATE)
    rollback = record(1, 1, 1, tokens=0, useful_tokens=-400_000, energy_j=0.0, adherence=None)
    ledger.ingest(write(tmp_path / "t.jsonl", record(0, 0, 1), rollback))
    first, second = ledger.accounts(CALENDAR_ID, START + timedelta(hours=2))
    assert first.tokens == pytest.approx(500_000)
    assert (second.run, second.tokens, second.adherence, second.tokens_per_joule) == ("r2", 0, None, None)
    assert ledger.reported_until(CALENDAR_ID) == START + timedelta(hours=1)


def test_an_unknown_calendar_is_told(ledger):
    assert ledger.reported_until("nowhere") is None
    with pytest.raises(ConfigError, match="'nowhere' is not in the ledger"):
        ledger.accounts("nowhere", START)


def test_telemetry_that_is_not_there_is_told(ledger, tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        ledger.ingest(tmp_path / "none.jsonl")


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path):
    file = tmp_path / "ledger.sqlite"
    file.write_bytes(b"this is no database, but a letter of some length" * 10)
    before = file.read_bytes()
    with pytest.raises(ConfigError, match="is no ledger"):
        Ledger(file)
    assert file.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_an_export_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ExportError, match="cannot be made"):
        Ledger(tmp_path / "file" / "ledger.sqlite")


def test_a_board_that_two_processes_metered_counts_once(ledger, tmp_path):
    planned(ledger)
    both = ("GPU-a", "GPU-b")
    records = (
        record(0, 0, 1, boards=both),
        record(1, 1, 2, boards=both),
        # A second container meters one of the boards: half an hour beside the first, half an hour alone.
        record(0, 1.5, 2.5, writer="x", boards=("GPU-b",), tokens=0, useful_tokens=0),
        # One that names no boards is taken as it is, as files of earlier releases are.
        record(0, 0, 1, writer="y", tokens=0, useful_tokens=0),
    )
    ledger.ingest(write(tmp_path / "t.jsonl", *records))
    (found,) = ledger.accounts(CALENDAR_ID, START + timedelta(hours=24))
    assert found.energy_kwh == pytest.approx(10.0 + 10.0 + 5.0 + 10.0)
    assert found.energy_error_kwh == pytest.approx(0.05 * 35.0)
    assert found.tokens == 1_800_000


def test_waste_is_summed_by_cause_and_a_board_s_time_counts_once(ledger, tmp_path):
    planned(ledger)
    wasted = {"hold_j": 3.6e6, "overhead_j": 1.8e6}
    records = (
        record(0, 0, 1, boards=("GPU-a",), **wasted),
        record(0, 0.5, 1.5, writer="x", boards=("GPU-a",), recompute_j=7.2e6),
    )
    ledger.ingest(write(tmp_path / "t.jsonl", *records))
    (found,) = ledger.accounts(CALENDAR_ID, START + timedelta(hours=24))
    assert found.wasted_kwh == (("hold", 1.0), ("recompute", 1.0), ("overhead", 0.5))


@pytest.mark.parametrize(
    ("spans", "shares"),
    [
        ([("w", 0, 1), ("w", 1, 2), ("x", 0, 2)], [1.0, 0.0, 0.5]),
        ([("w", 0, 1), ("w", 2, 3), ("x", 0, 4), ("y", 1, 3)], [1.0, 0.0, 0.75, 0.0]),
        ([("w", 0, 3), ("x", 1, 2), ("y", 3, 4)], [1.0, 0.0, 1.0]),
        ([("w", 0, 0), ("x", 0, 1)], [1.0, 1.0]),
    ],
)
def test_the_time_of_a_board_is_told_once(spans, shares):
    records = [record(i, begin, end, writer=w, boards=("GPU-a",)) for i, (w, begin, end) in enumerate(spans)]
    rows = [Telemetry(**columns_of(r)) for r in records]
    assert shares_not_told_before(rows) == pytest.approx(shares)


def test_a_ledger_of_an_earlier_release_takes_in_what_later_records_tell(tmp_path):
    later = ("rank", "boards", "starvation_j", "hold_j", "host_j", "node_error_j")
    path = make_old(tmp_path / "ledger.sqlite", {"telemetry": later})
    with Ledger(path) as opened:
        told = record(0, 0, 1, rank=3, boards=("GPU-a",), hold_j=7.0)
        assert opened.ingest(write(tmp_path / "t.jsonl", told)).added == 1
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT rank, boards, hold_j FROM telemetry").fetchall() == [(3, "GPU-a", 7.0)]
