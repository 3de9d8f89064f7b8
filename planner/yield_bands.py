"""What is not known of a site's own sun and wind: the joint paths of its weather through each plant's physics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.band import Band
from planner.forecast.spread import LEVELS
from planner.forecast.yields import SOLAR_YIELD, WIND_YIELD, installed_kw, path_quantiles, yields
from power.renewables import SolarArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from planner.config.site import Site, SiteBlock
    from planner.timegrid import TimeGrid
    from planner.week import Block, Signals
    from power.wind import WindTurbines

DRIVERS = {SOLAR_YIELD: "ghi_w_per_m2", WIND_YIELD: "wind_speed_m_per_s"}
"""Field of `Signals` that drives each yield."""
_WARMTH, _WET = "dry_bulb_c", "wet_bulb_c"
OFFERED_LEVELS = (0.10, 0.90)


def name_of(kind: str, block: str) -> str:
    """Return the name of a block's band, such as "solar_yield:hall-1"; `kind` is a key of DRIVERS."""
    return f"{kind}:{block}"


def physical(bands: Sequence[Band], signals: Signals) -> tuple[Band, ...]:
    """Return bands in which no wet bulb lies above the dry bulb, at any level and in any path.

    Args:
        bands: Of the week's weather, grid and prices.
        signals: The week's values; they stand for a dry bulb that has no band.
    """
    by_name = {band.signal: band for band in bands}
    return tuple(_no_warmer(band, by_name, signals) if band.signal == _WET else band for band in bands)


def _no_warmer(wet: Band, by_name: dict[str, Band], signals: Signals) -> Band:
    dry = by_name.get(_WARMTH)
    levels, paths = (signals.dry_bulb_c[None],) * 2 if dry is None else (dry.quantiles, dry.paths)
    return Band(
        wet.signal,
        wet.model,
        wet.origin,
        wet.levels,
        np.minimum(wet.quantiles, levels),
        np.minimum(wet.paths, paths),
    )


def yield_bands(site: Site, grid: TimeGrid, signals: Signals, bands: Iterable[Band]) -> tuple[Band, ...]:
    """Return a band of the yield of each solar array and each group of turbines behind a block's meter.

    Path i of a yield comes from path i of the weather and so belongs to path i of carbon intensity and price. What
    has no band is taken as it is; where nothing of a plant's weather has one, neither has its yield.

    Args:
        site: The site.
        grid: The slots.
        signals: The week's values.
        bands: Of the week's signals.
    """
    by_name = {band.signal: band for band in bands}
    made = [
        _band(site, grid, signals, by_name, block, kind, plant)
        for block in site.blocks
        for kind, plant in ((SOLAR_YIELD, block.solar), (WIND_YIELD, block.wind))
        if plant is not None
    ]
    return tuple(band for band in made if band is not None)


def _band(
    site: Site,
    grid: TimeGrid,
    signals: Signals,
    by_name: dict[str, Band],
    block: SiteBlock,
    kind: str,
    plant: SolarArray | WindTurbines,
) -> Band | None:
    known = [by_name.get(field) for field in (DRIVERS[kind], _WARMTH)]
    bands = [band for band in known if band is not None]
    if not bands:
        return None
    shape = bands[0].paths.shape
    weather = [
        np.broadcast_to(getattr(signals, field), shape) if band is None else band.paths
        for field, band in zip((DRIVERS[kind], _WARMTH), known, strict=True)
    ]
    place = (site.place.latitude, site.place.longitude)
    paths = yields(plant, place, grid.start, grid.slot_minutes, *weather)
    means = "PVWatts" if isinstance(plant, SolarArray) else "the power curve"
    model = f"{' and '.join(dict.fromkeys(band.model for band in bands))} through {means}"
    origin = min(band.origin for band in bands)
    return Band(name_of(kind, block.power.name), model, origin, LEVELS, path_quantiles(paths), paths)


def offered_kw(block: Block, bands: Iterable[Band]) -> tuple[npt.NDArray[np.float64], ...]:
    """Return what a block's own sun and wind may offer together at OFFERED_LEVELS, kW, shape (T,) each; () if known.

    Args:
        block: The block.
        bands: Of the week.
    """
    plants = {name_of(SOLAR_YIELD, block.name): block.solar, name_of(WIND_YIELD, block.name): block.wind}
    offers = [band.paths * installed_kw(plant) for band in bands if (plant := plants.get(band.signal)) is not None]
    if not offers:
        return ()
    # Summed path by path: calm and dull hours need not come together.
    return tuple(np.quantile(sum(offers), OFFERED_LEVELS, axis=0, method="hazen"))
