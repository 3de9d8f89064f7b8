"""The file of operating points that the planner reads, of the form `gridpace.sweep/1`."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from trainer_hooks.errors import SweepError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from trainer_hooks.sweep.readings import Reading

SCHEMA = "gridpace.sweep/1"
# The planner sees no curve in fewer.
FEWEST_LIMITS = 3
_DIGITS = 3


def sweep_document(
    points: Mapping[float, Sequence[Reading]],
    *,
    gpu: str,
    workload: str = "",
    counts_tokens: bool,
    idle_w: float | None = None,
    held_w: float | None = None,
) -> dict[str, Any]:
    """Lay readings out as the planner takes them.

    Args:
        points: Power limit, W -> its readings.
        gpu: GPU type, as the site file names it.
        workload: What was trained.
        counts_tokens: Whether rates are tokens per second and GPU; else they are steps per second.
        idle_w: Draw of a GPU without a job, W, where measured.
        held_w: Draw of a GPU whose job waits at a step boundary, W, where measured.

    Returns:
        The JSON object.

    Raises:
        SweepError: Fewer than three limits.
    """
    if len(points) < FEWEST_LIMITS:
        raise SweepError(
            "the sweep",
            f"it has {len(points)} power limits; the planner needs {FEWEST_LIMITS}.",
            "Measure more limits.",
        )
    rates = "tokens_per_gpu_s" if counts_tokens else "steps_per_s"
    known = {"workload": workload or None, "idle_w": _rounded(idle_w), "held_w": _rounded(held_w)}
    return {
        "schema": SCHEMA,
        "gpu": gpu,
        **{key: value for key, value in known.items() if value is not None},
        "points": [
            {
                "gpu_power_limit_w": _rounded(limit_w),
                "gpu_draw_w": [_rounded(reading.gpu_draw_w) for reading in points[limit_w]],
                rates: [float(f"{reading.rate_per_s:.6g}") for reading in points[limit_w]],
            }
            for limit_w in sorted(points)
        ],
    }


def write_sweep(path: Path, document: Mapping[str, Any]) -> None:
    """Write a sweep whole or not at all.

    Args:
        path: Where to.
        document: The JSON object.

    Raises:
        SweepError: The disk refuses it.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise SweepError(str(path), f"it cannot be written ({error}).", "Name a file in a folder of yours.") from error


def _rounded(value_w: float | None) -> float | None:
    return None if value_w is None else round(value_w, _DIGITS)
