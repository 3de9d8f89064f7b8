"""Carbon of each fuel, in sets that are never mixed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from planner.bundled import data_dir
from planner.errors import ConfigError
from planner.sources.options import Options

FUELS = ("coal", "gas", "oil", "biomass", "nuclear", "hydro", "wind", "solar", "geothermal", "unknown")
SETS = {"direct": "direct-ipcc2014", "lifecycle": "lifecycle-ipcc2014"}
"""Basis -> its factor set."""

MIX_BASES = tuple(SETS)
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
    """Return the set of a basis: the one of `data/factors.toml` that carbon accounts take by default too.

    Raises:
        ConfigError: There is none.
    """
    name = SETS.get(basis)
    if name is None:
        raise ConfigError(f"there are no fuel factors of basis {basis!r}", fix=f"use one of {', '.join(SETS)}")
    entry = tomllib.loads((data_dir() / "factors.toml").read_text(encoding="utf-8"))["set"][name]
    values = {fuel: float(entry["gco2_per_kwh"][fuel]["value"]) for fuel in FUELS}
    return FuelFactors(f"{name}/{entry['version']}", basis, values)


def only_basis(options: Options) -> str:
    """Return the basis that a provider's options declare; it is the only one of them.

    Raises:
        ConfigError: It is none, or there is another option.
    """
    basis = options.choice("basis", MIX_BASES, "direct")
    options.finish()
    return basis
