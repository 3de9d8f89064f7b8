"""Tables of what stands behind a block's meter, and of energy bought off site: sun, wind, battery, generators, PPAs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.config.fields import Efficiency, Energy, Money, Name, Power, Share, Signed, Table, When

Tilt = Annotated[float, Field(ge=0, le=90)]
Azimuth = Annotated[float, Field(ge=0, lt=360)]
Units = Annotated[int, Field(ge=1, le=1000)]
Factor = Annotated[float, Field(ge=0, le=3000)]
Span = Annotated[float, Field(ge=0, le=168)]
Speed = Annotated[float, Field(ge=0, le=100)]


class SolarTable(Table):
    """A solar array, behind the block's meter or of a farm off site."""

    name: Name = Field(default="solar", description="name of the array")
    peak_kw: Power = Field(description="DC power at standard test conditions, kW")
    inverter_kw: Power | None = Field(default=None, description="largest AC power, kW; peak_kw where left out")
    system_efficiency: Efficiency = Field(default=0.83, description="AC over DC energy apart from temperature, share")
    temp_coefficient_per_k: float = Field(
        default=-0.0035, ge=-0.01, le=0, description="change of power per kelvin, 1/K"
    )
    tilt_deg: Tilt = Field(default=0.0, description="tilt from the horizontal, degree; of a tracker, that of its axis")
    azimuth_deg: Azimuth | None = Field(
        default=None,
        description="where the modules face, or a tracker's axis points, degree from north by east; the equator where "
        "left out",
    )
    tracking: bool = Field(default=False, description="whether the modules turn about one axis after the sun")
    max_angle_deg: Tilt = Field(default=60.0, description="farthest that a tracker turns from the horizontal, degree")
    ground_cover_share: Efficiency = Field(
        default=0.35, description="width of the modules over the distance of a tracker's rows"
    )
    albedo_share: Share = Field(default=0.2, description="share of the sunshine that the ground throws back")


class WindTable(Table):
    """Wind turbines of one kind, behind the block's meter or of a farm off site."""

    name: Name = Field(default="wind", description="name of the turbines")
    rated_kw: Power = Field(description="rated power of all turbines, kW")
    hub_height_m: float = Field(ge=5, le=300, description="height of the hub above ground, m")
    measured_height_m: float = Field(
        default=100.0, ge=2, le=300, description="height that the weather source's wind speed is for, m"
    )
    shear_exponent: float = Field(
        default=0.143, ge=0, le=0.6, description="of the power law of wind over height; 1/7 over open land"
    )
    elevation_m: float = Field(default=0.0, ge=-400, le=5000, description="of the ground above the sea, m")
    available_share: Efficiency = Field(
        default=0.9, description="energy left after outages, wakes and electrical losses"
    )
    curve: list[Annotated[list[Speed], Field(min_length=2, max_length=2)]] = Field(
        default=[],
        description="[wind speed at the hub in m/s, share of rated power], by rising speed; NREL's 5 MW reference "
        "turbine where left out",
    )


class BatteryTable(Table):
    """A battery behind the block's meter; the shares are of energy_kwh."""

    energy_kwh: Energy = Field(description="usable nameplate energy, kWh")
    charge_kw: Power | None = Field(default=None, description="largest AC charging power, kW; or give c_rate_per_h")
    discharge_kw: Power | None = Field(
        default=None, description="largest AC discharging power, kW; or give c_rate_per_h"
    )
    c_rate_per_h: float | None = Field(
        default=None, gt=0, le=20, description="largest power both ways over energy_kwh, per h"
    )
    charge_efficiency: Efficiency = Field(default=0.922, description="stored over AC energy taken, share")
    discharge_efficiency: Efficiency = Field(
        default=0.922, description="AC energy given over energy taken from store, share"
    )
    self_discharge_share: float = Field(
        default=0.0, ge=0, lt=1, description="share of the stored energy lost in a day without any flow"
    )
    min_share: Share = Field(default=0.1, description="lowest state allowed")
    max_share: Share = Field(default=0.9, description="highest state allowed")
    initial_share: Share = Field(default=0.5, description="state at the start of the horizon")
    final_share: Share = Field(default=0.5, description="state at the end of the horizon, by final_rule")
    final_rule: Literal["at_least", "equal", "free"] = Field(
        default="at_least", description="at_least or equal final_share, or free with a worth"
    )
    final_worth_per_kwh: Money = Field(
        default=0.0, description="worth of what is left at a free end, money per kWh stored"
    )
    wear_cost_per_kwh: Money | None = Field(
        default=None, description="replacement cost, money per AC kWh discharged; or give replacement_cost_per_kwh"
    )
    replacement_cost_per_kwh: Money | None = Field(
        default=None, description="replacement cost, money per kWh of energy_kwh"
    )
    cycles: float | None = Field(default=None, gt=0, le=1e6, description="cycles in its life, each of depth_share")
    depth_share: Efficiency = Field(default=0.8, description="depth of a cycle")
    grid_charging: bool = Field(default=True, description="whether the grid may charge it, or own sources only")
    reserve_min: float = Field(
        default=0.0, ge=0, le=1440, description="minutes of the block's load that always stay above min_share, min"
    )


class GeneratorTable(Table):
    """A group of like generating units behind the block's meter."""

    name: Name = Field(description="name of the group")
    units: Units = Field(default=1, description="count of units")
    unit_kw: Power = Field(description="largest power of one unit, kW")
    min_load_share: Share = Field(default=0.4, description="lowest power of a unit that runs, share of unit_kw")
    min_up_h: Span = Field(default=1.0, description="shortest time that a unit runs, h")
    min_down_h: Span = Field(default=1.0, description="shortest time that a unit rests, h")
    start_cost: Money = Field(default=0.0, description="money per start of one unit")
    fuel_cost_per_kwh: Money | None = Field(
        default=None, description="fuel and upkeep, money per kWh generated; or give fuel_price_per_kwh"
    )
    fuel_price_per_kwh: Money | None = Field(default=None, description="money per kWh of fuel, lower heating value")
    generating_efficiency: Efficiency | None = Field(
        default=None, description="electric energy over that of the fuel: 3.6 over the heat rate in MJ per kWh"
    )
    direct_gco2_per_kwh: Factor | None = Field(default=None, description="carbon at the stack, gCO2e per kWh generated")
    lifecycle_gco2_per_kwh: Factor | None = Field(
        default=None, description="carbon with the fuel's supply, gCO2e per kWh generated"
    )
    initial_units: int = Field(default=0, ge=0, le=1000, description="units that run as the horizon starts")
    initial_h: Span | None = Field(
        default=None, description="time since the last unit started or stopped, h; long ago where left out"
    )
    available_from: When | None = Field(default=None, description="first instant of service")
    available_until: When | None = Field(default=None, description="first instant after service")
    max_unit_h: float | None = Field(
        default=None, ge=0, le=168_000, description="most running in the horizon, of all units together (a permit), h"
    )


class ExportTable(Table):
    """The block's right to export."""

    limit_kw: Power = Field(description="largest export, kW")
    price_share: Share = Field(default=1.0, description="share of the energy price that is paid")
    fee_per_kwh: Signed = Field(default=0.0, description="taken off, money per kWh exported")
    fixed_per_kwh: Signed | None = Field(
        default=None, description="paid in place of a share of the energy price, money per kWh"
    )


class PpaTable(Table):
    """A power purchase agreement: energy of a farm off site."""

    name: Name = Field(description="name of the agreement")
    kind: Literal["as_produced", "baseload"] = Field(
        description="as_produced, a share of what a farm makes; or baseload, the same power at all times"
    )
    settlement: Literal["physical", "difference"] = Field(
        default="physical",
        description="physical, delivered against the site's import; or difference, strike less energy price",
    )
    strike_per_kwh: Money = Field(description="price of the energy, money per kWh")
    sale_share: Share = Field(
        default=1.0, description="share of the energy price that energy beyond the import is sold at"
    )
    curtailed_share: Share = Field(default=1.0, description="share of the strike price due for energy curtailed")
    share: Efficiency = Field(default=1.0, description="share of the farm's output that is bought")
    solar: SolarTable | None = Field(default=None, description="the farm's array")
    wind: WindTable | None = Field(default=None, description="the farm's turbines")
    output_csv: str | None = Field(
        default=None, description="CSV file with the farm's hourly output, in place of array and turbines"
    )
    baseload_kw: Power | None = Field(default=None, description="power of a baseload, kW")
    technology: Name | None = Field(default=None, description="for the market-based account, such as wind")
    direct_gco2_per_kwh: Factor = Field(default=0.0, description="carbon at the stack, gCO2e per kWh")
    lifecycle_gco2_per_kwh: Factor | None = Field(
        default=None, description="carbon with the farm's making, gCO2e per kWh"
    )
    boundary: Name | None = Field(default=None, description="grid zone in which it delivers; the site's where left out")
