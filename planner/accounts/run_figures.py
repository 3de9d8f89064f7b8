"""What a run's account comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from power.accounts import cfe_score
from power.sci import CarbonIntensity, software_carbon_intensity

if TYPE_CHECKING:
    from power.embodied import Embodied


@dataclass(frozen=True)
class RunFigures:
    """The account of one run over the whole span, of the site, or of what no run uses.

    Args:
        subject: Name of the run.
        it_kwh: IT energy; all of it leaves as heat.
        load_kwh: Its share of all energy that the site takes.
        import_kwh: Its share of the energy from the grid.
        onsite_kwh: Its share of the energy from behind the meter.
        matched_kwh: Its share of the grid energy that contracts cover hour by hour.
        cfe_kwh: Its share of the energy free of carbon.
        location_kg: Location-based emissions of its grid energy, kgCO2e.
        market_kg: Market-based ones, kgCO2e.
        onsite_kg: Emissions of its energy from behind the meter, kgCO2e.
        marginal_kg: Its grid energy at the marginal intensity, kgCO2e, or None; no part of the inventory.
        water_l: Its share of the water, L.
        gpu_hours: GPUs times the hours for which it reserves them.
        embodied: Embodied carbon of those hours.
        tokens: Useful tokens.
        heat_sold_kwh_th: Its share of the heat sold, kWh of heat, or None where the site has no buyer.
    """

    subject: str
    it_kwh: float
    load_kwh: float
    import_kwh: float
    onsite_kwh: float
    matched_kwh: float
    cfe_kwh: float
    location_kg: float
    market_kg: float
    onsite_kg: float
    marginal_kg: float | None
    water_l: float
    gpu_hours: float
    embodied: Embodied
    tokens: float
    heat_sold_kwh_th: float | None = None

    @property
    def cfe_score(self) -> float | None:
        """Share of its load free of carbon hour by hour, or None without load."""
        return cfe_score(self.cfe_kwh, self.load_kwh)

    @property
    def sci(self) -> CarbonIntensity | None:
        """Software carbon intensity per million useful tokens, or None where no token is made."""
        return software_carbon_intensity(self.location_kg + self.onsite_kg, self.embodied, self.tokens)
