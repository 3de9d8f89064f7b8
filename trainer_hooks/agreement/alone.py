"""The agreement of a rank with itself: it does what it wants, or, beside others it cannot speak to, never pauses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trainer_hooks.agreement.wish import Stance, Wish

if TYPE_CHECKING:
    from typing import Final

_HOLD_SLICE_S: Final = 1.0


class Alone:
    """A training of one rank.

    Args:
        may_pause: False for one of several ranks that cannot agree: it never holds, because ranks that stop at
            different steps hang in their next collective.
    """

    pause_s = _HOLD_SLICE_S
    retry_s = math.inf

    def __init__(self, *, may_pause: bool = True) -> None:
        self.leads = self.may_pause = may_pause
        self._failed = False

    def due(self, _step: int) -> bool:
        """Never: only the clock calls for attention."""
        return False

    def stance(self, _step: int, wish: Wish) -> Stance:
        """Grant the wish, a failed checkpoint first."""
        if self._failed:
            self._failed = False
            return "failed"
        if wish.saves:
            return "save"
        return "exit" if wish.exits else "hold" if wish.holds and self.may_pause else "go"

    def saved(self, ok: bool) -> None:
        """Remember a failure until the next stance."""
        self._failed = not ok

    def due_in_s(self) -> float:
        """Nothing but the calendar asks for attention."""
        return math.inf

    def close(self) -> None:
        """Nobody is left behind."""
