"""Processes that are killed: each is forked from one that has everything loaded, and says how far it is.

What it says are single bytes: where the phase begins and ends, each statement and commit of transactions that write.
It is killed from outside at any time, or kills itself at a statement or commit by its number.
"""

from __future__ import annotations

import os
import random
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import alembic.config  # noqa: F401 - the migration loads it late
import highspy  # noqa: F401 - so does a plan
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from planner.errors import ExportError
from planner.export.report import report_html  # noqa: F401
from planner.ledger import Ledger
from planner.ledger.engine import WRITES
from planner.service.publishing import roll_back
from planner.service.schedule import JOBS, Schedule, Times
from planner.service.serve import Settings, serve
from planner.service.worker import Worker
from planner.sources.cache import ResponseCache
from tests.published import START

SITE = "Werk Süd"
BEGINS, ENDS = b"P", b"p"
OPENS, STATEMENT, COMMITS, ROLLS_BACK, COMMITTED = b"b", b".", b"c", b"r", b"d"
POINTS = frozenset(STATEMENT + COMMITS + COMMITTED)
_LEASE_S = 0.5
_FASTER = 20  # so that calendars which are made in the same second have ids of their own
_PATIENCE_S = 120.0
_BEGIN = datetime(2024, 5, 10, 12, tzinfo=UTC)


def clock(since_s: float, weeks: int = 0) -> datetime:
    """The time of the services that are killed: a Friday, and some weeks on."""
    return _BEGIN + timedelta(weeks=weeks) + _FASTER * timedelta(seconds=time.time() - since_s)


def opened(where: str) -> Ledger:
    return Ledger(where if "://" in where else Path(where))


def worker(ledger: Ledger, folder: Path, since_s: float, weeks: int) -> Worker:
    cache = ResponseCache(folder / "cache")
    name = f"instance-{os.getpid()}"
    return Worker(folder / "site.toml", SITE, ledger, cache, lambda: clock(since_s, weeks), name, offline=True)


class Marks:
    """What a process says of itself.

    Args:
        pipe: Where to.
        fatal: Number of the statement or commit of the phase at which it kills itself; None leaves that to others.
    """

    def __init__(self, pipe: Connection, fatal: int | None) -> None:
        self._pipe = pipe.fileno()
        self._kept = pipe  # closed where nobody holds it
        self._left = fatal
        self._within = False
        event.listen(Engine, "begin", lambda connection: self._of(connection, OPENS))
        event.listen(Engine, "commit", lambda connection: self._of(connection, COMMITS))
        event.listen(Engine, "rollback", lambda connection: self._of(connection, ROLLS_BACK))
        event.listen(Engine, "before_cursor_execute", lambda connection, *_: self._of(connection, STATEMENT))
        event.listen(Session, "after_commit", lambda _: self._say(COMMITTED))

    def begins(self) -> None:
        self._within = True
        self._say(BEGINS)

    def ends(self) -> None:
        self._within = False
        self._say(ENDS)

    def _of(self, connection: Any, mark: bytes) -> None:
        if connection.get_execution_options().get(WRITES):
            self._say(mark)

    def _say(self, mark: bytes) -> None:
        os.write(self._pipe, mark)
        if self._within and self._left is not None and mark[0] in POINTS:
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


def work(
    pipe: Connection, fatal: int | None, where: str, folder: Path, job: str, every_s: int, since_s: float, weeks: int
) -> None:
    """Take up by itself the job that an instance which was killed left unfinished; do it again and again if asked."""
    marks = Marks(pipe, fatal)

    class Told(Schedule):
        def run(self, name: str) -> None:
            marks.begins()
            super().run(name)
            marks.ends()

    times = {job: Times(IntervalTrigger(seconds=every_s), f"every {every_s}")} if every_s else {}
    with opened(where) as ledger:
        one = worker(ledger, folder, since_s, weeks)
        Told(one, lease_s=_LEASE_S, jobs={job: JOBS[job]}, when=lambda _: times).start()
        threading.Event().wait()


def go_back(pipe: Connection, fatal: int | None, where: str, calendar_id: str, since_s: float, weeks: int) -> None:
    """Put a calendar in force again."""
    marks = Marks(pipe, fatal)
    with opened(where) as ledger:
        marks.begins()
        roll_back(ledger, calendar_id, by="person", why="it was better", at=clock(since_s, weeks))
        marks.ends()


def migrate(pipe: Connection, fatal: int | None, where: str) -> None:
    """Bring a ledger to the present shape."""
    marks = Marks(pipe, fatal)
    marks.begins()
    ledger = opened(where)
    marks.ends()
    ledger.close()


def answer(pipe: Connection, fatal: int | None, where: str, folder: Path, port: int) -> None:
    """Serve, and meanwhile sum hours and let records go again and again."""
    marks, draw = Marks(pipe, fatal), random.Random(os.getpid())

    def keep() -> None:
        with opened(where) as ledger:
            while True:
                with suppress(ExportError):  # the database server may be killed too
                    ledger.roll_up()
                    ledger.let_go(START + timedelta(hours=draw.uniform(0.0, 24.0)))
                time.sleep(0.05)

    threading.Thread(target=keep, daemon=True).start()
    settings = Settings(
        site_file=folder / "site.toml",
        database=where if "://" in where else Path(where),
        host="127.0.0.1",
        port=port,
        tokens=None,
        hmac_key=None,
        tls=None,
        proxies=(),
        requests_per_s=1e6,
        offline=True,
        works=False,
    )
    serve(settings, lambda _: marks.begins())


class Doomed:
    """A process that is going to be killed.

    Args:
        target: What it does.
        fatal: See `Marks`.
        given: What else it is given.
    """

    def __init__(self, target: Callable[..., None], fatal: int | None, *given: Any) -> None:
        forks = get_context("forkserver")
        self._reads, writes = forks.Pipe(duplex=False)
        self.process = forks.Process(target=target, args=(writes, fatal, *given), daemon=True)
        self.process.start()
        writes.close()
        self.marks = b""

    def wait_for(self, mark: bytes) -> bool:
        """Wait for a mark; False where the process ended without it."""
        until = time.monotonic() + _PATIENCE_S
        while mark not in self.marks:
            left_s = until - time.monotonic()
            assert left_s > 0.0, f"it got no further than {self.marks[-80:]!r}"
            if select.select([self._reads], [], [], left_s)[0]:
                found = os.read(self._reads.fileno(), 65536)
                if not found:
                    return False
                self.marks += found
        return True

    def hear(self) -> bytes:
        """Return what it said and nobody has heard yet, without waiting for more."""
        while select.select([self._reads], [], [], 0.0)[0] and (found := os.read(self._reads.fileno(), 65536)):
            self.marks += found
        return self.marks

    def kill(self) -> bytes:
        """Kill it, and return what it said from the beginning of the phase on."""
        self.process.kill()
        self.process.join()
        while found := os.read(self._reads.fileno(), 65536):
            self.marks += found
        self._reads.close()
        self.process.close()
        _, begins, since = self.marks.partition(BEGINS)
        return begins + since


def load() -> None:
    """Have the process from which the others are forked load all of this now."""
    get_context("forkserver").set_forkserver_preload([__name__])
    process = get_context("forkserver").Process(target=load_nothing)
    process.start()
    process.join()


def load_nothing() -> None:
    """Do nothing."""
