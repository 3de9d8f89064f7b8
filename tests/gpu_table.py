"""The bundled table of GPU types, value by value."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from planner.bundled import data_dir

GRADES = ("measured", "published", "assumed")


@dataclass(frozen=True)
class GpuFact:
    """One value: of a GPU type, or of the "node" for what holds for all."""

    gpu: str
    key: str
    value: float | str
    grade: str
    source: str


def gpu_facts() -> tuple[GpuFact, ...]:
    """Every value of the table with its grade and source."""
    table = tomllib.loads((data_dir() / "gpus.toml").read_text(encoding="utf-8"))
    named = {"node": table["node"], **table["gpu"]}
    return tuple(
        GpuFact(name, key, fact["value"], fact["grade"], fact["source"])
        for name, entry in named.items()
        for key, fact in entry.items()
    )
