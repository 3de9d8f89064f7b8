"""`gridpace replan`: a plan of Monday goes on on Wednesday by a new forecast, from what was done by then."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from click.testing import CliRunner

from planner.cli import cli
from planner.errors import ConfigError
from planner.folders import read_published
from planner.ledger import Ledger
from planner.rolling.behind import GOES_ON
from tests.mini_site import ISSUED, MINI
from tests.published import START
from tests.unit.test_ledger import record

SOURCE = """[sources.carbon]
provider = "csv"
path = "carbon.csv"
time_column = "t"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "forecast"
columns.carbon = { column = "carbon", unit = "g/kWh", basis = "direct" }
"""
ROLLING = "\n[plan]\ngap_target = 0.001\n\n[plan.rolling]\nfrozen_h = 8\nchange_cost_per_gpu_h = 0.0001\n"
SITE = MINI.replace('[sources.carbon]\nprovider = "demo"\n', SOURCE).replace(
    "2024-05-17T18:00:00", "2024-05-19T18:00:00"
)
SITE = SITE.replace("8.0e9", "1.4e10") + "flexibility = { tier = 3 }\n" + ROLLING
MONDAY = datetime(2024, 5, 12, 22, tzinfo=UTC)  # 00:00 in Berlin
AT = "2024-05-15T10:00:00Z"
SLOT, FROZEN = 60, 68  # Wednesday noon in Berlin, and 8 h later


def grams(clean_days):
    """Return the carbon intensity of each hour: low on some days of the week, high on the others."""
    return np.where(np.isin(np.arange(168) // 24, clean_days), 100.0, 600.0)


def write(folder, values):
    rows = [f"{(MONDAY + timedelta(hours=h)).isoformat()},{v}" for h, v in enumerate(values)]
    (folder / "carbon.csv").write_text("\n".join(["t,carbon", *rows]) + "\n", encoding="utf-8")


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRIDPACE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site.toml").write_text(SITE, encoding="utf-8")
    write(tmp_path, grams([1, 3, 4]))
    done = run("plan", "site.toml", "--out", "week", "--issued-at", ISSUED, "--offline")
    assert done.exit_code == 0, done.output
    return tmp_path


def limits_w(runs):
    """Return the power limit of the one run in each slot, W."""
    found = np.zeros(168)
    for window in runs[0].windows:
        first, after = ((t - MONDAY) / timedelta(hours=1) for t in (window.start, window.end))
        if window.state == "run":
            found[int(first) : int(np.ceil(after))] = window.gpu_power_limit_w
    return found


def replan(*more):
    return run("replan", "site.toml", "--out", "week", "--at", AT, "--offline", "--json", *more)


def test_monday_goes_on_on_wednesday_by_a_new_forecast(folder):
    before, old, _ = read_published(folder / "week")
    write(folder, grams([1, 5]))  # Thursday and Friday turned dirty, Saturday clean
    done = replan()
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["violations"] == 0
    assert told["shortfalls"] == []
    assert told["changed_gpu_h"] > 0.0
    header, new, _ = read_published(folder / "week")
    assert header.calendar_id == told["calendar_id"] != before.calendar_id
    assert header.inputs[GOES_ON]["from"] == before.calendar_id
    was, now = limits_w(old), limits_w(new)
    assert np.array_equal(now[:SLOT], was[:SLOT])
    assert np.array_equal(now[:FROZEN] > 0.0, was[:FROZEN] > 0.0)
    assert (now[120:144] > 0.0).sum() > (was[120:144] > 0.0).sum()
    for plan, earlier in zip(header.blocks, before.blocks, strict=True):
        assert plan.it_kw[:SLOT] == earlier.it_kw[:SLOT]
        assert plan.import_kw[:SLOT] == earlier.import_kw[:SLOT]
    assert any("Goes on from calendar" in note for note in header.notes)
    checked = run("check", "week", "--site", "site.toml", "--offline")
    assert checked.exit_code == 0, checked.output
    assert "no longer those" not in checked.output
    # and once more, from the plan that went on: nothing new is known, so nothing changes
    again = json.loads(replan().stdout)
    assert again["changed_gpu_h"] == 0.0
    assert again["violations"] == 0


def test_what_telemetry_says_is_missing_is_made_up(folder):
    _, old, _ = read_published(folder / "week")
    first = next(w for w in old[0].windows if w.state == "run")
    hours = [(first.start - START) / timedelta(hours=1) + h for h in range(4)]
    name = old[0].run
    with Ledger(folder / "week" / "ledger.sqlite") as ledger:
        half = [record(i, h, h + 1.0, run=name, useful_tokens=1e8, tokens=1e8) for i, h in enumerate(hours)]
        ledger.take_in(half)
    done = replan()
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    behind = told["ahead_tokens"][name]
    assert behind < 0.0
    header, new, home = read_published(folder / "week")
    planned = sum(w.tokens for w in new[0].windows)
    assert planned == pytest.approx(1.4e10 - behind, rel=0.02)
    assert json.loads(header.inputs[GOES_ON]["ahead_tokens"]) == {name: behind}
    assert "no longer those" not in run("check", home, "--site", "site.toml", "--offline").output


def test_what_cannot_go_on_is_said(folder):
    late = run("replan", "site.toml", "--out", "week", "--at", "2024-05-21T10:00:00Z", "--offline")
    assert isinstance(late.exception, ConfigError)
    assert "there is nothing of it to plan anew" in late.exception.what
    (folder / "other.toml").write_text(SITE.replace("Werk Süd", "Werk Nord"), encoding="utf-8")
    other = run("replan", "other.toml", "--out", "week", "--at", AT, "--offline")
    assert "is of site 'Werk Süd'" in other.exception.what
