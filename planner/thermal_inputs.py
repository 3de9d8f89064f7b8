"""The inputs of the thermal report: a site file, its weather, and the calendar in force if there is one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from planner.calibration import block_of
from planner.config import load_site
from planner.errors import ConfigError
from planner.folders import folder_name, read_published
from planner.geography import one_site_only
from planner.outlook import gather_signals
from planner.sources.cache import ResponseCache, default_folder
from planner.sources.plant_telemetry import read_plant_telemetry
from planner.thermal_outlook import thermal_outlook
from planner.timegrid import coming_week, iso_week, to_utc, week_name, zone
from trainer_hooks.publish import CALENDARS, POINTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.config.site import Site
    from planner.thermal_outlook import ThermalOutlook
    from thermal.calibrate import Telemetry


def read_outlook(
    site: Path,
    *,
    week: str | None,
    out: Path | None,
    issued_at: datetime | None,
    offline: bool,
    telemetry: Sequence[str] = (),
    columns: Path | None = None,
) -> tuple[ThermalOutlook, Path]:
    """Read a site, ask its sources for the weather, and work out the facts of its cooling.

    Args:
        site: Site file.
        week: ISO week such as "2024-W20"; where None, the site file's, else the coming one.
        out: Folder of the week; where None, the one that `gridpace plan` writes into.
        issued_at: When the report counts as made; now where None.
        offline: Whether to keep off the network.
        telemetry: Tables of readings, each as `FILE` or `BLOCK=FILE`.
        columns: File that declares their columns and units.

    Returns:
        The facts, and the folder of the week.

    Raises:
        ConfigError: The site file is wrong, the week's name is none, or the calendar in force is damaged, or a
            table of readings is wrong or belongs to no block.
        DataUnavailable: The weather cannot be had.
    """
    described, now = load_site(site), datetime.now(UTC)
    one_site_only("gridpace thermal", described.name, [other.name for other in described.others])
    tz = zone(described.place.timezone)
    grid = iso_week(week or described.horizon.week or coming_week(now, tz), tz, described.horizon.slot_minutes)
    folder = out or Path("out") / folder_name(described.name) / week_name(grid.start, tz)
    gathered = gather_signals(described, grid, now=now, offline=offline, cache=ResponseCache(default_folder()))
    calendar = read_published(folder)[0] if (folder / CALENDARS / POINTER).is_file() else None
    made = to_utc(issued_at or now).replace(microsecond=0)
    readings = _readings(described, telemetry, columns)
    outlook = thermal_outlook(described, grid, gathered, issued_at=made, calendar=calendar, telemetry=readings)
    return outlook, folder


def _readings(site: Site, texts: Sequence[str], columns: Path | None) -> dict[str, Telemetry]:
    names = {block.power.name for block in site.blocks}
    found: dict[str, Telemetry] = {}
    for text in texts:
        before, _, after = text.partition("=")
        named = before in names and bool(after)
        name = block_of(site, before if named else None).power.name
        if name in found:
            raise ConfigError(f"--telemetry names block {name!r} twice", fix="give one table per block")
        found[name] = read_plant_telemetry(Path(after if named else text), columns)[0]
    return found
