"""An instance is ready where its database can be written; that is tried, and not for each who asks."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from planner.ledger import Ledger
from planner.service.readiness import Readiness
from tests.served import served


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "l.sqlite") as opened:
        yield opened


def rows(ledger):
    with ledger.reading() as session:
        return session.execute(text("SELECT name, holder, until_s FROM lease")).all()


def test_a_row_is_written_once_in_five_seconds_and_stays_one(ledger):
    now = [0.0]
    one, other = (Readiness(ledger, name, lambda: now[0]) for name in ("one", "other"))
    assert (one.is_ready(), other.is_ready(), one.is_ready()) == (True, True, True)
    (row,) = rows(ledger)
    assert (row.holder, row.until_s) == ("other", 0.0)
    now[0] = 5.0
    assert one.is_ready()
    assert [row.holder for row in rows(ledger)] == ["one"]


def test_one_who_is_kept_waiting_makes_the_others_doubt(ledger):
    now, seen = [0.0], []
    readiness = Readiness(ledger, "one", lambda: now[0])
    assert readiness.is_ready()

    def hangs(*_):
        now[0] = 19.0
        seen.append(readiness.is_ready())
        now[0] = 21.0
        seen.append(readiness.is_ready())
        return True

    now[0] = 6.0
    readiness._written = hangs
    assert readiness.is_ready()
    assert seen == [False, False]


def test_a_database_that_only_reads_is_told_from_one_that_works(ledger, monkeypatch, caplog):
    now = [0.0]
    readiness = Readiness(ledger, "one", lambda: now[0])
    assert readiness.is_ready()
    with ledger.writing() as session:
        session.execute(text("CREATE TRIGGER full BEFORE UPDATE ON lease BEGIN SELECT RAISE(ABORT, 'disk full'); END"))
    assert readiness.is_ready()
    now[0] = 5.0
    assert not readiness.is_ready()
    assert "disk full" in caplog.text
    with ledger.writing() as session:
        session.execute(text("DROP TRIGGER full"))
    now[0] = 10.0
    assert readiness.is_ready()


def test_who_asks_while_another_tries_does_not_wait(ledger, monkeypatch):
    readiness = Readiness(ledger, "one")
    found = []

    def slow(_):
        found.append(readiness.is_ready())
        return True

    monkeypatch.setattr(Readiness, "_written", slow)
    assert readiness.is_ready()
    assert found == [False]


def test_a_probe_learns_that_the_service_cannot_write_and_nothing_more(tmp_path):
    with served(tmp_path) as service:
        with service.state.ledger.writing() as session:
            session.execute(text("DROP TABLE lease"))
        answer = service.call("GET", "/readyz", None)
    assert (answer.status_code, answer.json()["error"]["what"]) == (503, "the database cannot be written")
