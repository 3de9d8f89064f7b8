"""Telemetry of a cooling plant from a site's own table: columns and units declared, never guessed."""

from __future__ import annotations

import csv
import gzip
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner import timegrid
from planner.errors import ConfigError
from planner.sources.local_time import parse_stamps, stamps_to_utc
from planner.sources.options import Options, did_you_mean
from planner.sources.rows import to_numbers
from planner.sources.table_file import read_table
from planner.sources.units import Conversion, conversion
from thermal.calibrate import SIGNALS, Telemetry

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

TIME = "time"
NEEDED = ("it_power_kw", "dry_bulb_c")
_LONGEST_NAME = 40  # of a file, in the sources of fitted values
_UNITS = {
    "kW": {"kW": Conversion(1.0), "W": Conversion(0.001), "MW": Conversion(1000.0)},
    "L/min": {
        "L/min": Conversion(1.0),
        "L/s": Conversion(60.0),
        "m3/h": Conversion(1000.0 / 60.0),
        "gpm": Conversion(3.785411784),  # US gallon, exact by definition
    },
    "": {"fraction": Conversion(1.0), "%": Conversion(0.01)},
}
# What a sound instrument can show; beyond it the unit is another or the sensor is broken.
_LIMITS = {"kW": (0.0, 1e7), "C": (-60.0, 120.0), "L/min": (0.0, 1e8), "": (0.0, 1.2)}


@dataclass(frozen=True)
class Declared:
    """Where a table has what.

    Args:
        time_column: Name of the column of stamps.
        time_zone: Zone of stamps without an offset.
        time_format: Format of `datetime.strptime`, or "" for ISO 8601.
        columns: Signal -> name of its column, and the way from its unit to the signal's.
    """

    time_column: str
    time_zone: str
    time_format: str
    columns: Mapping[str, tuple[str, Conversion]]


def read_plant_telemetry(path: Path, columns: Path | None = None) -> tuple[Telemetry, tuple[str, ...]]:
    """Return the telemetry in a CSV (.gz is unpacked) or Parquet file, and the names of its columns that are not used.

    Args:
        path: The table, one row per instant.
        columns: A TOML file that declares columns and units; without it, columns are named as the signals are, in their
            units, and `time` has ISO 8601 stamps, UTC where they have no offset.

    Raises:
        ConfigError: A file cannot be read, lacks what is needed, or a row is wrong (it is named).
    """
    header = _header(path)
    declared = _by_name(path, header) if columns is None else _declared(columns)
    wanted = [declared.time_column, *(name for name, _ in declared.columns.values())]
    table = read_table(path, wanted)
    stamps = parse_stamps(table.columns[declared.time_column], declared.time_format, table.name_row)
    instants = stamps_to_utc(stamps, timegrid.zone(declared.time_zone), "order", table.name_row)
    time = np.array([t.replace(tzinfo=None) for t in instants], dtype="datetime64[s]")
    order = np.argsort(time, kind="stable")
    twice = np.flatnonzero(np.diff(time[order]) == np.timedelta64(0, "s"))
    if twice.size:
        first, second = (table.name_row(int(order[twice[0] + i])) for i in (0, 1))
        raise ConfigError(f"{first} and {second} have the same time", fix="leave one row per instant")
    readings = {}
    for signal, (name, way) in declared.columns.items():
        values = to_numbers(table.columns[name], f"column {name!r}", table.name_row, ConfigError)
        values = values * way.scale + way.offset
        _check_range(signal, name, values, table.name_row)
        readings[signal] = values[order]
    source = path.name if len(path.name) <= _LONGEST_NAME else f"...{path.name[3 - _LONGEST_NAME :]}"
    try:
        found = Telemetry(source, time[order], readings)
    except ValueError as error:
        raise ConfigError(f"{path.name}: {error}", fix="give a table with readings in that column") from error
    return found, tuple(name for name in header if name not in wanted)


def _by_name(path: Path, header: list[str]) -> Declared:
    for name in (TIME, *NEEDED):
        if name not in header:
            raise ConfigError(
                f"{path.name} has no column {name!r}",
                fix=f"{did_you_mean(name, header)}name it so, or declare columns and units in a file for --columns",
            )
    plain = Conversion(1.0)
    return Declared(TIME, "UTC", "", {name: (name, plain) for name in header if name in SIGNALS})


def _declared(path: Path) -> Declared:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read", why=error.strerror or str(error), fix="check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name} is no TOML", why=str(error), fix="mend the line") from error
    options = Options(path.name, raw)
    time_column = options.text("time_column", TIME)
    time_zone, time_format = options.text("time_zone", "UTC"), options.text("time_format", "")
    columns = {}
    for signal, put in options.table("columns").items():
        if signal not in SIGNALS:
            raise ConfigError(
                f"{path.name}: columns has no signal {signal!r}",
                fix=f"{did_you_mean(signal, SIGNALS)}known are {', '.join(SIGNALS)}",
            )
        if not isinstance(put, dict):
            raise ConfigError(
                f"{path.name}: columns.{signal} is {put!r}; it must be a table",
                fix='write it as { column = "name in the header", unit = "..." }',
            )
        of = Options(f"{path.name}: columns.{signal}", put)
        columns[signal] = of.text("column"), _conversion(path, signal, of.text("unit"))
        of.finish()
    options.finish()
    for name in NEEDED:
        if name not in columns:
            raise ConfigError(f"{path.name}: columns lacks {name}", fix="declare it; a plant cannot be fitted without")
    return Declared(time_column, time_zone, time_format, columns)


def _conversion(path: Path, signal: str, unit: str) -> Conversion:
    inside = SIGNALS[signal].unit
    if inside == "C":
        return conversion("dry_bulb", unit)
    known = _UNITS[inside]
    if unit not in known:
        raise ConfigError(
            f"{path.name}: unit {unit!r} is none of {signal}",
            fix=f"{did_you_mean(unit, known)}known are {', '.join(known)}",
        )
    return known[unit]


def _check_range(signal: str, name: str, values: npt.NDArray[np.float64], name_row: Callable[[int], str]) -> None:
    low, high = _LIMITS[SIGNALS[signal].unit]
    bad = np.flatnonzero((values < low) | (values > high))
    if bad.size:
        unit = SIGNALS[signal].unit
        raise ConfigError(
            f"{name_row(int(bad[0]))}: column {name!r} gives {values[bad[0]]:g} {unit} for {signal}, outside {low:g} "
            f"to {high:g} {unit}",
            fix="leave the cell empty where the sensor was broken, or declare the unit that the column has",
        )


def _header(path: Path) -> list[str]:
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            return [name.strip() for name in next((row for row in csv.reader(file) if row), [])]
    except (OSError, ValueError, EOFError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{path} cannot be read", why=reason, fix="check the path and the file") from error
