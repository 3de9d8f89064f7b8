"""Carbon intensity of a generation mix: each fuel's share times its factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.errors import SchemaChanged
from planner.sources.resample import expand, finest
from planner.sources.rows import NoValues, add_flag
from planner.sources.series import CLIPPED, DUPLICATE_RESOLVED, PARTIAL_MIX
from planner.sources.units import conversion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.sources.fuels import FuelFactors

LARGEST_MISSING_SHARE = 0.05
"""Share of the usual generation that a row may lack: it is then flagged "partial_mix"; beyond that it is a gap."""
_JUMP = 20.0
_LONGEST = pd.Timedelta(days=1)
_LEAST_ROWS = 5


def mix_intensity(parts: pd.DataFrame, fuel_of: Mapping[str, str], factors: FuelFactors, subject: str) -> pd.DataFrame:
    """Return the carbon intensity of what was generated in each interval; imports are not in it.

    A null is never a zero: where types that usually give more than 5 % are missing, the interval is a gap. A negative
    generation is a plant's own use and counts as none.

    Args:
        parts: One row per type of generation and interval: columns t_start, t_end (datetime64 UTC), part (name of the
            type), value (power, energy or share in any one unit; NaN where null), kind.
        fuel_of: Fuel of each type, a key of the factors; a type that is not in it counts as "unknown".
        factors: Carbon of each fuel.
        subject: Source, signal and zone, for errors.

    Returns:
        Rows of a series in gCO2e/kWh.

    Raises:
        SchemaChanged: Two rows of one type and time differ, a row is longer than a day or no whole number of the
            shortest, or all generation jumps by more than 20 times.
        NoValues: Nothing is left.
    """
    known = parts[parts.value.notna()]
    if known.empty:
        raise NoValues(f"{subject}: every value of the mix is null", fix="try again later, or use another source")
    _check_lengths(known, subject)
    fine = _once(expand(known, finest(known)), subject)
    table = fine.set_index(["t_start", "part"]).value.unstack("part").clip(lower=0.0)  # noqa: PD010 - each is there once
    total = table.sum(axis=1)
    _check_jump(total, subject)
    usual = table.mean()
    missing_share = (
        table.isna().to_numpy() @ (usual / usual.sum()).to_numpy() if usual.sum() > 0 else np.zeros(len(table))
    )
    factor = np.array([factors.gco2_per_kwh[fuel_of.get(part, "unknown")] for part in table.columns])
    carbon = table.fillna(0.0).to_numpy() @ factor
    told = fine.drop_duplicates("t_start").set_index("t_start")[["t_end", "kind"]].reindex(table.index)
    doubled = told.index.isin(fine.t_start[fine.doubled])
    strange = ~np.isin(table.columns, list(fuel_of))
    partial = table.isna().to_numpy().any(axis=1) & (missing_share > 0) | table.loc[:, strange].notna().any(axis=1)
    rows = told.assign(value=carbon / total.where(total > 0), flags=np.where(partial, PARTIAL_MIX, ""))
    rows = add_flag(rows, DUPLICATE_RESOLVED, doubled)
    rows = rows[(missing_share <= LARGEST_MISSING_SHARE) & rows.value.notna()]
    if rows.empty:
        raise NoValues(f"{subject}: no interval has a whole mix", fix="try again later, or use another source")
    return rows.reset_index()[["t_start", "t_end", "value", "kind", "flags"]]


def power_of(parts: pd.DataFrame, types: Sequence[str], signal: str, subject: str) -> pd.DataFrame:
    """Return what some types gave together in each interval, kW: their sum where all of them are known.

    A negative value is a plant's own use, as the sun's at night, and counts as none, which is flagged.

    Args:
        parts: As of `mix_intensity`, with values in MW or MWh per hour.
        types: Those that count.
        signal: The signal that they are.
        subject: Source, signal and zone, for errors.

    Raises:
        SchemaChanged: Two rows of one type and time differ, or a row is longer than a day or no whole number of the
            shortest.
        NoValues: No interval has a value.
    """
    own = parts[parts.part.isin(types) & parts.value.notna()]
    if own.empty:
        raise NoValues(f"{subject}: there is none", fix="check the zone and the span")
    _check_lengths(own, subject)
    fine = _once(expand(own, finest(own)), subject)
    fine = fine.assign(below=fine.value < 0, value=fine.value.clip(lower=0.0))
    summed = fine.groupby("t_start").agg(
        t_end=("t_end", "first"),
        value=("value", "sum"),
        kind=("kind", "first"),
        types=("part", "nunique"),
        below=("below", "any"),
        doubled=("doubled", "any"),
    )
    whole = summed[summed.types == own.part.nunique()].reset_index()  # a sum that lacks a type is no sum
    rows = whole.assign(value=whole.value * conversion(signal, "MW").scale, flags="")
    rows = add_flag(rows, CLIPPED, whole.below.to_numpy())
    rows = add_flag(rows, DUPLICATE_RESOLVED, whole.doubled.to_numpy())
    return rows[["t_start", "t_end", "value", "kind", "flags"]]


def _check_lengths(parts: pd.DataFrame, subject: str) -> None:
    length = parts.t_end - parts.t_start
    shortest = length.min()
    strange = length > _LONGEST
    if shortest > pd.Timedelta(0):
        strange |= (length % shortest) != pd.Timedelta(0)
    else:
        strange |= length <= pd.Timedelta(0)
    if strange.any():
        row = parts[strange].iloc[0]
        minutes = (row.t_end - row.t_start).total_seconds() / 60
        raise SchemaChanged(
            f"{subject}: {row.part} at {row.t_start:%Y-%m-%dT%H:%M:%SZ} is a row of {minutes:g} min",
            why="a row goes on for some minutes to a day, and into a whole number of the shortest of them",
            fix="look for a newer gridpace, and use data in a file meanwhile",
        )


def _once(parts: pd.DataFrame, subject: str) -> pd.DataFrame:
    """Return the rows with each type and time once, and a column `doubled` that says which were delivered twice alike.

    Args:
        parts: Rows of one length, with columns part, t_start, value (no null).
        subject: Source, signal and zone, for errors.

    Raises:
        SchemaChanged: Two rows of one type and time differ.
    """
    doubled = parts.duplicated(["part", "t_start"], keep=False)
    if doubled.any():
        _check_alike(parts[doubled], subject)
    return parts.assign(doubled=doubled).drop_duplicates(["part", "t_start"])


def _check_alike(twice: pd.DataFrame, subject: str) -> None:
    spread = twice.groupby(["part", "t_start"]).value.agg(["min", "max"])
    differing = spread[spread["min"] != spread["max"]]
    if len(differing):
        part, t_start = differing.index[0]
        low, high = differing.iloc[0]
        raise SchemaChanged(
            f"{subject}: {part} at {t_start:%Y-%m-%dT%H:%M:%SZ} is {low:g} and {high:g}",
            why="two rows of one type start at the same time and differ",
            fix="look for a newer gridpace, and use data in a file meanwhile",
        )


def _check_jump(total: pd.Series[float], subject: str) -> None:
    usual = float(total[total > 0].median()) if (total > 0).any() else 0.0
    if usual <= 0 or len(total) < _LEAST_ROWS:
        return
    strange = total[(total > _JUMP * usual) | ((total < usual / _JUMP) & (total > 0))]
    if len(strange):
        raise SchemaChanged(
            f"{subject}: all generation at {strange.index[0]:%Y-%m-%dT%H:%M:%SZ} is {strange.iloc[0]:g} where"
            f" {usual:g} is usual",
            why="the unit has probably changed on the way, or most types are missing",
            fix="try again later, or use another source",
        )
