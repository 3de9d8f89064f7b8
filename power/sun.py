"""Sunshine on a tilted or tracking plane, slot by slot, by pvlib."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

SUN_STEP_MIN = 5
"""The sun's place is taken in the middle of every five minutes of a slot: hours around sunrise are no points."""
HORIZON_DEG = 90.0
"""Zenith angle, seen through the air, beyond which the sun is down."""


@dataclass(frozen=True)
class Plane:
    """How the modules of an array stand.

    Args:
        latitude: Degrees north.
        longitude: Degrees east.
        tilt_deg: Tilt of a fixed plane from the horizontal, degree; of a tracking one, that of its axis.
        azimuth_deg: Where a fixed plane faces, or where a tracker's axis points, degree from north by east.
        tracking: Whether the modules turn about one axis after the sun, with backtracking.
        max_angle_deg: Farthest that a tracker turns from the horizontal, degree.
        ground_cover_share: Width of the modules over the distance of a tracker's rows.
        albedo_share: Share of the sunshine that the ground throws back.
    """

    latitude: float
    longitude: float
    tilt_deg: float
    azimuth_deg: float
    tracking: bool = False
    max_angle_deg: float = 60.0
    ground_cover_share: float = 0.35
    albedo_share: float = 0.2


def plane_irradiance_w_per_m2(
    plane: Plane, start: datetime, slot_minutes: int, ghi_w_per_m2: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the mean irradiance on a plane in each slot.

    Beam and diffuse light are told apart from the slot's mean, at the sun's mean height in the slot; the plane then
    meets the sun at each of its places in the slot.

    Args:
        plane: The plane.
        start: Start of the first slot, UTC.
        slot_minutes: Length of a slot, min.
        ghi_w_per_m2: Global horizontal irradiance, slot mean, W/m2, shape (T,), 0 to about 1,400.

    Returns:
        W/m2, shape (T,), 0 or more.

    Source:
        Erbs et al. 1982 for the diffuse share (hourly means; up to about 15 % off for a single hour), Hay and Davies
        1980 for the sky, Anderson and Mikofski 2020 for backtracking, sun by NREL's SPA (Reda and Andreas 2004), all as
        in pvlib.
    """
    from pvlib import irradiance

    sun = _sun(plane, start, slot_minutes, len(ghi_w_per_m2))
    up = np.maximum(np.cos(np.radians(sun.zenith)), 0.0)
    mean_zenith = np.degrees(np.arccos(up.mean(axis=1)))
    split = irradiance.erbs(ghi_w_per_m2, mean_zenith, sun.day_of_year)
    beam, diffuse = (np.asarray(split[key])[:, None] for key in ("dni", "dhi"))
    on_plane = irradiance.get_total_irradiance(
        sun.tilt,
        sun.azimuth_of_plane,
        sun.zenith,
        sun.azimuth,
        np.where(up > 0.0, beam, 0.0),
        beam * up + diffuse,
        np.broadcast_to(diffuse, up.shape),
        dni_extra=np.broadcast_to(irradiance.get_extra_radiation(sun.day_of_year)[:, None], up.shape),
        albedo=plane.albedo_share,
        model="haydavies",
    )
    return np.asarray(np.maximum(on_plane["poa_global"], 0.0).mean(axis=1), dtype=np.float64)


def lit(plane: Plane, start: datetime, slot_minutes: int, n_slots: int) -> npt.NDArray[np.bool_]:
    """Return in which slots the sun stands above the horizon at one of its places, shape (T,).

    Args:
        plane: Where; how it stands does not matter.
        start: Start of the first slot, UTC.
        slot_minutes: Length of a slot, min.
        n_slots: Count of slots.
    """
    return np.asarray((_sun(plane, start, slot_minutes, n_slots).zenith < HORIZON_DEG).any(axis=1))


def cloudy_ghi_w_per_m2(
    latitude: float, longitude: float, start: datetime, slot_minutes: int, cloud_cover_pct: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the global horizontal irradiance under a sky of which a part is covered, where nothing better is known.

    Args:
        latitude: Degrees north.
        longitude: Degrees east.
        start: Start of the first slot, UTC.
        slot_minutes: Length of a slot, min.
        cloud_cover_pct: Total cloud cover, slot mean, %, 0 to 100, shape (..., T).

    Returns:
        W/m2, slot mean, shape (..., T), 0 where the sun is down.

    Source:
        Haurwitz 1945 for the clear sky, as in pvlib; Kasten and Czeplak 1980 for the cloud: hourly means of Hamburg,
        low sun to 60 degrees; a single hour may be off by a third.
    """
    import pandas as pd
    from pvlib import clearsky

    level = Plane(latitude, longitude, tilt_deg=0.0, azimuth_deg=0.0)
    zenith = _sun(level, start, slot_minutes, cloud_cover_pct.shape[-1]).zenith
    clear = clearsky.haurwitz(pd.Series(zenith.ravel()))["ghi"].to_numpy().reshape(zenith.shape).mean(axis=1)
    share = 1.0 - 0.75 * (cloud_cover_pct / 100.0) ** 3.4
    return np.asarray(clear * share, dtype=np.float64)


@dataclass(frozen=True)
class _Sun:
    """Sun and plane at every place in every slot, degree, shape (T, S) each; day of the year, shape (T,)."""

    zenith: npt.NDArray[np.float64]
    azimuth: npt.NDArray[np.float64]
    tilt: npt.NDArray[np.float64]
    azimuth_of_plane: npt.NDArray[np.float64]
    day_of_year: npt.NDArray[np.float64]


@lru_cache(maxsize=32)
def _sun(plane: Plane, start: datetime, slot_minutes: int, n_slots: int) -> _Sun:
    import pandas as pd
    from pvlib import solarposition

    places = slot_minutes // SUN_STEP_MIN
    first = pd.Timestamp(start) + pd.Timedelta(minutes=SUN_STEP_MIN / 2)
    times = pd.date_range(first, periods=n_slots * places, freq=f"{SUN_STEP_MIN}min")
    seen = solarposition.get_solarposition(times, plane.latitude, plane.longitude)
    shape = (n_slots, places)
    zenith, azimuth = (seen[key].to_numpy().reshape(shape) for key in ("apparent_zenith", "azimuth"))
    tilt, facing = np.full(shape, plane.tilt_deg), np.full(shape, plane.azimuth_deg)
    if plane.tracking:
        tilt, facing = _tracked(plane, seen, shape)
    return _Sun(zenith, azimuth, tilt, facing, times.day_of_year.to_numpy().reshape(shape)[:, 0].astype(np.float64))


def _tracked(
    plane: Plane, seen: Any, shape: tuple[int, int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    from pvlib import tracking

    turned = tracking.singleaxis(
        seen["apparent_zenith"],
        seen["azimuth"],
        axis_tilt=plane.tilt_deg,
        axis_azimuth=plane.azimuth_deg,
        max_angle=plane.max_angle_deg,
        backtrack=True,
        gcr=plane.ground_cover_share,
    )
    tilt, facing = (turned[key].to_numpy().reshape(shape) for key in ("surface_tilt", "surface_azimuth"))
    return np.nan_to_num(tilt, nan=plane.tilt_deg), np.nan_to_num(facing, nan=plane.azimuth_deg)
