"""What grid energy costs: the energy price by the hour, adders, and demand charges on each month's peaks.

A moment's price follows the first period of the tariff that it lies in, as tariff sheets are read: its own price
stands in place of the tariff's, its adder on top of the tariff's. Demand is billed on every month's highest mean
import over the measuring interval: of all hours, and of the hours of each period with a charge of its own. Where
slots are coarser than the interval, the slot's mean stands for its intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from power.later import LATER
from power.quarters import QUARTER_MIN

if TYPE_CHECKING:
    import numpy.typing as npt

    from power.quarters import Quarters

DAY_MIN = 1440
PAST_MONTHS = 11


@dataclass(frozen=True)
class Period:
    """Hours of the site's clocks in which a tariff has rates of its own.

    Args:
        name: Such as "on-peak".
        months: Calendar months, 1 to 12; empty for all.
        weekdays: Weekdays, 1 (Monday) to 7; empty for all.
        from_min: First minute of the day, a multiple of 15.
        until_min: First minute after it, a multiple of 15; at or before `from_min` where the hours run past midnight.
        price_per_kwh: Energy price in place of the tariff's, money per kWh, or None for the tariff's.
        adder_per_kwh: On top of the tariff's adder, money per kWh.
        demand_charge_per_kw_month: Money per kW of each month's highest import in the period.
        month_to_date_peak_kw: Highest import in the period already billed in the month in which the horizon starts, kW.
    """

    name: str
    months: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    from_min: int = 0
    until_min: int = DAY_MIN
    price_per_kwh: float | None = None
    adder_per_kwh: float = 0.0
    demand_charge_per_kw_month: float = 0.0
    month_to_date_peak_kw: float = 0.0


@dataclass(frozen=True)
class ContractedDemand:
    """A connection that is paid for whether it is used or not: billed = max(peak, share x contract, ratchet).

    Args:
        contract_kw: Contracted demand, kW.
        min_share: Share of it that every month pays for at least.
        ratchet_share: Share of the highest peak of the past months that a month pays for at least.
        past_peaks_kw: Peaks of the months before that in which the horizon starts, kW, the latest last, at most 11.
    """

    contract_kw: float
    min_share: float
    ratchet_share: float = 0.0
    past_peaks_kw: tuple[float, ...] = ()

    def least_kw(self, month: int, month_to_date_peak_kw: float) -> float:
        """Return what a month pays for at least, kW.

        Args:
            month: 0 for the month in which the horizon starts, 1 for the next.
            month_to_date_peak_kw: Highest import so far in the month in which the horizon starts, kW: one of the past
                months of the next. What the horizon itself adds to that peak is not among them.
        """
        known_kw = (*self.past_peaks_kw, *([month_to_date_peak_kw] if month else []))
        past_kw = known_kw[-PAST_MONTHS:]
        return max(self.min_share * self.contract_kw, self.ratchet_share * max(past_kw, default=0.0))


@dataclass(frozen=True)
class Tariff:
    """The site's contract for energy.

    Args:
        adder_per_kwh: Fees on top of the energy price, money per kWh.
        demand_charge_per_kw_month: Money per kW of each calendar month's highest import of the site.
        month_to_date_peak_kw: Highest import already billed in the month in which the horizon starts, kW.
        demand_interval_min: Minutes over which demand is measured, 15, 30 or 60.
        periods: Hours with rates of their own; the first that holds decides.
        contracted: Contracted demand, or None.
    """

    adder_per_kwh: float = 0.0
    demand_charge_per_kw_month: float = 0.0
    month_to_date_peak_kw: float = 0.0
    demand_interval_min: int = field(default=QUARTER_MIN, metadata=LATER)
    periods: tuple[Period, ...] = field(default=(), metadata=LATER)
    contracted: ContractedDemand | None = field(default=None, metadata=LATER)


@dataclass(frozen=True)
class Rates:
    """What a kWh of import costs in each slot, slot means, arrays of shape (T,).

    Args:
        energy_per_kwh: Energy itself, money per kWh; what a contract's energy is billed in place of.
        adder_per_kwh: Fees on every kWh of import, money per kWh.
    """

    energy_per_kwh: npt.NDArray[np.float64]
    adder_per_kwh: npt.NDArray[np.float64]

    @property
    def total_per_kwh(self) -> npt.NDArray[np.float64]:
        """Both together, money per kWh, shape (T,)."""
        return self.energy_per_kwh + self.adder_per_kwh


@dataclass(frozen=True)
class DemandRegister:
    """One billed peak: the highest mean import over the intervals of one month, in all hours or those of a period.

    Args:
        name: Such as "month 1" or "month 1 on-peak"; months count from that of the horizon's start.
        charge_per_kw: Money per kW.
        owed_kw: Demand that is owed whatever the horizon does, kW.
        least_kw: Demand that is billed at least, kW; at or above `owed_kw`.
        interval: Index of the interval that each slot belongs to, -1 where it is not measured here, shape (T,).
    """

    name: str
    charge_per_kw: float
    owed_kw: float
    least_kw: float
    interval: npt.NDArray[np.int64]

    @property
    def by_slot(self) -> bool:
        """Whether every interval is a slot."""
        mine = self.interval[self.interval >= 0]
        return len(np.unique(mine)) == len(mine)

    def peak_kw(self, import_kw: npt.NDArray[np.float64]) -> float:
        """Return the highest mean import over an interval, kW.

        Args:
            import_kw: Site import per slot, kW, shape (T,).
        """
        mine = self.interval >= 0
        sums = np.bincount(self.interval[mine], weights=import_kw[mine])
        counts = np.bincount(self.interval[mine])
        return float((sums[counts > 0] / counts[counts > 0]).max())

    def added_kw(self, import_kw: npt.NDArray[np.float64]) -> float:
        """Return what the horizon adds to the demand that is owed, kW; argument as for `peak_kw`."""
        return max(self.peak_kw(import_kw), self.least_kw) - self.owed_kw


def period_of(tariff: Tariff, when: Quarters) -> npt.NDArray[np.int64]:
    """Return the index of the period that decides in each quarter, -1 where none holds, shape (N,)."""
    found = np.full(len(when.starts), -1, dtype=np.int64)
    for i, period in reversed(list(enumerate(tariff.periods))):
        minute = when.minute
        if period.from_min < period.until_min:
            holds = (minute >= period.from_min) & (minute < period.until_min)
        else:
            holds = (minute >= period.from_min) | (minute < period.until_min)
        if period.months:
            holds &= np.isin(when.month, period.months)
        if period.weekdays:
            holds &= np.isin(when.weekday, period.weekdays)
        found[holds] = i
    return found


def rates(tariff: Tariff, price_per_kwh: npt.NDArray[np.float64], when: Quarters) -> Rates:
    """Return what a kWh costs in each slot.

    Args:
        tariff: The tariff.
        price_per_kwh: Energy price outside periods with a price of their own (spot or flat), shape (T,).
        when: The slots' quarter hours.
    """
    if not tariff.periods:
        return Rates(price_per_kwh, np.full(len(price_per_kwh), tariff.adder_per_kwh))
    energy, adder = np.repeat(price_per_kwh, when.per_slot), np.full(len(when.starts), tariff.adder_per_kwh)
    which = period_of(tariff, when)
    for i, period in enumerate(tariff.periods):
        adder[which == i] += period.adder_per_kwh
        if period.price_per_kwh is not None:
            energy[which == i] = period.price_per_kwh
    return Rates(when.slot_mean(energy), when.slot_mean(adder))


def demand_registers(tariff: Tariff, when: Quarters) -> tuple[DemandRegister, ...]:
    """Return the peaks that are billed in the horizon's months, those of all hours first, each by rising month.

    Of a month in which the horizon starts, the peak so far and what is billed at least are owed already; a month that
    starts within the horizon starts from zero. An interval or slot that a period touches counts in it.

    Args:
        tariff: The tariff.
        when: The slots' quarter hours.
    """
    found = []
    everywhere = np.ones(len(when.starts), dtype=np.bool_)
    which = period_of(tariff, when)
    asked = [("", tariff.demand_charge_per_kw_month, tariff.month_to_date_peak_kw, tariff.contracted, everywhere)]
    asked += [
        (f" {p.name}", p.demand_charge_per_kw_month, p.month_to_date_peak_kw, None, which == i)
        for i, p in enumerate(tariff.periods)
    ]
    for suffix, charge, to_date_kw, contracted, holds in asked:
        if not charge:
            continue
        for month in range(int(when.month_index[-1]) + 1):
            mine = holds & (when.month_index == month)
            if not mine.any():
                continue
            least_kw = 0.0 if contracted is None else contracted.least_kw(month, to_date_kw)
            owed_kw = 0.0 if month else max(to_date_kw, least_kw)
            interval = _intervals(tariff.demand_interval_min, when, mine)
            found.append(
                DemandRegister(f"month {month + 1}{suffix}", charge, owed_kw, max(owed_kw, least_kw), interval)
            )
    return tuple(found)


def energy_cost(per_kwh: npt.NDArray[np.float64], import_kw: npt.NDArray[np.float64], slot_h: float) -> float:
    """Return the money paid for energy; prices may be negative.

    Args:
        per_kwh: Money per kWh in each slot, shape (T,).
        import_kw: Power bought at it, kW, shape (T,).
        slot_h: Length of a slot, h.
    """
    return float(np.sum(per_kwh * import_kw) * slot_h)


def demand_cost(registers: tuple[DemandRegister, ...], import_kw: npt.NDArray[np.float64]) -> float:
    """Return what the horizon adds to the months' demand charges, money.

    Args:
        registers: The billed peaks.
        import_kw: Site import per slot, kW, shape (T,).
    """
    return sum(register.charge_per_kw * register.added_kw(import_kw) for register in registers)


def _intervals(interval_min: int, when: Quarters, mine: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the interval of each slot, -1 where no quarter of the interval is measured, shape (T,)."""
    per_slot, n_slots = when.per_slot, len(when.starts) // when.per_slot
    if interval_min <= per_slot * QUARTER_MIN:
        return np.where(when.any_in_slot(mine), np.arange(n_slots), -1)
    # intervals lie on the site's clocks, which change by whole intervals
    first_min = int(when.starts[0].timestamp()) // 60
    minute = first_min + QUARTER_MIN * np.arange(len(when.starts)) + when.offset_min % interval_min
    interval = minute // interval_min
    interval -= interval[0]
    touched = np.unique(interval[mine])
    of_slot = interval[::per_slot]
    return np.where(np.isin(of_slot, touched), of_slot, -1)
