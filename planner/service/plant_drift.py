"""How far the cooling of each block is off what its plant is described to draw."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from planner.calibration import block_of
from planner.sources.plant_telemetry import read_plant_telemetry
from thermal.calibrate import scores

if TYPE_CHECKING:
    from planner.config import Site
    from planner.config.site import SiteBlock
    from planner.service.worker import Worker
    from thermal.calibrate import Telemetry

_POWER = (
    "parts_kw", "cooling_kw", "rack_pump_kw", "facility_pump_kw", "pump_kw", "fan_kw", "chiller_kw",
)  # fmt: skip
"""Signals by which the cooling power is judged; the first that is metered counts."""


@dataclass(frozen=True)
class PlantDrift:
    """How far a block's cooling power is off.

    Args:
        block: The block.
        signal: What was metered.
        hours: Hours compared.
        off: Mean of measured minus modelled over the mean reading.
    """

    block: str
    signal: str
    hours: int
    off: float


def plant_drift(block: SiteBlock, readings: Telemetry) -> PlantDrift | None:
    """Compare a block's metered cooling power with what its plant would draw; None where none is metered.

    Args:
        block: The block, with its plant as the site file describes it.
        readings: The readings of its meters.
    """
    found = {score.signal: score for score in scores(block.plant, readings)}
    for signal in _POWER:
        if signal in found and isfinite(found[signal].nmbe_pct):
            return PlantDrift(block.power.name, signal, found[signal].hours, found[signal].nmbe_pct / 100.0)
    return None


def judge_plants(worker: Worker, site: Site) -> str:
    """Compare every block whose meters the site file names, and open or close alarms of drift.

    Raises:
        ConfigError: There is no such block, or its table cannot be read.
    """
    told = []
    for name, file in site.service.plant_telemetry.items():
        block = block_of(site, name)
        readings, _ = read_plant_telemetry(worker.site_file.parent / file)
        found = plant_drift(block, readings)
        if found is None:
            told.append(f"{name} has no meter of its cooling power")
            continue
        told.append(f"{name} {100 * found.off:+.1f} %")
        if abs(found.off) <= site.service.drift_share:
            worker.clear("plant", name)
            continue
        sentence = (
            f"The cooling of block {name!r} is {100 * found.off:+.0f} % off what its plant is described to draw, "
            f"over {found.hours} h ({found.signal})."
        )
        named = " ".join(shlex.quote(word) for word in (file, "--site", worker.site_file.name, "--block", name))
        fix = f"look at the plant; where it is sound, fit it beside the site file: `gridpace calibrate {named}`"
        worker.alarm("plant", name, "amber", (sentence, fix), "facilities")
    return f"cooling is off by {', '.join(told)}" if told else ""
