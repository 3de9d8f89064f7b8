"""GPU types of the bundled table, as operating points of IT power."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from planner.bundled import data_dir
from power.gpu import GpuType, OperatingPoint, at_limit


def gpu_catalogue(path: Path | None = None) -> dict[str, GpuType]:
    """Return the GPU types of the bundled table by name.

    A measured sweep of power limits is scaled to each type by its highest limit, and ends at the lowest limit that its
    driver takes. IT power per GPU is the GPU's draw plus its share of the node's overhead, which is what the node draws
    in training beside its GPUs and is held constant over the sweep.

    Args:
        path: Another table of the same form.
    """
    table = tomllib.loads((path or data_dir() / "gpus.toml").read_text(encoding="utf-8"))
    return {name: _gpu_type(name, _values(entry), table) for name, entry in table["gpu"].items()}


def _values(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: fact["value"] for key, fact in entry.items()}


def _gpu_type(name: str, entry: dict[str, Any], table: dict[str, Any]) -> GpuType:
    node = _values(table["node"])
    rows = sorted(table["sweep"][entry["sweep"]]["rows"], key=lambda row: float(row["limit_share"]))
    limit_w = float(entry["gpu_limit_w"])
    node_w = entry["node_rated_kw"] * 1000.0 * node["training_share_of_rating"]
    overhead_w = node_w / entry["gpus_per_node"] - rows[-1]["draw_share"] * limit_w
    points = tuple(
        OperatingPoint(
            gpu_power_limit_w=round(row["limit_share"] * limit_w, 1),
            it_w_per_gpu=round(row["draw_share"] * limit_w + overhead_w, 1),
            relative_throughput=float(row["relative_throughput"]),
        )
        for row in rows
    )
    awake_w = overhead_w * node["idle_share_of_overhead"]
    return GpuType(
        name=name,
        idle_w_per_gpu=round(entry["gpu_idle_w"] + awake_w, 1),
        points=_from_lowest(points, float(entry["lowest_limit_w"])),
        held_w_per_gpu=round(entry["gpu_held_w"] + awake_w, 1),
        overhead_w_per_gpu=round(overhead_w, 1),
    )


def _from_lowest(points: tuple[OperatingPoint, ...], lowest_w: float) -> tuple[OperatingPoint, ...]:
    """Return the points from the lowest limit on; between two measured ones it lies on the line that joins them."""
    if points[0].gpu_power_limit_w >= lowest_w:
        return points
    (watts, throughput) = at_limit(points, lowest_w)
    lowest = OperatingPoint(lowest_w, round(float(watts), 1), round(float(throughput), 4))
    return (lowest, *(point for point in points if point.gpu_power_limit_w > lowest_w))
