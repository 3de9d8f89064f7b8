from __future__ import annotations

import itertools
from urllib.parse import quote

import pytest

from tests.postgres.server import PASSWORD, missing, server

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """Port of a running server."""
    if missing():
        pytest.skip(missing())
    with server() as port:
        yield port


@pytest.fixture
def url(postgres):
    """URL of an empty database."""
    import psycopg

    name = f"t{next(_NUMBERS)}"
    with psycopg.connect(
        host="127.0.0.1", port=postgres, user="gridpace", password=PASSWORD, dbname="postgres", autocommit=True
    ) as server_connection:
        server_connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql://gridpace:{quote(PASSWORD, safe='')}@127.0.0.1:{postgres}/{name}"
