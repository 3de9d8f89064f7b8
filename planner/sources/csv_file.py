"""The user's own data in a CSV or Parquet file: units and the meaning of time declared, never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from planner import timegrid
from planner.errors import ConfigError, DataUnavailable
from planner.sources.local_time import AMBIGUOUS, parse_stamps, stamps_to_utc
from planner.sources.options import Options, did_you_mean
from planner.sources.rows import KINDS, add_flag, make_series, to_numbers
from planner.sources.series import BASES, DERIVED, SIGNALS, Series
from planner.sources.table_file import Table, read_table
from planner.sources.units import RELATIVE_HUMIDITY, Conversion, conversion, known_units
from thermal.psychro import pressure_pa, wet_bulb_c

if TYPE_CHECKING:
    import numpy.typing as npt

STAMPS = ("start", "end")
_LONGEST_STEP_MINUTES = 24 * 60.0


@dataclass(frozen=True)
class Column:
    """What one column of a file holds.

    Args:
        name: Its name in the header.
        unit: Its unit as declared, for people.
        conversion: The way to the unit inside.
        basis: "direct", "lifecycle" or "marginal" for carbon, "" otherwise.
    """

    name: str
    unit: str
    conversion: Conversion
    basis: str = ""


@dataclass(frozen=True)
class CsvFile:
    """A file of one zone or place; one row per interval.

    Args:
        path: The file; .parquet is Parquet, any other CSV, .gz is unpacked.
        time_column: Name of the column of stamps.
        stamp: Whether a stamp is the "start" or the "end" of its row's interval.
        tz: Zone of stamps without an offset.
        step: Length of every row's interval.
        columns: Column of each signal (or of RELATIVE_HUMIDITY, from which a wet bulb is derived).
        kind: "actual", "forecast" or "modelled", of all rows.
        licence: Licence of the data.
        time_format: Format of `datetime.strptime`, or "" for ISO 8601.
        ambiguous: What a single row of the doubled autumn hour means: "order" (refuse), "first" or "last".
        delimiter: Sign between cells.
        decimal: Decimal sign, "." or ",".
        comment: Lines that start so are passed over; "" for none.
        altitude_m: Height above sea level, m, for the derived wet bulb.
    """

    path: Path
    time_column: str
    stamp: str
    tz: ZoneInfo
    step: timedelta
    columns: dict[str, Column]
    kind: str
    licence: str = "not declared"
    time_format: str = ""
    ambiguous: str = "order"
    delimiter: str = ","
    decimal: str = "."
    comment: str = ""
    altitude_m: float = 0.0

    @classmethod
    def from_options(cls, options: Options) -> CsvFile:
        """Return the file that the options declare.

        Raises:
            ConfigError: An option is unknown, missing or wrong.
        """
        options.need("path", "time_column", "stamp", "time_zone", "step_minutes", "columns", "kind")
        source = cls(
            path=Path(options.text("path")),
            time_column=options.text("time_column"),
            stamp=options.choice("stamp", STAMPS),
            tz=timegrid.zone(options.text("time_zone")),
            step=timedelta(minutes=options.number("step_minutes", 1.0, _LONGEST_STEP_MINUTES)),
            columns={signal: _column(options.subject, signal, of) for signal, of in options.table("columns").items()},
            kind=options.choice("kind", KINDS),
            licence=options.text("licence", "not declared"),
            time_format=options.text("time_format", ""),
            ambiguous=options.choice("ambiguous", AMBIGUOUS, "order"),
            delimiter=options.choice("delimiter", (",", ";", "\t", "|"), ","),
            decimal=options.choice("decimal", (".", ","), "."),
            comment=options.text("comment", ""),
            altitude_m=options.number("altitude_m", -500.0, 9000.0, 0.0),
        )
        options.finish()
        return source

    @property
    def name(self) -> str:
        """Such as "csv price.csv"."""
        return f"csv {self.path.name}"

    def has(self, signal: str) -> bool:
        """Return whether the file has the signal, or what it is derived from."""
        return signal in self.columns or (signal == "wet_bulb" and {"dry_bulb", RELATIVE_HUMIDITY} <= set(self.columns))

    def lacks(self, signal: str) -> tuple[str, str]:
        """Return what is wrong where the file has no such signal, and what mends it."""
        units = known_units(signal)
        fix = f'add {signal} = {{ column = "name in the header", unit = "{units[0]}" }} to columns'
        if signal == "ghi":
            fix += ", or take `solar` out of the blocks: it alone needs the sun"
        if signal == "wet_bulb":
            fix += f", or {RELATIVE_HUMIDITY} beside dry_bulb, from which it is derived"
        return f"has no column for {signal}; declared are {', '.join(self.columns) or 'none'}", fix

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the file's rows that touch [start, end), in the inside unit.

        Raises:
            ConfigError: The file lacks the signal, or a row of the file is wrong (its number is named).
            DataUnavailable: No row touches the span.
        """
        derived = signal == "wet_bulb" and signal not in self.columns and RELATIVE_HUMIDITY in self.columns
        column = self._column("dry_bulb" if derived else signal)
        starts = self._starts64
        kept = np.flatnonzero(
            (starts < np.datetime64(end.replace(tzinfo=None), "s"))
            & (starts + np.timedelta64(self.step) > np.datetime64(start.replace(tzinfo=None), "s"))
        )
        if not kept.size:
            raise DataUnavailable(
                f"{self.name} has no row of {signal} from {timegrid.iso(start)} to {timegrid.iso(end)}",
                why=self._span(),
                fix="give a file that covers the span, or plan another week",
            )

        def name_row(i: int) -> str:
            return f"{self._table.name_row(int(kept[i]))}, column {column.name!r}"

        values = self._values(column, kept)
        if derived:
            humidity = self._values(self.columns[RELATIVE_HUMIDITY], kept)
            values = wet_bulb_c(values, humidity, pressure_pa(self.altitude_m))
        t_start = pd.DatetimeIndex(starts[kept], tz="UTC")
        rows = pd.DataFrame(
            {"t_start": t_start, "t_end": t_start + self.step, "value": values, "kind": self.kind, "flags": ""}
        )
        return make_series(
            signal=signal,
            zone=zone,
            rows=add_flag(rows, DERIVED) if derived else rows,
            source=self.name,
            licence=self.licence,
            basis="" if derived else column.basis,
            currency=column.conversion.currency,
            name_row=name_row,
            error=ConfigError,
        )

    @cached_property
    def _table(self) -> Table:
        names = [self.time_column, *(column.name for column in self.columns.values())]
        return read_table(self.path, names, delimiter=self.delimiter, comment=self.comment)

    @cached_property
    def _starts64(self) -> npt.NDArray[np.datetime64]:
        stamps = parse_stamps(self._table.columns[self.time_column], self.time_format, self._table.name_row)
        instants = stamps_to_utc(stamps, self.tz, self.ambiguous, self._table.name_row)
        back = self.step if self.stamp == "end" else timedelta(0)
        return np.array([(t - back).replace(tzinfo=None) for t in instants], dtype="datetime64[s]")

    def _column(self, signal: str) -> Column:
        if signal not in self.columns:
            what, fix = self.lacks(signal)
            raise ConfigError(f"{self.name} {what}", fix=fix)
        return self.columns[signal]

    def _values(self, column: Column, kept: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        cells = self._table.columns[column.name]
        values = to_numbers(
            [cells[i] for i in kept],
            f"column {column.name!r}",
            lambda i: self._table.name_row(int(kept[i])),
            ConfigError,
            self.decimal,
        )
        return values * column.conversion.scale + column.conversion.offset

    def _span(self) -> str:
        starts = self._starts64
        if not starts.size:
            return "the file has no rows"
        first, last = (pd.Timestamp(t, tz="UTC").to_pydatetime() for t in (starts.min(), starts.max()))
        return f"its rows go from {timegrid.iso(first)} to {timegrid.iso(last + self.step)}"


def _column(subject: str, signal: str, given: object) -> Column:
    known = (*SIGNALS, RELATIVE_HUMIDITY)
    if signal not in known:
        raise ConfigError(
            f"{subject}: columns has no signal {signal!r}",
            fix=f"{did_you_mean(signal, known)}known are {', '.join(known)}",
        )
    if not isinstance(given, dict):
        raise ConfigError(
            f"{subject}: columns.{signal} is {given!r}; it must be a table",
            fix='write it as { column = "name in the header", unit = "..." }',
        )
    options = Options(f"{subject}: columns.{signal}", given)
    unit = options.text("unit")
    column = Column(
        name=options.text("column"),
        unit=unit,
        conversion=conversion(signal, unit),
        basis=options.choice("basis", BASES) if signal == "carbon" else "",
    )
    options.finish()
    return column
