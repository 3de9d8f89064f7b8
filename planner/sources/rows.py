"""From what a provider delivered to the rows of a `Series`: checked, sorted, unique, in range."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from planner.errors import ConfigError, DataUnavailable, SchemaChanged
from planner.sources.jumps import jump_of
from planner.sources.series import BASES, CLIPPED, DUPLICATE_RESOLVED, SIGNALS, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.errors import GridpaceError

COLUMNS = ("t_start", "t_end", "value", "kind", "flags")
_UTC = "datetime64[us, UTC]"
KINDS = ("actual", "forecast", "modelled")

# Widest values a sound provider can deliver; what lies outside has another unit or is a fault.
_LIMITS = {
    "carbon": (0.0, 1500.0),
    "dry_bulb": (-60.0, 60.0),
    "wet_bulb": (-60.0, 60.0),
    "ghi": (-5.0, 1500.0),  # pyranometers cool at night and read some W/m2 below zero
    "wind_speed_100m": (0.0, 100.0),
    "wind_speed_10m": (0.0, 100.0),
    "cloud_cover": (0.0, 100.0),
    **dict.fromkeys(("wind_generation", "solar_generation", "generation"), (0.0, 2e9)),  # of a country, kW
}
# Technical price limits: 4 EUR/kWh (European day-ahead), 5 USD/kWh (ERCOT), 20.3 AUD/kWh (Australia).
_PRICE_LIMIT_PER_KWH = 25.0
_STRONG_CURRENCIES = ("AUD", "CAD", "CHF", "EUR", "GBP", "NZD", "SGD", "USD")
_WEAK_CURRENCY_FACTOR = 200.0  # the dearest-counted units (JPY, KRW, INR, HUF ...) go to some hundred per euro
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_PLAIN_CELLS = {float, int, type(None)}
_NULLS = frozenset({"", "null", "none", "nan", "na", "n/a", "nat"})


class NoValues(DataUnavailable):
    """A provider answered well, and with nothing."""


def to_number(cell: Any, decimal: str = ".") -> float:
    """Return a delivered cell as a number; NaN where it is null.

    Args:
        cell: A number, a number written as text, or null in one of its spellings (None, "", "null", "n/a", NaN).
        decimal: "." or ",", the one decimal sign of numbers written as text.

    Raises:
        ValueError: It is neither; "1,234.5" and "1_000" are refused because they can be read in two ways.
    """
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return math.nan
    if isinstance(cell, str):
        text = cell.strip()
        if text.lower() in _NULLS:
            return math.nan
        plain = text.translate({44: ".", 46: ","}) if decimal == "," else text
        if not _NUMBER.fullmatch(plain):
            raise ValueError(text)
        value = float(plain)
    elif isinstance(cell, (int, float, np.integer, np.floating, Decimal)) and not isinstance(cell, bool):
        try:
            value = float(cell)
        except OverflowError:
            raise ValueError(f"an integer of {len(str(cell))} digits") from None
    else:
        raise ValueError(repr(cell))  # noqa: TRY004 - one error for every cell that is no number
    if math.isinf(value):
        raise ValueError(repr(cell))
    return value


def to_numbers(
    cells: Sequence[Any] | npt.NDArray[Any],
    subject: str,
    name_row: Callable[[int], str],
    error: type[GridpaceError] = SchemaChanged,
    decimal: str = ".",
) -> npt.NDArray[np.float64]:
    """Return delivered cells as numbers, NaN where they are null, shape (n,).

    Args:
        cells: Cells of one column, n of them.
        subject: What the column is, for the error.
        name_row: Gives the name of the row at a position, for the error.
        error: Class of the error.
        decimal: "." or ",", the one decimal sign of numbers written as text.

    Raises:
        GridpaceError: A cell is no number (the first such row is named).
    """
    if set(map(type, cells)) <= _PLAIN_CELLS:
        with suppress(OverflowError):
            plain = np.array(cells, dtype=float)  # a null becomes NaN
            if not np.isinf(plain).any():
                return plain
    out = np.empty(len(cells))
    for i, cell in enumerate(cells):
        try:
            out[i] = to_number(cell, decimal)
        except ValueError:
            raise error(
                f"{name_row(i)}: {subject} is {cell!r}, which is no number",
                fix=f"write plain numbers with the decimal sign {decimal!r}, and nothing where there is no value",
            ) from None
    return out


def make_series(
    *,
    signal: str,
    zone: str,
    rows: pd.DataFrame,
    source: str,
    licence: str,
    basis: str = "",
    currency: str = "",
    issued_at: datetime | None = None,
    fetched_at: datetime | None = None,
    name_row: Callable[[int], str] | None = None,
    error: type[GridpaceError] = SchemaChanged,
) -> Series:
    """Return the series of checked rows: sorted, unique, in range, without nulls.

    Args:
        signal: Key of SIGNALS; `rows.value` is in its unit already.
        zone: Zone or place it holds for.
        rows: Columns t_start, t_end (datetime64 UTC), value (numbers, also as text; null where missing), kind, flags;
            in any order.
        source: Provider and what was asked.
        licence: Licence and attribution.
        basis: "direct", "lifecycle" or "marginal" for carbon, "" otherwise.
        currency: ISO code for a price, "" otherwise.
        issued_at: When the provider issued it, UTC.
        fetched_at: When it was fetched, UTC.
        name_row: Gives the name of the row at a position of `rows`, for errors; by default its time.
        error: Class of the errors about rows.

    Returns:
        The series; a null row is dropped and so is a gap, never a zero.

    Raises:
        ConfigError: The signal, basis or currency is not one that exists.
        GridpaceError: Of class `error`: a row's value is no number or out of range, its interval is empty or overlaps
            another, or two rows of one interval say different things. The first such row is named.
        NoValues: No row is left.
    """
    unit = _unit(signal, basis, currency)
    data = rows.reset_index(drop=True).astype({"t_start": _UTC, "t_end": _UTC})
    subject = f"{signal} of {zone}"
    name = name_row or (lambda i: f"{source}, row of {data.t_start.iloc[i]:%Y-%m-%dT%H:%M:%SZ}")
    if pd.api.types.is_float_dtype(data.value):
        bad = np.flatnonzero(np.isinf(data.value.to_numpy()))
        if bad.size:
            raise error(
                f"{name(int(bad[0]))}: {subject} is infinite", fix="leave the cell empty where there is no value"
            )
    else:
        data["value"] = to_numbers(data.value.to_numpy(), subject, name, error)
    data = data[data.value.notna()]
    if data.empty:
        raise NoValues(
            f"{source} has no value of {subject} in the span asked for",
            why="every row is null" if len(rows) else "no row came",
            fix="check the zone and the span, or use another source",
        )
    _check_range(data, signal, unit, currency, name, error)
    data = _sorted_unique(data, f"{subject}", unit, name, error)
    jump = jump_of(data)
    if jump is not None:
        at, before, after = jump
        raise error(
            f"{source}, row of {at:%Y-%m-%dT%H:%M:%SZ}: {subject} goes from about {before:g} to about {after:g} {unit}",
            why="a whole day is about a thousand times the day before it, so the unit has probably changed on the way",
            fix="declare the unit that the values have, or cut the series there",
        )
    if signal == "ghi":
        data = _clip_night(data)
    return Series(signal, zone, unit, basis, source, licence, data, issued_at, fetched_at)


def add_flag(rows: pd.DataFrame, name: str, where: npt.NDArray[np.bool_] | None = None) -> pd.DataFrame:
    """Return the rows with one more flag.

    Args:
        rows: Rows of a series.
        name: Such as "stale".
        where: Which rows get it, shape (n,); all by default.
    """
    old = rows["flags"].astype(str)
    new = old.where(old == "", old + ";") + name
    return rows.assign(flags=new if where is None else old.where(~where, new))


def _unit(signal: str, basis: str, currency: str) -> str:
    if signal not in SIGNALS:
        raise ConfigError(f"there is no signal {signal!r}", fix=f"use one of {', '.join(SIGNALS)}")
    if (signal == "carbon") != (basis in BASES) or (basis and basis not in BASES):
        raise ConfigError(
            f"the basis of {signal} is {basis!r}",
            why="bases differ by about 20 % and are never mixed" if signal == "carbon" else "only carbon has a basis",
            fix=f"use one of {', '.join(BASES)}" if signal == "carbon" else "leave the basis out",
        )
    if (signal == "price") != bool(re.fullmatch(r"[A-Z]{3}", currency)):
        raise ConfigError(
            f"the currency of {signal} is {currency!r}",
            fix="use the three letters of the currency, such as EUR" if signal == "price" else "leave it out",
        )
    return f"{currency}/kWh" if signal == "price" else SIGNALS[signal]


def _check_range(
    data: pd.DataFrame,
    signal: str,
    unit: str,
    currency: str,
    name: Callable[[int], str],
    error: type[GridpaceError],
) -> None:
    price = _PRICE_LIMIT_PER_KWH * (1.0 if currency in _STRONG_CURRENCIES else _WEAK_CURRENCY_FACTOR)
    low, high = _LIMITS.get(signal, (-price, price))
    outside = data.index[(data.value < low) | (data.value > high)]
    if len(outside):
        first = int(outside[0])
        raise error(
            f"{name(first)}: {signal} is {data.value[first]:g} {unit}; possible are {low:g} to {high:g} {unit}",
            why=f"{len(outside)} of {len(data)} rows lie outside, so the unit is probably another one",
            fix="declare the unit that the values have",
        )
    empty = data.index[data.t_end <= data.t_start]
    if len(empty):
        raise error(
            f"{name(int(empty[0]))}: the row's interval ends at or before its start",
            fix="look for a row whose two times are swapped or cut",
        )
    unknown = data.index[~data.kind.isin(KINDS)]
    if len(unknown):
        raise error(
            f"{name(int(unknown[0]))}: the row's kind is {data.kind[unknown[0]]!r}; known are {', '.join(KINDS)}",
            fix="use one of them",
        )


def _sorted_unique(
    data: pd.DataFrame, subject: str, unit: str, name: Callable[[int], str], error: type[GridpaceError]
) -> pd.DataFrame:
    data = data.sort_values("t_start", kind="stable")
    repeated = data.duplicated("t_start", keep=False)
    if repeated.any():
        first_like = data[repeated].groupby("t_start")[["value", "t_end"]].transform("first")
        differs = (data.loc[repeated, ["value", "t_end"]] != first_like).any(axis=1)
        if differs.any():
            other = int(differs.index[differs][0])
            first = int(data.index[data.t_start == data.t_start[other]][0])
            raise error(
                f"{name(other)}: {subject} is {data.value[other]:g} {unit} until {data.t_end[other]:%H:%MZ}, but"
                f" {name(first)} says {data.value[first]:g} {unit} until {data.t_end[first]:%H:%MZ}",
                why="two rows start at the same time and differ",
                fix="keep the right one of the two rows",
            )
        first_of = ~data.duplicated("t_start", keep="first")
        data = add_flag(data, DUPLICATE_RESOLVED, repeated.to_numpy())[first_of]
    first, last = (data[edge].dt.tz_localize(None).to_numpy() for edge in ("t_start", "t_end"))
    overlap = np.flatnonzero(first[1:] < last[:-1])
    if overlap.size:
        before, after = int(data.index[overlap[0]]), int(data.index[overlap[0] + 1])
        raise error(
            f"{name(after)}: the row starts before the row before it ends ({name(before)},"
            f" {(data.t_end[before] - data.t_start[before]).total_seconds() / 60:g} min long)",
            why="rows lie closer together than their declared length",
            fix="declare the step that the rows have",
        )
    return data.loc[:, list(COLUMNS)].reset_index(drop=True)


def _clip_night(data: pd.DataFrame) -> pd.DataFrame:
    below = (data.value < 0).to_numpy()
    return add_flag(data, CLIPPED, below).assign(value=data.value.clip(lower=0.0)) if below.any() else data
