"""Every error that gridpace raises on purpose.

GridpaceError
├── ConfigError             exit 2   the site file, a series file or an option is wrong
│   └── SiteFaults                   all faults of a site file at once (planner.config.faults)
├── DataUnavailable         exit 4   a series that the plan needs could not be had
│   ├── StaleData                    only an answer older than allowed is there
│   ├── GapInSeries                  rows are missing and may not be filled
│   ├── SchemaChanged                an answer came, but not in the agreed shape
│   ├── AuthError                    there is no key, or the provider refused it
│   └── RateLimited                  the provider asks to come back later
├── Infeasible              exit 3   physics leaves no plan; `conflicts` names what clashes
├── ExportError             exit 1   a file could not be written; nothing half-written remains
└── NotPermitted            exit 5   the system refused
"""

from __future__ import annotations

from typing import ClassVar


class GridpaceError(Exception):
    """An error told as three things: what happened, why, and what mends it.

    Args:
        what: One sentence with the value, its unit, the limit and the subject.
        why: The cause, where it is not plain from `what`.
        fix: What the reader can do now.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        self.what = what
        self.why = why
        self.fix = fix
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [self.what]
        if self.why:
            lines.append(f"why: {self.why}")
        if self.fix:
            lines.append(f"fix: {self.fix}")
        return "\n".join(lines)


class ConfigError(GridpaceError):
    """The site file, a series file or an option is wrong."""

    exit_code = 2


class DataUnavailable(GridpaceError):
    """A series that the plan needs could not be had."""

    exit_code = 4


class StaleData(DataUnavailable):
    """Only an answer older than allowed is there."""


class GapInSeries(DataUnavailable):
    """Rows are missing and may not be filled."""


class SchemaChanged(DataUnavailable):
    """An answer came, but not in the agreed shape."""


class AuthError(DataUnavailable):
    """There is no key, or the provider refused it."""


class RateLimited(DataUnavailable):
    """The provider asks to come back later."""


class Infeasible(GridpaceError):
    """Physics leaves no plan.

    Args:
        what: One sentence with the value, its unit, the limit and the subject.
        why: The cause.
        fix: What the reader can do now.
        conflicts: The named rows that clash, in the reader's words.
    """

    exit_code = 3

    def __init__(self, what: str, why: str = "", fix: str = "", conflicts: tuple[str, ...] = ()) -> None:
        self.conflicts = conflicts
        super().__init__(what, why, fix)


class ExportError(GridpaceError):
    """A file could not be written; nothing half-written remains."""


class NotPermitted(GridpaceError):
    """The system refused."""

    exit_code = 5
