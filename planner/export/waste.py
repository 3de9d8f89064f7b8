"""What the report says of energy that trained nothing that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.export import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.outcome import Outcome

_TOLD = {
    "starvation": "waits for data",
    "hold": "holds",
    "checkpoint": "checkpoints",
    "recompute": "work lost to a restart",
    "overhead": "start-up and time without a step",
}


def waste_sentences(outcome: Outcome) -> tuple[str, ...]:
    """Return one sentence per run whose telemetry says what of its energy was wasted, the greatest cause first."""
    return tuple(
        f"{account.run}: {wording.energy(sum(wasted_kwh for _, wasted_kwh in account.wasted_kwh))}"
        f" of {wording.energy(account.energy_kwh)} trained nothing that is kept ({_by_cause(account.wasted_kwh)})."
        for account in outcome.accounts
        if account.wasted_kwh
    )


def _by_cause(wasted_kwh: Sequence[tuple[str, float]]) -> str:
    found = sorted(wasted_kwh, key=lambda pair: -pair[1])
    return ", ".join(f"{_TOLD[cause]} {wording.energy(energy_kwh)}" for cause, energy_kwh in found)
