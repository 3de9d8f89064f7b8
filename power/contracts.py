"""Energy contracts: blocks of power bought ahead, what of them is taken, and what is paid for them.

A contract sells a power that follows a profile. Of the volume of a slot the site takes at most what it imports; what it
imports beyond its takes is settled at the energy price of the hour. Over the horizon a contract is paid for what is
taken, and for its minimum take where less is taken (take or pay).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import numpy as np

from power.quarters import HOUR_MIN, QUARTER_MIN

if TYPE_CHECKING:
    from datetime import datetime

    import numpy.typing as npt

    from power.quarters import Quarters

Profile = Literal["base", "peak", "week", "custom"]
WEEK_HOURS = 168
PEAK_FROM_MIN, PEAK_UNTIL_MIN, PEAK_LAST_DAY = 8 * HOUR_MIN, 20 * HOUR_MIN, 5
HOUR_QUARTERS = HOUR_MIN // QUARTER_MIN


@dataclass(frozen=True)
class Interruption:
    """A span in which the seller of interruptible power does not deliver, or the grid does not carry it.

    Args:
        start: First instant, UTC, on a quarter hour.
        end: First instant after it, UTC, on a quarter hour.
        called_at: When it was called, UTC, or None where it was known long before.
    """

    start: datetime
    end: datetime
    called_at: datetime | None = None

    def binding_from(self, notice_min: float) -> datetime:
        """Return the instant from which it binds: no earlier than the notice after it was called, UTC."""
        if self.called_at is None:
            return self.start
        return max(self.start, self.called_at + timedelta(minutes=notice_min))


@dataclass(frozen=True)
class Attributes:
    """What a contract's energy counts as in the market-based account.

    Args:
        technology: As in the factor set, such as "wind".
        factor_gco2_per_kwh: Emission factor, gCO2e/kWh.
        basis: "direct" or "lifecycle".
        boundary: Grid zone in which the energy is delivered.
    """

    technology: str
    factor_gco2_per_kwh: float
    basis: str
    boundary: str


@dataclass(frozen=True)
class EnergyContract:
    """A block of power bought ahead, or on offer.

    Args:
        name: Such as "cal-24".
        kw: Power at share 1 of the profile, kW.
        price_per_kwh: Money per kWh, 0 or more; fees on import come on top.
        profile: "base": every hour; "peak": 08-20 h on Monday to Friday, holidays too, in site time (EEX);
            "week": `hour_share` by hour of the local week; "custom": `hour_share` by hour from `start`.
        hour_share: Share of `kw` in each hour, 0 to 1: 168 for "week", any count for "custom", none for others.
        start: First instant of delivery, UTC, or None for always.
        end: First instant after delivery, UTC, or None for always.
        min_take_share: Share of the horizon's volume that is paid for at least.
        offered: Whether it is only on offer: the plan decides about buying it.
        all_or_none: Whether an offer is bought whole or not at all; else any share of it.
        interruptible: Whether the seller may interrupt it.
        interruptions: Spans without delivery, of an interruptible one.
        notice_min: Minutes between the call of an interruption and its earliest start, whole quarter hours.
        attributes: What its energy counts as, or None for the residual mix.
    """

    name: str
    kw: float
    price_per_kwh: float
    profile: Profile = "base"
    hour_share: tuple[float, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    min_take_share: float = 0.0
    offered: bool = False
    all_or_none: bool = False
    interruptible: bool = False
    interruptions: tuple[Interruption, ...] = ()
    notice_min: float = 0.0
    attributes: Attributes | None = None


@dataclass(frozen=True)
class Settlement:
    """What one contract comes to over a horizon.

    Args:
        volume_kwh: Energy it delivers.
        take_kwh: Energy taken of it.
        paid_kwh: Energy paid for: what is taken, or its minimum take where that is more.
        cost: Money paid for it.
    """

    volume_kwh: float
    take_kwh: float
    paid_kwh: float
    cost: float


def volume_kw(contract: EnergyContract, when: Quarters) -> npt.NDArray[np.float64]:
    """Return the mean power that a contract delivers in each slot if it is bought whole, kW, shape (T,).

    Args:
        contract: The contract.
        when: The slots' quarter hours.

    Raises:
        ValueError: A "week" profile has not 168 shares, or a "custom" one has no start.
    """
    share = _profile(contract, when) * when.within(contract.start, contract.end)
    for span in contract.interruptions:
        share[when.within(span.binding_from(contract.notice_min), span.end)] = 0.0
    return when.slot_mean(contract.kw * share)


def settle(
    contract: EnergyContract, volume_kw: npt.NDArray[np.float64], take_kw: npt.NDArray[np.float64], slot_h: float
) -> Settlement:
    """Return what a contract comes to.

    Args:
        contract: The contract.
        volume_kw: Mean power that it delivers in each slot, by the share of it that is bought, kW, shape (T,).
        take_kw: Mean power taken, kW, shape (T,).
        slot_h: Length of a slot, h.
    """
    volume_kwh, take_kwh = float(volume_kw.sum()) * slot_h, float(take_kw.sum()) * slot_h
    paid_kwh = max(take_kwh, contract.min_take_share * volume_kwh)
    return Settlement(volume_kwh, take_kwh, paid_kwh, paid_kwh * contract.price_per_kwh)


def _profile(contract: EnergyContract, when: Quarters) -> npt.NDArray[np.float64]:
    """Return the share of a contract's power in each quarter, shape (N,)."""
    if contract.profile == "peak":
        by_day = (when.minute >= PEAK_FROM_MIN) & (when.minute < PEAK_UNTIL_MIN)
        return (by_day & (when.weekday <= PEAK_LAST_DAY)).astype(np.float64)
    if contract.profile == "week":
        if len(contract.hour_share) != WEEK_HOURS:
            raise ValueError(f"contract {contract.name}: a week has {WEEK_HOURS} hours, not {len(contract.hour_share)}")
        return np.array(contract.hour_share)[when.week_hour]
    if contract.profile == "custom":
        if contract.start is None:
            raise ValueError(f"contract {contract.name}: the hours of a custom profile count from a start")
        first = round((when.starts[0] - contract.start).total_seconds() / (60 * QUARTER_MIN))
        hour = (first + np.arange(len(when.starts))) // HOUR_QUARTERS
        inside = (hour >= 0) & (hour < len(contract.hour_share))
        return np.where(inside, np.array(contract.hour_share)[np.where(inside, hour, 0)], 0.0)
    return np.ones(len(when.starts))
