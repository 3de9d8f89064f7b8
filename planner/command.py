"""What commands of the command line share: files, instants, and the exit code of broken promises."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from planner.errors import ConfigError

FILE = click.Path(path_type=Path)
BROKEN_PROMISES = 3


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
