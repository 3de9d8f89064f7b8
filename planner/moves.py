"""Runs that move: to another pool, or to another count of GPUs, within one horizon.

A change of either is a restart: the gang saves where it is, and loads where it goes on. A change of pool takes what
lies between the two besides: the run's state travels, by the way from one to the other, while its new GPUs wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.run import Run
    from planner.week import Week

KG_PER_G = 1e-3


@dataclass(frozen=True)
class Way:
    """What it takes to bring a run's state from one pool to another.

    Args:
        origin: Name of the pool that it leaves.
        target: Name of the pool that it goes to.
        time_s: Time in which the gang's new GPUs wait for it, s, beside the reload.
        energy_kwh: Energy of the network, kWh.
        cost: Money that it costs.
    """

    origin: str
    target: str
    time_s: float
    energy_kwh: float
    cost: float


@dataclass(frozen=True)
class Migration:
    """Where a run may go on in another pool.

    Args:
        size_tb: What goes with it, TB of 1e12 bytes.
        ways: From which pool to which; between others it does not move.
        lies_in: Pool in which its state lies as the horizon starts, where it is not running in one; None where it may
            start in any.
    """

    size_tb: float
    ways: tuple[Way, ...]
    lies_in: str | None = None

    def way(self, origin: str | None, target: str) -> Way | None:
        """Return what lies between two pools, or None where nothing does: in one pool, or before the first start."""
        return next((way for way in self.ways if (way.origin, way.target) == (origin, target)), None)


@dataclass(frozen=True)
class Stay:
    """A stretch in which a run is on in one pool with one count of GPUs.

    Args:
        first: Its first slot.
        after: The slot after its last.
        pool: Name of the pool.
        gpus: GPUs that it holds.
    """

    first: int
    after: int
    pool: str
    gpus: int


def home(run: Run) -> str | None:
    """Return the pool in which a run's state lies as the horizon starts, or None where nothing says so."""
    if run.running_in is not None:
        return run.running_in
    return None if run.migration is None else run.migration.lies_in


def ways_of(run: Run, stays: Sequence[Stay]) -> tuple[Way | None, ...]:
    """Return the way that leads to each of a run's stays, None where it stays in its pool or starts for the first time.

    Args:
        run: The run.
        stays: Its stays, in order.
    """
    if run.migration is None:
        return (None,) * len(stays)
    origins = [home(run), *(stay.pool for stay in stays[:-1])]
    return tuple(run.migration.way(origin, stay.pool) for origin, stay in zip(origins, stays, strict=True))


def goes_on(run: Run, stay: Stay) -> bool:
    """Return whether a stay goes on from before the horizon, so that it needs no reload."""
    return stay.first == 0 and run.runs_on(stay.pool, stay.gpus)


def way_kg(week: Week, way: Way, slot: int) -> float:
    """Return the carbon of bringing a run's state, kgCO2e: half of its energy at either end, as the grid is then.

    Args:
        week: All inputs.
        way: What lies between the pools.
        slot: Slot in which the run goes on.
    """
    ends = [week.here(week.block(week.pool(name).block)).signals for name in (way.origin, way.target)]
    return sum(float(end.ci_gco2_per_kwh[slot]) for end in ends) / 2.0 * way.energy_kwh * KG_PER_G


def moving_runs(week: Week) -> list[str]:
    """Return the names of the runs that may move."""
    return [run.name for run in week.runs if run.moves]


def no_moves(what: str, week: Week) -> None:
    """Refuse what knows no runs that move.

    Args:
        what: Such as "gridpace respond".
        week: All inputs.

    Raises:
        ConfigError: A run of the week may change its pool or its size.
    """
    found = moving_runs(week)
    if found:
        raise ConfigError(
            f"{what} does not know runs that change their pool or their count of GPUs, such as {found[0]!r}",
            why=f"{len(found)} of {len(week.runs)} runs have sizes or a migration table",
            fix="leave sizes and migration out of these runs for this",
        )
