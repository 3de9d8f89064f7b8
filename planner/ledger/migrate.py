"""A ledger of any earlier release brought to the present shape, in one transaction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from planner.errors import ConfigError
from planner.ledger.carbon_tables import views
from planner.ledger.engine import WRITES

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

HEAD = "0002"
"""The last step in `planner/ledger/migrations/versions`."""

_TABLE = "alembic_version"
_LOCK = 0x67726964  # any number that no other program takes for its advisory lock on this database


def bring_up(engine: Engine) -> None:
    """Make the ledger's tables, or bring those of an earlier release to the present shape; whole or not at all.

    Args:
        engine: The database.

    Raises:
        ConfigError: A later release has written this ledger.
    """
    with engine.connect() as connection:
        if _stands_at(connection) == HEAD:
            return
    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        at = _stands_at(connection)  # of two processes one waited here, and finds nothing left to do
        if at == HEAD:
            return
        made = views(connection.dialect.name)
        for view in reversed(made):
            connection.execute(text(f"DROP VIEW IF EXISTS {view}"))
        _upgrade(connection, at)
        for statement in made.values():
            connection.execute(text(statement))


def _stands_at(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {_TABLE}")).scalar()  # noqa: S608 - our own name
    return None if found is None else str(found)


def _upgrade(connection: Connection, at: str | None) -> None:
    # Loaded here, because a ledger that stands at its last step, as nearly all do, has no use for it.
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory
    from alembic.script.revision import RevisionError
    from alembic.util import CommandError

    folder = Path(__file__).with_name("migrations")
    script = ScriptDirectory(str(folder), version_locations=[str(folder / "versions")])
    with EnvironmentContext(Config(), script) as environment:
        environment.configure(
            connection=connection,
            fn=lambda revision, _: script._upgrade_revs("head", revision),  # noqa: SLF001
        )
        try:
            environment.run_migrations()
        except (CommandError, RevisionError) as error:
            raise ConfigError(
                f"the ledger stands at step {at!r}, which this gridpace does not know: its last is {HEAD!r}",
                why="a later release has written it",
                fix="run that release, or name another ledger",
            ) from error
