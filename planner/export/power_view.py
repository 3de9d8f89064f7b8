"""How the site takes power, in words and rows: its contracts, and the starts and stops that follow each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from planner.export import wording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from planner.evaluate import Evaluation
    from planner.outcome import Outcome
    from planner.week import Week

CONTRACT_HEADS = ("Contract", "Power", "Price", "Bought", "Delivered", "Taken", "Paid for", "Money")
EDGE_HEADS = ("Slot edge", "Starts after it", "Stops before it")

TELLERS: dict[str, Callable[[Evaluation, Callable[[float], str]], str]] = {
    "contract_cost": lambda found, money: money(found.terms.contracts),
}
"""How each figure of the judge is told."""


def told_costs(week: Week) -> tuple[tuple[str, str], ...]:
    """Return what contracts add to the money paid: name of the row, key of TELLERS."""
    return (("of which energy contracts", "contract_cost"),) if week.contracts else ()


def contract_rows(outcome: Outcome) -> tuple[tuple[str, ...], ...]:
    """Return one row per energy contract, by CONTRACT_HEADS."""
    currency, given = outcome.week.prices.currency, {c.name: c for c in outcome.week.contracts}
    rows = []
    for found in outcome.evaluation.contracts:
        contract = given[found.contract]
        bought = "no" if not found.bought_share else wording.percent(found.bought_share, 0)
        rows.append(
            (
                contract.name,
                f"{wording.power(contract.kw)}, {contract.profile}",
                f"{contract.price_per_kwh:g} {currency}/kWh",
                bought if contract.offered else "in force",
                wording.energy(found.volume_kwh),
                wording.energy(found.take_kwh),
                wording.energy(found.paid_kwh),
                wording.money(found.cost, currency),
            )
        )
    return tuple(rows)


def offer_sentences(outcome: Outcome) -> tuple[str, ...]:
    """Return why each offer is bought or not."""
    return tuple(found.why for found in outcome.evaluation.contracts if found.why)


def edge_rows(outcome: Outcome) -> tuple[tuple[str, str, str], ...]:
    """Return one row per slot edge around which gangs start or stop one after another, by EDGE_HEADS."""
    starts: dict[datetime, list[tuple[timedelta, str]]] = defaultdict(list)
    stops: dict[datetime, list[tuple[timedelta, str]]] = defaultdict(list)
    for run, at, begins in _changes(outcome):
        into = (at - outcome.week.grid.start) % outcome.week.grid.slot
        if begins:
            starts[at - into].append((into, run))
        else:
            lead = (outcome.week.grid.slot - into) % outcome.week.grid.slot
            stops[at + lead].append((lead, run))
    moved = {edge for found in (starts, stops) for edge, changes in found.items() if any(by for by, _ in changes)}
    return tuple(
        (wording.local(edge, outcome.week.tz), _told(starts[edge], "+"), _told(stops[edge], "-"))
        for edge in sorted(moved)
    )


def figures(found: Evaluation) -> dict[str, Any]:
    """Return what contracts come to, for machines: only where the site has any."""
    return {"contracts": [asdict(result) for result in found.contracts]} if found.contracts else {}


def _changes(outcome: Outcome) -> Iterator[tuple[str, datetime, bool]]:
    """Yield every start (True) and stop of a run within the horizon, where its block has a ramp limit."""
    limited = {
        block.name for block in outcome.week.blocks if block.power.ramp_kw_per_min or block.power.fall_kw_per_min
    }
    for run in outcome.runs:
        for before, after in pairwise(run.windows):
            window = after if before.state == "off" else before
            begins, ends = before.state == "off", after.state == "off"
            if begins != ends and limited.intersection((window.block or "").split("+")):
                yield run.run, after.start if begins else before.end, begins


def _told(changes: list[tuple[timedelta, str]], sign: str) -> str:
    parts = []
    for by, run in sorted(changes):
        minutes, seconds = divmod(int(by.total_seconds()), 60)
        parts.append(f"{run} {sign}{minutes}:{seconds:02}" if by else f"{run} at the edge")
    return ", ".join(parts)
