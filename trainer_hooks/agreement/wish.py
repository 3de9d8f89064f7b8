"""What a rank wants at a step boundary, and what it may do there."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, Protocol

Stance = Literal["go", "wait", "save", "failed", "hold", "exit"]


class Wish(IntEnum):
    """What a rank wants; of several wishes the highest is followed, which does all that the lower ones ask."""

    GO = 0
    SAVE = 1
    HOLD = 2
    SAVE_HOLD = 3
    EXIT = 4
    SAVE_EXIT = 5

    @property
    def saves(self) -> bool:
        """Whether a checkpoint is wanted."""
        return self in {Wish.SAVE, Wish.SAVE_HOLD, Wish.SAVE_EXIT}

    @property
    def holds(self) -> bool:
        """Whether the ranks shall wait at the step boundary."""
        return self in {Wish.HOLD, Wish.SAVE_HOLD}

    @property
    def exits(self) -> bool:
        """Whether the loops shall end."""
        return self >= Wish.EXIT


class Agreement(Protocol):
    """How one rank comes to do the same as the others.

    Attributes:
        leads: Whether this rank's calendar decides about pauses; the others follow.
        may_pause: Whether this rank can pause at all.
        pause_s: How long a rank that holds or waits sleeps between two looks, s.
        retry_s: How long a rank whose wish is not heard goes on before it wishes again, s.
    """

    leads: bool
    may_pause: bool
    pause_s: float
    retry_s: float

    def due(self, step: int) -> bool:
        """Whether `stance` must be asked after this step; costs next to nothing."""

    def stance(self, step: int, wish: Wish) -> Stance:
        """Say what this rank does after a step.

        Args:
            step: Steps done.
            wish: What this rank wants.

        Returns:
            `go`: train on. `wait`: ask again soon, before the next step. `save`: write a checkpoint, call `saved`, ask
            again. `failed`: a rank could not save, so train on and try later. `hold`: stay, ask again. `exit`: end.
        """

    def saved(self, ok: bool) -> None:
        """Say whether this rank's checkpoint is written."""

    def due_in_s(self) -> float:
        """Return after how long `stance` should be asked even if nothing happens, s."""

    def close(self) -> None:
        """Leave the others."""
