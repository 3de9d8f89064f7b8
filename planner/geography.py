"""Several sites in one plan: what each has of its own, and what it takes to bring a run's data to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.run import PoolOption
    from planner.week import Block, Provenance, Signals, Week
    from power.tariff import Tariff

KG_PER_G = 1e-3


@dataclass(frozen=True)
class OtherSite:
    """A further site of a week, beside the one that the week is named after.

    Args:
        name: Its name, which its blocks carry.
        timezone: IANA name of its time.
        zone: Grid zone.
        signals: Its grid and weather per slot; prices in the plan's currency.
        tariff: What is paid beside the energy price, in the plan's currency.
        provenance: One entry per signal.
    """

    name: str
    timezone: str
    zone: str
    signals: Signals
    tariff: Tariff
    provenance: tuple[Provenance, ...]


@dataclass(frozen=True)
class Transfer:
    """Data on its way from one site to another, from the start of the horizon on, at an even rate.

    Args:
        origin: Name of the site where the data lies.
        target: Name of the site that it goes to.
        size_tb: Size, TB of 1e12 bytes.
        hours: Time that it takes, h.
        energy_kwh: Energy of the network, kWh.
        cost: Money that it costs.
    """

    origin: str
    target: str
    size_tb: float
    hours: float
    energy_kwh: float
    cost: float


@dataclass(frozen=True)
class SitePart:
    """One site of a week with its blocks.

    Args:
        name: Its name.
        zone: Grid zone.
        week: The week as this site sees it.
        blocks: Its blocks.
    """

    name: str
    zone: str
    week: Week
    blocks: tuple[Block, ...]


def site_parts(week: Week) -> tuple[SitePart, ...]:
    """Return every site of a week with its blocks, the one that the week is named after first."""
    zones = {"": (week.site, week.zone), **{other.name: (other.name, other.zone) for other in week.others}}
    return tuple(
        SitePart(name, zone, week.seen_from(key), tuple(block for block in week.blocks if block.site == key))
        for key, (name, zone) in zones.items()
    )


def ready_h(option: PoolOption) -> float:
    """Return when a run's data is all there in a pool, hours from the start of the horizon."""
    return max((transfer.hours for transfer in option.transfers), default=0.0)


def transfer_kg(week: Week, transfer: Transfer) -> float:
    """Return the carbon of a transfer within the horizon: half of its energy at either end, kgCO2e.

    Args:
        week: All inputs; intensity is that of each site in each slot.
        transfer: The transfer.
    """
    first = np.arange(week.grid.n_slots) * week.grid.slot_h
    share = np.clip(transfer.hours - first, 0.0, week.grid.slot_h) / transfer.hours
    ends = [week.seen_from(key_of(week, name)) for name in (transfer.origin, transfer.target)]
    ci_gco2_per_kwh = np.mean([end.signals.ci_gco2_per_kwh for end in ends], axis=0)
    return float(share @ ci_gco2_per_kwh) * transfer.energy_kwh * KG_PER_G


def key_of(week: Week, name: str) -> str:
    """Return what the blocks of a site carry: its name, or "" for the site that the week is named after."""
    return "" if name == week.site else name


def one_site_only(what: str, first: str, others: Iterable[str]) -> None:
    """Refuse what knows one site only.

    Args:
        what: Such as "gridpace respond".
        first: Name of the site that the file is named after.
        others: Names of the further ones.

    Raises:
        ConfigError: There are further ones.
    """
    names = [first, *others]
    if len(names) > 1:
        raise ConfigError(
            f"{what} knows one site, and this file has {len(names)}: {', '.join(names)}",
            fix="describe each site in a file of its own for this",
        )
