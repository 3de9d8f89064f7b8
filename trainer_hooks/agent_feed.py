"""A run's calendar as the node agent hands it out, verified there and checked again here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer_hooks.calendar import parse_run
from trainer_hooks.errors import CalendarError

if TYPE_CHECKING:
    from trainer_hooks.agent_client import AgentClient
    from trainer_hooks.contract import RunCalendar


class AgentFeed:
    """Looks for a newer calendar at the agent; a look without news costs no request of its own.

    Args:
        client: The agent.
        run: Name of the run.
    """

    def __init__(self, client: AgentClient, run: str) -> None:
        self._client = client
        self._run = run
        self._etag = ""

    def poll(self) -> RunCalendar | None:
        """Return the calendar if it is another than at the last successful call, else None.

        Raises:
            HookError: The agent is gone, has none for this run, or hands out one that cannot be followed.
        """
        # asked at the first call too, so that the heartbeat brings news of this run from then on
        has_news = self._client.newer(self._run, self._etag)
        if self._etag and not has_news:
            return None
        found = self._client.calendar(self._run, self._etag)
        if found is None:
            return None
        content, etag = found
        calendar = parse_run(content, f"calendar of {self._client.path}")
        if calendar.run != self._run:
            raise CalendarError(
                f"calendar of {self._client.path}",
                f"it is for run {calendar.run!r}, not {self._run!r}.",
                "Set GRIDPACE_RUN.",
            )
        self._etag = etag
        return calendar
