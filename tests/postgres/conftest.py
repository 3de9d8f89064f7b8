from __future__ import annotations

import itertools
from urllib.parse import quote

import pytest

from tests.postgres.server import PASSWORD, missing, server

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """A running server."""
    if missing():
        pytest.skip(missing())
    with server() as running:
        yield running


@pytest.fixture
def make_url(postgres):
    """Makes a database, empty or as another one stands, and returns its URL."""
    import psycopg

    def make(like: str = "template1") -> str:
        name = f"t{next(_NUMBERS)}"
        with psycopg.connect(
            host="127.0.0.1", port=postgres.port, user="gridpace", password=PASSWORD, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {like.rpartition('/')[2]}")
        return f"postgresql://gridpace:{quote(PASSWORD, safe='')}@127.0.0.1:{postgres.port}/{name}"

    return make


@pytest.fixture
def url(make_url):
    """URL of an empty database."""
    return make_url()


def pytest_terminal_summary(terminalreporter):
    """Print what was killed where, as one table."""
    found = [
        value
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        for name, value in report.user_properties
        if name == "killed"
    ]
    if not found:
        return
    columns = list(found[0])
    terminalreporter.section("kills")
    for row in (dict(zip(columns, columns, strict=True)), *found, _sums(found)):
        terminalreporter.write_line("  ".join(f"{row[one]!s:>{max(len(one), 10)}}" for one in columns))


def _sums(rows):
    whole = {name: sum(row[name] for row in rows) for name, value in rows[0].items() if isinstance(value, int)}
    return {name: whole.get(name, "") for name in rows[0]} | {"seed": "", "phase": "all"}
