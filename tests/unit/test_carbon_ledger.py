from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from planner.accounts import carbon_accounts
from planner.errors import ConfigError
from planner.evaluate import evaluate
from planner.ledger import Ledger
from planner.outcome import Outcome
from planner.outlook import Gathered
from planner.publish import to_calendar
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from tests.accounting import ACCOUNTING, SET, accounted_outcome, rolled_up, sample_accounts
from tests.old_ledger import make_old, move_rows
from tests.weeks import make_block, make_run, tiny_week


@pytest.fixture(scope="module")
def outcome():
    return accounted_outcome(replace(ACCOUNTING, marginal_gco2_per_kwh=620.0, grid_cfe_share=0.4))


@pytest.fixture(scope="module")
def accounts(outcome):
    return sample_accounts(outcome)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(file, outcome):
    with Ledger(file) as opened:
        yield opened


def enter(ledger, outcome, accounts):
    return ledger.record_plan(outcome.calendar, outcome.runs, [0.0] * outcome.calendar.n_slots, accounts)


def test_what_is_read_is_what_was_entered(ledger, outcome, accounts):
    assert enter(ledger, outcome, None) is True
    assert ledger.carbon(outcome.calendar, outcome.runs) is None
    assert enter(ledger, outcome, accounts) is False
    found = ledger.carbon(outcome.calendar, outcome.runs)
    assert found.sha256 == accounts.sha256
    assert found.site_figures == accounts.site_figures
    assert found.run_figures == accounts.run_figures
    assert found.unallotted == accounts.unallotted
    assert found.account.factors == SET
    assert found.account.used_kwh.tolist() == accounts.account.used_kwh.tolist()
    assert found.sources == accounts.sources


def test_accounts_without_marginal_and_contracts_come_back_too(file):
    halls = (make_block("hall-a", 700.0, n_slots=168), make_block("hall-b", 300.0, n_slots=168))
    outcome = accounted_outcome(blocks=halls)
    accounts = sample_accounts(outcome)
    with Ledger(file) as ledger:
        enter(ledger, outcome, accounts)
        found = ledger.carbon(outcome.calendar, outcome.runs)
    assert found.account.marginal_kg is None
    assert found.account.contracts == ()
    assert found.sha256 == accounts.sha256


def test_the_same_accounts_again_change_nothing(ledger, file, outcome, accounts):
    assert enter(ledger, outcome, accounts) is True
    assert enter(ledger, outcome, accounts) is False
    with sqlite3.connect(file) as raw:
        assert raw.execute("SELECT count(*) FROM site_account").fetchone() == (accounts.n_slots,)
        assert raw.execute("SELECT count(*) FROM factor_set").fetchone() == (1,)


def test_other_accounts_of_the_same_calendar_are_refused_and_nothing_of_them_stays(ledger, file, outcome, accounts):
    enter(ledger, outcome, accounts)
    newer = replace(ACCOUNTING, factors=replace(SET, version="4"))
    week = replace(outcome.week, accounting=newer)
    other = sample_accounts(replace(outcome, week=week))
    with pytest.raises(ConfigError, match="has carbon accounts on planned series already") as told:
        enter(ledger, outcome, other)
    assert accounts.sha256[:12] in told.value.what
    assert "never changed" in told.value.why
    assert ledger.carbon(outcome.calendar, outcome.runs).sha256 == accounts.sha256
    with sqlite3.connect(file) as raw:
        assert raw.execute("SELECT version FROM factor_set").fetchall() == [("3",)]


def test_the_account_on_the_series_that_came_stands_beside_the_plans(ledger, file, outcome, accounts):
    enter(ledger, outcome, accounts)
    came = replace(outcome.week.signals, ci_gco2_per_kwh=outcome.week.signals.ci_gco2_per_kwh + 50.0)
    entry = replace(outcome.week.provenance[0], source="meter")
    known = Gathered(came, (entry, *outcome.week.provenance[1:]), ("A label of what came.",))
    found = evaluate(outcome.calendar, outcome.runs, outcome.week, came)
    actual = carbon_accounts(outcome.week, outcome.calendar, outcome.runs, found, known)
    assert actual.site_figures.location_kg == pytest.approx(
        accounts.site_figures.location_kg + 0.05 * accounts.site_figures.import_kwh, rel=1e-6
    )
    assert ledger.carbon(outcome.calendar, outcome.runs, "actual") is None
    enter(ledger, outcome, actual)
    enter(ledger, outcome, actual)
    read = ledger.carbon(outcome.calendar, outcome.runs, "actual")
    assert (read.sha256, read.series) == (actual.sha256, "actual")
    assert read.labels == (*outcome.calendar.notes, "A label of what came.")
    assert dict(read.sources)["average_gco2_per_kwh"] == "meter"
    assert ledger.carbon(outcome.calendar, outcome.runs).sha256 == accounts.sha256
    with sqlite3.connect(file) as raw:
        sums = (
            "SELECT a.series, sum(h.location_kg) FROM run_account_hour h JOIN carbon_account a ON a.number = h.account"
        )
        told = dict(raw.execute(f"{sums} GROUP BY a.series").fetchall())
    for one in (accounts, actual):
        assert told[one.series] == pytest.approx(sum(run.location_kg for run in one.run_figures), rel=1e-6)


BEFORE_HEAT = {table: ["heat_sold_kwh_th"] for table in ("site_account", "run_account")}


def test_a_ledger_of_before_heat_was_sold_keeps_its_accounts_and_takes_new_ones(file, tmp_path, outcome, accounts):
    with Ledger(tmp_path / "new.sqlite") as ledger:
        enter(ledger, outcome, accounts)
    move_rows(tmp_path / "new.sqlite", make_old(file, BEFORE_HEAT))
    sells = replace(accounts, series="actual", heat_sold_kwh_th=0.2 * accounts.account.it_kwh)
    with Ledger(file) as ledger:
        enter(ledger, outcome, sells)
    with Ledger(file) as ledger:
        old = ledger.carbon(outcome.calendar, outcome.runs)
        new = ledger.carbon(outcome.calendar, outcome.runs, "actual")
    assert (old.sha256, old.heat_sold_kwh_th) == (accounts.sha256, None)
    assert (new.sha256, new.heat_sold_kwh_th.tolist()) == (sells.sha256, sells.heat_sold_kwh_th.tolist())
    with sqlite3.connect(file) as raw:
        by_series = dict(
            raw.execute(
                "SELECT a.series, sum(h.heat_sold_kwh_th) FROM run_account_hour h "
                "JOIN carbon_account a ON a.number = h.account GROUP BY a.series"
            ).fetchall()
        )
        kept = raw.execute("SELECT sum(heat_sold_kwh_th) FROM run_account").fetchone()
    sold_kwh = sum(run.heat_sold_kwh_th for run in sells.run_figures)
    assert by_series == {"planned": None, "actual": pytest.approx(sold_kwh, rel=1e-6)}
    assert kept == pytest.approx((sold_kwh,))


def test_an_old_ledger_opened_many_times_at_once_gets_its_columns_once(file):
    make_old(file, BEFORE_HEAT)
    with ThreadPoolExecutor(6) as at_once:
        for opened in [at_once.submit(Ledger, file) for _ in range(6)]:
            opened.result().close()
    with sqlite3.connect(file) as raw:
        names = [row[1] for row in raw.execute("PRAGMA table_info(site_account)")]
    assert names.count("heat_sold_kwh_th") == 1


def test_a_changed_row_is_found(ledger, file, outcome, accounts):
    enter(ledger, outcome, accounts)
    with sqlite3.connect(file) as raw:
        raw.execute("UPDATE site_account SET location_kg = location_kg * 0.9 WHERE start_s % 7200 = 0")
    with pytest.raises(ConfigError, match="but were entered with"):
        ledger.carbon(outcome.calendar, outcome.runs)


def test_every_row_names_its_factor_set(ledger, file, outcome, accounts):
    enter(ledger, outcome, accounts)
    with sqlite3.connect(file) as raw:
        for table in ("site_account", "contract_account", "run_account", "run_account_slot", "run_account_hour"):
            named = f"SELECT DISTINCT f.name, f.version FROM {table} t JOIN factor_set f ON f.number = t.factor_set"
            assert raw.execute(named).fetchall() == [("made-up", "3")], table


@pytest.mark.parametrize("slot_minutes", [60, 15])
def test_the_rows_of_runs_are_their_part_of_the_site(file, slot_minutes):
    outcome = accounted_outcome() if slot_minutes == 60 else _quarters()
    accounts = sample_accounts(outcome)
    with Ledger(file) as ledger:
        enter(ledger, outcome, accounts)
    first_s = int(accounts.start.timestamp())
    slots = 60 // slot_minutes
    hour_kwh = rolled_up(accounts.run_kwh, slots)
    location_kg = rolled_up(accounts.share * accounts.account.location_kg, slots)
    with sqlite3.connect(file) as raw:
        rows = raw.execute("SELECT run, start_s, it_kwh, location_kg FROM run_account_hour").fetchall()
    assert len(rows) == int((hour_kwh > 0.0).sum())
    for run, start_s, it_kwh, kg in rows:
        r, h = accounts.runs.index(run), (start_s - first_s) // 3600
        assert it_kwh == pytest.approx(hour_kwh[r, h], rel=1e-9)
        assert kg == pytest.approx(location_kg[r, h], rel=1e-9)


def _quarters():
    """The sample outcome, its runs' windows and accounts cut at 15 minutes."""
    n = 32
    week = replace(
        tiny_week(
            n_slots=n,
            slot_minutes=15,
            ci_gco2_per_kwh=np.linspace(100.0, 400.0, n),
            blocks=(make_block(n_slots=n),),
            runs=(make_run("r1", 128, 2.0, 8.0), make_run("r2", 128, 2.0, 8.0)),
        ),
        accounting=ACCOUNTING,
    )
    still = np.zeros(n)
    on = np.where((np.arange(n) % 11) < 7, 700.0, 0.0)
    decided = Schedule(
        (
            RunSchedule("r1", "a1", on),
            RunSchedule("r2", "a1", on[::-1].copy(), ends=week.grid.start + 31.4 * week.grid.slot),
        ),
        (BlockSchedule("hall", still, still, still),),
    )
    calendar, runs = to_calendar(week, decided, status="optimal", certified_gap=None)
    return Outcome(week, calendar, runs, evaluate(calendar, runs, week), ())
