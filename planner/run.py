"""A training run: what it has to do by when, and how it performs in each pool with each count of GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from power.later import LATER

if TYPE_CHECKING:
    from planner.geography import Transfer
    from planner.moves import Migration
    from planner.precedence import After
    from power.goodput import Goodput
    from power.gpu import OperatingPoint


@dataclass(frozen=True)
class Stage:
    """A piece of a run's work with its own deadline.

    Args:
        name: Such as "pretrain".
        tokens: Tokens of this stage, not counting those of earlier stages.
        deadline: Instant by which the run's tokens up to and with this stage are due, UTC.
        deadline_confidence: The chance asked for that the tokens are there in time, or None where none is.
        margin_tokens: Tokens that the plan makes beyond those due by the deadline, so that failures leave that chance.
    """

    name: str
    tokens: float
    deadline: datetime
    deadline_confidence: float | None = field(default=None, metadata=LATER)
    margin_tokens: float = field(default=0.0, metadata=LATER)


@dataclass(frozen=True)
class PoolOption:
    """How a run performs in a pool it may use.

    Args:
        pool: Name of the pool.
        tokens_per_gpu_s: Useful tokens per second and GPU at the highest operating point.
        points: Operating points worth planning with (`power.gpu.concave_points`), by rising limit.
        transfers: What brings the run's data there before it may start.
        gpus: GPUs of the gang where that is another count than the run's own; 0 for its own.
    """

    pool: str
    tokens_per_gpu_s: float
    points: tuple[OperatingPoint, ...]
    transfers: tuple[Transfer, ...] = field(default=(), metadata=LATER)
    gpus: int = field(default=0, metadata=LATER)


@dataclass(frozen=True)
class Run:
    """A training run: one gang, whole or off.

    Every start costs `reload_s` and every stop `checkpoint_s` in which the gang draws power and makes no tokens.

    Args:
        name: Unique name.
        gpus: Gang size.
        stages: By rising deadline; tokens due may lie partly in the past (`tokens_done`).
        options: Pools the run may use, each also with other counts of GPUs where it has several sizes; it uses one pool
            for the whole horizon unless it may migrate.
        earliest_start: First instant at which it may run, UTC.
        priority: 1 (first) to 5 (last).
        checkpoint_s: Seconds to save a checkpoint before a stop.
        reload_s: Seconds from start to the first useful token.
        min_run_h: Shortest spell of running, h.
        min_pause_h: Shortest pause between two spells, h.
        max_pauses: Most pauses in the horizon.
        on_off_grid_h: Starts and stops lie on this grid, h, counted from the start of the horizon; whole slots.
        tokens_done: Tokens made before the horizon.
        running_in: Pool in which the run is running as the horizon starts, or None; it then needs no reload.
        goodput: How its gang fails and saves, which the options' rates already count, or None where nothing is said of
            failures.
        after: Stages of other runs that must be done before it may start.
        migration: How it may go on in another pool, or None where it keeps its pool.
        running_gpus: GPUs with which it is running as the horizon starts; 0 for its own count.
    """

    name: str
    gpus: int
    stages: tuple[Stage, ...]
    options: tuple[PoolOption, ...]
    earliest_start: datetime
    priority: int
    checkpoint_s: float
    reload_s: float
    min_run_h: float
    min_pause_h: float
    max_pauses: int
    on_off_grid_h: float
    tokens_done: float = 0.0
    running_in: str | None = None
    goodput: Goodput | None = field(default=None, metadata=LATER)
    after: tuple[After, ...] = field(default=(), metadata=LATER)
    migration: Migration | None = field(default=None, metadata=LATER)
    running_gpus: int = field(default=0, metadata=LATER)

    @property
    def moves(self) -> bool:
        """Whether it may change its pool or its count of GPUs within the horizon."""
        return self.migration is not None or any(option.gpus for option in self.options)

    @property
    def own_size(self) -> tuple[PoolOption, ...]:
        """Its options with its own count of GPUs."""
        return tuple(option for option in self.options if not option.gpus)

    def runs_on(self, pool: str, gpus: int) -> bool:
        """Return whether it is running in a pool with a count of GPUs as the horizon starts: it goes on there."""
        return (self.running_in, self.running_gpus or self.gpus) == (pool, gpus)

    def size(self, option: PoolOption) -> int:
        """Return the GPUs of the gang in an option."""
        return option.gpus or self.gpus

    def option(self, pool: str, gpus: int) -> PoolOption | None:
        """Return how it performs in a pool with a count of GPUs, or None where it may not use that."""
        return next((o for o in self.options if (o.pool, self.size(o)) == (pool, gpus)), None)

    @property
    def best_tokens_per_gpu_s(self) -> float:
        """Tokens per second and GPU of the run with its own count of GPUs in its best pool."""
        return max(option.tokens_per_gpu_s for option in self.own_size or self.options)

    @property
    def lateness_weight(self) -> float:
        """Factor on the price of lateness: 4, 2, 1, 1/2, 1/4 for priority 1 to 5."""
        return 2.0 ** (3 - self.priority)

    @property
    def fastest_tokens_per_s(self) -> float:
        """Tokens that the whole gang makes at full speed in its fastest pool and size, per s."""
        return max(self.size(option) * option.tokens_per_gpu_s for option in self.options)
