"""Random plants within the spans of their settings."""

from __future__ import annotations

import random

from hypothesis import assume
from hypothesis import strategies as st

from thermal.catalogue import Setting, catalogue
from thermal.description import KINDS, CoolingPlant
from thermal.plant import dry_cooler, room_air, tower_chiller

RATED_KW = 1_000.0
FACTORIES = {"dry_cooler": dry_cooler, "tower_chiller": tower_chiller, "room_air": room_air}
PAIRS = (("supply_setpoint_c", "supply_limit_c"), ("air_supply_setpoint_c", "air_supply_limit_c"))


def warm_water_with_pad(rated_it_kw: float) -> CoolingPlant:
    """What most sites would build: dry coolers with pads, 40 C to the racks at design."""
    return dry_cooler(rated_it_kw, pad_effectiveness=0.75)


def _strategy(setting: Setting) -> st.SearchStrategy:
    if setting.fact.choices:
        return st.sampled_from(setting.fact.choices)
    if isinstance(setting.default, bool):
        return st.booleans()
    if isinstance(setting.default, int):
        return st.integers(int(setting.fact.lowest), min(int(setting.fact.highest), 16))
    return st.floats(setting.fact.lowest, setting.fact.highest)


@st.composite
def plants(draw: st.DrawFn, **fixed: object) -> CoolingPlant:
    """Draw a plant of any kind; what is fixed is the same in all of them that have such a setting."""
    kind = draw(st.sampled_from(KINDS))
    values = {s.name: draw(_strategy(s)) for s in catalogue(kind) if draw(st.integers(0, 3)) == 0}
    known = {s.name for s in catalogue(kind)}
    values |= {name: value for name, value in fixed.items() if name in known}
    for low, high in PAIRS:
        if low in values and high in values:
            values[low], values[high] = sorted((values[low], values[high]))
    try:
        return FACTORIES[kind](RATED_KW, **values)
    except ValueError:
        assume(condition=False)
        raise


def random_plants(seed: int, count: int, **fixed: object) -> list[CoolingPlant]:
    """Return plants of all kinds in turn, drawn within the spans; what contradicts itself is drawn again.

    What is fixed is the same in all of them that have such a setting.
    """
    dice, found = random.Random(seed), []
    while len(found) < count:
        kind = KINDS[len(found) % len(KINDS)]  # kept until it is drawn well, or rooms would stand in for liquid plants
        values = {s.name: _thrown(dice, s) for s in catalogue(kind) if dice.random() < 0.3}
        values |= {s.name: fixed[s.name] for s in catalogue(kind) if s.name in fixed}
        try:
            found.append(FACTORIES[kind](RATED_KW, **values))
        except ValueError:
            continue
    return found


def _thrown(dice: random.Random, setting: Setting) -> object:
    if setting.fact.choices:
        return dice.choice(setting.fact.choices)
    if isinstance(setting.default, bool):
        return dice.random() < 0.5
    if isinstance(setting.default, int):
        return dice.randint(int(setting.fact.lowest), min(int(setting.fact.highest), 16))
    return dice.uniform(setting.fact.lowest, setting.fact.highest)
