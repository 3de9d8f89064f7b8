"""Tokens of a run in time: how fast it makes them in each slot, and between which instants of the slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TokenCourse:
    """When a run makes tokens: not while it reloads, which is at the start of a slot, and not while it saves.

    Args:
        tokens_per_s: Useful tokens per second between the instants, shape (T,).
        from_s: When each slot's useful running begins, seconds after the horizon's start, shape (T,).
        to_s: When it ends, likewise; no earlier, shape (T,).
    """

    tokens_per_s: Floats
    from_s: Floats
    to_s: Floats

    @property
    def tokens(self) -> Floats:
        """Tokens made by the end of each slot, shape (T,)."""
        return np.asarray(np.cumsum(self.tokens_per_s * (self.to_s - self.from_s)))

    def tokens_by(self, second: float) -> float:
        """Return the tokens made by an instant, in seconds after the horizon's start."""
        useful_s = np.clip(np.minimum(self.to_s, second) - self.from_s, 0.0, None)
        return float(self.tokens_per_s @ useful_s)


def course(tokens_per_s: Floats, spells: list[tuple[int, int, float, float]], slot_s: float) -> TokenCourse:
    """Return the course of a run that is on in spells.

    Args:
        tokens_per_s: Tokens per second while it trains, 0 where it is off, shape (T,).
        spells: (first slot, slot after the last, seconds lost at its start, seconds lost at its end) of every spell.
        slot_s: Length of a slot, s.
    """
    from_s: Floats = np.asarray(np.arange(len(tokens_per_s)) * slot_s, dtype=np.float64)
    to_s: Floats = from_s + slot_s
    for first, after, lost_s, saved_s in spells:
        spell = slice(first, after)
        from_s[spell] = np.maximum(from_s[spell], first * slot_s + lost_s)
        to_s[spell] = np.minimum(to_s[spell], after * slot_s - saved_s)
    return TokenCourse(tokens_per_s, from_s, np.maximum(from_s, to_s))
