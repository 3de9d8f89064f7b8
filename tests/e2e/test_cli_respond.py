"""`gridpace respond`, as an operator runs it when the grid calls."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta

import pytest

from tests.mini_site import ISSUED, MINI, gridpace

TIGHT = MINI.replace("2024-05-17T18:00:00", "2024-05-20T00:00:00").replace("8.0e9", "3.2e10")
SITE = f"""{TIGHT}flexibility = {{ tier = 3 }}

[demand_response]
targets = ["ven-9"]
simple_shed_share = [0.02, 0.05, 0.07]
"""
AT = "2024-05-14T12:00:00Z"
SHOWN = ("report.html", "calendar.ics", "plan.csv", "blocks.csv")
START = datetime.fromisoformat("2024-05-14T13:00:00+00:00")


def message(kind: str, *values: float, start: datetime = START, **changes) -> str:
    return json.dumps(
        {
            "programID": "7",
            "eventName": "evening cut",
            "intervalPeriod": {"start": start.isoformat(), "duration": "PT1H"},
            "intervals": [{"id": i, "payloads": [{"type": kind, "values": [v]}]} for i, v in enumerate(values)],
        }
        | changes
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("respond")
    (place / "site.toml").write_text(SITE, encoding="utf-8")
    done = gridpace("plan", "site.toml", "--out", "week", "--issued-at", ISSUED, "--offline", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def planned_kw(folder):
    told = header(folder)
    first = datetime.fromisoformat(told["valid_from"])
    slot = int((START - first) / timedelta(hours=1))
    return told["blocks"][0]["import_kw"][slot]


def header(folder, name: str | None = None) -> dict:
    calendars = folder / "week" / "calendars"
    name = name or current(folder)
    return json.loads((calendars / name / "calendar.json").read_text(encoding="utf-8"))


def current(folder) -> str:
    return (folder / "week" / "calendars" / "current").read_text(encoding="ascii").strip()


def respond(folder, text: str, *options: str, at: str = AT):
    (folder / "event.json").write_text(text, encoding="utf-8")
    arguments = ["event.json", "--site", "site.toml", "--out", "week", "--at", at, "--offline", *options]
    return gridpace("respond", *arguments, cwd=folder)


def test_a_draft_beside_the_calendar_in_force(folder, planned_kw):
    before = current(folder)
    done = respond(folder, message("IMPORT_CAPACITY_LIMIT", 0.93 * planned_kw), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["changes"]
    assert told["clean"]
    assert not told["in_force"]
    assert current(folder) == before == told["answers_calendar"]
    assert told["delivered"][0]["highest_kw"] <= 0.93 * planned_kw * (1 + 1e-9)
    assert told["delivered"][0]["baseline_kw"] == pytest.approx(planned_kw)
    assert told["runs"][0]["does"] == "throttles"
    assert told["runs"][0]["tokens_lost"] > 0
    draft = header(folder, told["calendar_id"])
    assert draft["inputs"]["event"]["answered_from"] == before
    kept = json.loads((folder / told["files"]["response"]).read_text(encoding="utf-8"))
    assert kept == told
    checked = gridpace("check", f"week/calendars/{told['calendar_id']}", "--site", "site.toml", "--offline", cwd=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "the inputs are no longer" not in checked.stderr.lower()


def test_people_are_told_in_plain_words(folder, planned_kw):
    done = respond(folder, message("IMPORT_CAPACITY_LIMIT", 0.93 * planned_kw))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Tue 15:00 to Tue 16:00  site: ")
    assert lines[1].split() == ["run", "tier", "does", "kept", "limit", "hold", "power", "less"]
    assert "throttles" in lines[2]
    named = {line.split()[0] for line in lines}
    assert {"kept", "cost", "deadlines", "baseline", "calendar", "file"} <= named
    assert "note: Event 'evening cut' names no unit" in done.stderr


def test_published_it_is_in_force_and_in_the_ledger(folder, planned_kw):
    import sqlite3

    before = current(folder)
    shown_before = {name: (folder / "week" / name).read_text(encoding="utf-8") for name in SHOWN}
    done = respond(folder, message("SIMPLE", 3, targets=["ven-9"]), "--publish", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["in_force"]
    assert current(folder) == told["calendar_id"] != before
    assert told["delivered"][0]["limit_kw"] == pytest.approx(0.93 * planned_kw)
    with sqlite3.connect(folder / "week" / "ledger.sqlite") as ledger:
        known = {row[0] for row in ledger.execute("select calendar_id from plan")}
    assert {before, told["calendar_id"]} <= known
    shown_now = {name: (folder / "week" / name).read_text(encoding="utf-8") for name in SHOWN}
    assert all(shown_now[name] != shown_before[name] for name in SHOWN)
    assert "Changed from 2024-05-14T12:00:00Z on for event evening cut" in shown_now["report.html"]
    checked = gridpace("check", "week", "--site", "site.toml", "--offline", cwd=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    report = gridpace("report", "week", "--site", "site.toml", "--offline", cwd=folder)
    assert report.returncode == 0, report.stderr


def test_a_limit_that_is_kept_anyway_writes_nothing(folder):
    files = sorted((folder / "week").rglob("*.json"))
    done = respond(folder, message("IMPORT_CAPACITY_LIMIT", 1000.0))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nothing to do: ")
    assert sorted((folder / "week").rglob("*.json")) == files


def test_a_meter_makes_the_baseline(folder, planned_kw):
    start = START - timedelta(days=20)
    rows = [f"{(start + timedelta(hours=i)).isoformat()},{planned_kw!r}" for i in range(20 * 24)]
    (folder / "meter.csv").write_text("time,import_kw\n" + "\n".join(rows) + "\n", encoding="utf-8")
    done = respond(folder, message("SIMPLE", 1), "--json", "--meter", "meter.csv")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "mean of 10 like days" in told["baseline"]
    assert told["delivered"][0]["baseline_kw"] == pytest.approx(planned_kw, rel=1e-6)
    (folder / "meter.csv").write_text("time,import_kw\n", encoding="utf-8")
    without = respond(folder, message("SIMPLE", 1), "--json", "--meter", "meter.csv")
    assert "does not hold ten like days" in without.stderr


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("{", 2, "not whole, valid JSON"),
        (message("IMPORT_CAPACITY_LIMIT", 5, start=START - timedelta(hours=6)), 2, "is over"),
        (message("IMPORT_CAPACITY_LIMIT", 5, start=START + timedelta(days=30)), 2, "is not in the calendar"),
        (message("IMPORT_CAPACITY_LIMIT", 5, targets=["other site"]), 2, "is for 'other site'"),
        (message("ALERT_GRID_EMERGENCY"), 2, "is empty"),
        (message("IMPORT_CAPACITY_LIMIT", 0.001), 3, "that the site can hold is"),
    ],
)
def test_what_goes_wrong_is_told_as_one_json_object_too(folder, text, code, words):
    files = sorted((folder / "week").rglob("*.json"))
    done = respond(folder, text, "--json")
    assert done.returncode == code, done.stderr
    told = json.loads(done.stdout)["error"]
    assert words in f"{told['what']} {told['why']}"
    assert told["fix"]
    assert told["exit_code"] == code
    assert sorted((folder / "week").rglob("*.json")) == files


def test_wrong_options_and_wrong_sites_are_told(folder):
    assert "--at 'soon' is no instant" in respond(folder, message("SIMPLE", 1), at="soon").stderr
    (folder / "other.toml").write_text(SITE.replace("Werk Süd", "Werk Nord"), encoding="utf-8")
    arguments = ["event.json", "--site", "other.toml", "--out", "week", "--at", AT, "--offline"]
    done = gridpace("respond", *arguments, cwd=folder)
    assert done.returncode == 2
    assert "is of site 'Werk Süd'" in done.stderr
    arguments[2], arguments[4] = "site.toml", "nowhere"
    absent = gridpace("respond", *arguments, cwd=folder)
    assert absent.returncode == 2
    assert "no published calendar in nowhere" in absent.stderr


def test_a_site_file_with_other_runs_is_refused(folder):
    name = re.search(r'\[\[run\]\]\s+name = "([^"]+)"', SITE)[1]
    (folder / "renamed.toml").write_text(SITE.replace(f'name = "{name}"', 'name = "newcomer"'), encoding="utf-8")
    (folder / "event.json").write_text(message("SIMPLE", 1), encoding="utf-8")
    arguments = ["event.json", "--site", "renamed.toml", "--out", "week", "--at", AT, "--offline"]
    done = gridpace("respond", *arguments, cwd=folder)
    assert done.returncode == 2
    assert "'newcomer' is in one of them" in done.stderr
