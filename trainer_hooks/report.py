"""What a training process did, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer_hooks.meter import Energy


@dataclass(frozen=True)
class GovernorReport:
    """Sums over the life of one Governor.

    Attributes:
        run: Name of the run.
        calendar_id: Calendar in force; None if there is none.
        tokens: Tokens trained.
        useful_tokens: Tokens trained less those lost to rollbacks.
        energy: Energy with source and error.
        gpus: Number of GPU boards metered.
        seconds: State -> time spent in it, s.
        adherence: Share of the time under a calendar that was spent in the state it asked for; None without one.
        planned_tokens: Tokens the calendar expected of the whole gang in that time.
    """

    run: str
    calendar_id: str | None
    tokens: int
    useful_tokens: int
    energy: Energy
    gpus: int
    seconds: Mapping[str, float]
    adherence: float | None
    planned_tokens: float

    @property
    def scope(self) -> str:
        """What the joules cover."""
        boards = "1 GPU board" if self.gpus == 1 else f"{self.gpus} GPU boards"
        return f"{boards} of this process, without host, network and cooling"

    @property
    def tokens_per_joule(self) -> float | None:
        """Useful tokens per joule; None without energy."""
        return self.useful_tokens / self.energy.energy_j if self.energy.energy_j > 0 else None

    @property
    def tokens_per_joule_error(self) -> float | None:
        """Half-width of its uncertainty; tokens are exact, so it is the energy's."""
        ratio = self.tokens_per_joule
        return None if ratio is None else ratio * self.energy.error_j / self.energy.energy_j

    def __str__(self) -> str:
        ratio, error = self.tokens_per_joule, self.tokens_per_joule_error
        per_joule = "not known" if ratio is None else f"{ratio:.4g} +- {error:.2g} tokens/J"
        followed = (
            ("no time of this lies within the calendar" if self.calendar_id else "no calendar was followed")
            if self.adherence is None
            else f"{self.adherence:.1%} of the time as planned; the gang was to train {self.planned_tokens:,.0f} tokens"
        )
        states = ", ".join(f"{state} {seconds:.1f} s" for state, seconds in self.seconds.items())
        return "\n".join(
            (
                f"run        {self.run or '(unnamed)'}, calendar {self.calendar_id or 'none'}",
                f"tokens     {self.tokens:,} trained, {self.useful_tokens:,} useful",
                f"energy     {self.energy.energy_j:,.1f} +- {self.energy.error_j:,.1f} J ({self.energy.source})",
                f"scope      {self.scope}",
                f"efficiency {per_joule}",
                f"adherence  {followed}",
                f"states     {states or 'none'}",
            )
        )
