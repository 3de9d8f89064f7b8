"""The calendar that a node's jobs follow: pulled, verified, and the last good one kept over outages and restarts."""

from __future__ import annotations

import logging
import random
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.agent.origin import Looked
from trainer_hooks.agent.repeated import Repeated
from trainer_hooks.agent.signature import SIGNATURE_LIMIT_BYTES
from trainer_hooks.calendar import HEADER_FILE, current_folder, parse_calendar, read_calendar, read_current
from trainer_hooks.errors import CalendarError
from trainer_hooks.publish import POINTER, publish_folder
from trainer_hooks.rules import check_id
from trainer_hooks.strictjson import read_bytes

if TYPE_CHECKING:
    from trainer_hooks.agent.origin import Origin
    from trainer_hooks.agent.signature import Verifier
    from trainer_hooks.contract import Calendar

_LOG = logging.getLogger("trainer_hooks.agent")
_POINTER_LIMIT_BYTES = 256
_HEADER_LIMIT_BYTES = 32 * 1024 * 1024
_RUN_LIMIT_BYTES = 16 * 1024 * 1024
_PULL_LIMIT_BYTES = 128 * 1024 * 1024
_SLOWEST = 10  # times the usual pause, between tries at a source that fails
_SPREAD_S = 0.2
_QUICK_S = 1.0  # a server that says it waits and answers sooner, again and again, is not asked without a pause
_SHORTEST_WAIT_S = 2.0
_OF_A_CUT = 0.8  # of the time after which a request was cut off, for the next one
_CUTS_FORGIVEN = 2  # requests in a row that may end without an answer before that is told as a failure
_GROWTH = 1.25  # of the wait with each answer: what a restart of the server has made short grows back


@dataclass(frozen=True)
class Kept:
    """The calendar in force on this node.

    Attributes:
        calendar_id: Its id.
        issued_at: When it was made, UTC.
        valid_from: First instant that it covers, UTC.
        valid_until: First instant that it does not cover, UTC.
        etags: Run -> SHA-256 of its file.
        files: Run -> its file.
    """

    calendar_id: str
    issued_at: datetime
    valid_from: datetime
    valid_until: datetime
    etags: dict[str, str]
    files: dict[str, Path]


class CalendarKeeper:
    """Pulls calendars into a folder of the agent's own.

    Args:
        folder: Where calendars are kept.
        origin: Where they are published.
        verifier: Refuses calendars of others; None takes any.
        runs: Runs to keep; empty keeps all.

    Attributes:
        looked: What the last look at the pointer came to.
    """

    def __init__(self, folder: Path, origin: Origin, verifier: Verifier | None, runs: frozenset[str]) -> None:
        self.kept: Kept | None = None
        self.looked = Looked(None)
        self._folder = folder
        self._origin = origin
        self._verifier = verifier
        self._runs = runs
        self._etag = ""

    def load(self) -> None:
        """Take up the calendar kept by an earlier agent, if it is whole."""
        try:
            home = current_folder(self._folder)
            content = read_bytes(home / HEADER_FILE, _HEADER_LIMIT_BYTES)
            if self._verifier is not None:
                signature = read_bytes(self._folder / f"{home.name}.sig", SIGNATURE_LIMIT_BYTES)
                self._verifier.check(content, signature, str(home))
            self.kept = self._kept(home)
        except CalendarError:
            self.kept = None  # whatever it was, the next pull makes it anew

    def pull(self, wait_s: float = 0.0) -> bool:
        """Fetch the calendar in force if it is another than the one kept.

        Args:
            wait_s: Longest wait for another one, s, where the server holds those who wait.

        Returns:
            Whether there is a new one.

        Raises:
            CalendarError: It cannot be had, is damaged, is not signed, or is older than the one kept; that one stays.
        """
        self.looked = self._origin.look(POINTER, _POINTER_LIMIT_BYTES, self._etag, wait_s)
        pointer = self.looked.pointer
        if pointer is None:
            return False
        calendar_id = pointer.content.decode("ascii", "replace").strip()
        check_id(calendar_id, POINTER)
        if self.kept is None or self.kept.calendar_id != calendar_id:
            self._take(calendar_id)
            self._etag = pointer.etag
            return True
        self._etag = pointer.etag
        return False

    def text(self, run: str) -> tuple[bytes, str] | None:
        """Return the content of a run's file and its SHA-256; None if there is no such run here.

        Raises:
            CalendarError: The file cannot be read any more.
        """
        kept = self.kept
        if kept is None or run not in kept.files:
            return None
        return read_bytes(kept.files[run], _RUN_LIMIT_BYTES), kept.etags[run]

    def _take(self, calendar_id: str) -> None:
        header = self._fetch(f"{calendar_id}/{HEADER_FILE}", _HEADER_LIMIT_BYTES)
        signature = b""
        if self._verifier is not None:
            signature = self._fetch(f"{calendar_id}.sig", SIGNATURE_LIMIT_BYTES)
            # before anything of it is parsed: a stranger's file does not come that far
            self._verifier.check(header, signature, f"calendar {calendar_id}")
        calendar = parse_calendar(header, f"{calendar_id}/{HEADER_FILE}")
        self._check_newer(calendar, calendar_id)
        files = {HEADER_FILE: header}
        size = len(header)
        for entry in calendar.runs:
            if self._runs and entry.run not in self._runs:
                continue
            files[entry.file] = self._fetch(f"{calendar_id}/{entry.file}", _RUN_LIMIT_BYTES)
            size += len(files[entry.file])
            if size > _PULL_LIMIT_BYTES:
                raise CalendarError(
                    f"calendar {calendar_id}", f"it has more than {_PULL_LIMIT_BYTES} bytes.", "Name the node's runs."
                )
        # One with other runs, or cut short by a crash, gives way; a published folder is otherwise never changed.
        shutil.rmtree(self._folder / calendar_id, ignore_errors=True)
        home = publish_folder(self._folder, calendar_id, files, in_force=False)
        try:
            kept = self._kept(home)
            if signature:
                (self._folder / f"{calendar_id}.sig").write_bytes(signature)
        except (CalendarError, OSError) as error:
            shutil.rmtree(home, ignore_errors=True)
            if isinstance(error, CalendarError):
                raise
            raise CalendarError(str(home), f"it cannot be kept ({error}).", "Free space on the disk.") from error
        publish_folder(self._folder, calendar_id, files)
        before, self.kept = self.kept, kept
        self._sweep({calendar_id} | ({before.calendar_id} if before else set()))

    def _kept(self, home: Path) -> Kept:
        """Read a kept calendar whole, every hash compared."""
        calendar = read_calendar(home, verify=False)
        entries = [entry for entry in calendar.runs if not self._runs or entry.run in self._runs]
        for entry in entries:
            read_current(home, entry.run, verify=True)
        return Kept(
            calendar.calendar_id,
            calendar.issued_at,
            calendar.valid_from,
            calendar.valid_until,
            {entry.run: entry.sha256 for entry in entries},
            {entry.run: home / entry.file for entry in entries},
        )

    def _check_newer(self, calendar: Calendar, calendar_id: str) -> None:
        if calendar.calendar_id != calendar_id:
            raise CalendarError(
                f"calendar {calendar_id}", f"its header says {calendar.calendar_id!r}.", "Publish it again."
            )
        kept = self.kept
        if self._verifier is None or kept is None:
            return
        # Without this an old calendar with its old, good signature could be handed out again. The week that follows may
        # have been planned before the last answer to an event of this one.
        if calendar.valid_until <= kept.valid_from:
            why = f"it ends at {calendar.valid_until}, before the one in force begins ({kept.valid_from})."
        elif calendar.issued_at < kept.issued_at and calendar.valid_from < kept.valid_until:
            why = f"it was made at {calendar.issued_at}, before the one in force ({kept.issued_at})."
        else:
            return
        raise CalendarError(f"calendar {calendar_id}", why, "Plan again: a calendar made now takes its place.")

    def _fetch(self, relative: str, limit_bytes: int) -> bytes:
        found = self._origin.get(relative, limit_bytes)
        if found is None:
            raise CalendarError(
                relative, "the server says it is unchanged, but it was never fetched.", "Mend the server."
            )
        return found.content

    def _sweep(self, keep: set[str]) -> None:
        with suppress(OSError):
            for entry in self._folder.iterdir():
                if entry.name == POINTER or entry.name in keep or entry.name.removesuffix(".sig") in keep:
                    continue
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink()


class CalendarPuller:
    """Pulls again and again, in a thread of its own, slower where the source fails.

    Args:
        keeper: What is pulled into.
        poll_s: Usual pause, s.
        changed: Called when there is a new calendar.
        wait_s: Longest time for which a server may hold a request until there is one, s; 0 has it hold none.
    """

    def __init__(self, keeper: CalendarKeeper, poll_s: float, changed: Callable[[], None], wait_s: float = 0.0) -> None:
        self.failures = 0
        self._keeper = keeper
        self._wait_s = self._longest_s = wait_s
        self._cuts = 0
        self._held = False
        self._quick = 0
        self._poll_s = poll_s
        self._changed = changed
        self._said = ""
        self._again = Repeated("gridpace-calendar", self.look)

    def start(self) -> None:
        """Begin."""
        self._again.start()

    def stop(self) -> None:
        """Begin no further pull."""
        self._again.stop()

    def look(self) -> float:
        """Pull once.

        Returns:
            Pause until the next pull, s.
        """
        begin_s = time.monotonic()
        try:
            new = self._keeper.pull(self._wait_s)
            if new:
                kept = self._keeper.kept
                _LOG.info("gridpace-agent: calendar %s is in force.", kept.calendar_id if kept else "?")
                self._changed()
            took_s = time.monotonic() - begin_s
            if self._keeper.looked.was_cut:
                # Whatever stands between allows less: it is asked for less. A server that is gone looks alike.
                self._wait_s = max(_SHORTEST_WAIT_S, min(self._wait_s, _OF_A_CUT * took_s))
                self._cuts += 1
                if self._cuts <= _CUTS_FORGIVEN:
                    return self._spread()
                self._fail("requests that wait end without an answer. See to the server.")
                return self._soon(self.failures)
            if self._said:
                _LOG.info("gridpace-agent: the calendar's source answers again.")
            self.failures, self._said, self._cuts = 0, "", 0
            self._held = self._keeper.looked.waits
            if self._held:
                self._wait_s = min(self._longest_s, _GROWTH * self._wait_s)
                self._quick = 0 if new or took_s >= _QUICK_S else self._quick + 1
                return self._soon(self._quick - 1) if self._quick > 1 else self._spread()
        except CalendarError as error:
            self._fail(str(error))
        except Exception as error:
            self._fail(repr(error))
        slow_s = self._poll_s * min(1 + self.failures, _SLOWEST)
        # A service that is started anew is back in seconds, and who was held there hears of an emergency again at once.
        return min(slow_s, self._soon(self.failures)) if self._held else slow_s

    def _soon(self, times: int) -> float:
        return min(self._poll_s * _SLOWEST, 2.0 ** min(times, 16)) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret

    def _spread(self) -> float:
        return random.uniform(0.0, _SPREAD_S)  # noqa: S311 - so that not all nodes ask in the same moment

    def _fail(self, sentence: str) -> None:
        self.failures += 1
        if sentence != self._said:
            self._said = sentence
            kept = "the last good one stays in force" if self._keeper.kept else "there is none in force"
            _LOG.warning("gridpace-agent: no calendar can be had, %s: %s", kept, sentence)
