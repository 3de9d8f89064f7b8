"""What every request handler needs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from planner.folders import folder_name
from planner.service.bell import Bell
from planner.service.live.changing import Changing
from planner.service.readiness import Readiness
from planner.service.waiting import Waiting

if TYPE_CHECKING:
    from planner.ledger import Ledger
    from planner.service.shelf import Shelf
    from planner.service.tokens import TokenBook


class Counts:
    """Counters of this instance, by name and label."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, label: str = "", amount: int = 1) -> None:
        """Count."""
        with self._lock:
            self._values[name, label] += amount

    def items(self) -> list[tuple[tuple[str, str], int]]:
        """Return all counts in order of name and label."""
        with self._lock:
            return sorted(self._values.items())


@dataclass(frozen=True)
class Limits:
    """What callers may cost.

    Args:
        requests_per_s: Requests of one caller, 1/s, in the long run.
        request_burst: Requests of one caller at once.
        failures_per_s: Wrong tokens from one address, 1/s, in the long run.
        failure_burst: Wrong tokens from one address at once.
        telemetry_bytes: Largest batch of telemetry, bytes.
        body_bytes: Largest other body, bytes.
        body_s: Longest time that a body may take to come, s.
        most_waiting: Requests held until another calendar is in force, at once.
    """

    requests_per_s: float = 20.0
    request_burst: float = 200.0
    failures_per_s: float = 0.2
    failure_burst: float = 20.0
    telemetry_bytes: int = 8 * 1024 * 1024
    body_bytes: int = 1024 * 1024
    body_s: float = 60.0
    most_waiting: int = 30_000


@dataclass(frozen=True)
class ServiceState:
    """What every request handler needs.

    Args:
        site: Name of the site.
        ledger: The database.
        shelf: Calendars to hand out.
        tokens: Who may call; None lets only this machine, which then needs no token.
        clock: Gives the present time, UTC.
        limits: What callers may cost.
        counts: Counters of this instance.
        instance: Name of this instance.
        bell: Rung when an event came in.
    """

    site: str
    ledger: Ledger
    shelf: Shelf
    tokens: TokenBook | None
    clock: Callable[[], datetime]
    limits: Limits = field(default_factory=Limits)
    counts: Counts = field(default_factory=Counts)
    instance: str = ""
    bell: Bell = field(default_factory=Bell)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """What the paths of the site begin with: it goes by its name, and by that of its folder."""
        return tuple({f"/v1/sites/{name}/" for name in (self.site, folder_name(self.site))})

    @cached_property
    def changing(self) -> Changing:
        """What all who watch the page share."""
        return Changing(self.ledger, self.site, self.clock)

    @cached_property
    def waiting(self) -> Waiting:
        """What all who wait for another calendar share."""
        return Waiting(self.shelf, self.limits.most_waiting)

    @cached_property
    def readiness(self) -> Readiness:
        """Whether the database can be written, proved now and then."""
        return Readiness(self.ledger, self.instance)
