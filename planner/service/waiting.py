"""Callers who have the calendar in force and wait for the next: held, and told as soon as there is one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from planner.errors import GridpaceError

if TYPE_CHECKING:
    from starlette.types import Receive

    from planner.service.shelf import Shelf

LONGEST_S = 60.0
LOOK_S = 0.2


class Waiting:
    """Holds requests until another calendar is in force; all that wait share one look.

    A held request is a connection and a coroutine, no thread. Beyond `most` nobody more is held: they are answered at
    once, and come again after their usual pause.

    Args:
        shelf: Knows which calendar is in force.
        most: Requests held at once.
        look_s: Pause between two looks at the shelf, s.
    """

    def __init__(self, shelf: Shelf, most: int, look_s: float = LOOK_S) -> None:
        self._shelf = shelf
        self._most = most
        self._look_s = look_s
        self._turns: set[asyncio.Future[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._over = False

    @property
    def held(self) -> int:
        """Requests held now."""
        return len(self._turns)

    @property
    def has_room(self) -> bool:
        """Whether one more can be held."""
        return self.held < self._most and not self._over

    def end(self) -> None:
        """Hold nobody any more: the service ends."""
        self._over = True

    async def until_changed(self, tag: str, wait_s: float, receive: Receive) -> None:
        """Return when another calendar than `tag` is in force, the time is over, or the caller has gone.

        Args:
            tag: The calendar that the caller has, which was in force a moment ago.
            wait_s: Longest wait, s.
            receive: The caller's messages.
        """
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        gone = loop.create_task(_gone(receive))
        gone.add_done_callback(lambda _: _wake(turn))
        late = loop.call_later(min(wait_s, LONGEST_S), _wake, turn)
        self._turns.add(turn)
        if self._looking is None or self._looking.done():
            self._looking = loop.create_task(self._look(tag))
        try:
            await turn
        finally:
            self._turns.discard(turn)
            late.cancel()
            gone.cancel()

    async def _look(self, seen: str | None) -> None:
        while self._turns:
            found = await self._current(seen)
            if self._over or found != seen:
                seen = found
                for turn in tuple(self._turns):
                    _wake(turn)
            await asyncio.sleep(self._look_s)

    async def _current(self, seen: str | None) -> str | None:
        if self._shelf.fresh:
            return self._shelf.known
        try:
            return await run_in_threadpool(self._shelf.current)
        except GridpaceError:
            return seen  # whoever asks anew is told that the database does not answer


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
