"""Where the joules of a stretch went: useful training, and five ways of wasting them that add up to the rest."""

from __future__ import annotations

from dataclasses import dataclass, fields

# The recorded states of a Governor in which its joules are lost whole; in the others it trains.
_HOLDS = frozenset({"hold", "wait"})
IDLE_STATES = frozenset({*_HOLDS, "exit"})


@dataclass(frozen=True)
class Waste:
    """Joules that trained nothing that is kept; the energy less all of these was useful.

    Attributes:
        starvation_j: The loop waited for its data, J: that time's share of the energy.
        hold_j: The calendar held the training or had it wait, J.
        checkpoint_j: Checkpoints were written, J.
        recompute_j: Work that was lost to a rollback and has to be done again, J. It may exceed the energy of its own
            stretch, because it takes back what earlier ones counted as useful.
        overhead_j: Start-up before the first step, the end, and time without a step, J.
    """

    starvation_j: float = 0.0
    hold_j: float = 0.0
    checkpoint_j: float = 0.0
    recompute_j: float = 0.0
    overhead_j: float = 0.0

    @property
    def total_j(self) -> float:
        """All of them, J."""
        return self.starvation_j + self.hold_j + self.checkpoint_j + self.recompute_j + self.overhead_j

    def plus(self, other: Waste) -> Waste:
        """Add those of another stretch."""
        return Waste(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Waste)))


NO_WASTE = Waste()


def idle_waste(state: str, energy_j: float, trained: bool, starved_share: float, startup_j: float) -> Waste:
    """Say what of a stretch's energy trained nothing.

    Args:
        state: State of the Governor.
        energy_j: Energy of the stretch, J.
        trained: Whether a step was done in it.
        starved_share: Share of its time in which the loop waited for data, 0 to 1.
        startup_j: Energy of it before the first step of all, J.

    Returns:
        The waste, without `recompute_j`; the energy less it went into training.
    """
    if state in _HOLDS:
        return Waste(hold_j=energy_j)
    if state == "save":
        return Waste(checkpoint_j=energy_j)
    if state == "exit" or not trained:
        return Waste(overhead_j=energy_j)
    after_j = energy_j - startup_j
    return Waste(starvation_j=min(max(starved_share, 0.0), 1.0) * after_j, overhead_j=startup_j)
