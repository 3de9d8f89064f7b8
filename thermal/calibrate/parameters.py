"""Which settings of a plant telemetry can tell, in which order, and between which bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from thermal.calibrate.prediction import PUMP_SIGNALS
from thermal.catalogue import catalogue, describe
from thermal.plant import dry_cooler, room_air, tower_chiller

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant, Provenance

FLOORS = (0.3, 0.6, 0.9)  # flow floors from which the fit starts: below the least load, its slope says nothing


@dataclass(frozen=True)
class Parameter:
    """A setting that is fitted.

    Args:
        setting: Its name in a site file.
        unit: Its unit.
        lowest: Lowest value that is physical.
        highest: Highest value that is physical.
    """

    setting: str
    unit: str
    lowest: float
    highest: float

    @property
    def logarithmic(self) -> bool:
        """Whether steps are taken in the logarithm: values that cannot be 0."""
        return self.lowest > 0.0

    def inner(self, value: float) -> float:
        """Return the coordinate in which the fit moves: relative steps, or shares of the span."""
        return math.log(value) if self.logarithmic else value / (self.highest - self.lowest)

    def outer(self, coordinate: float) -> float:
        """Return the value at a coordinate, within the bounds."""
        value = math.exp(coordinate) if self.logarithmic else coordinate * (self.highest - self.lowest)
        return min(max(value, self.lowest), self.highest)

    def spread(self, value: float, deviation: float) -> float:
        """Return a standard deviation of the coordinate as one of the value, in its unit."""
        return deviation * (value if self.logarithmic else self.highest - self.lowest)


@dataclass(frozen=True)
class Stage:
    """A step of the calibration.

    Args:
        name: For people.
        settings: Settings that it moves.
        signals: Signals that it looks at.
        starts: Changes of settings from which it starts, each in turn; the best end counts.
    """

    name: str
    settings: tuple[str, ...]
    signals: frozenset[str]
    starts: tuple[Mapping[str, float], ...] = ({},)


def _pump_following(loop: str, rise: str) -> Stage:
    return Stage(
        f"{loop} pump following",
        (f"{loop}_pump_flow_floor", rise, f"{loop}_pump_head_kpa", f"{loop}_pump_static_share"),
        frozenset({f"{loop}_flow_l_per_min", f"{loop}_pump_kw", "pump_kw"}),
        tuple({f"{loop}_pump_flow_floor": floor} for floor in FLOORS),
    )


_PUMPS = (_pump_following("facility", "facility_rise_k"), _pump_following("rack", "loop_rise_k"))
_TEMPS = frozenset(
    {"rack_supply_temp_c", "rack_return_temp_c", "facility_supply_temp_c", "facility_return_temp_c", "fan_speed"}
)
_POWERS = frozenset({"fan_kw", "chiller_kw"})
_STAGES = {
    "dry_cooler": (
        *_PUMPS,
        Stage("heat exchangers", ("cdu_approach_k", "cooler_approach_k"), _TEMPS),
        Stage("fan power", ("cooler_fan_w_per_kw", "cooler_natural_draught_share"), _POWERS),
        Stage("chillers", ("chiller_carnot_share",), _POWERS),
    ),
    "tower_chiller": (
        *_PUMPS,
        Stage("heat exchangers", ("cdu_approach_k", "tower_approach_k"), _TEMPS),
        Stage("fan power", ("tower_fan_w_per_kw", "tower_natural_draught_share"), _POWERS),
        Stage("chillers", ("chiller_carnot_share",), _POWERS),
    ),
    "room_air": (
        Stage("fan power", ("room_fan_w_per_kw", "room_fan_floor", "outdoor_fan_w_per_kw"), _POWERS),
        Stage("compressors", ("carnot_share", "economiser_itd_k"), _POWERS),
    ),
}
_TOTAL = frozenset({"cooling_kw"})
_FACTORIES = {"dry_cooler": dry_cooler, "tower_chiller": tower_chiller, "room_air": room_air}


def stages(plant: CoolingPlant) -> tuple[Stage, ...]:
    """Return the steps of a plant's calibration in their order; without chillers there is nothing of theirs."""
    absent = () if plant.loop is None or plant.loop.has_chiller else ("chillers",)
    return tuple(stage for stage in _STAGES[plant.kind] if stage.name not in absent)


def one_stage(plant: CoolingPlant, settings: Iterable[str]) -> Stage:
    """Return a step that moves the named settings and looks at every signal."""
    return Stage("chosen settings", tuple(settings), joint_signals(plant))


def joint_signals(plant: CoolingPlant) -> frozenset[str]:
    """Return every signal that a fit of the plant may look at."""
    return _POWERS | _TOTAL if plant.loop is None else PUMP_SIGNALS | _TEMPS | _POWERS | _TOTAL


def parameter(plant: CoolingPlant, setting: str) -> Parameter:
    """Return a setting as what is fitted, within the span that the plant's description allows it.

    Raises:
        ValueError: It is no number of this kind of plant.
    """
    for known in catalogue(plant.kind):
        if known.name == setting and isinstance(known.default, float):
            return Parameter(setting, known.fact.unit, known.fact.lowest, known.fact.highest)
    numbers = ", ".join(s.name for s in catalogue(plant.kind) if isinstance(s.default, float))
    raise ValueError(f"{setting} is no number of a {plant.kind} plant; it has {numbers}")


@lru_cache(maxsize=16)  # a fit asks for those of the same plant at each of its steps
def values(plant: CoolingPlant) -> Mapping[str, Any]:
    """Return every setting of a plant by its name in a site file."""
    return MappingProxyType({described.name: described.value for described in describe(plant)})


def changed(
    plant: CoolingPlant, changes: Mapping[str, Any], provenance: tuple[Provenance, ...] | None = None
) -> CoolingPlant:
    """Return a plant with other values of some settings.

    Args:
        plant: The plant.
        changes: Setting -> value.
        provenance: Where all values come from; as before where left out.

    Raises:
        ValueError: A value is out of its range, or values contradict each other.
    """
    told = plant.provenance if provenance is None else provenance
    return _FACTORIES[plant.kind](plant.rated_it_kw, provenance=told, **(dict(values(plant)) | dict(changes)))


def at_bound(known: Parameter, value: float) -> bool:
    """Return whether a value lies at an end of its physical span."""
    reach = 1e-4 * (known.highest - known.lowest)
    return bool(value <= known.lowest + reach or value >= known.highest - reach)


def box(known: Iterable[Parameter]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the bounds of parameters in their coordinates, each of shape (P,)."""
    low = [p.inner(p.lowest) for p in known]
    high = [p.inner(p.highest) for p in known]
    return np.array(low), np.array(high)
