"""The bundled emission factors and servers, by name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from planner.bundled import data_dir
from power.embodied import Embodied, Server
from power.factors import Factor, FactorSet

DEFAULT_SETS = {"direct": "direct-ipcc2014", "lifecycle": "lifecycle-ipcc2014"}
"""Basis -> the factor set of a site that names none."""

DEFAULT_SERVER = "hgx-8gpu"


def factor_sets(path: Path | None = None) -> dict[str, FactorSet]:
    """Return the bundled factor sets by name.

    Args:
        path: Another table of the same form.
    """
    table = _table(path)
    tags = {key: frozenset(table["technology"][key]) for key in ("carbon_free", "renewable")}
    return {
        name: FactorSet(
            name=name,
            version=entry["version"],
            basis=entry["basis"],
            factors={
                technology: Factor(float(one["value"]), one["grade"], one["source"])
                for technology, one in entry["gco2_per_kwh"].items()
            },
            **tags,
        )
        for name, entry in table["set"].items()
    }


def servers(path: Path | None = None) -> dict[str, Server]:
    """Return the bundled servers by name.

    Args:
        path: Another table of the same form.
    """
    return {name: _server(name, entry) for name, entry in _table(path)["server"].items()}


def _server(name: str, entry: dict[str, Any]) -> Server:
    parts = ("low_kg", "mid_kg", "high_kg", "low_life_h", "mid_life_h", "high_life_h")
    value = {part: float(entry[part]["value"]) for part in parts}
    return Server(
        name=name,
        version=entry["version"],
        gpus=entry["gpus"],
        made=Embodied(value["low_kg"], value["mid_kg"], value["high_kg"]),
        low_life_h=value["low_life_h"],
        mid_life_h=value["mid_life_h"],
        high_life_h=value["high_life_h"],
        source="; ".join(f"{part} {entry[part]['value']}: {entry[part]['source']}" for part in ("board_kg", *parts)),
    )


def _table(path: Path | None) -> dict[str, Any]:
    return tomllib.loads((path or data_dir() / "factors.toml").read_text(encoding="utf-8"))
