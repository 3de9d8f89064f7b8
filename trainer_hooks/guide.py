"""The calendar in force, renewed from where it is published, and what it asks for now."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trainer_hooks.directive import Directive, directive, hold_ends
from trainer_hooks.errors import HookError

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.clock import Clock
    from trainer_hooks.contract import RunCalendar
    from trainer_hooks.watch import Feed

NOTHING_ASKED = Directive("safe", None, None, None)


class Guide:
    """Follows one run's calendars.

    Args:
        calendar: Calendar to begin with; None to wait for the feed's.
        clock: Time.
        poll_s: How often a newer calendar is looked for, s.
        say: Takes a sentence to be said once.

    Attributes:
        calendar: The calendar in force.
        feed: Where newer calendars come from; None for nowhere.
    """

    def __init__(self, calendar: RunCalendar | None, clock: Clock, poll_s: float, say: Callable[[str], None]) -> None:
        self.calendar = calendar
        self.feed: Feed | None = None
        self._clock = clock
        self._poll_s = poll_s
        self._say = say
        self._due_s = clock.monotonic()
        self._began = clock.wall()

    def look_soon(self) -> None:
        """Look for a newer calendar at the next call."""
        self._due_s = self._clock.monotonic()

    def newer(self) -> RunCalendar | None:
        """Look for a newer calendar, if it is time to.

        Raises:
            HookError: The feed cannot be read; the calendar in force stays.
        """
        now_s = self._clock.monotonic()
        if self.feed is None or now_s < self._due_s:
            return None
        self._due_s = now_s + self._poll_s
        try:
            return self.feed.poll()
        except HookError as error:
            kept = "the one in force is kept" if self.calendar else "training runs free"
            self._say(f"no calendar can be read, {kept}: {error}")
            raise

    def ask(self, lead_s: float) -> Directive:
        """Say what the calendar asks for now.

        Args:
            lead_s: How long a checkpoint takes, s.
        """
        if self.calendar is None:
            return NOTHING_ASKED
        asked = directive(self.calendar, self._clock.wall(), lead_s, self._began)
        if asked.state == "safe":
            begins = f"is not valid yet, it begins at {asked.until:%Y-%m-%dT%H:%M:%SZ}" if asked.until else ""
            when = begins or "has ended"
            self._say(f"calendar {self.calendar.calendar_id} {when}: training runs free, without a limit of ours.")
        return asked

    def remaining_s(self) -> float:
        """Return how long the holds that follow each other from now on last, s; 0 outside of one."""
        now = self._clock.wall()
        ends = None if self.calendar is None else hold_ends(self.calendar, now)
        return 0.0 if ends is None else (ends - now).total_seconds()

    def due_in_s(self, lead_s: float) -> float:
        """Return after how long to ask again, or to look for a newer calendar, s."""
        due_s = math.inf if self.feed is None else self._due_s - self._clock.monotonic()
        if self.calendar is None:
            return due_s
        now = self._clock.wall()
        until = directive(self.calendar, now, lead_s, self._began).until
        return due_s if until is None else min(due_s, (until - now).total_seconds())
