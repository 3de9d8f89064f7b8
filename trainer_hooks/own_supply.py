"""What a site makes, gives back and buys off site, as a published calendar holds it; only where there is any."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trainer_hooks.strictjson import Node, number_text

PPA_SERIES = ("volume_kw", "used_kw", "sold_kw", "curtailed_kw")


@dataclass(frozen=True)
class GeneratorPlan:
    """What one group of generators does in each slot.

    Attributes:
        generator: Name of the group.
        units_on: Units that run.
        generation_kw: Power of the group, slot mean, kW.
    """

    generator: str
    units_on: tuple[int, ...]
    generation_kw: tuple[float, ...]


@dataclass(frozen=True)
class PpaPlan:
    """Where the energy of one power purchase agreement goes in each slot: volume = used + sold + curtailed.

    Attributes:
        ppa: Name of the agreement.
        volume_kw: What it delivers, slot mean, kW.
        used_kw: What meets the site's import, slot mean, kW.
        sold_kw: What is sold, slot mean, kW.
        curtailed_kw: What is not made, slot mean, kW.
    """

    ppa: str
    volume_kw: tuple[float, ...]
    used_kw: tuple[float, ...]
    sold_kw: tuple[float, ...]
    curtailed_kw: tuple[float, ...]


def generator_document(plan: GeneratorPlan) -> dict[str, Any]:
    """Turn a group's plan into its JSON object."""
    return {
        "generator": plan.generator,
        "units_on": list(plan.units_on),
        "generation_kw": [number_text(kw) for kw in plan.generation_kw],
    }


def generator_from(node: Node) -> GeneratorPlan:
    """Read a group's plan from its JSON object.

    Raises:
        CalendarError: A key is missing or of the wrong type.
    """
    units = []
    for entry in node.list("units_on"):
        number = entry.as_number()
        if number != int(number):
            raise entry.fault(f"{number} is no count of units.")
        units.append(int(number))
    return GeneratorPlan(node.text("generator"), tuple(units), numbers(node, "generation_kw"))


def ppa_document(plan: PpaPlan) -> dict[str, Any]:
    """Turn an agreement's plan into its JSON object."""
    return {"ppa": plan.ppa, **{name: [number_text(kw) for kw in getattr(plan, name)] for name in PPA_SERIES}}


def ppa_from(node: Node) -> PpaPlan:
    """Read an agreement's plan from its JSON object.

    Raises:
        CalendarError: A key is missing or of the wrong type.
    """
    return PpaPlan(node.text("ppa"), **{name: numbers(node, name) for name in PPA_SERIES})


def numbers(node: Node, key: str) -> tuple[float, ...]:
    """Read a list of numbers."""
    return tuple(entry.as_number() for entry in node.list(key))


def fault_of_series(name: str, values: Sequence[float], n_slots: int) -> str:
    """Say what is wrong with a series of slots, or nothing."""
    if len(values) != n_slots:
        return f"{name} has {len(values)} entries for {n_slots} slots."
    if not all(math.isfinite(value) for value in values):
        return f"{name} holds a number that is not finite."
    return ""


def fault_of_generator(plan: GeneratorPlan, n_slots: int) -> str:
    """Say what is wrong with a group's plan, or nothing."""
    if any(units < 0 for units in plan.units_on):
        return f"generator {plan.generator!r} runs fewer than no units."
    return fault_of_series("units_on", plan.units_on, n_slots) or fault_of_series(
        "generation_kw", plan.generation_kw, n_slots
    )


def fault_of_ppa(plan: PpaPlan, n_slots: int) -> str:
    """Say what is wrong with an agreement's plan, or nothing."""
    return next((why for name in PPA_SERIES if (why := fault_of_series(name, getattr(plan, name), n_slots))), "")
