"""The files of a published calendar: what stands in them, and that they are the same for the same plan."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from tests.run_calendars import START, second, two_hours, window
from trainer_hooks.calendar import (
    CalendarError,
    current_folder,
    read_calendar,
    read_current,
    read_run,
    read_runs,
    run_file,
    seal,
    write_calendar,
)

LONG = "x" * 300
NAMES = ["llm-8b", "../../etc/passwd", "<script>alert(1)</script>", "Lauf ü 训练", ".", "a b%2F", LONG, LONG[1:] + "y"]


def _tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_what_is_written_is_what_is_read(tmp_path):
    header, runs = two_hours(*NAMES)
    home = write_calendar(tmp_path, header, runs)
    for path in (tmp_path, home, home / "calendar.json"):
        found, found_runs = read_runs(path)
        assert found_runs == runs
        assert replace(found, runs=()) == header
        assert [entry.run for entry in found.runs] == NAMES
    assert read_calendar(tmp_path) == found
    assert read_run(home / run_file("llm-8b")) == runs[0]
    for run in runs:
        assert read_current(tmp_path, run.run, verify=True) == run


def test_no_name_leaves_the_folder_or_meets_another(tmp_path):
    header, runs = two_hours(*NAMES)
    home = write_calendar(tmp_path, header, runs)
    assert {p.parent for p in home.rglob("*.json") if p.name != "calendar.json"} == {home / "runs"}
    assert len(list((home / "runs").iterdir())) == len(NAMES)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c0ffee", "current"]
    # A long name is cut and hashed; the mark of that cannot come out of encoding a short name.
    assert run_file(run_file(LONG)[5:-5]) != run_file(LONG)


def test_same_plan_gives_the_same_bytes_and_leaves_the_folder_untouched(tmp_path):
    header, runs = two_hours("a", "b")
    shuffled = replace(header, inputs=dict(reversed(header.inputs.items())))
    assert seal(header, runs)[1] == seal(shuffled, runs)[1]
    home = write_calendar(tmp_path, header, runs)
    before = {p: p.stat().st_mtime_ns for p in home.rglob("*")}
    assert write_calendar(tmp_path, shuffled, runs) == home
    assert {p: p.stat().st_mtime_ns for p in home.rglob("*")} == before


def test_numbers_are_rounded_to_six_decimals_without_negative_zero(tmp_path):
    header, (run,) = two_hours("a")
    noisy = replace(run, windows=(replace(run.windows[0], kgco2e=0.1 + 0.2, energy_kwh=1e-9), run.windows[1]))
    text = (write_calendar(tmp_path, header, [noisy]) / run_file("a")).read_text("ascii")
    assert '"kgco2e": 0.3,' in text
    assert '"energy_kwh": 0.0,' in text
    negative = replace(run, windows=(replace(run.windows[0], kgco2e=-1e-9), run.windows[1]))
    assert b"-0.0" not in b"".join(seal(header, [negative])[1].values())


def test_both_files_fit_their_schemas(tmp_path, root):
    header, runs = two_hours(*NAMES)
    home = write_calendar(tmp_path, header, runs)
    for file, schema in [("calendar.json", "calendar"), *((run_file(name), "run") for name in NAMES)]:
        rules = json.loads((root / "data" / "schema" / f"{schema}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(rules)
        jsonschema.Draft202012Validator(rules).validate(json.loads((home / file).read_text()))


@pytest.mark.parametrize(
    ("schema", "change"),
    [
        ("run", {"schema": "gridpace.run-windows/2"}),
        ("run", {"calendar_id": "../x"}),
        ("run", {"windows": []}),
        ("run", {"valid_from": "2024-05-13T00:00:00"}),
        ("calendar", {"schema": "gridpace.run-calendar/10"}),
        ("calendar", {"certified_gap": -0.1}),
        ("calendar", {"runs": [{"run": "a", "file": "../a.json", "sha256": "ab" * 32}]}),
        ("calendar", {"n_slots": 0}),
    ],
)
def test_schema_and_reader_refuse_the_same(tmp_path, root, schema, change):
    header, runs = two_hours("a")
    home = write_calendar(tmp_path, header, runs)
    path = home / ("calendar.json" if schema == "calendar" else run_file("a"))
    document = {**json.loads(path.read_text()), **change}
    rules = json.loads((root / "data" / "schema" / f"{schema}.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(rules).validate(document)
    path.write_text(json.dumps(document))
    with pytest.raises(CalendarError):
        (read_calendar if schema == "calendar" else read_run)(path)


def test_unknown_keys_are_ignored_and_a_minor_version_is_taken(tmp_path):
    header, runs = two_hours("a")
    home = write_calendar(tmp_path, header, runs)
    path = home / run_file("a")
    document = json.loads(path.read_text())
    document["schema"] = "gridpace.run-windows/1.3"
    document["from_the_future"] = {"deep": [1, {"x": None}]}
    document["windows"][0]["gpu_clock_mhz"] = 1410
    path.write_text(json.dumps(document))
    assert read_run(path) == runs[0]
    header_file = home / "calendar.json"
    document = json.loads(header_file.read_text())
    document |= {"schema": "gridpace.run-calendar/1.0.7", "heat_kw_th": [1.0]}
    header_file.write_text(json.dumps(document))
    assert replace(read_calendar(header_file, verify=False), runs=()) == header


def test_times_of_another_offset_are_the_same_instants(tmp_path):
    header, runs = two_hours("a")
    path = write_calendar(tmp_path, header, runs) / run_file("a")
    path.write_text(path.read_text().replace("2024-05-13T01:00:00Z", "2024-05-13T03:00:00+02:00"))
    assert read_run(path) == runs[0]


def test_the_newer_calendar_is_in_force_and_the_older_stays(tmp_path):
    for calendar_id in ("first", "second"):
        header, runs = two_hours("a", calendar_id=calendar_id)
        write_calendar(tmp_path, header, runs)
    assert current_folder(tmp_path) == tmp_path / "second"
    assert read_current(tmp_path, "a").calendar_id == "second"
    assert read_current(tmp_path / "first", "a").calendar_id == "first"


def test_the_folder_that_a_plan_wrote_will_do(tmp_path):
    header, runs = two_hours("a", calendar_id="first")
    write_calendar(tmp_path / "calendars", header, runs)
    assert current_folder(tmp_path) == tmp_path / "calendars" / "first"
    assert read_current(tmp_path, "a").calendar_id == "first"


def test_a_calendar_that_is_not_to_be_followed_stands_beside_the_one_in_force(tmp_path):
    for calendar_id, in_force in (("first", True), ("second", False)):
        header, runs = two_hours("a", calendar_id=calendar_id)
        write_calendar(tmp_path, header, runs, in_force=in_force)
    assert current_folder(tmp_path) == tmp_path / "first"
    assert read_current(tmp_path / "second", "a").calendar_id == "second"


def test_window_at_is_left_closed():
    (run,) = two_hours("a")[1]
    assert run.window_at(START) is run.windows[0]
    assert run.window_at(second(3599.999)) is run.windows[0]
    assert run.window_at(second(3600)) is run.windows[1]
    assert run.window_at(second(7200)) is None
    assert run.window_at(second(-0.001)) is None


def test_windows_may_end_inside_a_slot(tmp_path):
    header, (run,) = two_hours("a")
    odd = replace(run, windows=(window(0, 1234.567891, "run"), window(1234.567891, 7200, "off")))
    home = write_calendar(tmp_path, header, [odd])
    assert read_run(home / run_file("a")) == odd
