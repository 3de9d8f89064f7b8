"""Whether sunshine stands where the sun stood: it finds stamps of an hour's end, and offsets that nobody declared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.errors import ConfigError, SchemaChanged

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.sources.series import Series

LARGEST_SHIFT_H = 0.75
"""Shift beyond which stamps are taken for wrong, h: below the whole hour of a wrong stamp, above what clouds do."""
LEAST_DAYS = 5
"""Sunny days below which nothing is said."""

_SUNNY_SHARE = 0.5  # of the sunniest day: on dull days the sum says little about where its middle lies
_LEAST_SUN_WH_PER_M2 = 500.0
_LEAST_CONCENTRATION = (
    0.3  # length of the mean vector on the clock: 0 for what shines day and night, 0.5 to 0.8 for the sun
)
_DAY_COVER = 0.9
_SPOKEN = {"ghi": "sunshine", "solar_generation": "solar generation"}


@dataclass(frozen=True)
class NoonShift:
    """How far the middle of the day's sunshine lies from solar noon.

    Args:
        hours: Median over the sunny days, h; positive where stamps are late.
        days: Count of sunny days.
        first: First sunny day's noon, UTC.
    """

    hours: float
    days: int
    first: datetime


def equation_of_time_h(day_of_year: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return by how much the sun is ahead of its mean at noon, h, shape (n,).

    Args:
        day_of_year: 1 to 366, shape (n,).

    Source: Spencer (1971), Fourier series of the position of the sun; within half a minute.
    """
    angle = 2.0 * np.pi * (day_of_year - 1.0) / 365.0
    minutes = 229.18 * (
        0.000075
        + 0.001868 * np.cos(angle)
        - 0.032077 * np.sin(angle)
        - 0.014615 * np.cos(2.0 * angle)
        - 0.040849 * np.sin(2.0 * angle)
    )
    return np.asarray(minutes / 60.0)


def noon_shift(rows: pd.DataFrame, longitude: float) -> NoonShift | None:
    """Return how far sunshine lies from solar noon, or None where too few days say it.

    Args:
        rows: Rows of a series of irradiance or of solar generation.
        longitude: Degrees east of the place.
    """
    length_h = (rows.t_end - rows.t_start).dt.total_seconds().to_numpy() / 3600.0
    start_h = (rows.t_start - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy() / 3600.0
    middle_h = start_h + length_h / 2.0
    # Days are counted from solar midnight to solar midnight, so that none is cut at a place far from Greenwich.
    solar_h = middle_h + longitude / 15.0
    solar_h += equation_of_time_h(rows.t_start.dt.day_of_year.to_numpy(dtype=float))
    day, hour = np.floor(solar_h / 24.0), solar_h % 24.0
    energy = rows.value.to_numpy(dtype=float) * length_h
    angle = 2.0 * np.pi * (hour - 12.0) / 24.0
    table = pd.DataFrame(
        {
            "day": day,
            "length_h": length_h,
            "energy": energy,
            "along": energy * np.cos(angle),
            "across": energy * np.sin(angle),
            "noon_h": middle_h - hour + 12.0,
        }
    )
    days = table.groupby("day").agg(
        {"length_h": "sum", "energy": "sum", "along": "sum", "across": "sum", "noon_h": "first"}
    )
    days = days[(days.length_h >= _DAY_COVER * 24.0) & (days.energy >= _LEAST_SUN_WH_PER_M2)]
    days = days[np.hypot(days.along, days.across) >= _LEAST_CONCENTRATION * days.energy]
    days = days[days.energy >= _SUNNY_SHARE * days.energy.max()]
    if len(days) < LEAST_DAYS:
        return None
    first = datetime.fromtimestamp(float(days.noon_h.iloc[0]) * 3600.0, UTC).replace(microsecond=0)
    shift_h = np.arctan2(days.across, days.along) * 12.0 / np.pi
    return NoonShift(float(shift_h.median()), len(days), first)


def check_noon(series: Series, longitude: float) -> None:
    """Check that a series of irradiance or of solar generation stands where the sun stood.

    Args:
        series: Signal "ghi" or "solar_generation".
        longitude: Degrees east of the place.

    Raises:
        ConfigError: It does not, and stands in a file of the user's own.
        SchemaChanged: It does not, and comes from a provider.
    """
    shift = noon_shift(series.rows, longitude)
    if shift is None or abs(shift.hours) <= LARGEST_SHIFT_H:
        return
    side = "after" if shift.hours > 0 else "before"
    what = (
        f"{series.source}: {_SPOKEN[series.signal]} of {series.zone} lies {abs(shift.hours):.1f} h {side} the solar"
        f" noon of longitude {longitude:g}, on {shift.days} sunny days from {shift.first:%Y-%m-%d} on"
    )
    if series.fetched_at is not None:
        raise SchemaChanged(
            what,
            why="its stamps, its offset or the place are not what they are taken for",
            fix="use another source, or data in a file",
        )
    fix = "check time_zone, step_minutes, and the site's longitude"
    if 0.5 < shift.hours < 1.5:
        fix = 'set stamp = "end" if the file stamps the end of each hour; else ' + fix
    raise ConfigError(what, why="its stamps are not what they are declared to be", fix=fix)
