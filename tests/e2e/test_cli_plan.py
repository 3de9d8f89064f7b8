"""The command line from a site file to everything that is published, as a user runs it."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import icalendar
import pytest

from tests.mini_site import ISSUED, MINI, ROOT, gridpace


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A folder with a site file and its planned week, and what the command said."""
    folder = tmp_path_factory.mktemp("Büro mit Leerzeichen")
    (folder / "my site.toml").write_text(MINI, encoding="utf-8")
    done = gridpace("plan", "my site.toml", "--json", "--issued-at", ISSUED, "--offline", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.fixture(scope="module")
def out(planned):
    return planned[0] / "out" / "Werk Süd" / "2024-W20"


def test_json_is_one_object_and_nothing_else(planned):
    told = json.loads(planned[1].stdout)
    assert told["violations"] == 0
    assert told["issued_at"] == ISSUED
    assert told["mip_gap"] <= 0.01
    assert told["deadlines_kept"] == told["deadlines"] == 1
    assert told["baseline"]["asap"]["tokens"] == pytest.approx(told["tokens"], rel=1e-6)
    assert told["saved"]["carbon_pct"] == pytest.approx(
        100 * (1 - told["carbon_kg"] / told["baseline"]["asap"]["carbon_kg"])
    )
    assert "Synthetic data" in planned[1].stderr


def test_everything_published_is_there_and_nothing_else(planned, out):
    told = json.loads(planned[1].stdout)
    assert {path.name for path in out.iterdir()} == {
        "calendars", "report.html", "calendar.ics", "plan.csv", "blocks.csv", "plan.json", "ledger.sqlite",
        "series",
    }  # fmt: skip
    assert (out / "calendars" / "current").read_text().strip() == told["calendar_id"]
    assert all((planned[0] / path).exists() for path in told["files"].values())
    assert json.loads((out / "plan.json").read_text(encoding="utf-8")) == told


def test_calendar_file_and_tables_tell_the_same(planned, out):
    told = json.loads(planned[1].stdout)
    with (out / "plan.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["run"] for row in rows} == {"'=1+1 <script>"}
    assert sum(float(row["tokens"]) for row in rows) == pytest.approx(told["tokens"], rel=1e-6)
    events = icalendar.Calendar.from_ical((out / "calendar.ics").read_bytes()).walk("VEVENT")
    hours = sum((event["DTEND"].dt - event["DTSTART"].dt).total_seconds() for event in events) / 3600
    assert hours == pytest.approx(sum(float(row["duration_h"]) for row in rows if row["state"] == "run"))


def test_the_same_inputs_give_the_same_bytes(planned, out, tmp_path):
    again = tmp_path / "again"
    done = gridpace("plan", "my site.toml", "--out", again, "--issued-at", ISSUED, "--offline", cwd=planned[0])
    assert done.returncode == 0, done.stderr
    for folder in (out, again):
        assert (folder / "calendars").is_dir()
    files = sorted(path.relative_to(out) for path in (out / "calendars").rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in (again / "calendars").rglob("*") if path.is_file())
    for name in (*files, Path("report.html"), Path("calendar.ics"), Path("plan.csv"), Path("blocks.csv")):
        assert (out / name).read_bytes() == (again / name).read_bytes(), name
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["carbon", "cost", "energy", "deadlines", "files", "failures", "hold"]


def test_check_is_clean_and_a_broken_calendar_is_named_with_exit_code_3(planned, out, tmp_path):
    clean = gridpace("check", out, "--site", "my site.toml", "--offline", cwd=planned[0])
    assert clean.returncode == 0, clean.stderr
    assert "clean; 1 runs, 1 of 1 deadlines kept" in clean.stdout
    smaller = planned[0] / "smaller.toml"
    smaller.write_text(MINI.replace("capacity_kw = 20", "capacity_kw = 7"), encoding="utf-8")
    broken = gridpace("check", out, "--site", smaller, "--offline", "--json", cwd=planned[0])
    told = json.loads(broken.stdout)
    assert broken.returncode == 3
    assert not told["clean"]
    assert "capacity" in {found["kind"] for found in told["violations"]}
    assert "no longer those of calendar" in broken.stderr
    foreign = planned[0] / "foreign.toml"
    foreign.write_text(MINI.replace("hall", "annex").replace("capacity_kw = 20", "capacity_kw = 7"), encoding="utf-8")
    other = gridpace("check", out, "--site", foreign, "--offline", cwd=planned[0])
    assert other.returncode == 3
    cause, *rest = other.stdout.splitlines()
    assert cause.endswith("block hall is only in the calendar; block annex is only in the site file")
    assert len(rest) <= 7


def test_the_report_is_made_again_the_same(planned, out):
    page = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    done = gridpace("report", out, "--site", "my site.toml", "--offline", cwd=planned[0])
    assert done.returncode == 0, done.stderr
    assert (out / "report.html").read_bytes() == page


def test_exports_are_printed_or_written(planned, out, tmp_path):
    printed = gridpace("export", "ics", out, "--out", "-", cwd=planned[0])
    assert printed.stdout.startswith("BEGIN:VCALENDAR")
    written = gridpace("export", "csv", out, "--table", "slots", "--out", tmp_path / "b.csv", cwd=planned[0])
    assert written.stdout.strip() == str(tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == (out / "blocks.csv").read_bytes()


def test_a_corrupt_calendar_is_a_config_error(planned, out, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (header,) = (copy / "calendars").glob("*/calendar.json")
    header.write_bytes(header.read_bytes()[:200])
    done = gridpace("check", copy, "--site", "my site.toml", "--offline", cwd=planned[0])
    assert (done.returncode, done.stdout) == (2, "")
    assert "calendar.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_telemetry_is_laid_beside_the_plan(planned, out, tmp_path):
    from tests.unit.test_ledger import record
    from trainer_hooks.calendar import read_runs
    from trainer_hooks.telemetry import record_line

    header, (run,) = read_runs(out / "calendars")
    first = next(window for window in run.windows if window.state == "run")
    one = record(
        0, 0, 1, run=run.run, calendar_id=header.calendar_id, t_start=first.start, t_end=first.end, energy_j=3.6e6
    )
    (tmp_path / "t.jsonl").write_bytes(record_line(one))
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    arguments = ("report", copy, "--site", "my site.toml", "--offline", "--telemetry", tmp_path / "t.jsonl")
    done = gridpace(*arguments, cwd=planned[0])
    assert done.returncode == 0, done.stderr
    assert "1 new records, 0 known" in done.stderr
    assert "Planned, and what happened" in (copy / "report.html").read_text(encoding="utf-8")
    assert "0 new records, 1 known" in gridpace(*arguments, cwd=planned[0]).stderr


def test_the_replay_on_actual_series_is_laid_beside_the_plan(planned, out, tmp_path):
    same = gridpace("check", out, "--site", "my site.toml", "--actual", "--offline", cwd=planned[0])
    assert same.returncode == 0, same.stderr
    assert [line.split()[0] for line in same.stdout.splitlines()[1:]] == ["carbon", "cost", "energy", "peak"]
    assert same.stdout.count("(the same)") == 4
    assert "made on these same series" in same.stderr

    with (ROOT / "data" / "demo" / "demo-central.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    measured = tmp_path / "measured.csv"
    measured.write_text(
        "t,g\n" + "".join(f"{row['t_start']},{2 * float(row['ci_direct_g_per_kwh'])}\n" for row in rows), "utf-8"
    )
    table = (
        '[sources.carbon]\nprovider = "csv"\npath = "measured.csv"\ntime_column = "t"\nstamp = "start"\n'
        'time_zone = "UTC"\nstep_minutes = 60\nkind = "KIND"\n'
        'columns = { carbon = { column = "g", unit = "g/kWh", basis = "direct" } }\n'
    )
    after = tmp_path / "after.toml"
    asked = ("check", out, "--site", after, "--actual", "--offline", "--json")
    after.write_text(MINI.replace('[sources.carbon]\nprovider = "demo"\n', table.replace("KIND", "actual")), "utf-8")
    done = gridpace(*asked, cwd=planned[0])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    # The plan is judged by what it knew; what came was twice as dirty.
    assert told["planned"]["carbon_kg"] == pytest.approx(json.loads(planned[1].stdout)["carbon_kg"])
    assert told["actual"]["carbon_kg"] == pytest.approx(2 * told["planned"]["carbon_kg"], rel=1e-9)
    assert told["actual"]["energy_kwh"] == told["planned"]["energy_kwh"]
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    shown = gridpace("report", copy, "--site", after, "--actual", "--offline", cwd=planned[0])
    assert shown.returncode == 0, shown.stderr
    assert "The plan on the series as they were" in (copy / "report.html").read_text(encoding="utf-8")

    after.write_text(after.read_text(encoding="utf-8").replace('"actual"', '"forecast"'), "utf-8")
    refused = gridpace(*asked, cwd=planned[0])
    assert refused.returncode == 4
    error = json.loads(refused.stdout)["error"]
    assert "168 rows are forecasts" in error["what"]
    assert 'kind = "actual"' in error["fix"]
