"""Tables of how a site takes power and what it is billed: tariff periods, contracts, connections."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.config.fields import Intensity, Money, Name, Power, Share, Signed, Table, When
from power.tariff import PAST_MONTHS

Minutes = Annotated[float, Field(ge=0, le=10_080)]
Demand = Annotated[float, Field(ge=0, le=1e8)]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Clock = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):(00|15|30|45)-(([01]\d|2[0-3]):(00|15|30|45)|24:00)$")]


class PeriodTable(Table):
    """Hours in which the tariff has rates of its own; the first period that holds decides."""

    name: Name = Field(description="name of the period, such as on-peak")
    months: list[Annotated[int, Field(ge=1, le=12)]] = Field(
        default=[], description="calendar months, 1 to 12; all where left out"
    )
    weekdays: list[Weekday] = Field(default=[], description="mon to sun; all where left out")
    hours: Clock = Field(
        default="00:00-24:00",
        examples=["08:00-20:00"],
        description="hours on the site's clocks, such as 08:00-20:00 or 22:00-06:00",
    )
    price_per_kwh: Signed | None = Field(
        default=None, description="energy price in place of the tariff's, money per kWh; the tariff's where left out"
    )
    adder_per_kwh: Signed = Field(default=0.0, description="fees on top of the tariff's, money per kWh")
    demand_charge_per_kw_month: Money = Field(
        default=0.0, description="money per kW of each month's highest import in the period"
    )
    month_to_date_peak_kw: Demand = Field(
        default=0.0, description="highest import in the period already billed this month, kW"
    )


class ContractedDemandTable(Table):
    """A connection paid for whether it is used or not: billed = max(peak, share x contract, ratchet)."""

    contract_kw: Power = Field(description="contracted demand, kW")
    min_share: Share = Field(description="share of it that every month pays for at least")
    ratchet_share: Share = Field(
        default=0.0, description="share of the highest peak of the past months that a month pays for at least"
    )
    past_peaks_kw: list[Demand] = Field(
        default=[], max_length=PAST_MONTHS, description="peaks of the months before this one, kW, the latest last"
    )


class InterruptionTable(Table):
    """A span that is called off."""

    start: When = Field(description="first instant")
    end: When = Field(description="first instant after it")
    called_at: When | None = Field(default=None, description="when it was called; long before where left out")


class ContractTable(Table):
    """A block of energy bought ahead, or on offer."""

    name: Name = Field(description="name of the contract")
    kw: Power = Field(description="power at full share of its profile, kW")
    price_per_kwh: Money = Field(description="money per kWh, adders of the tariff not counted")
    kind: Literal["firm", "interruptible"] = Field(default="firm", description="whether the seller may interrupt it")
    profile: Literal["base", "peak", "week", "custom"] = Field(
        default="base",
        description="base: every hour; peak: 08-20 h on weekdays; week: shares by hour of the week; custom: shares "
        "by hour from start",
    )
    hour_share: list[Share] = Field(default=[], description="share of kw per hour: 168 from Monday 00:00, or any count")
    start: When | None = Field(default=None, description="first instant of delivery")
    end: When | None = Field(default=None, description="first instant after delivery")
    min_take_share: Share = Field(default=0.0, description="share of the horizon's volume that is paid for at least")
    offered: bool = Field(default=False, description="whether it is only on offer and the plan decides")
    all_or_none: bool = Field(default=False, description="whether an offer is bought whole or not at all")
    notice_min: Minutes = Field(default=0.0, description="minutes from a call to its earliest start")
    interruption: list[InterruptionTable] = Field(default=[], description="spans without delivery")
    technology: Name | None = Field(default=None, description="what makes its energy, as in the factor set")
    factor_gco2_per_kwh: Intensity | None = Field(
        default=None, description="emission factor of its energy, g/kWh; the residual mix where left out"
    )
    basis: Literal["direct", "lifecycle"] | None = Field(default=None, description="basis of that factor")
    boundary: Name | None = Field(default=None, description="grid zone of delivery; the site's where left out")


class GridUnitTable(Table):
    """A feeder or a transformer."""

    name: Name = Field(description="name of the unit")
    kind: Literal["feeder", "transformer"] = Field(description="feeder or transformer")
    rating_kw: Power = Field(description="what it carries, kW")
    available_from: When | None = Field(default=None, description="first instant of service")


class UnitOutageTable(Table):
    """Maintenance of one unit."""

    unit: str = Field(description="name of the unit")
    start: When = Field(description="first instant")
    end: When = Field(description="first instant after it")
    reason: str = Field(default="maintenance", description="for people")


class CapacityStepTable(Table):
    """A step in which a connection is commissioned."""

    since: When = Field(description="first instant")
    capacity_kw: Demand = Field(description="what it lets in from then on, kW")


class SmoothingTable(Table):
    """A declared capability against swings faster than any slot; reported, not decided."""

    power_kw: Power = Field(description="swing that it takes, kW")
    up_to_s: Annotated[float, Field(gt=0, le=60)] = Field(description="longest swing that it takes, s")
    means: Name = Field(description="what does it, such as capacitors in racks")


class ConnectionTable(Table):
    """What stands between the block and the grid."""

    n1: bool = Field(default=False, description="whether power stays within what is left without the largest unit")
    unit: list[GridUnitTable] = Field(default=[], description="feeders and transformers")
    outage: list[UnitOutageTable] = Field(default=[], description="maintenance of units")
    step: list[CapacityStepTable] = Field(default=[], description="commissioning, by rising time")
    interruptible_kw: Demand = Field(default=0.0, description="part of capacity_kw that may be called off, kW")
    notice_min: Minutes = Field(default=0.0, description="minutes from a call to its earliest start")
    interruption: list[InterruptionTable] = Field(default=[], description="spans in which it is called off")
    smoothing: SmoothingTable | None = Field(default=None, description="declared capability against fast swings")
