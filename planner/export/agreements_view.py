"""What power purchase agreements deliver, where it goes and what it costs, in rows and figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.evaluate.agreements import ppa_flows
from planner.export import wording
from power.export import sale_price_per_kwh
from power.ppa import DIFFERENCE, curtailed_cost_per_kwh, difference_cost, physical_cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.outcome import Outcome

HEADS = (
    "Agreement",
    "Strike price",
    "Made",
    "Used here",
    "Sold",
    "Curtailed",
    "Paid",
    "Sales earn",
    "Beyond the tariff",
)
BY_DIFFERENCE = "by difference"


@dataclass(frozen=True)
class Agreement:
    """What one power purchase agreement comes to over the horizon.

    Args:
        ppa: Its name.
        settlement: `power.ppa.PHYSICAL` or `DIFFERENCE`.
        strike_per_kwh: Its price, money per kWh.
        volume_kwh: What is made for the site; curtailed energy is counted.
        used_kwh: What meets the site's import; 0 by difference, as are the next two.
        sold_kwh: What is sold.
        curtailed_kwh: What is not made after all.
        paid: What the agreement's energy costs, money.
        earned: What its sale brings, money.
        cost: What it adds to the bill of the import at the tariff's rate, money; below zero it saves.
    """

    ppa: str
    settlement: str
    strike_per_kwh: float
    volume_kwh: float
    used_kwh: float
    sold_kwh: float
    curtailed_kwh: float
    paid: float
    earned: float
    cost: float


def agreements(outcome: Outcome) -> tuple[Agreement, ...]:
    """Return what each agreement comes to, by the series that the plan was made on.

    Args:
        outcome: The week and its calendar.
    """
    return tuple(_agreements(outcome))


def _agreements(outcome: Outcome) -> Iterator[Agreement]:
    week, slot_h = outcome.week, outcome.week.grid.slot_h
    price, rate = week.signals.price_per_kwh, week.rates().energy_per_kwh
    flows = iter(ppa_flows(week, outcome.calendar, None, np.zeros(week.grid.n_slots)))
    for ppa in week.ppas:
        if not ppa.physical:
            made = week.ppa_kw(ppa)
            cost = difference_cost(ppa, made, price, slot_h)
            volume_kwh = float(made.sum()) * slot_h
            yield Agreement(ppa.name, ppa.settlement, ppa.strike_per_kwh, volume_kwh, 0.0, 0.0, 0.0, cost, 0.0, cost)
            continue
        flow = next(flows)
        used, sold, curtailed = (float(kw.sum()) * slot_h for kw in (flow.used_kw, flow.sold_kw, flow.curtailed_kw))
        yield Agreement(
            ppa.name,
            ppa.settlement,
            ppa.strike_per_kwh,
            float(flow.volume_kw.sum()) * slot_h,
            used,
            sold,
            curtailed,
            paid=ppa.strike_per_kwh * (used + sold) + curtailed_cost_per_kwh(ppa) * curtailed,
            earned=float((sale_price_per_kwh(price, ppa.sale_share) * flow.sold_kw).sum()) * slot_h,
            cost=physical_cost(ppa, flow, price, rate, slot_h),
        )


def rows(outcome: Outcome) -> tuple[tuple[str, ...], ...]:
    """Return one row per agreement, by HEADS."""
    currency = outcome.week.prices.currency
    return tuple(
        (
            found.ppa,
            f"{found.strike_per_kwh:g} {currency}/kWh",
            wording.energy(found.volume_kwh),
            *_parts(found),
            wording.money(found.paid, currency),
            wording.money(found.earned, currency),
            wording.money(found.cost, currency),
        )
        for found in agreements(outcome)
    )


def _parts(found: Agreement) -> tuple[str, str, str]:
    if found.settlement == DIFFERENCE:
        return BY_DIFFERENCE, "\u2013", "\u2013"
    return wording.energy(found.used_kwh), wording.energy(found.sold_kwh), wording.energy(found.curtailed_kwh)


def figures(outcome: Outcome) -> dict[str, Any]:
    """Return what agreements come to, for machines: only where the site has any."""
    found = agreements(outcome)
    return {"ppas": [asdict(one) for one in found]} if found else {}


def closing_lines(outcome: Outcome) -> tuple[str, ...]:
    """Return one line per agreement for a terminal."""
    currency = outcome.week.prices.currency
    lines = []
    for found in agreements(outcome):
        used, sold, curtailed = _parts(found)
        where = used if found.settlement == DIFFERENCE else f"{used} used here, {sold} sold, {curtailed} curtailed"
        cost = f"{wording.money(abs(found.cost), currency)} {'less' if found.cost < 0.0 else 'more'}"
        lines.append(f"agreement  {found.ppa}: {wording.energy(found.volume_kwh)}, {where}; {cost} than the tariff")
    return tuple(lines)
