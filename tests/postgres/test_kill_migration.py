"""A migration killed at random points, on both databases: the ledger is as before, or whole in its new shape."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest
from sqlalchemy import column, inspect, select, table, text

from planner.ledger.engine import open_engine
from planner.ledger.migrations.versions import plans_and_telemetry
from planner.ledger.tables import Table
from tests.old_ledger import make_old, move_rows
from tests.postgres import doomed
from tests.postgres.doomed import Doomed, opened
from tests.postgres.killing import Tally, kill_often
from tests.unit.test_ledger import planned, record

pytestmark = pytest.mark.postgres
KILLS = 25


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    doomed.load()


def shape(where):
    """Tables, views and columns."""
    engine = open_engine(where if "://" in where else Path(where))
    with engine.connect() as connection:
        found = inspect(connection)
        tables = {name: [one["name"] for one in found.get_columns(name)] for name in found.get_table_names()}
        views = set(found.get_view_names())
    engine.dispose()
    return tables, views


def rows_of(where, tables):
    """Rows of the tables, without columns that later releases add."""
    engine = open_engine(where if "://" in where else Path(where))
    with engine.connect() as connection:
        found = {
            name: sorted(map(repr, connection.execute(select(*map(column, columns)).select_from(table(name)))))
            for name, columns in tables.items()
        }
    engine.dispose()
    return found


def filled(where):
    """A ledger with a plan and telemetry under it."""
    with opened(where) as ledger:
        planned(ledger)
        ledger.take_in([record(i, i / 300, (i + 1) / 300) for i in range(1000)])


def make_unnumbered(url):
    """Take away what the last step added, and the number of the step."""
    engine = open_engine(url)
    with engine.begin() as connection:
        later = set(Table.metadata.tables) - set(plans_and_telemetry._tables().tables)
        for view in inspect(connection).get_view_names():
            connection.execute(text(f"DROP VIEW IF EXISTS {view} CASCADE"))
        for table in (*later, "alembic_version"):
            connection.execute(text(f'DROP TABLE "{table}" CASCADE'))
        connection.execute(text("ALTER TABLE telemetry DROP COLUMN energy_share"))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def make_old_ledger(request, tmp_path):
    """Makes ledgers as an earlier release left them, with the same rows."""
    if request.param == "postgresql":
        make_url = request.getfixturevalue("make_url")
        template = make_url()
        filled(template)
        make_unnumbered(template)
        return lambda: make_url(template)
    filled(str(tmp_path / "new.sqlite"))
    move_rows(tmp_path / "new.sqlite", make_old(tmp_path / "old.sqlite"))
    numbers = itertools.count()
    return lambda: str(shutil.copy(tmp_path / "old.sqlite", tmp_path / f"{next(numbers)}.sqlite"))


def test_a_migration_that_is_killed_is_whole_or_was_not(make_old_ledger, record_property):
    where = make_old_ledger()
    old, new = shape(where), None
    before = rows_of(where, old[0])
    opened(where).close()
    new = shape(where)
    assert set(old[0]) < set(new[0])
    tally = Tally("migration", where, 5)

    def prepare():
        nonlocal where
        if shape(where) == new:
            where = make_old_ledger()
            return True
        return False

    def check(_):
        assert shape(where) in (old, new)
        assert rows_of(where, old[0]) == before

    kill_often(tally, KILLS, lambda fatal: Doomed(doomed.migrate, fatal, where), prepare, check)
    assert shape(where) == new
    record_property("killed", tally.row)
    assert tally.row["in a transaction"] >= KILLS // 2
