"""Carbon of each fuel, in sets that are never mixed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from planner.bundled import data_dir
from planner.errors import ConfigError

FUELS = ("coal", "gas", "oil", "biomass", "nuclear", "hydro", "wind", "solar", "geothermal", "unknown")
MIX_BASES = ("direct", "lifecycle")
"""Bases for which there is a set."""


@dataclass(frozen=True)
class FuelFactors:
    """One set.

    Args:
        id: Its name with its version, which stands beside every number made from it.
        basis: "direct" or "lifecycle".
        gco2_per_kwh: Carbon of each of FUELS, gCO2e/kWh.
    """

    id: str
    basis: str
    gco2_per_kwh: Mapping[str, float]


@cache
def fuel_factors(basis: str) -> FuelFactors:
    """Return the set of a basis, from `data/fuel-factors.toml`.

    Raises:
        ConfigError: There is none.
    """
    sets = tomllib.loads((data_dir() / "fuel-factors.toml").read_text(encoding="utf-8"))["set"]
    for one in sets:
        if one["basis"] == basis:
            return FuelFactors(f"{one['id']}/{one['version']}", basis, {fuel: float(one[fuel]) for fuel in FUELS})
    raise ConfigError(f"there are no fuel factors of basis {basis!r}", fix=f"use one of {', '.join(MIX_BASES)}")
