"""The page about PostgreSQL, on a server of its own; what it installs by `[postgres,service]` stands here already."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.pages import ON_POSTGRESQL, beside, run_page
from tests.postgres.server import PASSWORD, missing, server

pytestmark = pytest.mark.postgres


@pytest.fixture
def administered():
    """A server that knows its administrator alone, as a new one does, and how the administrator reaches it."""
    if missing():
        pytest.skip(missing())
    import psycopg

    with server() as running:
        reached = {"host": "127.0.0.1", "port": running.port, "password": PASSWORD, "dbname": "postgres"}
        with psycopg.connect(**reached, user="gridpace", autocommit=True) as connection:
            connection.execute("CREATE ROLE administrator SUPERUSER LOGIN")
            connection.execute(f"ALTER ROLE administrator PASSWORD '{PASSWORD}'")
        with psycopg.connect(**reached, user="administrator", autocommit=True) as connection:
            connection.execute("ALTER ROLE gridpace RENAME TO somebody")
        names = {f"PG{name.upper()}": str(value) for name, value in reached.items() if name != "dbname"}
        yield running, names | {"PGUSER": "administrator", "PGDATABASE": "postgres"}


@pytest.mark.parametrize("name", ON_POSTGRESQL)
def test_commands(name, administered, root, tmp_path):
    running, reached = administered
    environment = {
        **os.environ,
        **reached,
        "PATH": f"{running._programs}{os.pathsep}{beside(Path(sys.executable).parent)}",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(root),
    }
    ran = run_page(name, tmp_path, environment, 300.0, changed=(":5432/", f":{running.port}/"))
    assert ran.code == 0, f"{ran.last}\n{ran.output}"
