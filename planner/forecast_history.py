"""Hours of the past for forecasts: rows of any length onto one row of hours."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.errors import ConfigError, DataUnavailable
from planner.forecast.history import DAY_H, MARGINAL, History
from planner.sources.align import running_sum
from planner.sources.csv_file import CsvFile
from planner.sources.options import Options
from planner.sources.units import RELATIVE_HUMIDITY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd

    from planner.sources.series import Series

HOUR = timedelta(hours=1)
_FORECAST = "forecast"
_LEAST_COVERED_H = 0.5  # an hour of which less is known is not known
NO_OPTIONS = ("provider", "zone", "fallback")
"""Keys of a source's table that are no options of its provider."""


@dataclass(frozen=True)
class Past:
    """Series of the past on one row of hours.

    Args:
        history: The hours.
        series: What they were made from, by signal.
        told: Sentences about them that must be shown with whatever is made of them.
    """

    history: History
    series: dict[str, Series]
    told: tuple[str, ...] = ()


def read_past(sources: Path, zone: str, start: datetime, end: datetime) -> Past:
    """Return what the files that a TOML file names know of a zone's past.

    Args:
        sources: TOML file with one or more tables [sources.NAME] of provider "csv" as a site file has them (a site file
            itself will do); every column is taken. Relative paths start from its folder.
        zone: The zone, for people.
        start: First hour wanted, UTC; the past begins with the first whole day that all series know.
        end: End, UTC.

    Raises:
        ConfigError: The file is no such file, two tables give one signal, or a series file is wrong.
        DataUnavailable: There are no rows in the span, or all of them are forecasts.
    """
    found: dict[str, Series] = {}
    for name, table in _tables(sources).items():
        options = {key: value for key, value in table.items() if key not in NO_OPTIONS}
        if isinstance(options.get("path"), str):
            options["path"] = str(sources.parent / options["path"])
        source = CsvFile.from_options(Options(f"{sources.name}: sources.{name}", options))
        for signal in csv_signals(source):
            series = source.fetch(signal, zone, start, end)
            key = signal_key(series)
            if key in found:
                raise ConfigError(f"{sources.name}: {key} is given twice", fix="leave it out of one of the tables")
            found[key] = series
    return Past(hourly(list(found.values())), found)


def signal_key(series: Series) -> str:
    """Return the name under which a series is forecast: marginal carbon intensity is a signal of its own."""
    return MARGINAL if series.signal == "carbon" and series.basis == "marginal" else series.signal


def hourly(series: Sequence[Series]) -> History:
    """Return series on hours, from the first whole day that all know to the last hour that one knows.

    Args:
        series: One per signal, by `signal_key`. Rows that are forecasts are no past and are left out.

    Raises:
        DataUnavailable: A series has no row that is none.
    """
    known = [(one, _known(one)) for one in series]
    start = max(rows.t_start.iloc[0].ceil("h") for _, rows in known).to_pydatetime()
    end = max(rows.t_end.iloc[-1].floor("h") for _, rows in known).to_pydatetime()
    n = max(0, int((end - start) / HOUR))
    values = {signal_key(one): hour_means(rows, start, n) for one, rows in known}
    first = _first_whole_day(values)
    return History(start + first * HOUR, {signal: value[first:].copy() for signal, value in values.items()})


def hour_means(rows: pd.DataFrame, start: datetime, n: int) -> npt.NDArray[np.float64]:
    """Return the mean of each hour, NaN where less than half of it is known.

    Args:
        rows: Rows of a series.
        start: Start of the first hour, UTC.
        n: Count of hours.

    Returns:
        Shape (n,).
    """
    if rows.empty:
        return np.full(n, np.nan)
    zero = np.datetime64(start.replace(tzinfo=None), "s")
    first, last = (
        (times.dt.tz_localize(None).to_numpy().astype("datetime64[s]") - zero) / np.timedelta64(1, "h")
        for times in (rows.t_start, rows.t_end)
    )
    knots = np.stack([first, last], axis=1).ravel()
    edges = np.arange(n + 1, dtype=np.float64)
    length = last - first
    covered_h = np.diff(np.interp(edges, knots, running_sum(length)))
    area = np.diff(np.interp(edges, knots, running_sum(length * rows["value"].to_numpy(dtype=float))))
    return np.where(covered_h >= _LEAST_COVERED_H, area / np.maximum(covered_h, _LEAST_COVERED_H), np.nan)


def _known(series: Series) -> pd.DataFrame:
    rows = series.rows[series.rows["kind"] != _FORECAST]
    if rows.empty:
        raise DataUnavailable(
            f"{series.source} has nothing but forecasts of {series.signal}",
            why="forecasts are made from what was, and scored on it",
            fix='give a file of measured or modelled values (kind = "actual" or "modelled")',
        )
    return rows


def _first_whole_day(values: dict[str, npt.NDArray[np.float64]]) -> int:
    missing = np.any([np.isnan(value) for value in values.values()], axis=0)
    run = np.concatenate([[0], np.cumsum(missing)])
    whole = np.flatnonzero(run[DAY_H:] == run[:-DAY_H]) if len(missing) >= DAY_H else np.array([])
    if not whole.size:
        raise DataUnavailable(
            f"{', '.join(values)} have no whole day in common", fix="give files that cover the same time"
        )
    return int(whole[0])


def csv_signals(source: CsvFile) -> list[str]:
    """Return the signals of a file, with a wet bulb that can be derived."""
    known = [signal for signal in source.columns if signal != RELATIVE_HUMIDITY]
    return known if "wet_bulb" in known or not source.has("wet_bulb") else [*known, "wet_bulb"]


def _tables(sources: Path) -> dict[str, dict[str, Any]]:
    tables = source_tables(sources, read_document(sources))
    for name, table in tables.items():
        if table.get("provider") != "csv":
            raise ConfigError(
                f"{sources}: sources.{name} is of provider {table.get('provider')!r}; past hours are read from files",
                why="providers on the network are asked for the past of a zone where no files are named",
                fix='name files with provider = "csv", or leave --sources out',
            )
    return tables


def read_document(file: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        ConfigError: It cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read", why=error.strerror or "", fix="check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is no TOML file", why=str(error), fix="correct the line") from error


def source_tables(file: Path, document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the tables [sources.NAME] of a file's document, by name.

    Raises:
        ConfigError: There are none.
    """
    tables = document.get("sources")
    if not isinstance(tables, dict) or not tables or not all(isinstance(table, dict) for table in tables.values()):
        raise ConfigError(
            f"{file} has no tables [sources.NAME]", fix='write them as in a site file, with provider = "csv"'
        )
    return tables


def chosen_signals(past: Past, asked: Sequence[str]) -> list[str]:
    """Return the signals to forecast: those asked for, else all that the past has but cloud cover.

    Raises:
        ConfigError: One that is asked for is not there.
    """
    for signal in asked:
        if signal not in past.series:
            raise ConfigError(
                f"there is no past of {signal}",
                why=f"what is known is {', '.join(past.series)}",
                fix="choose one of these, or declare the column in a file's table of [sources]",
            )
    return list(dict.fromkeys(asked)) or [signal for signal in past.series if signal != "cloud_cover"]
