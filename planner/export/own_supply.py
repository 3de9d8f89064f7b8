"""What a site makes, gives back and buys off site, in words and figures: told only where a site has any of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.export import wording

if TYPE_CHECKING:
    from planner.evaluate import Evaluation
    from planner.week import Week

Money = Callable[[float], str]
Teller = Callable[["Evaluation", Money], str]

TELLERS: dict[str, Teller] = {
    "generation_cost": lambda found, money: money(found.terms.generation),
    "ppa_cost": lambda found, money: money(found.terms.ppa),
    "export_earned": lambda found, money: money(-found.terms.export),
    "wind": lambda found, _: wording.energy(found.wind_kwh),
    "generation": lambda found, _: wording.energy(found.generation_kwh),
    "generation_carbon": lambda found, _: wording.carbon(found.generation_carbon_kg),
    "export": lambda found, _: wording.energy(found.export_kwh),
}
"""How each figure of the judge is told."""


def told_costs(week: Week) -> tuple[tuple[str, str], ...]:
    """Return what own supply adds to the money paid: name of the row, key of TELLERS."""
    rows = []
    if any(block.generators for block in week.blocks):
        rows.append(("of which generators: fuel and starts", "generation_cost"))
    if week.ppas:
        rows.append(("of which purchase agreements, beyond the import at the tariff", "ppa_cost"))
    if any(block.export is not None for block in week.blocks):
        rows.append(("less what export earns", "export_earned"))
    return tuple(rows)


def told_energy(week: Week) -> tuple[tuple[str, str], ...]:
    """Return what is made and given back: name of the row, key of TELLERS."""
    rows = []
    if any(block.wind is not None for block in week.blocks):
        rows.append(("Wind energy used", "wind"))
    if any(block.generators for block in week.blocks):
        rows += [("Energy of generators", "generation"), ("Carbon of generators, counted above", "generation_carbon")]
    if any(block.export is not None for block in week.blocks):
        rows.append(("Energy exported", "export"))
    return tuple(rows)


def figures(week: Week, found: Evaluation) -> dict[str, float]:
    """Return the judge's figures of own supply for machines: unit in the name, only what the site has."""
    told: dict[str, float] = {}
    if any(block.wind is not None for block in week.blocks):
        told["wind_kwh"] = found.wind_kwh
    if any(block.generators for block in week.blocks):
        told |= {"generation_kwh": found.generation_kwh, "generation_carbon_kg": found.generation_carbon_kg}
    if any(block.export is not None for block in week.blocks):
        told["export_kwh"] = found.export_kwh
    return told
