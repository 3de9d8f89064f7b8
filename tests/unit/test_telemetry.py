from __future__ import annotations

import errno
import json
import os
from dataclasses import MISSING, fields, replace

import pytest

from tests.run_calendars import second
from trainer_hooks import telemetry
from trainer_hooks.errors import CalendarError
from trainer_hooks.telemetry import Record, TelemetryWriter, new_writer, parse_line, read_records, record_line

RECORD = Record(
    run="llm/8b ü",
    calendar_id="c0ffee",
    writer="host-1-ab",
    sequence=0,
    t_start=second(0),
    t_end=second(60),
    state="run",
    tokens=1000,
    useful_tokens=-200,
    position_tokens=5000,
    energy_j=40_000.5,
    energy_error_j=2000.0,
    energy_source="counter",
    gpus=8,
    gpu_power_limit_w=500.0,
    enforced_limit_w=None,
    adherence=0.75,
)


def test_a_line_holds_the_whole_record():
    line = record_line(RECORD)
    assert line.count(b"\n") == 1
    assert parse_line(line, "x") == RECORD
    assert json.loads(line)["schema"] == "gridpace.telemetry/1"
    bare = replace(RECORD, calendar_id=None, gpu_power_limit_w=None, adherence=None, enforced_limit_w=480.0)
    assert parse_line(record_line(bare), "x") == bare


def test_unknown_keys_are_ignored_and_another_major_version_is_refused():
    document = json.loads(record_line(RECORD)) | {"news": 1, "schema": "gridpace.telemetry/1.2"}
    assert parse_line(json.dumps(document).encode(), "x") == RECORD
    document["schema"] = "gridpace.telemetry/11"
    with pytest.raises(CalendarError, match="schema"):
        parse_line(json.dumps(document).encode(), "x")


@pytest.mark.parametrize("name", [field.name for field in fields(Record) if field.default is MISSING])
def test_every_key_is_needed(name):
    document = json.loads(record_line(RECORD))
    del document[name]
    with pytest.raises(CalendarError, match=f"key {name}: it is missing"):
        parse_line(json.dumps(document).encode(), "f.jsonl, line 3")


def test_what_there_is_not_to_tell_takes_no_room_and_files_of_earlier_releases_are_read():
    later = {field.name for field in fields(Record) if field.default is not MISSING}
    assert not later & set(json.loads(record_line(RECORD)))
    whole = replace(
        RECORD,
        rank=3,
        boards=("GPU-a", "GPU-b"),
        starvation_j=1.5,
        hold_j=2.0,
        checkpoint_j=3.0,
        recompute_j=4.0,
        overhead_j=5.0,
        host_j=6.0,
        host_error_j=0.5,
        node_j=7.0,
        node_error_j=0.25,
    )
    assert later <= set(json.loads(record_line(whole)))
    assert parse_line(record_line(whole), "x") == whole
    assert whole.trained_j == 40_000.5 - 1.5 - 2.0 - 3.0 - 5.0


@pytest.mark.parametrize("path", ["all.jsonl", "folder"])
def test_a_process_finds_what_earlier_ones_of_its_rank_wrote(tmp_path, path):
    late = replace(RECORD, writer="b", t_start=second(600), t_end=second(660))
    for rank, writer, sequence, record in (
        (0, "b", 0, late),
        (0, "a", 0, RECORD),
        (0, "a", 1, RECORD),
        (1, "c", 0, RECORD),
        (None, "d", 0, RECORD),
        (10, "f", 0, RECORD),
        (0, "own", 0, RECORD),
    ):
        told = replace(record, writer=writer, sequence=sequence, rank=rank)
        assert TelemetryWriter(tmp_path / path, RECORD.run, writer, rank).write(told) is None
    other = replace(RECORD, run="other", writer="e", rank=0)
    TelemetryWriter(tmp_path / path, "other", "e", 0).write(other)
    own = TelemetryWriter(tmp_path / path, RECORD.run, "own", 0)
    assert [(r.writer, r.sequence) for r in own.earlier()] == [("a", 0), ("a", 1), ("b", 0)]
    unranked = TelemetryWriter(tmp_path / path, RECORD.run, "own", None)
    assert [r.writer for r in unranked.earlier()] == ["d"]
    assert TelemetryWriter(tmp_path / "absent", RECORD.run, "own", 0).earlier() == ()


def test_writers_share_a_file_or_a_folder(tmp_path):
    for path in (tmp_path / "deep" / "all.jsonl", tmp_path / "folder"):
        for name in ("w1", "w2"):
            writer = TelemetryWriter(path, RECORD.run, name)
            for sequence in range(3):
                assert writer.write(replace(RECORD, writer=name, sequence=sequence)) is None
        found = list(read_records(path))
        assert sorted((r.writer, r.sequence) for r in found) == [(w, s) for w in ("w1", "w2") for s in range(3)]
    assert len(list((tmp_path / "folder").iterdir())) == 2
    assert new_writer() != new_writer()


def test_folders_within_a_folder_are_walked_too(tmp_path):
    for sequence, name in enumerate(("week-20", "week-21")):
        TelemetryWriter(tmp_path / name, RECORD.run, "w").write(replace(RECORD, sequence=sequence))
    assert [record.sequence for record in read_records(tmp_path)] == [0, 1]


def test_a_refusing_disk_keeps_records_for_later(tmp_path, monkeypatch):
    writer = TelemetryWriter(tmp_path / "t.jsonl", "a", "w")

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(telemetry.os, "write", full)
        assert writer.write(RECORD).errno == errno.ENOSPC
        assert writer.write(replace(RECORD, sequence=1)) is not None
    assert list(read_records(tmp_path / "t.jsonl")) == []
    assert writer.write(replace(RECORD, sequence=2)) is None
    assert [record.sequence for record in read_records(tmp_path / "t.jsonl")] == [0, 1, 2]


def test_the_backlog_is_bounded_and_says_what_it_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(telemetry, "_BACKLOG_RECORDS", 3)
    (tmp_path / "t.jsonl").mkdir()
    writer = TelemetryWriter(tmp_path / "t.jsonl", "a", "w")
    for sequence in range(5):
        assert writer.write(replace(RECORD, sequence=sequence)) is not None
    assert writer.dropped == 2
    (tmp_path / "t.jsonl").rmdir()
    writer.write(replace(RECORD, sequence=5))
    assert [record.sequence for record in read_records(tmp_path / "t.jsonl")] == [3, 4, 5]


def test_a_line_cut_short_spoils_no_other(tmp_path, monkeypatch):
    real = os.write
    writer = TelemetryWriter(tmp_path / "t.jsonl", "a", "w")
    with monkeypatch.context() as broken:
        broken.setattr(telemetry.os, "write", lambda fd, content: real(fd, content[:40]))
        assert "40 of" in str(writer.write(RECORD))
    assert list(read_records(tmp_path / "t.jsonl")) == []
    writer.write(replace(RECORD, sequence=1))
    torn, *whole = read_records(tmp_path / "t.jsonl")
    assert isinstance(torn, CalendarError)
    assert "line 1" in torn.what
    assert [record.sequence for record in whole] == [0, 1]


def test_reading_twice_gives_the_same_keys(tmp_path):
    writer = TelemetryWriter(tmp_path, "a", "w")
    for sequence in range(4):
        writer.write(replace(RECORD, sequence=sequence))
    keys = [(record.writer, record.sequence) for record in [*read_records(tmp_path), *read_records(tmp_path)]]
    assert len(keys) == 8
    assert len(set(keys)) == 4
