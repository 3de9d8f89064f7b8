"""Plants whose settings and instruments' errors are drawn, with the telemetry that they would show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tests.plant_telemetry import WEAR, made_up
from thermal.calibrate import SIGNALS, Telemetry
from thermal.plant import dry_cooler, room_air, tower_chiller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from thermal.description import CoolingPlant

RATED_KW = 20_000.0
LOOPS = {
    "facility_pump_flow_floor": 0.45,
    "facility_rise_k": 11.3,
    "facility_pump_head_kpa": 205.0,
    "facility_pump_static_share": 0.12,
    "rack_pump_flow_floor": 0.55,
    "loop_rise_k": 8.7,
    "rack_pump_head_kpa": 310.0,
    "rack_pump_static_share": 0.30,
    "cdu_approach_k": 3.2,
}
COOLER = {"cooler_approach_k": 7.4, "cooler_fan_w_per_kw": 42.0, "cooler_natural_draught_share": 0.12}
TOWER = {
    "tower_approach_k": 5.2,
    "tower_fan_w_per_kw": 11.0,
    "tower_natural_draught_share": 0.12,
    "chiller_carnot_share": 0.48,
}
ROOM = {
    "room_fan_w_per_kw": 55.0,
    "room_fan_floor": 0.62,
    "outdoor_fan_w_per_kw": 28.0,
    "carnot_share": 0.38,
    "economiser_itd_k": 30.0,
}
LEAKAGE = {"chip_leakage_pct_per_k": 0.35}
DRAWN_WITHIN = 0.1  # hidden settings lie this far from the above, in the logarithm


class Case(NamedTuple):
    """A kind of plant to be found again.

    Args:
        make: Its factory.
        hidden: Settings about which the hidden ones are drawn.
        known: Settings that the site knows.
        warmest_c: Warmest hour, deg C.
    """

    make: Callable[..., CoolingPlant]
    hidden: Mapping[str, float]
    known: Mapping[str, float]
    warmest_c: float


# the rooms beside the loops are not fitted, and their economisers stay open, because where one closes within a sensor's
# error of the dry bulb no model says when
CASES = {
    "dry coolers": Case(dry_cooler, LOOPS | COOLER | LEAKAGE, {}, 23.0),
    "towers and chillers": Case(
        tower_chiller, LOOPS | TOWER | LEAKAGE, {"air_supply_setpoint_c": 27.0, "air_supply_limit_c": 30.0}, 25.0
    ),
    "air-cooled room": Case(room_air, ROOM, {}, 30.0),
}


@dataclass(frozen=True)
class Drawing:
    """A plant that was drawn.

    Args:
        site: The plant as the site knows it.
        truth: The plant as it is.
        hidden: The settings in which they differ, and the chips' leakage.
        wear: The instruments' own errors: shares of meters, kelvin of temperatures.
        telemetry: What they show.
    """

    site: CoolingPlant
    truth: CoolingPlant
    hidden: Mapping[str, float]
    wear: Mapping[str, float]
    telemetry: Telemetry


def drawing(case: Case, seed: int, minutes: int) -> Drawing:
    """Return a drawing of hidden settings, of instruments' errors within their classes, of noise, load and weather."""
    dice = np.random.default_rng(seed)
    wear = {n: float(dice.uniform(-1.0, 1.0)) * (SIGNALS[n].gain or SIGNALS[n].offset) for n in WEAR}
    hidden, truth = _hidden(case, dice)
    leakage = hidden.get("chip_leakage_pct_per_k", 0.0)
    telemetry = made_up(
        truth, seed=seed, minutes=minutes, warmest_c=case.warmest_c, leakage_pct_per_k=leakage, wear=wear
    )
    return Drawing(case.make(RATED_KW, **case.known), truth, hidden, wear, telemetry)


def _hidden(case: Case, dice: np.random.Generator) -> tuple[dict[str, float], CoolingPlant]:
    """Return hidden settings and their plant; settings that contradict each other are drawn again."""
    while True:
        hidden = {n: v * float(np.exp(dice.uniform(-DRAWN_WITHIN, DRAWN_WITHIN))) for n, v in case.hidden.items()}
        try:
            return hidden, case.make(RATED_KW, **{n: v for n, v in hidden.items() if n not in LEAKAGE}, **case.known)
        except ValueError:
            continue
