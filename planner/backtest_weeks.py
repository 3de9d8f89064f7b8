"""A site's week moved to an origin of the past: the same work and limits on other hours of grid and weather."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.errors import ConfigError
from planner.gather import block_of_week, runs_of_week
from planner.timegrid import TimeGrid, iso_week, zone
from planner.week import Signals, Week

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.config.site import Site

HORIZON = timedelta(hours=168)


def weather_of(site: Site) -> tuple[str, ...]:
    """Return the weather signals that a plan of the site asks for."""
    asked = {"dry_bulb": True, "wet_bulb": True, "ghi": site.has_solar, "wind_speed_100m": site.has_wind}
    return tuple(name for name, wanted in asked.items() if wanted)


def home_start(site: Site) -> datetime:
    """Return the start of the week that the dates of a site belong to, UTC.

    Raises:
        ConfigError: The site file names none.
    """
    if site.horizon.week is None:
        raise ConfigError(
            f"{site.file} names no week that its dates belong to",
            why="the dates of runs and blocks move with the week that is planned",
            fix='set week = "2024-W20" or another in [horizon]',
        )
    return iso_week(site.horizon.week, zone(site.place.timezone), site.horizon.slot_minutes).start


def week_at(site: Site, origin: datetime, hours: Mapping[str, npt.NDArray[np.float64]], basis: str) -> Week:
    """Return the site's week as if it began at an origin, with all its dates moved along.

    Args:
        site: The site; its file names the week that its dates belong to.
        origin: Start of the first hour, UTC.
        hours: Signal -> value of each of the 168 hours: carbon, price and the weather that the site asks for.
        basis: Basis of the carbon intensity.

    Raises:
        ConfigError: The site file names no week, or the week has no work.
    """
    minutes = site.horizon.slot_minutes
    there = moved(site, origin - home_start(site))
    grid = TimeGrid(origin, minutes, HORIZON // timedelta(minutes=minutes))
    slots = {name: np.repeat(values, 60 // minutes) for name, values in hours.items()}
    signals = Signals(
        ci_gco2_per_kwh=slots["carbon"],
        ci_basis=basis,
        price_per_kwh=slots["price"],
        dry_bulb_c=slots["dry_bulb"],
        wet_bulb_c=np.minimum(slots["wet_bulb"], slots["dry_bulb"]),
        ghi_w_per_m2=slots.get("ghi", np.zeros(grid.n_slots)),
        wind_speed_m_per_s=slots.get("wind_speed_100m"),
    )
    runs, _ = runs_of_week(there, grid)
    return Week(
        site=site.name,
        timezone=site.place.timezone,
        grid=grid,
        issued_at=origin,
        signals=signals,
        provenance=(),
        blocks=tuple(block_of_week(there, block, grid, signals) for block in there.blocks),
        pools=there.pools,
        runs=runs,
        tariff=there.tariff,
        contracts=there.contracts,
        ppas=there.ppas,
        prices=there.prices,
    )


def moved(value: Any, by: timedelta) -> Any:
    """Return a value with every instant in it moved, through frozen dataclasses and tuples; what has none is kept."""
    if isinstance(value, datetime):
        return value + by
    if isinstance(value, tuple):
        there = tuple(moved(one, by) for one in value)
        return there if any(a is not b for a, b in zip(there, value, strict=True)) else value
    if is_dataclass(value) and not isinstance(value, type):
        pairs = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        other = {name: there for name, here in pairs.items() if (there := moved(here, by)) is not here}
        return replace(value, **other) if other else value
    return value
