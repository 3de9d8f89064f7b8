"""Changes of a week that people can make: what a price is the worth of, and what mends a conflict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from power.blocks import Derating

if TYPE_CHECKING:
    from datetime import datetime

    from planner.pool import Pool
    from planner.run import Run
    from planner.week import Block, Week

MW = 1000.0
LONG_BEFORE = timedelta(days=366)
DIGITS = 3


class Change(Protocol):
    """One change, and how it is told."""

    def apply(self, week: Week) -> Week:
        """Return the week with it.

        Raises:
            ValueError: The plant or battery cannot be so.
        """

    def told(self, week: Week) -> str:
        """Return it in words, such as "2.1 MW more in block 'hall-a'"."""


@dataclass(frozen=True)
class _OfBlock(ABC):
    """A change of one block."""

    block: str

    def apply(self, week: Week) -> Week:
        """Return the week with the block changed."""
        return replace(week, blocks=tuple(self.changed(b) if b.name == self.block else b for b in week.blocks))

    @abstractmethod
    def changed(self, block: Block) -> Block:
        """Return the block with the change."""


@dataclass(frozen=True)
class _OfRun(ABC):
    """A change of one run."""

    run: str

    def apply(self, week: Week) -> Week:
        """Return the week with the run changed."""
        return replace(week, runs=tuple(self.changed(r) if r.name == self.run else r for r in week.runs))

    @abstractmethod
    def changed(self, run: Run) -> Run:
        """Return the run with the change."""


@dataclass(frozen=True)
class MorePower(_OfBlock):
    """A block may take, and import, more; from an instant on where one is given and `grid_kw` is not."""

    kw: float
    since: datetime | None = None

    def changed(self, block: Block) -> Block:
        """Return the block with more capacity, its deratings raised alike."""
        since, power = self.since, block.power
        spans = [replace(span, capacity_kw=span.capacity_kw + self.kw) for span in power.deratings]
        if since is not None and power.grid_kw is None:
            spans = [*spans, *(span for span in power.deratings if span.start < since)]
            spans.append(Derating(since - LONG_BEFORE, since, power.capacity_kw, "before more power is there"))
        grid_kw = None if power.grid_kw is None else power.grid_kw + self.kw
        power = replace(power, capacity_kw=power.capacity_kw + self.kw, deratings=tuple(spans), grid_kw=grid_kw)
        return replace(block, power=power)

    def told(self, week: Week) -> str:
        """Return it in words."""
        since = "" if self.since is None else f" from {local(week, self.since)}"
        return f"{power_told(self.kw)} more in block {self.block!r}{since}"


@dataclass(frozen=True)
class MoreCooling(_OfBlock):
    """A block's plant is built for more IT power."""

    kw: float

    def changed(self, block: Block) -> Block:
        """Return the block with a larger plant, all its units in proportion."""
        plant = block.plant
        return replace(block, plant=replace(plant, rated_it_kw=plant.rated_it_kw + self.kw))

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"cooling for {power_told(self.kw)} more of IT power in block {self.block!r}"


@dataclass(frozen=True)
class Warmer(_OfBlock):
    """A block's supply is held and allowed warmer, with the units as they are."""

    kelvin: float

    def changed(self, block: Block) -> Block:
        """Return the block with setpoint and limit of the supply raised, liquid where there is liquid."""
        plant, k = block.plant, self.kelvin
        if plant.loop is None:
            room = plant.room
            limit_c, setpoint_c = room.air_supply_limit_c + k, room.air_supply_setpoint_c + k
            room = replace(room, air_supply_limit_c=limit_c, air_supply_setpoint_c=setpoint_c)
            return replace(block, plant=replace(plant, room=room))
        limit_c, setpoint_c = plant.loop.supply_limit_c + k, plant.loop.supply_setpoint_c + k
        loop = replace(plant.loop, supply_limit_c=limit_c, supply_setpoint_c=setpoint_c)
        return replace(block, plant=replace(plant, loop=loop))

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"a supply {self.kelvin:g} K warmer in block {self.block!r}"


@dataclass(frozen=True)
class FasterRamp(_OfBlock):
    """A block's IT power may rise and fall faster."""

    kw_per_min: float

    def changed(self, block: Block) -> Block:
        """Return the block with higher ramp limits."""
        power = block.power
        rise, fall = power.ramp_kw_per_min, power.ramp_fall_kw_per_min
        return replace(
            block,
            power=replace(
                power,
                ramp_kw_per_min=None if rise is None else rise + self.kw_per_min,
                ramp_fall_kw_per_min=None if fall is None else fall + self.kw_per_min,
            ),
        )

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"a ramp limit higher by {power_told(self.kw_per_min)} per minute in block {self.block!r}"


@dataclass(frozen=True)
class BiggerBattery(_OfBlock):
    """A block's battery stores more, at the same power and by the same shares."""

    kwh: float

    def changed(self, block: Block) -> Block:
        """Return the block with more energy in the battery: what it begins and ends with grows in proportion."""
        assert block.battery is not None
        return replace(block, battery=replace(block.battery, energy_kwh=block.battery.energy_kwh + self.kwh))

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"{energy_told(self.kwh)} more in the battery of block {self.block!r}"


@dataclass(frozen=True)
class LowerFinalCharge(_OfBlock):
    """A block's battery may end the horizon emptier."""

    share: float

    def changed(self, block: Block) -> Block:
        """Return the block with another share at the end."""
        assert block.battery is not None
        return replace(block, battery=replace(block.battery, final_share=self.share))

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"a final_share of {self.share:.3g} for the battery of block {self.block!r}"


@dataclass(frozen=True)
class MoreGpus:
    """A pool has more GPUs in service, at all times at which it has any."""

    pool: str
    gpus: int

    def apply(self, week: Week) -> Week:
        """Return the week with them; idle ones draw power like the others."""

        def more(pool: Pool) -> Pool:
            steps = tuple((since, count + self.gpus if count else 0) for since, count in pool.commissioning)
            return replace(pool, commissioning=steps)

        return replace(week, pools=tuple(more(p) if p.name == self.pool else p for p in week.pools))

    def told(self, week: Week) -> str:  # noqa: ARG002 - as all changes are told
        """Return it in words."""
        return f"{self.gpus:,} GPU{'s' if self.gpus != 1 else ''} more in pool {self.pool!r}"


@dataclass(frozen=True)
class Deadline(_OfRun):
    """A stage is due at another instant."""

    stage: str
    deadline: datetime

    def changed(self, run: Run) -> Run:
        """Return the run with it; stages after it are due then at the earliest."""
        place = next(i for i, stage in enumerate(run.stages) if stage.name == self.stage)
        moved = [
            replace(
                s,
                deadline=self.deadline if i == place else max(s.deadline, self.deadline) if i > place else s.deadline,
            )
            for i, s in enumerate(run.stages)
        ]
        return replace(run, stages=tuple(moved))

    def told(self, week: Week) -> str:
        """Return it in words."""
        return f"the deadline of stage {self.stage!r} of run {self.run!r} on {local(week, self.deadline)}"


@dataclass(frozen=True)
class EarlierStart(_OfRun):
    """A run may start earlier."""

    start: datetime

    def changed(self, run: Run) -> Run:
        """Return the run with it."""
        return replace(run, earliest_start=self.start)

    def told(self, week: Week) -> str:
        """Return it in words."""
        return f"a start of run {self.run!r} from {local(week, self.start)}"


@dataclass(frozen=True)
class FewerTokens(_OfRun):
    """A stage asks for fewer tokens."""

    stage: str
    tokens: float

    def changed(self, run: Run) -> Run:
        """Return the run with so many tokens taken off the stage."""
        stages = (replace(s, tokens=s.tokens - self.tokens) if s.name == self.stage else s for s in run.stages)
        return replace(run, stages=tuple(stages))

    def told(self, week: Week) -> str:
        """Return it in words."""
        whole = sum(s.tokens for s in week.run(self.run).stages if s.name == self.stage)
        return (
            f"{self.tokens:.4g} tokens fewer in stage {self.stage!r} of run {self.run!r} "
            f"({100 * self.tokens / whole:.3g} % of it)"
        )


@dataclass(frozen=True)
class DearerLateness:
    """Work missing at deadlines costs more, so that more is spent on keeping them."""

    per_gpu_h: float

    def apply(self, week: Week) -> Week:
        """Return the week with that price."""
        return replace(week, prices=replace(week.prices, lateness_per_gpu_h=self.per_gpu_h))

    def told(self, week: Week) -> str:
        """Return it in words."""
        prices = week.prices
        return f"a lateness_per_gpu_h of {self.per_gpu_h:.4g} {prices.currency} (now {prices.lateness_per_gpu_h:.4g})"


@dataclass(frozen=True)
class FirstPriority(_OfRun):
    """A run comes first: its lateness weighs most."""

    def changed(self, run: Run) -> Run:
        """Return the run with priority 1."""
        return replace(run, priority=1)

    def told(self, week: Week) -> str:
        """Return it in words."""
        return f"priority 1 for run {self.run!r} (now {week.run(self.run).priority})"


@dataclass(frozen=True)
class Several:
    """Changes that are made together."""

    changes: tuple[Change, ...]

    def apply(self, week: Week) -> Week:
        """Return the week with all of them."""
        for change in self.changes:
            week = change.apply(week)
        return week

    def told(self, week: Week) -> str:
        """Return them in words."""
        return " together with ".join(change.told(week) for change in self.changes)


def power_told(kw: float) -> str:
    """Return a power for people."""
    return f"{kw / MW:.{DIGITS}g} MW" if kw >= MW else f"{kw:.{DIGITS}g} kW"


def energy_told(kwh: float) -> str:
    """Return an energy for people."""
    return f"{kwh / MW:.{DIGITS}g} MWh" if kwh >= MW else f"{kwh:.{DIGITS}g} kWh"


def local(week: Week, t: datetime) -> str:
    """Return an instant in site time."""
    return t.astimezone(week.tz).strftime("%a %Y-%m-%d %H:%M %Z")
