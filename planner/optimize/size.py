"""How large a program may be that plans every gang by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.optimize.scale import check_supported

if TYPE_CHECKING:
    from planner.optimize.search import PlanOptions
    from planner.week import Week

MOST_DECISIONS = 1_000_000  # some 2.5 GB and minutes to build


def check_size(week: Week) -> None:
    """Refuse a week that is too large to plan every gang by itself.

    Raises:
        ConfigError: It is, or a part of it keeps it from being planned by classes of like runs; names all of them.
    """
    count = decisions(week)
    if count > MOST_DECISIONS:
        check_supported(week, "plan fewer runs, or longer slots")
        raise ConfigError(
            f"the week has {count:,} decisions ({len(week.runs):,} runs, {week.grid.n_slots} slots, their pools "
            f"and power limits); at most {MOST_DECISIONS:,} can be planned at once",
            fix="plan fewer runs or longer slots, or name fewer pools and power_limits_w for each run",
        )


def check_by_gangs(week: Week, options: PlanOptions, programs: int) -> None:
    """Refuse to go on from a plan in force, or to look at paths, where gangs are not planned one by one.

    Args:
        week: The week.
        options: What is asked of the search.
        programs: Programs that are built: the forecast's and one per path.

    Raises:
        ConfigError: Classes of like runs are asked for, or the programs are too large together.
    """
    asked = f"{programs - 1} paths of the forecast" if programs > 1 else "a plan in force to go on from"
    if options.method == "scale":
        raise ConfigError(
            f'method = "scale" plans a week from its start and on its forecast; it does not know {asked}',
            fix='take method = "gangs" or "auto" in [plan], or leave this out',
        )
    count = decisions(week) * programs
    if count > MOST_DECISIONS:
        raise ConfigError(
            f"the week has {count:,} decisions with {asked}; at most {MOST_DECISIONS:,} can be planned at once",
            why=f"{len(week.runs):,} runs in {week.grid.n_slots} slots are planned one by one, each with its pools and "
            "power limits",
            fix="plan the week anew on its forecast, or plan fewer runs, longer slots or fewer paths",
        )


def decisions(week: Week) -> int:
    """Return how many decisions a program has that plans every gang of a week by itself."""
    return sum(week.grid.n_slots * (len(option.points) + 1) for run in week.runs for option in run.options)
