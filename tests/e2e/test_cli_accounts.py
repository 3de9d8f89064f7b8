"""Carbon accounts from the command line: planned once, kept in the ledger, read out of it again."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from planner.ledger import Ledger
from tests.mini_site import ISSUED, MINI, gridpace
from trainer_hooks.telemetry import Record, record_line

RUN = "=1+1"
SITE = MINI.replace("=1+1 <script>", RUN).replace(
    "[prices]",
    """[carbon]
basis = "lifecycle"

[accounts]
residual_gco2_per_kwh = 480
marginal_gco2_per_kwh = 650
grid_cfe_share = 0.5

[prices]""",
)


def plan(folder: Path, text: str = SITE) -> subprocess.CompletedProcess[str]:
    (folder / "site.toml").write_text(text, encoding="utf-8")
    return gridpace("plan", "site.toml", "--out", "out", "--issued-at", ISSUED, "--offline", cwd=folder)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("accounts")
    done = plan(folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copy(planned, tmp_path):
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_accounts_are_told_and_written_as_tables(planned):
    done = gridpace("accounts", "out", "--csv", "tables", cwd=planned)
    assert done.returncode == 0, done.stderr
    assert "kept by    lifecycle-ipcc2014/1, lifecycle; boundary demo-central; planned series" in done.stdout
    assert "CFE score  50.0 %" in done.stdout
    assert "note: Synthetic data" in done.stderr
    assert {path.name for path in (planned / "tables").iterdir()} == {"hourly.csv", "runs.csv", "contracts.csv"}
    with (planned / "tables" / "runs.csv").open(newline="", encoding="utf-8") as stream:
        site, run, left = csv.DictReader(stream)
    assert [row["kind"] for row in (site, run, left)] == ["site", "run", "unallotted"]
    assert float(run["market_kg"]) + float(left["market_kg"]) == pytest.approx(float(site["market_kg"]), rel=1e-9)
    assert float(site["market_kg"]) == pytest.approx(0.48 * float(site["import_kwh"]), rel=1e-9)


def test_json_is_one_object_and_agrees_with_the_plan(planned):
    told = json.loads(gridpace("accounts", "out", "--json", cwd=planned).stdout)
    summary = json.loads((planned / "out" / "plan.json").read_text(encoding="utf-8"))
    assert told["calendar_id"] == summary["calendar_id"]
    assert told["site_figures"]["location_kg"] == pytest.approx(summary["carbon_kg"], rel=1e-9)
    assert told["files"] == {}
    assert [one["kind"] for one in told["training_energy"]["statements"]] == ["estimated"]


def test_the_same_plan_again_leaves_the_accounts_and_other_accounts_are_refused(copy):
    assert plan(copy).returncode == 0
    calendars = (copy / "out" / "calendars" / "current").read_bytes()
    other = plan(copy, SITE.replace("residual_gco2_per_kwh = 480", "residual_gco2_per_kwh = 300"))
    assert other.returncode == 2
    assert "has carbon accounts on planned series already" in other.stderr
    assert "never changed" in other.stderr
    assert (copy / "out" / "calendars" / "current").read_bytes() == calendars
    again = json.loads(gridpace("accounts", "out", "--json", cwd=copy).stdout)
    assert again["site_figures"]["market_kg"] == pytest.approx(0.48 * again["site_figures"]["import_kwh"], rel=1e-9)


def test_the_report_made_again_shows_the_accounts_as_entered(copy):
    before = (copy / "out" / "report.html").read_text(encoding="utf-8")
    assert "Carbon accounts" in before
    (copy / "site.toml").write_text(
        SITE.replace("residual_gco2_per_kwh = 480", "residual_gco2_per_kwh = 300"), encoding="utf-8"
    )
    done = gridpace("report", "out", "--site", "site.toml", "--offline", cwd=copy)
    assert done.returncode == 0, done.stderr
    assert (copy / "out" / "report.html").read_text(encoding="utf-8") == before


def test_a_changed_ledger_is_found(copy):
    with sqlite3.connect(copy / "out" / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE site_account SET market_kg = 0.0")
    done = gridpace("accounts", "out", "--json", cwd=copy)
    told = json.loads(done.stdout)["error"]
    assert done.returncode == 2
    assert told["kind"] == "ConfigError"
    assert told["why"] == "ledger or calendar was changed since"


def test_a_calendar_without_a_ledger_or_without_accounts_is_told(copy):
    with sqlite3.connect(copy / "out" / "ledger.sqlite") as ledger:
        for table in ("site_account", "run_account", "contract", "contract_account", "carbon_account"):
            ledger.execute(f"DELETE FROM {table}")
    done = gridpace("accounts", "out", cwd=copy)
    assert done.returncode == 2
    assert "none were entered" in done.stderr
    (copy / "out" / "ledger.sqlite").unlink()
    done = gridpace("accounts", "out", cwd=copy)
    assert done.returncode == 2
    assert "the ledger is not there" in done.stderr
    assert not (copy / "out" / "ledger.sqlite").exists()


def test_the_account_on_the_series_as_they_were_is_made_and_entered_once(copy):
    done = gridpace("accounts", "out", "--actual", cwd=copy)
    assert done.returncode == 2
    assert "no carbon accounts on actual series" in done.stderr
    assert "fix: name the site file too" in done.stderr
    made = gridpace("accounts", "out", "--actual", "--site", "site.toml", "--offline", "--json", cwd=copy)
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    again = gridpace("accounts", "out", "--actual", "--json", cwd=copy)
    assert json.loads(again.stdout) == told
    planned = json.loads(gridpace("accounts", "out", "--json", cwd=copy).stdout)
    assert (told["series"], planned["series"]) == ("actual", "planned")
    # the demo's series are what they were, so that both accounts say the same
    assert told["site_figures"]["location_kg"] == pytest.approx(planned["site_figures"]["location_kg"], rel=1e-6)


def test_options_that_would_do_nothing_are_refused(planned):
    for options in (("--site", "site.toml"), ("--actual", "--offline")):
        done = gridpace("accounts", "out", *options, cwd=planned)
        assert done.returncode == 2
        assert "--site goes with --actual" in done.stderr


def test_energy_that_telemetry_reports_is_known_and_stands_beside_the_estimate(copy):
    told = json.loads(gridpace("accounts", "out", "--json", cwd=copy).stdout)
    start = datetime.fromisoformat(told["start"])
    record = Record(
        run=RUN,
        calendar_id=told["calendar_id"],
        writer="w",
        sequence=0,
        t_start=start,
        t_end=start + timedelta(hours=5),
        state="run",
        tokens=10**9,
        useful_tokens=9 * 10**8,
        position_tokens=0,
        energy_j=36.0 * 3.6e6,
        energy_error_j=0.5 * 3.6e6,
        energy_source="counter",
        gpus=8,
        gpu_power_limit_w=700.0,
        enforced_limit_w=700.0,
        adherence=1.0,
    )
    (copy / "t.jsonl").write_bytes(record_line(record))
    with Ledger(copy / "out" / "ledger.sqlite") as ledger:
        assert ledger.ingest(copy / "t.jsonl").added == 1
    done = gridpace("accounts", "out", "--json", cwd=copy)
    estimated, known = json.loads(done.stdout)["training_energy"]["statements"]
    assert (estimated["kind"], known["kind"]) == ("estimated", "known")
    assert (known["it_kwh"], known["error_kwh"]) == (pytest.approx(36.0), pytest.approx(0.5))
    assert known["end"] == (start + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert estimated["end"] == told["end"]
