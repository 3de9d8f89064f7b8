"""How a site keeps its carbon accounts; decides nothing of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from power.embodied import Server
    from power.factors import FactorSet
    from power.hourly import HourlyValues


@dataclass(frozen=True)
class Accounting:
    """What the accounts of a site are kept by.

    Args:
        zone: Grid zone of the site.
        factors: The factor set.
        server: What GPUs' embodied carbon is counted by.
        residual_gco2_per_kwh: Intensity of the residual mix: one value, a series, or None where the average stands in.
        marginal_gco2_per_kwh: Marginal intensity, likewise; None where it is not known.
        grid_cfe_share: Share of grid energy free of carbon, likewise; None where none of it is credited.
    """

    zone: str
    factors: FactorSet
    server: Server
    residual_gco2_per_kwh: float | HourlyValues | None = None
    marginal_gco2_per_kwh: float | HourlyValues | None = None
    grid_cfe_share: float | HourlyValues | None = None
