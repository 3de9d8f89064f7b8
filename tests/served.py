"""The service on loopback, really listening, with a small published calendar."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import requests
import uvicorn

from planner.calendar_id import content_id
from planner.ledger import Ledger
from planner.ledger.decisions import APPROVED, decide, draft
from planner.ledger.issued import keep_issued
from planner.service.patience import PatientProtocol
from planner.service.shelf import Shelf
from planner.service.state import Limits, ServiceState
from planner.service.tokens import TokenBook, add_token
from planner.service.web import create_app
from tests.published import START, header, off, on, run
from trainer_hooks.calendar import seal

NOON = START + timedelta(hours=12)
WINDOWS = (on(0, 4), off(4, 10), on(10, 14), off(14, 24))
ROLES = ("viewer", "planner", "agent")


@dataclass
class Clock:
    """A clock that tests set."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Served:
    """A running service.

    Attributes:
        url: Its address.
        state: What its handlers share.
        tokens: Role -> token; empty where none are needed.
        clock: Its clock.
    """

    url: str
    state: ServiceState
    tokens: dict[str, str] = field(repr=False)
    clock: Clock = field(default_factory=Clock)

    @property
    def site(self) -> str:
        return f"{self.url}/v1/sites/site"

    def call(self, method: str, path: str, role: str | None = "planner", **given) -> requests.Response:
        headers = dict(given.pop("headers", {}))
        if role in self.tokens:
            headers["Authorization"] = f"Bearer {self.tokens[role]}"
        url = path if path.startswith("http") else f"{self.url}{path}"
        return requests.request(method, url, headers=headers, timeout=20, **given)


def calendar(windows=WINDOWS, name="r1", issued=NOON - timedelta(hours=24), **changes):
    """A calendar of one day and one run under its own id, and the windows of its runs."""
    made = header(issued_at=issued, **changes)
    runs = [replace(run(name, windows), issued_at=issued)]
    called = content_id(made, runs)
    return replace(made, calendar_id=called), [replace(one, calendar_id=called) for one in runs]


def enter(ledger: Ledger, made, *, approve: bool = True, at: datetime = NOON, **inputs: bytes) -> str:
    """Enter a calendar as a draft with what is kept beside it, and approve it."""
    head, runs = made
    sealed, files = seal(head, runs)
    with ledger.writing() as session:
        ledger.enter_plan(session, head, runs, [0.2] * 24, None)
        keep_issued(session, head.calendar_id, files, {"site": b"a site file", **inputs})
        draft(session, head.calendar_id, by="service", why="daily", at=at)
        if approve:
            decide(session, head.calendar_id, APPROVED, by="policy", why="clean", at=at)
    return sealed.calendar_id


@contextmanager
def served(
    folder: Path, *, tokens: bool = True, limits: Limits | None = None, where=None, sign=None, ssl=None, port: int = 0
) -> Iterator[Served]:
    """Run a service whose ledger stands in a folder, or where it is said; at a free port, or at the one given."""
    folder.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    secrets = {role: add_token(folder / "tokens", role, role) for role in ROLES} if tokens else {}
    with Ledger(where or folder / "ledger.sqlite") as ledger:
        state = ServiceState(
            site="site",
            ledger=ledger,
            shelf=Shelf(ledger, "site", clock, sign),
            tokens=TokenBook(folder / "tokens") if tokens else None,
            clock=clock,
            limits=limits or Limits(requests_per_s=1000.0, request_burst=1000.0),
        )
        with socket.socket() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", port))
            config = uvicorn.Config(
                create_app(state),
                http=PatientProtocol,
                log_level="warning",
                access_log=False,
                lifespan="off",
                **(ssl or {}),
            )
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.005)
            scheme = "https" if ssl else "http"
            try:
                yield Served(f"{scheme}://127.0.0.1:{listening.getsockname()[1]}", state, secrets, clock)
            finally:
                for lasting in (state.changing, state.waiting):
                    lasting.end()
                server.should_exit = True
                thread.join(10)
