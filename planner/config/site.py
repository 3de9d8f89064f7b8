"""A site as the planner uses it: what the site file says, resolved to physics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.config.model import CarbonTable, HorizonTable, PlanTable, SiteTable, SourcesTable
    from planner.heat import HeatBuyer
    from planner.week import Pool, Prices, Run
    from power.battery import Battery
    from power.blocks import PowerBlock
    from power.renewables import SolarArray
    from power.tariff import Tariff
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
    """

    power: PowerBlock
    plant: CoolingPlant
    solar: SolarArray | None
    battery: Battery | None
    reserve: Reserve
    heat: HeatBuyer | None = None


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

    @property
    def name(self) -> str:
        """The site's name."""
        return self.place.name

    @property
    def has_solar(self) -> bool:
        """Whether any block has a solar array; nothing else asks for sunshine."""
        return any(block.solar is not None for block in self.blocks)

    def run(self, name: str) -> Run:
        """Return the run of that name (KeyError if there is none)."""
        return {run.name: run for run in self.runs}[name]
