"""Wrong input and bad luck, from the command line: what is told, with which exit code, and what is left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from planner.cli import run
from tests.mini_site import ISSUED, MINI, ROOT, gridpace

QUICK = ("--offline", "--issued-at", ISSUED, "--time-limit", "20")
PRICES = """
provider = "csv"
path = "price.csv"
time_column = "time"
time_zone = "Europe/Berlin"
stamp = "start"
step_minutes = 60
kind = "forecast"
columns = { price = { column = "price", unit = "EUR/MWh" } }
"""


def hour(hours: int, form: str = "%Y-%m-%dT%H:%MZ") -> str:
    """The stamp of an hour counted from the start of the prices, five weeks before the planned week ends."""
    return (datetime(2024, 4, 14, 22, tzinfo=UTC) + timedelta(hours=hours)).strftime(form)


def prices() -> list[str]:
    """Five weeks of rows up to the end of the week, each 50 to 73 EUR/MWh by its hour of the day."""
    return [f"{hour(i)},{50 + i % 24}" for i in range(24 * 35)]


@dataclass(frozen=True)
class Done:
    """What one command left behind."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Run a command in this process, which is quicker than one of its own, in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRIDPACE_CACHE", str(tmp_path / "cache"))

    def go(*arguments: str) -> Done:
        capfd.readouterr()
        code = run(arguments)
        return Done(code, *capfd.readouterr())

    return go


@pytest.fixture
def plan(command, tmp_path):
    """Plan a week whose prices are the rows given."""

    def go(rows: list[str]) -> Done:
        (tmp_path / "price.csv").write_text("\n".join(["time,price", *rows]), encoding="utf-8")
        text = MINI.replace('[sources.price]\nprovider = "demo"\n', f"[sources.price]{PRICES}")
        assert "price.csv" in text
        (tmp_path / "site.toml").write_text(text, encoding="utf-8")
        return command("plan", "site.toml", "--out", "out", *QUICK)

    return go


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A folder with a site file and its planned week."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "site.toml").write_text(MINI, encoding="utf-8")
    done = gridpace("plan", "site.toml", "--out", "out", *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def refused(done, folder, code, *told):
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    for sentence in told:
        assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert "internal" not in done.stderr
    assert not (folder / "out").exists()


def test_a_site_file_with_twelve_faults_tells_all_twelve_at_once(command, tmp_path):
    golden = ROOT / "tests" / "golden" / "twelve-faults.toml"
    (tmp_path / "twelve-faults.toml").write_bytes(golden.read_bytes())
    done = command("plan", "twelve-faults.toml", "--out", "out")
    refused(done, tmp_path, 2, golden.with_suffix(".txt").read_text(encoding="utf-8").strip())
    assert done.stderr.count("\n    fix: ") == 12


def test_a_csv_with_a_short_gap_and_empty_cells_is_bridged_and_says_so(plan, tmp_path):
    rows = prices()
    rows[700] = f"{hour(700)},NaN"
    done = plan([row for i, row in enumerate(rows) if i not in {720, 721}])
    assert done.returncode == 0, done.stderr
    bridged = (
        "Gaps bridged: 3 of 168 slots of price touch gaps of up to 3 h in csv price.csv, bridged by straight lines."
    )
    assert f"note: {bridged}" in done.stderr
    assert bridged in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_csv_that_ends_early_is_carried_on_by_a_forecast_and_says_so(plan, tmp_path):
    done = plan(prices()[:750])
    assert done.returncode == 0, done.stderr
    assert "Forecast by gridpace: price of csv price.csv known until 2024-05-16T04:00:00Z; what follows" in done.stderr


def test_a_csv_with_a_long_gap_is_filled_by_profile_and_says_so(plan, tmp_path):
    done = plan([*prices()[:750], prices()[-1]])
    assert done.returncode == 0, done.stderr
    assert "Filled by profile: 89 of 168 slots of price are the 28-day hourly median of csv price.csv" in done.stderr


def test_a_csv_with_a_long_gap_and_no_past_is_refused(plan, tmp_path):
    done = plan(prices()[740:])
    refused(done, tmp_path, 4, "price of demo-central (csv price.csv) has no values from", "give the missing rows")


def test_a_csv_whose_duplicates_agree_is_taken(plan):
    rows = prices()
    assert plan([*rows[:700], rows[700], *rows[700:]]).returncode == 0


def test_a_csv_whose_duplicates_differ_names_both_rows(plan, tmp_path):
    rows = prices()
    done = plan([*rows[:700], f"{hour(700)},999", *rows[700:]])
    refused(done, tmp_path, 2, "price.csv row 703", "price.csv row 702", "two rows start at the same time and differ")


@pytest.mark.parametrize(
    ("stamp", "told"),
    [
        ("2024-03-31T02:30", "local time 2024-03-31 02:30:00 does not exist in Europe/Berlin"),
        ("2023-10-29T02:30", "local time 2023-10-29 02:30:00 exists twice in Europe/Berlin"),
    ],
)
def test_a_csv_with_an_hour_that_the_clocks_make_or_lose_names_the_row(plan, tmp_path, stamp, told):
    refused(plan([f"{stamp},50", *prices()]), tmp_path, 2, f"price.csv row 2: {told}", "write times in UTC")


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("inf", "which is no number"),
        ("1_000", "which is no number"),
        ("12,5", "has 3 cells where the header has 2"),
        ("1e9", "price is 1e+06 EUR/kWh; possible are -25 to 25 EUR/kWh"),
    ],
)
def test_a_csv_with_a_cell_that_cannot_be_names_the_row(plan, tmp_path, cell, told):
    rows = prices()
    rows[700] = f"{hour(700)},{cell}"
    refused(plan(rows), tmp_path, 2, "price.csv row 702", told)


def test_a_deadline_that_no_plan_can_meet_is_named_everywhere_and_the_rest_is_planned(command, tmp_path):
    text = MINI.replace(
        "tokens = 8.0e9, deadline = 2024-05-17T18:00:00", "tokens = 8.0e9, deadline = 2024-05-13T12:00:00"
    )
    (tmp_path / "site.toml").write_text(text, encoding="utf-8")
    done = command("plan", "site.toml", "--out", "out", "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["deadlines_kept"], told["deadlines"], told["violations"]) == (0, 1, 0)
    sentence = "run '=1+1 <script>' misses stage 'train', due 2024-05-13 12:00 CEST"
    assert f"not kept: {sentence}" in done.stderr
    check = command("check", "out", "--site", "site.toml", "--offline")
    assert check.returncode == 0
    assert f"announced: {sentence}" in check.stdout
    assert "&lt;script&gt;" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("damage", ["cut", "foreign", "older", "other hash", "no pointer", "binary"])
def test_a_corrupt_calendar_is_refused_by_every_command_and_left_as_it_is(planned, command, tmp_path, damage):
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    calendars = tmp_path / "out" / "calendars"
    (header,) = calendars.glob("*/calendar.json")
    (run,) = calendars.glob("*/runs/*.json")
    if damage == "cut":
        header.write_bytes(header.read_bytes()[:-40])
    elif damage == "foreign":
        header.write_text('{"schema": "someone.else/1"}')
    elif damage == "older":
        header.write_bytes(header.read_bytes().replace(b"gridpace.run-calendar/1", b"gridpace.run-calendar/0"))
    elif damage == "other hash":
        run.write_bytes(run.read_bytes().replace(b'"gpus": 8', b'"gpus": 7'))
    elif damage == "no pointer":
        (calendars / "current").write_text("../../etc")
    else:
        header.write_bytes(os.urandom(2000))
    before = {path: path.read_bytes() for path in calendars.rglob("*") if path.is_file()}
    for arguments in (
        ("check", "out", "--site", "site.toml", "--offline"),
        ("report", "out", "--site", "site.toml", "--offline"),
        ("export", "ics", "out"),
        ("export", "csv", "out"),
    ):
        done = command(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert "Traceback" not in done.stderr
        assert "fix: " in done.stderr
    assert {path: path.read_bytes() for path in calendars.rglob("*") if path.is_file()} == before
    assert {path.name for path in tmp_path.iterdir()} - {"cache"} == {"site.toml", "out"}


@pytest.mark.parametrize("limit_kib", [1, 256])
def test_a_disk_that_takes_no_more_leaves_the_week_before_as_it_was(planned, command, tmp_path, limit_kib):
    """The kernel refuses the writes of a real process."""
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    script = (
        "import resource, signal, sys; from planner.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_kib} * 1024, {limit_kib} * 1024))\n"
        "main(sys.argv[1:])\n"
    )
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for out in ("never", "out"):
        done = subprocess.run(
            [sys.executable, "-c", script, "plan", "site.toml", "--offline", "--time-limit", "20", "--out", out],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "cannot be written (File too large)" in done.stderr
    assert not (tmp_path / "never").exists()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert command("check", "out", "--site", "site.toml", "--offline").returncode == 0
