"""Power purchase agreements: energy of a farm off site, bought at a strike price and laid against the site's import.

The energy comes through the grid. What the site imports in the same slot is *used*: it costs the strike price in place
of the tariff's rate, and the adders of the tariff as all import does. What the farm makes beyond that is *sold* at a
share of the energy price or *curtailed*, whichever costs less. A contract for difference is settled on all the farm
makes, whatever the site does: it decides nothing and is paid beside the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from power.export import sale_price_per_kwh

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from power.hourly import HourlyValues
    from power.renewables import SolarArray
    from power.wind import WindTurbines

AS_PRODUCED, BASELOAD = ("as_produced", "baseload")
PHYSICAL, DIFFERENCE = ("physical", "difference")


@dataclass(frozen=True)
class Ppa:
    """A power purchase agreement.

    Args:
        name: Such as "north-farm".
        kind: "as_produced", a share of what a farm makes, or "baseload", the same power at all times.
        settlement: "physical", delivered to the site's meter, or "difference", the strike price less the energy price.
        strike_per_kwh: Price of the energy, money per kWh.
        sale_share: Share of the energy price that energy beyond the site's import is sold at, in [0, 1].
        curtailed_share: Share of the strike price that is due for energy curtailed, in [0, 1]; a baseload is never.
        share: Share of the farm's output that is bought.
        solar: The farm's array, or None.
        wind: The farm's turbines, or None.
        output_kw: What the farm makes per hour, kW, in place of array and turbines, or None.
        baseload_kw: Power of a baseload, kW; 0 where it is as produced.
        technology: Such as "wind"; for the market-based account.
        factor_gco2_per_kwh: Carbon of its energy, of the plan's own basis, gCO2e/kWh.
        boundary: Where the farm stands, as the market-based account names it, such as "same bidding zone".
    """

    name: str
    kind: str
    settlement: str
    strike_per_kwh: float
    sale_share: float = 1.0
    curtailed_share: float = 1.0
    share: float = 1.0
    solar: SolarArray | None = None
    wind: WindTurbines | None = None
    output_kw: HourlyValues | None = None
    baseload_kw: float = 0.0
    technology: str = ""
    factor_gco2_per_kwh: float = 0.0
    boundary: str = ""

    @property
    def physical(self) -> bool:
        """Whether its energy is delivered to the site's meter, so that the plan decides about it."""
        return self.settlement == PHYSICAL

    @property
    def may_curtail(self) -> bool:
        """Whether energy may be curtailed."""
        return self.kind == AS_PRODUCED


@dataclass(frozen=True)
class PpaFlows:
    """Where a physical agreement's energy goes, slot means, shape (T,): volume = used + sold + curtailed.

    Args:
        volume_kw: What it delivers, kW.
        used_kw: What meets the site's import, kW.
        sold_kw: What is sold, kW.
        curtailed_kw: What is not made, kW.
    """

    volume_kw: npt.NDArray[np.float64]
    used_kw: npt.NDArray[np.float64]
    sold_kw: npt.NDArray[np.float64]
    curtailed_kw: npt.NDArray[np.float64]


def used_cost_per_kwh(ppa: Ppa, rate_per_kwh: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what a kWh used adds to the bill of the same import at the tariff's rate, money per kWh, shape (T,)."""
    return np.asarray(ppa.strike_per_kwh - rate_per_kwh, dtype=np.float64)


def sold_cost_per_kwh(ppa: Ppa, price_per_kwh: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what a kWh sold costs, money per kWh, shape (T,); below zero it earns."""
    return np.asarray(ppa.strike_per_kwh - sale_price_per_kwh(price_per_kwh, ppa.sale_share), dtype=np.float64)


def curtailed_cost_per_kwh(ppa: Ppa) -> float:
    """Return what a kWh curtailed costs, money per kWh."""
    return ppa.curtailed_share * ppa.strike_per_kwh


def surplus_cost_per_kwh(ppa: Ppa, price_per_kwh: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what a kWh beyond the site's import costs, sold or curtailed, money per kWh, shape (T,)."""
    sold = sold_cost_per_kwh(ppa, price_per_kwh)
    return np.minimum(sold, curtailed_cost_per_kwh(ppa)) if ppa.may_curtail else sold


def allot(
    ppas: Sequence[Ppa],
    volumes_kw: Sequence[npt.NDArray[np.float64]],
    import_kw: npt.NDArray[np.float64],
    price_per_kwh: npt.NDArray[np.float64],
    rate_per_kwh: npt.NDArray[np.float64],
) -> tuple[PpaFlows, ...]:
    """Return where the energy of physical agreements goes at the least cost for a given import.

    Slot by slot, energy is used first of the agreement that saves most by it, up to the import; at equal cost use goes
    before sale, and agreements in their order. That is the optimum: every kWh of import takes one kWh of any of them.

    Args:
        ppas: The agreements.
        volumes_kw: What each delivers, kW, shape (T,) each.
        import_kw: Import of the site that no other contract covers, kW, shape (T,).
        price_per_kwh: Energy price, at a share of which energy is sold, money per kWh, shape (T,).
        rate_per_kwh: What the tariff takes for energy without its adders, money per kWh, shape (T,).
    """
    if not ppas:
        return ()
    volume = np.array(volumes_kw)
    gain = np.array([surplus_cost_per_kwh(p, price_per_kwh) - used_cost_per_kwh(p, rate_per_kwh) for p in ppas])
    used = np.zeros_like(volume)
    left = np.maximum(import_kw, 0.0)
    order = np.argsort(-gain, axis=0, kind="stable")
    slots = np.arange(len(left))
    for first in order:
        taken = np.where(gain[first, slots] >= 0.0, np.minimum(volume[first, slots], left), 0.0)
        used[first, slots] = taken
        left = left - taken
    rest = volume - used
    flows = []
    for i, ppa in enumerate(ppas):
        cut = sold_cost_per_kwh(ppa, price_per_kwh) > curtailed_cost_per_kwh(ppa)
        curtailed = np.where(cut & ppa.may_curtail, rest[i], 0.0)
        flows.append(PpaFlows(volume[i], used[i], rest[i] - curtailed, curtailed))
    return tuple(flows)


def physical_cost(
    ppa: Ppa,
    flows: PpaFlows,
    price_per_kwh: npt.NDArray[np.float64],
    rate_per_kwh: npt.NDArray[np.float64],
    slot_h: float,
) -> float:
    """Return what a physical agreement adds to the bill of the import at the tariff's rate, money.

    Args:
        ppa: The agreement.
        flows: Where its energy goes.
        price_per_kwh: Energy price, at a share of which energy is sold, money per kWh, shape (T,).
        rate_per_kwh: What the tariff takes for energy without its adders, money per kWh, shape (T,).
        slot_h: Length of a slot, h.
    """
    cost = (
        used_cost_per_kwh(ppa, rate_per_kwh) * flows.used_kw
        + sold_cost_per_kwh(ppa, price_per_kwh) * flows.sold_kw
        + curtailed_cost_per_kwh(ppa) * flows.curtailed_kw
    )
    return float(cost.sum()) * slot_h


def difference_cost(
    ppa: Ppa, volume_kw: npt.NDArray[np.float64], price_per_kwh: npt.NDArray[np.float64], slot_h: float
) -> float:
    """Return what a contract for difference costs on all that its farm makes, money; below zero it earns."""
    return float(((ppa.strike_per_kwh - price_per_kwh) * volume_kw).sum()) * slot_h
