"""A ledger of any earlier release becomes one of this release, whole or not at all, and loses nothing."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, event

from planner.errors import ConfigError, ExportError
from planner.ledger import Ledger, migrate, service_tables
from planner.ledger.tables import Table
from tests.accounting import accounted_outcome, sample_accounts
from tests.old_ledger import contents, make_old, move_rows
from tests.published import CALENDAR_ID, START, header, off, on, run
from tests.unit.test_ledger import RATE, planned, record, write

FOLDER = Path(migrate.__file__).with_name("migrations")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A ledger with a row in every table that old ledgers have."""
    folder = tmp_path_factory.mktemp("filled")
    outcome = accounted_outcome()
    with Ledger(folder / "ledger.sqlite") as ledger:
        planned(ledger)
        ledger.record_plan(outcome.calendar, outcome.runs, [0.1] * outcome.calendar.n_slots, sample_accounts(outcome))
        ledger.ingest(write(folder / "t.jsonl", record(0, 0, 4), record(1, 10, 13, boards=("GPU-a", "GPU-b"))))
    return folder / "ledger.sqlite"


def test_an_old_ledger_keeps_every_row(filled, tmp_path):
    old = make_old(tmp_path / "ledger.sqlite")
    move_rows(filled, old)
    before = contents(old)
    assert all(before.values())
    with Ledger(old) as ledger:
        (account,) = ledger.accounts(CALENDAR_ID, START.replace(hour=12))
        assert account.tokens == pytest.approx(5.4e6)
    assert contents(old) == before
    with closing(sqlite3.connect(old)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("SELECT version_num FROM alembic_version").fetchall() == [(migrate.HEAD,)]


@pytest.mark.parametrize("pages_left", [0, 3, 10, 15])
def test_a_migration_that_fails_midway_leaves_the_old_ledger_as_it_was(filled, tmp_path, pages_left, monkeypatch):
    old = make_old(tmp_path / "ledger.sqlite")
    move_rows(filled, old)
    before = contents(old)
    with closing(sqlite3.connect(old)) as database:
        schema = database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        (pages,) = database.execute("PRAGMA page_count").fetchone()

    opened = migrate.bring_up

    def on_a_full_disk(engine):
        event.listen(engine, "connect", lambda c, _: c.execute(f"PRAGMA max_page_count = {pages + pages_left}"))
        opened(engine)

    monkeypatch.setattr("planner.ledger.database.bring_up", on_a_full_disk)
    with pytest.raises(ExportError, match="full"):
        Ledger(old)
    monkeypatch.undo()
    assert contents(old) == before
    with closing(sqlite3.connect(old)) as database:
        assert database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() == schema
    Ledger(old).close()
    assert contents(old) == before


def test_many_that_open_an_old_ledger_at_once_bring_it_up_once(filled, tmp_path):
    old = make_old(tmp_path / "ledger.sqlite")
    move_rows(filled, old)
    before = contents(old)
    with ThreadPoolExecutor(6) as at_once:
        for opened in [at_once.submit(Ledger, old) for _ in range(6)]:
            opened.result().close()
    assert contents(old) == before


def test_a_ledger_of_a_later_release_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    with pytest.raises(ConfigError, match="stands at step '9999', which this gridpace does not know"):
        Ledger(path)


def test_the_last_step_is_the_head():
    script = ScriptDirectory(str(FOLDER), version_locations=[str(FOLDER / "versions")])
    assert script.get_heads() == [migrate.HEAD]


def test_the_steps_end_at_the_tables_that_the_program_knows(tmp_path):
    assert service_tables.LeaseRow.__table__.metadata is Table.metadata
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), Table.metadata)
    engine.dispose()
    assert found == []


def test_a_plan_entered_twice_is_one_row(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert planned(ledger) is True
        assert ledger.record_plan(header(), [run("r1", (on(0, 4), off(4, 24)))], RATE) is False
