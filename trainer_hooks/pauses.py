"""What a pause of the calendar means for this training: hold or end, with or without a checkpoint, and for how long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trainer_hooks.agreement.wish import Wish

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from trainer_hooks.breakeven import PauseCosts
    from trainer_hooks.directive import Directive

OnOff = Literal["exit", "wait"]
OnHold = Literal["hold", "auto"]


@dataclass(frozen=True)
class PauseRules:
    """How pauses are followed.

    Attributes:
        on_off: At an `off` window, `exit` ends the loop after saving; `wait` waits like a hold.
        on_hold: At a `hold` window, `hold` waits; `auto` saves and ends the loop where that costs fewer joules, for
            jobs that are started again when the window ends.
        cap_s: Longest hold at a stretch, s, where something may be outstanding.
        drained_cap_s: The same where nothing is.
    """

    on_off: OnOff = "exit"
    on_hold: OnHold = "hold"
    cap_s: float = math.inf
    drained_cap_s: float = math.inf


@dataclass(frozen=True)
class Standing:
    """How the training stands at a step boundary.

    Attributes:
        saved: Whether its state is in a checkpoint.
        can_save: Whether a checkpoint can be written.
        backing_off: Whether a failed checkpoint waits for its next try.
        stopping: Whether the job was told to stop.
    """

    saved: bool
    can_save: bool
    backing_off: bool
    stopping: bool


class Pauses:
    """Turns what the calendar asks for into a wish, and keeps the length of the hold under way.

    Args:
        rules: How pauses are followed.
        costs: Returns what pausing costs.
        monotonic: Clock, s.
    """

    def __init__(self, rules: PauseRules, costs: Callable[[], PauseCosts], monotonic: Callable[[], float]) -> None:
        self.rules = rules
        self.drained = False
        self._costs = costs
        self._monotonic = monotonic
        self._handled: datetime | None = None
        self._since_s: float | None = None

    def wish(self, asked: Directive, remaining_s: float, stands: Standing) -> Wish:
        """Say what this rank wants.

        A checkpoint that is due and cannot be written now is more than a pause: the training goes on until it can.

        Args:
            asked: What the calendar asks for now.
            remaining_s: How long the holds that follow each other still last, s; 0 outside of one.
            stands: How the training stands.
        """
        if stands.stopping:
            return Wish.EXIT if stands.saved or not stands.can_save else Wish.SAVE_EXIT
        due = asked.boundary is not None and asked.boundary != self._handled and not stands.saved
        if due and stands.backing_off:
            return Wish.GO
        saves = due and stands.can_save
        if asked.state in {"run", "safe"}:
            if asked.boundary is not None and not saves:
                self._handled = asked.boundary
            return Wish.SAVE if saves else Wish.GO
        if self.must_breathe():
            return Wish.GO
        exits = self.rules.on_off == "exit" if asked.state == "off" else self._exit_is_cheaper(remaining_s)
        if exits and (stands.saved or stands.can_save):
            return Wish.EXIT if stands.saved else Wish.SAVE_EXIT
        return Wish.SAVE_HOLD if saves else Wish.HOLD

    def holding(self) -> None:
        """Note that the training holds."""
        if self._since_s is None:
            self._since_s = self._monotonic()

    def ended(self) -> None:
        """Note that it trains again."""
        self._since_s = None
        self.drained = False

    def held(self) -> bool:
        """Whether it holds, or has just been let go."""
        return self._since_s is not None

    def left_s(self) -> float:
        """Return how long this hold may still last before a step must be trained, s."""
        cap_s = self.rules.drained_cap_s if self.drained else self.rules.cap_s
        return cap_s - (self._monotonic() - self._since_s if self._since_s is not None else 0.0)

    def must_breathe(self) -> bool:
        """Whether the hold has lasted as long as the watchdogs allow: one step is trained, then it goes on."""
        return self._since_s is not None and self.left_s() <= 0

    def _exit_is_cheaper(self, remaining_s: float) -> bool:
        return self.rules.on_hold == "auto" and self._costs().cheaper(remaining_s) == "exit"
