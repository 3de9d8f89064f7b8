"""A site as the planner uses it: what the site file says, resolved to physics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planner.config.service_table import ServiceTable
from planner.objective import BY_PRICE
from power.flexibility import NOTHING_AGREED

if TYPE_CHECKING:
    from planner.config.model import CarbonTable, HorizonTable, PlanTable, SiteTable, SourcesTable
    from planner.config.other_site import OtherPlace
    from planner.heat import HeatBuyer
    from planner.objective import Objective
    from planner.pool import Pool
    from planner.run import Run
    from planner.week import Prices
    from power.accounting import Accounting
    from power.battery import Battery
    from power.blocks import PowerBlock
    from power.contracts import EnergyContract
    from power.export import GridExport
    from power.flexibility import DemandResponse, Flexibility
    from power.generation import Generator
    from power.ppa import Ppa
    from power.renewables import SolarArray
    from power.tariff import Tariff
    from power.wind import WindTurbines
    from thermal.plant import CoolingPlant
    from thermal.reserve import Reserve


@dataclass(frozen=True)
class SiteBlock:
    """A power block with what stands behind its meter.

    Args:
        power: Capacity, service dates, deratings, ramp.
        plant: Its cooling plant.
        solar: Its solar array, or None.
        battery: Its battery, or None.
        reserve: What its cooling keeps in hand.
        heat: Who buys its heat, or None.
        wind: Its wind turbines, or None.
        generators: Its groups of generators.
        export: Its right to export, or None.
        site: Name of its further site, or "" for the one that the file is named after.
    """

    power: PowerBlock
    plant: CoolingPlant
    solar: SolarArray | None
    battery: Battery | None
    reserve: Reserve
    heat: HeatBuyer | None = None
    wind: WindTurbines | None = None
    generators: tuple[Generator, ...] = ()
    export: GridExport | None = None
    site: str = ""


@dataclass(frozen=True)
class Site:
    """A site file that has no faults.

    Args:
        file: The file as the user named it.
        place: Name, time zone, position, grid zone, currency.
        horizon: Slot length and week.
        plan: Gap target and time limit.
        carbon: Basis of the carbon intensity.
        sources: Providers of the series.
        flat_price_per_kwh: Energy price of the tariff, money per kWh, or None where the price source gives a series.
        tariff: Contract for energy.
        prices: Prices of carbon, water and lateness.
        blocks: Power blocks.
        pools: GPU pools.
        runs: Training runs; `earliest_start` is `ALWAYS` where the file names none.
        warnings: Sentences about what is allowed but looks wrong.
        accounting: What its carbon accounts are kept by.
        demand_response: What it has agreed to do for the grid.
        flexibility: Run -> how far it gives way while the grid asks for less.
        contracts: Energy contracts in force and on offer.
        ppas: Power purchase agreements.
        history_days: How far before a week forecasts look, days.
        service: How the service runs week by week.
        others: Further sites.
        objective: What plans make small, beside the prices.
        legs: Run -> names of its legs, for runs planned in several.
    """

    file: str
    place: SiteTable
    horizon: HorizonTable
    plan: PlanTable
    carbon: CarbonTable
    sources: SourcesTable
    flat_price_per_kwh: float | None
    tariff: Tariff
    prices: Prices
    blocks: tuple[SiteBlock, ...]
    pools: tuple[Pool, ...]
    runs: tuple[Run, ...]
    warnings: tuple[str, ...]
    accounting: Accounting | None = None
    demand_response: DemandResponse = NOTHING_AGREED
    flexibility: Mapping[str, Flexibility] = field(default_factory=dict)
    contracts: tuple[EnergyContract, ...] = ()
    ppas: tuple[Ppa, ...] = ()
    history_days: int = 730
    service: ServiceTable = field(default_factory=ServiceTable)
    others: tuple[OtherPlace, ...] = ()
    objective: Objective = BY_PRICE
    legs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The site's name."""
        return self.place.name

    @property
    def declared(self) -> tuple[str, ...]:
        """Sentences about what blocks declare and no plan decides: smoothing of swings faster than any slot."""
        return tuple(
            f"Block {block.power.name!r} declares to smooth swings of up to {smoothing.power_kw:,.0f} kW and "
            f"{smoothing.up_to_s:g} s ({smoothing.means}); no plan relies on it."
            for block in self.blocks
            if block.power.connection is not None and (smoothing := block.power.connection.smoothing) is not None
        )

    @property
    def has_own_supply(self) -> bool:
        """Whether sun or wind stands behind any block's meter."""
        return any(block.solar is not None or block.wind is not None for block in self.blocks)

    @property
    def has_solar(self) -> bool:
        """Whether any block or any farm off site has a solar array; nothing else asks for sunshine."""
        arrays = [block.solar for block in self.blocks] + [ppa.solar for ppa in self.ppas]
        return any(array is not None for array in arrays)

    @property
    def has_wind(self) -> bool:
        """Whether any block or any farm off site has wind turbines; nothing else asks for wind."""
        turbines = [block.wind for block in self.blocks] + [ppa.wind for ppa in self.ppas]
        return any(one is not None for one in turbines)

    def run(self, name: str) -> Run:
        """Return the run of that name (KeyError if there is none)."""
        return {run.name: run for run in self.runs}[name]
