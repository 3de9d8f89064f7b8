"""Coolants: how much heat a cubic metre carries, and where ice forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thermal.coolant_tables import COOLANTS, TEMPS_C

if TYPE_CHECKING:
    import numpy.typing as npt

NAMES = tuple(COOLANTS)


def heat_capacity_kj_per_kg_k(coolant: str, temp_c: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the specific heat capacity, kJ/kgK.

    Args:
        coolant: One of `NAMES`.
        temp_c: Temperature, deg C, shape (...); beyond 0 to 90 the value at the nearer end holds.

    Returns:
        kJ/kgK, shape (...).

    Source:
        Frozen tables of CoolProp (water: IAPWS-95; glycols: Melinder 2010), linear between 10 K steps.
    """
    return np.asarray(np.interp(np.asarray(temp_c, dtype=np.float64), TEMPS_C, COOLANTS[coolant][2]))


def density_kg_per_m3(coolant: str, temp_c: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the density, kg/m3; arguments, shape and source as `heat_capacity_kj_per_kg_k`."""
    return np.asarray(np.interp(np.asarray(temp_c, dtype=np.float64), TEMPS_C, COOLANTS[coolant][3]))


def volume_heat_kj_per_m3_k(coolant: str, temp_c: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the heat capacity of a cubic metre, kJ/m3K; arguments and source as `heat_capacity_kj_per_kg_k`."""
    return np.asarray(heat_capacity_kj_per_kg_k(coolant, temp_c) * density_kg_per_m3(coolant, temp_c))


def freezing_c(coolant: str) -> float:
    """Return the temperature at which ice first forms in a coolant of `NAMES`, deg C."""
    return COOLANTS[coolant][1]
