"""Changes of what a block makes and stores itself that mend a week whose physics leaves no plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.optimize.changes import Change
    from planner.week import Block, Week
    from power.battery import Battery
    from power.generation import Generator


@dataclass(frozen=True)
class SmallerReserve:
    """A block's battery keeps less for its load."""

    block: str
    reserve_min: float

    def apply(self, week: Week) -> Week:
        """Return the week with that reserve."""
        return _with_battery(week, self.block, lambda battery: replace(battery, reserve_min=self.reserve_min))

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"a reserve_min of {self.reserve_min:.3g} for the battery of block {self.block!r}"


@dataclass(frozen=True)
class LongerPermit:
    """Generators of a block may run for more hours."""

    block: str
    generator: str
    hours: float

    def apply(self, week: Week) -> Week:
        """Return the week with the hours added to the permit."""

        def more(generator: Generator) -> Generator:
            assert generator.max_unit_h is not None
            return replace(generator, max_unit_h=generator.max_unit_h + self.hours)

        return _with_generator(week, self.block, self.generator, more)

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"{self.hours:.3g} h more in the permit of generators {self.generator!r} of block {self.block!r}"


@dataclass(frozen=True)
class ShorterUpTime:
    """Units of a block that run may be stopped sooner."""

    block: str
    generator: str
    min_up_h: float

    def apply(self, week: Week) -> Week:
        """Return the week with that shortest time."""
        return _with_generator(week, self.block, self.generator, lambda group: replace(group, min_up_h=self.min_up_h))

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"a min_up_h of {self.min_up_h:.3g} for generators {self.generator!r} of block {self.block!r}"


def supply_kinds(week: Week, block: Block) -> list[tuple[Callable[[float], Change], float]]:
    """Return kinds of changes of a block's battery and generators, each made from a size, with the largest size.

    Args:
        week: All inputs.
        block: The block.
    """
    kinds: list[tuple[Callable[[float], Change], float]] = []
    if block.battery is not None and block.battery.reserve_min > 0.0:
        kinds.append((partial(_less_reserve, block.name, block.battery.reserve_min), block.battery.reserve_min))
    for group in block.generators:
        if group.max_unit_h is not None:
            kinds.append((partial(LongerPermit, block.name, group.name), group.units * week.grid.hours))
        if group.initial_units > 0 and group.min_up_h > 0.0:
            kinds.append((partial(_less_up_time, block.name, group), group.min_up_h))
    return kinds


def _less_reserve(block: str, reserve_min: float, less_min: float) -> SmallerReserve:
    return SmallerReserve(block, max(0.0, reserve_min - less_min))


def _less_up_time(block: str, group: Generator, less_h: float) -> ShorterUpTime:
    return ShorterUpTime(block, group.name, max(0.0, group.min_up_h - less_h))


def _with_battery(week: Week, name: str, change: Callable[[Battery], Battery]) -> Week:
    blocks = (
        replace(block, battery=change(block.battery)) if block.name == name and block.battery is not None else block
        for block in week.blocks
    )
    return replace(week, blocks=tuple(blocks))


def _with_generator(week: Week, name: str, generator: str, change: Callable[[Generator], Generator]) -> Week:
    def changed(block: Block) -> Block:
        groups = (change(group) if group.name == generator else group for group in block.generators)
        return replace(block, generators=tuple(groups))

    return replace(week, blocks=tuple(changed(block) if block.name == name else block for block in week.blocks))
