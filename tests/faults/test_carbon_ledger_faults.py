"""A ledger whose disk is full keeps nothing of a plan and its accounts, and goes on when there is room again."""

from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy import event

from planner.errors import ExportError
from planner.ledger import Ledger
from tests.accounting import accounted_outcome, sample_accounts

TABLES = ("plan", "planned_window", "slot_carbon", "carbon_account", "site_account", "run_account", "factor_set")


@pytest.fixture(scope="module")
def outcome():
    return accounted_outcome()


@pytest.mark.parametrize("pages_left", [1, 4, 8, 12])
def test_nothing_of_a_plan_is_kept_where_the_disk_is_full(tmp_path, outcome, pages_left):
    file = tmp_path / "ledger.sqlite"
    accounts = sample_accounts(outcome)
    given = (outcome.calendar, outcome.runs, [0.0] * outcome.calendar.n_slots, accounts)
    with Ledger(file) as ledger:
        with sqlite3.connect(file) as raw:
            (pages,) = raw.execute("PRAGMA page_count").fetchone()

        def full(connection, _record):
            connection.execute(f"PRAGMA max_page_count = {pages + pages_left}")

        event.listen(ledger._engine, "connect", full)
        ledger._engine.dispose()
        with pytest.raises(ExportError, match="database or disk is full") as told:
            ledger.record_plan(*given)
        assert told.value.why == "nothing of this transaction was kept"
        with sqlite3.connect(file) as raw:
            assert {
                table: raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES
            } == dict.fromkeys(TABLES, 0)
        event.remove(ledger._engine, "connect", full)
        ledger._engine.dispose()
        assert ledger.record_plan(*given) is True
        assert ledger.carbon(outcome.calendar, outcome.runs).sha256 == accounts.sha256
