"""Calendars that are damaged, hostile or wrong: always a CalendarError that names the file and the key."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from tests.run_calendars import START, run_calendar, second, two_hours, window
from trainer_hooks import calendar as contract
from trainer_hooks.calendar import (
    CalendarError,
    read_calendar,
    read_current,
    read_run,
    read_runs,
    run_file,
    seal,
    write_calendar,
)


@pytest.fixture
def home(tmp_path):
    header, runs = two_hours("a", "b")
    return write_calendar(tmp_path, header, runs)


def _change(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("cut", [0, 1, 50, -2, -30])
def test_truncated_files(home, cut):
    for path, read in ((home / "calendar.json", read_calendar), (home / run_file("a"), read_run)):
        path.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(CalendarError, match=r"valid JSON") as caught:
            read(path)
        assert str(path) in caught.value.what


def test_every_truncation_of_a_run_is_refused(home):
    path = home / run_file("a")
    whole = path.read_bytes()
    for cut in range(len(whole) - 2):
        path.write_bytes(whole[:cut])
        with pytest.raises(CalendarError):
            read_run(path)


def test_half_written_folder(home):
    (home / run_file("b")).unlink()
    with pytest.raises(CalendarError, match=r"b\.json"):
        read_calendar(home)
    assert read_current(home, "a").run == "a"
    (home / "calendar.json").unlink()
    with pytest.raises(CalendarError):
        read_calendar(home)


def test_wrong_hash_names_the_file(home):
    path = home / run_file("a")
    path.write_text(path.read_text().replace('"gpus": 8', '"gpus": 9'))
    for read in (read_calendar, read_runs):
        with pytest.raises(CalendarError, match="SHA-256") as caught:
            read(home)
        assert "a.json" in caught.value.what
    with pytest.raises(CalendarError, match="SHA-256"):
        read_current(home, "a", verify=True)
    assert read_calendar(home, verify=False).calendar_id == "c0ffee"


def test_a_run_file_under_another_runs_name(home):
    (home / run_file("a")).write_bytes((home / run_file("b")).read_bytes())
    with pytest.raises(CalendarError, match="holds run 'b', not 'a'"):
        read_current(home, "a")


def test_a_run_of_another_plan_or_name_although_its_hash_is_right(home, tmp_path):
    header, runs = two_hours("a", "b", calendar_id="other")
    other = write_calendar(tmp_path / "elsewhere", header, runs)
    for source, why in ((other / run_file("a"), "key calendar_id"), (home / run_file("b"), "holds run 'b', not 'a'")):
        content = source.read_bytes()
        (home / run_file("a")).write_bytes(content)
        document = json.loads((home / "calendar.json").read_text())
        document["runs"][0]["sha256"] = hashlib.sha256(content).hexdigest()
        (home / "calendar.json").write_text(json.dumps(document))
        with pytest.raises(CalendarError, match=why):
            read_runs(home)
        with pytest.raises(CalendarError, match=why):
            read_current(home, "a", verify=True)


@pytest.mark.parametrize("file", ["../../etc/passwd", "/etc/passwd", "runs/../../a.json", "runs/b.json", ""])
def test_path_traversal_in_the_header(home, file):
    path = home / "calendar.json"
    document = json.loads(path.read_text())
    document["runs"][0]["file"] = file
    path.write_text(json.dumps(document))
    with pytest.raises(CalendarError, match=r"must be 'runs/a.json'"):
        read_calendar(path)


@pytest.mark.parametrize("pointer", ["", "../c0ffee", "/etc", "a\x00b", "c0ffee\nother", ".", "x" * 300, "ü"])
def test_a_pointer_that_is_no_id(home, pointer):
    (home.parent / "current").write_text(pointer)
    with pytest.raises(CalendarError, match="current"):
        read_calendar(home.parent)


def test_no_pointer_no_folder_and_no_run(home, tmp_path):
    for path, read in (
        (tmp_path / "nowhere", read_calendar),
        (tmp_path / "nowhere", read_run),
        (tmp_path, read_run),
        (tmp_path / "null\0byte", read_run),
    ):
        with pytest.raises(CalendarError, match=r"cannot be read|not a regular"):
            read(path)
    with pytest.raises(CalendarError, match="ghost"):
        read_current(tmp_path, "ghost")


def test_a_pipe_in_the_files_place_does_not_block(home):
    path = home / run_file("a")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CalendarError, match="not a regular file"):
        read_run(path)


def test_a_file_over_the_size_limit(home, monkeypatch):
    monkeypatch.setattr(contract, "_RUN_LIMIT_BYTES", 100)
    with pytest.raises(CalendarError, match="limit of 100 bytes"):
        read_run(home / run_file("a"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe{}",
        b'{"schema": NaN}',
        b'{"schema": Infinity}',
        b'{"schema": -1e999}',
        b'{"schema": 1, "schema": 2}',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
        b'{"schema": "\\ud800"}',
    ],
)
def test_hostile_documents(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    for read in (read_run, lambda p: read_calendar(p.rename(p.with_name("calendar.json")))):
        with pytest.raises(CalendarError, match=r"json"):
            read(path)


KEYS = ["schema", "calendar_id", "issued_at", "valid_from", "valid_until", "site", "run", "windows"]
FREE_TEXT = {"calendar_id", "site", "run"}


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key in KEYS for value in (None, True, {}, -1, 1.5, 10**400, "\ud800")]
    + [(key, "x") for key in KEYS if key not in FREE_TEXT]
    + [(key, []) for key in KEYS],
    ids=lambda value: repr(value)[:12],
)
def test_wrong_types_in_a_run(home, key, value):
    path = home / run_file("a")
    _change(path, **{key: value})
    with pytest.raises(CalendarError, match=key):
        read_run(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("start", "2024-05-13T00:00:00"),
        ("start", "2024-05-13"),
        ("start", "2024-W20-1T00:00:00Z"),
        ("start", "2024-02-30T00:00:00Z"),
        ("start", "0001-01-01T00:00:00+23:59"),
        ("start", "٢٠٢٤-05-13T00:00:00Z"),
        ("start", 0),
        ("end", None),
        ("state", "sleep"),
        ("state", 1),
        ("pool", 3),
        ("gpus", 8.0),
        ("gpus", True),
        ("gpus", "8"),
        ("gpu_power_limit_w", "500"),
        ("gpu_power_limit_w", 10**400),
        ("checkpoint", "sometimes"),
        ("tokens", None),
        ("energy_kwh", [1]),
        ("kgco2e", "0"),
        ("why", None),
    ],
)
def test_wrong_values_in_a_window(home, key, value):
    path = home / run_file("a")
    document = json.loads(path.read_text())
    document["windows"][0][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(CalendarError, match=rf"windows\[0\]\.{key}") as caught:
        read_run(path)
    assert str(path) in caught.value.what
    assert caught.value.fix
    del document["windows"][0][key]
    path.write_text(json.dumps(document))
    with pytest.raises(CalendarError, match=rf"windows\[0\]\.{key}.*missing"):
        read_run(path)


HOUR = 3600.0
RUN, OFF = window(0, HOUR, "run"), window(HOUR, 2 * HOUR, "off")


@pytest.mark.parametrize(
    ("windows", "why"),
    [
        ((), "there are none"),
        ((RUN,), "the last ends"),
        ((RUN, window(HOUR - 1, 2 * HOUR, "off")), "overlaps"),
        ((OFF, RUN), "leaves a gap"),
        ((RUN, window(HOUR + 1, 2 * HOUR, "off")), "leaves a gap"),
        ((RUN, OFF, window(2 * HOUR, 3 * HOUR, "off")), "the last ends"),
        ((window(0, 0, "run"), window(0, 2 * HOUR, "off")), "it ends at"),
        ((RUN, replace(OFF, gpus=1)), "gives all GPUs back"),
        ((replace(RUN, gpus=0), OFF), "at least 1 GPU"),
        ((replace(RUN, pool=None), OFF), "at least 1 GPU"),
        ((replace(RUN, block=None), OFF), "at least 1 GPU"),
        ((replace(RUN, tokens=-1.0), OFF), "tokens"),
        ((replace(RUN, tokens=float("nan")), OFF), "tokens"),
        ((replace(RUN, energy_kwh=float("inf")), OFF), "energy_kwh"),
        ((replace(RUN, kgco2e=float("nan")), OFF), "kgco2e"),
        ((replace(RUN, gpu_power_limit_w=0.0), OFF), "gpu_power_limit_w is 0.0 W"),
        ((replace(RUN, gpu_power_limit_w=float("inf")), OFF), "gpu_power_limit_w is inf W"),
        ((replace(RUN, checkpoint="before"), OFF), "hold or off window"),
        ((RUN, replace(OFF, checkpoint="after")), "run window"),
        ((replace(RUN, state="sleep"), OFF), "not one of run, hold, off"),
        ((replace(RUN, checkpoint="maybe"), OFF), "not one of none, before, after"),
        ((replace(RUN, start=START.replace(tzinfo=None)), OFF), "timezone-aware UTC"),
        ((replace(RUN, end=RUN.end.astimezone(timezone(timedelta(hours=2)))), OFF), "timezone-aware UTC"),
    ],
)
def test_rules_of_windows_hold_when_writing(tmp_path, windows, why):
    header, (run,) = two_hours("a")
    with pytest.raises(CalendarError, match=why) as caught:
        write_calendar(tmp_path / "out", header, [replace(run, windows=windows)])
    assert "run 'a'" in caught.value.what
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"calendar_id": ""}, "calendar id"),
        ({"calendar_id": "../up"}, "calendar id"),
        ({"calendar_id": "x" * 129}, "calendar id"),
        ({"valid_until": START}, "not after"),
        ({"n_slots": 3}, "do not fill"),
        ({"slot_minutes": 30}, "do not fill"),
        ({"slot_minutes": 0}, "not possible"),
        ({"certified_gap": -0.1}, "certified_gap"),
        ({"certified_gap": float("nan")}, "certified_gap"),
        ({"issued_at": START.replace(tzinfo=None)}, "timezone-aware"),
    ],
)
def test_rules_of_the_header_hold_when_writing(changes, why):
    header, _ = two_hours()
    with pytest.raises(CalendarError, match=why):
        seal(replace(header, **changes), [])


def test_rules_of_blocks_shortfalls_and_runs():
    header, (run,) = two_hours("a")
    block, short = header.blocks[0], header.shortfalls[0]
    for changes, why in (
        ({"blocks": (replace(block, it_kw=(1.0,)),)}, r"blocks\[0\].*it_kw has 1 entries for 2 slots"),
        ({"blocks": (replace(block, solar_kw=(1.0, float("nan"))),)}, "solar_kw holds a number that is not finite"),
        ({"blocks": (replace(block, supply_setpoint_c=(None,)),)}, "supply_setpoint_c has 1"),
        ({"blocks": (block, block)}, "more than once"),
        ({"shortfalls": (replace(short, tokens_short=float("inf")),)}, r"shortfalls\[0\]"),
        (
            {"shortfalls": (replace(short, deadline=short.deadline.replace(tzinfo=None)),)},
            r"shortfalls\[0\].deadline|UTC",
        ),
    ):
        with pytest.raises(CalendarError, match=why):
            seal(replace(header, **changes), [run])
    with pytest.raises(CalendarError, match="more than once"):
        seal(header, [run, run])
    with pytest.raises(CalendarError, match="the header's is"):
        seal(header, [replace(run, site="elsewhere")])
    with pytest.raises(CalendarError, match="must have a name"):
        seal(header, [replace(run, run="\ud800")])
    sealed, _ = seal(header, [run])
    assert seal(sealed, [run])[0] == sealed
    with pytest.raises(CalendarError, match="hashes it already carries"):
        seal(sealed, [])


def test_a_nameless_run_is_refused(home):
    with pytest.raises(CalendarError, match="no name"):
        seal(two_hours()[0], [run_calendar(RUN, OFF, run="")])
    path = home / run_file("a")
    _change(path, run="")
    with pytest.raises(CalendarError, match="no name"):
        read_run(path)


def test_windows_of_a_run_must_lie_in_the_headers_validity(home):
    path = home / run_file("a")
    _change(path, valid_until="2024-05-13T03:00:00Z")
    with pytest.raises(CalendarError, match="the last ends"):
        read_run(path)
    assert second(7200) == read_run(home / run_file("b")).valid_until
