"""Output of farms off site from CSV files that agreements name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.config.faults import FaultList, shown_path
from planner.config.files import read_user_text
from planner.config.hourly_csv import read_hourly
from planner.errors import ConfigError
from power.hourly import HourlyValues

if TYPE_CHECKING:
    from planner.config.draft import Draft

COLUMN = "output_kw"
LIMITS = {COLUMN: (0.0, 1e8)}


def read_outputs(draft: Draft, folder: Path) -> tuple[dict[str, HourlyValues], list[FaultList]]:
    """Return the output of each farm whose agreement names a file, by agreement, and the faults of each file.

    Args:
        draft: The tables that could be read.
        folder: Folder of the site file.
    """
    found: dict[str, HourlyValues] = {}
    told: list[FaultList] = []
    for placed in draft.ppas:
        named = placed.table.output_csv
        if named is None:
            continue
        path = folder / named
        faults = FaultList(shown_path(path), {})
        try:
            hours = read_hourly(read_user_text(path, "file of a farm's output"), named, faults, LIMITS)
        except ConfigError as error:
            placed.fault(("output_csv",), error.what, error.fix)
            continue
        told.append(faults)
        if COLUMN in hours:
            found[placed.table.name] = hours[COLUMN]
    return found, told
