"""From the tables of own supply and of agreements to physics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from planner.timegrid import to_utc
from power.battery import Battery, wear_per_kwh
from power.export import GridExport
from power.generation import Generator, fuel_cost_per_kwh
from power.hourly import HourlyValues
from power.ppa import Ppa
from power.renewables import SolarArray
from power.sun import Plane
from power.wind import NREL_5MW, WindTurbines

if TYPE_CHECKING:
    from planner.config import model, supply_tables

SOUTH_DEG, NORTH_DEG = 180.0, 0.0


@dataclass(frozen=True)
class Place:
    """What of the site own supply depends on.

    Args:
        latitude: Degrees north.
        longitude: Degrees east.
        zone: Grid zone of the site.
        basis: "direct" or "lifecycle": which carbon the plan counts.
        tz: Site time zone.
    """

    latitude: float
    longitude: float
    zone: str
    basis: str
    tz: ZoneInfo


def place_of(site: model.SiteTable, carbon: model.CarbonTable, tz: ZoneInfo) -> Place:
    """Return what of the site own supply depends on."""
    return Place(site.latitude, site.longitude, site.zone, carbon.basis, tz)


def solar(table: supply_tables.SolarTable | None, place: Place) -> SolarArray | None:
    """Return a solar array, or None where there is none."""
    if table is None:
        return None
    plane = None
    if table.tilt_deg > 0.0 or table.tracking:
        equator_deg = SOUTH_DEG if place.latitude >= 0.0 else NORTH_DEG
        plane = Plane(
            latitude=place.latitude,
            longitude=place.longitude,
            tilt_deg=table.tilt_deg,
            azimuth_deg=equator_deg if table.azimuth_deg is None else table.azimuth_deg,
            tracking=table.tracking,
            max_angle_deg=table.max_angle_deg,
            ground_cover_share=table.ground_cover_share,
            albedo_share=table.albedo_share,
        )
    return SolarArray(
        name=table.name,
        peak_kw=table.peak_kw,
        inverter_kw=table.inverter_kw or table.peak_kw,
        system_efficiency=table.system_efficiency,
        temp_coefficient_per_k=table.temp_coefficient_per_k,
        plane=plane,
    )


def wind(table: supply_tables.WindTable | None) -> WindTurbines | None:
    """Return wind turbines, or None where there are none."""
    if table is None:
        return None
    return WindTurbines(
        name=table.name,
        rated_kw=table.rated_kw,
        hub_height_m=table.hub_height_m,
        measured_height_m=table.measured_height_m,
        shear_exponent=table.shear_exponent,
        elevation_m=table.elevation_m,
        available_share=table.available_share,
        curve=tuple((speed, share) for speed, share in table.curve) or NREL_5MW,
    )


def battery(table: supply_tables.BatteryTable | None) -> Battery | None:
    """Return a battery, or None where there is none."""
    if table is None:
        return None
    power_kw = (table.c_rate_per_h or 0.0) * table.energy_kwh
    wear = table.wear_cost_per_kwh
    if wear is None:
        cost, cycles = table.replacement_cost_per_kwh or 0.0, table.cycles or 1.0
        wear = wear_per_kwh(cost, cycles, table.depth_share, table.discharge_efficiency)
    return Battery(
        energy_kwh=table.energy_kwh,
        charge_kw=table.charge_kw or power_kw,
        discharge_kw=table.discharge_kw or power_kw,
        charge_efficiency=table.charge_efficiency,
        discharge_efficiency=table.discharge_efficiency,
        min_share=table.min_share,
        max_share=table.max_share,
        initial_share=table.initial_share,
        final_share=table.final_share,
        wear_cost_per_kwh=wear,
        self_discharge_share=table.self_discharge_share,
        final_rule=table.final_rule,
        final_worth_per_kwh=table.final_worth_per_kwh,
        grid_charging=table.grid_charging,
        reserve_min=table.reserve_min,
    )


def generator(table: supply_tables.GeneratorTable, place: Place) -> Generator:
    """Return a group of generators, with the carbon of the plan's basis."""
    fuel = table.fuel_cost_per_kwh
    if fuel is None:
        fuel = fuel_cost_per_kwh(table.fuel_price_per_kwh or 0.0, table.generating_efficiency or 1.0)
    return Generator(
        name=table.name,
        units=table.units,
        unit_kw=table.unit_kw,
        min_load_share=table.min_load_share,
        min_up_h=table.min_up_h,
        min_down_h=table.min_down_h,
        start_cost=table.start_cost,
        fuel_cost_per_kwh=fuel,
        factor_gco2_per_kwh=factor_gco2_per_kwh(table, place) or 0.0,
        initial_units=table.initial_units,
        initial_h=table.initial_h,
        available_from=None if table.available_from is None else to_utc(table.available_from, place.tz),
        available_until=None if table.available_until is None else to_utc(table.available_until, place.tz),
        max_unit_h=table.max_unit_h,
    )


def export(table: supply_tables.ExportTable | None) -> GridExport | None:
    """Return a right to export, or None where there is none."""
    if table is None:
        return None
    return GridExport(table.limit_kw, table.price_share, table.fee_per_kwh, table.fixed_per_kwh)


def ppa(table: supply_tables.PpaTable, place: Place, output_kw: HourlyValues | None) -> Ppa:
    """Return a power purchase agreement, with the carbon of the plan's basis.

    Args:
        table: What the site file says.
        place: Of the site.
        output_kw: The farm's hourly output, where the agreement names a file of it.
    """
    return Ppa(
        name=table.name,
        kind=table.kind,
        settlement=table.settlement,
        strike_per_kwh=table.strike_per_kwh,
        sale_share=table.sale_share,
        curtailed_share=table.curtailed_share,
        share=table.share,
        solar=solar(table.solar, place),
        wind=wind(table.wind),
        output_kw=output_kw,
        baseload_kw=table.baseload_kw or 0.0,
        technology=table.technology or ("solar" if table.solar else "wind" if table.wind else ""),
        factor_gco2_per_kwh=factor_gco2_per_kwh(table, place) or 0.0,
        boundary=table.boundary or place.zone,
    )


def factor_gco2_per_kwh(table: supply_tables.GeneratorTable | supply_tables.PpaTable, place: Place) -> float | None:
    """Return the carbon of the plan's basis, gCO2e/kWh, or None where the file does not give it."""
    return table.direct_gco2_per_kwh if place.basis == "direct" else table.lifecycle_gco2_per_kwh
