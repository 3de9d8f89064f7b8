"""Calendars at hand for those who ask again and again: a file never changes; which is in force is asked each second."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from planner.ledger.decisions import APPROVED, in_force, standing
from planner.ledger.issued import StoredFile, issued_file
from trainer_hooks.calendar import HEADER_FILE, parse_calendar

if TYPE_CHECKING:
    from planner.ledger import Ledger

_FRESH_S = 1.0
_USABLE_S = 5.0
_KEEP_BYTES = 64 * 1024 * 1024


class Shelf:
    """Hands out what is approved, and nothing else.

    Args:
        ledger: The database.
        site: The site.
        clock: Gives the present time, UTC.
        sign: Returns the signature of a header's bytes; None signs nothing.
        steady: Seconds of any steady clock.
    """

    def __init__(
        self,
        ledger: Ledger,
        site: str,
        clock: Callable[[], datetime],
        sign: Callable[[bytes], bytes] | None = None,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._site = site
        self._clock = clock
        self._sign = sign
        self._steady = steady
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._current: str | None = None
        self._asked_s: float | None = None
        self._files: OrderedDict[tuple[str, str], StoredFile] = OrderedDict()
        self._size = 0
        self._runs: dict[str, dict[str, str]] = {}

    @property
    def fresh(self) -> bool:
        """Whether which calendar is in force is known without asking the database.

        While one asks, the others go by what was known a moment ago: they would all wait where the database is slow.
        """
        return self._known_within(_USABLE_S if self._asking.locked() else _FRESH_S)

    @property
    def known(self) -> str | None:
        """The calendar in force when it was last asked for."""
        return self._current

    def forget(self) -> None:
        """Ask the database next time: something was decided."""
        self._asked_s = None

    def current(self) -> str | None:
        """Return the calendar in force, or None where none was ever approved."""
        if self.fresh:
            return self._current
        with self._asking:  # of many who come at once one asks, and the others wait for what it hears
            if not self._known_within(_FRESH_S):
                with self._ledger.reading() as session:
                    self._current = in_force(session, self._site, self._clock())
                self._asked_s = self._steady()
            return self._current

    def tag_at_hand(self, run: str | None) -> str | None:
        """Return the tag of the pointer, or of a run's windows in force, where it is known without the database.

        Args:
            run: The run; None asks for the pointer.
        """
        if run is not None:
            found = self.run_at_hand(run)
            return None if found is None else found.sha256
        return self._current if self.fresh else None

    def run_at_hand(self, run: str) -> StoredFile | None:
        """Return a run's windows in force where they are known without the database, else None."""
        current = self._current if self.fresh else None
        path = None if current is None else self._runs.get(current, {}).get(run)
        return None if current is None or path is None else self.file_at_hand(current, path)

    def file_at_hand(self, calendar_id: str, path: str) -> StoredFile | None:
        """Return a file as `file` does where it is in memory, else None."""
        with self._lock:
            found = self._files.get((calendar_id, path))
            if found is not None:
                self._files.move_to_end((calendar_id, path))
            return found

    def file(self, calendar_id: str, path: str) -> StoredFile | None:
        """Return a file of an approved calendar of this site, or None.

        Args:
            calendar_id: The calendar.
            path: Path inside its folder, or "sig" for its signature.
        """
        kept = self.file_at_hand(calendar_id, path)
        if kept is not None:
            return kept
        with self._ledger.reading() as session:
            stands = standing(session, calendar_id)
            if stands is None or (stands.site, stands.state) != (self._site, APPROVED):
                return None
            found = issued_file(session, calendar_id, HEADER_FILE if path == "sig" else path)
        if path == "sig" and found is not None:
            found = None if self._sign is None else StoredFile(self._sign(found.content), found.sha256)
        if found is not None:
            self._keep((calendar_id, path), found)
        return found

    def run_path(self, calendar_id: str, run: str) -> str | None:
        """Return where a run's file stands in an approved calendar, or None where it has no such run."""
        known = self._runs.get(calendar_id)
        if known is None:
            header = self.file(calendar_id, HEADER_FILE)
            if header is None:
                return None
            calendar = parse_calendar(header.content, f"{calendar_id}/{HEADER_FILE}")
            known = {entry.run: entry.file for entry in calendar.runs}
            self._runs = {calendar_id: known}  # nearly everyone asks for the one in force
        return known.get(run)

    def _known_within(self, age_s: float) -> bool:
        asked_s = self._asked_s  # another thread may forget it meanwhile
        return asked_s is not None and self._steady() - asked_s < age_s

    def _keep(self, key: tuple[str, str], found: StoredFile) -> None:
        with self._lock:
            if key not in self._files:
                self._files[key] = found
                self._size += len(found.content)
            while self._size > _KEEP_BYTES and len(self._files) > 1:
                self._size -= len(self._files.popitem(last=False)[1].content)
