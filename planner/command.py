"""What commands of the command line share: files, instants, and the exit code of broken promises."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from planner.errors import ConfigError

FILE = click.Path(path_type=Path)
BROKEN_PROMISES = 3

JOBS = click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes to use.")
DASK = click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster to use instead.")
ZONE_BASIS = click.option(
    "--basis",
    type=click.Choice(("direct", "lifecycle")),
    help="Of the average carbon intensity of the zone's providers. [default: direct]",
)
PAST_OFFLINE = click.option("--offline", is_flag=True, help="Keep off the network; take the past from the cache alone.")
OFFLINE = click.option("--offline", is_flag=True, help="Keep off the network; serve series from the cache alone.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
WEEK = click.option(
    "--week", metavar="YYYY-Www", help="ISO week, such as 2024-W20; the site file's, or the coming one."
)
TIME_LIMIT = click.option(
    "--time-limit", metavar="S", type=float, help="Longest planning time, s. [default: the site file's]"
)
GAP = click.option("--gap", metavar="SHARE", type=float, help="Certified gap to stop at. [default: the site file's]")
SITE_OPTION = click.option("--site", type=FILE, required=True, help="Site file that the calendar was made from.")
ACTUAL = click.option(
    "--actual", is_flag=True, help="Replay it on the series as they were too, and show that beside the plan."
)


def instant(option: str, text: str | None) -> datetime | None:
    """Return the instant that an option names, UTC, or None where it is left out.

    Args:
        option: Such as "--at".
        text: What was written.

    Raises:
        ConfigError: It is no instant, has no offset, or is outside the years that are planned.
    """
    from planner.timegrid import YEARS

    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None and found.year in YEARS:
            return found.astimezone(UTC)
    except ValueError:
        pass
    raise ConfigError(
        f"{option} {text[:60]!r} is no instant in the years {YEARS[0]} to {YEARS[-1]}",
        fix="write it with its offset: 2024-05-12T18:00:00Z",
    )


def one_horizon(week: str | None, month: str | None) -> str | None:
    """Return the week or the month that options name, or None where they name neither.

    Raises:
        ConfigError: They name both.
    """
    if week and month:
        raise ConfigError("--week and --month are both given", fix="name one of them")
    return month or week
