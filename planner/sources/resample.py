"""Rows of one resolution made to another, and the ends of rows of which only the starts are told."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.errors import SchemaChanged

if TYPE_CHECKING:
    import numpy.typing as npt

STEPS_MIN = (5, 15, 30, 60)
"""Lengths that an interval of a market or a grid operator has, min."""


def ends_of(starts: pd.DatetimeIndex, subject: str) -> pd.DatetimeIndex:
    """Return the end of each interval of which only starts are told, where the resolution may change on the way.

    A distance to the next start counts as a length where a neighbouring distance is the same; a lone longer distance is
    a gap, before which a row has the length of its neighbours.

    Args:
        starts: Starts by rising, unique time, shape (n,).
        subject: Source, signal and zone, for the error.

    Raises:
        SchemaChanged: No distance is one of STEPS_MIN, so that no length can be told.
    """
    distance = np.diff(starts.tz_localize(None).to_numpy()) / np.timedelta64(1, "m")
    regular = np.isin(distance, STEPS_MIN)
    if not regular.any():
        first = f" of {starts[0]:%Y-%m-%dT%H:%MZ}" if len(starts) else ""
        raise SchemaChanged(
            f"{subject}: the row{first} has no length",
            why=f"no two starts lie {', '.join(map(str, STEPS_MIN))} min apart",
            fix="ask for a longer span, or use data in a file",
        )
    same_before = np.concatenate([[False], distance[1:] == distance[:-1]])
    same_after = np.concatenate([distance[1:] == distance[:-1], [False]])
    trusted = regular & (same_before | same_after)
    if not trusted.any():
        trusted = distance == distance[regular].min()
    lengths = pd.Series(np.where(trusted, distance, np.nan)).reindex(range(len(starts))).ffill().bfill().to_numpy()
    room = np.concatenate([distance, [np.inf]])
    return pd.DatetimeIndex(starts + pd.to_timedelta(np.minimum(lengths, room), unit="m"))


def expand(rows: pd.DataFrame, step: timedelta) -> pd.DataFrame:
    """Return rows cut into intervals of `step`, each with the value of the row it lies in.

    Args:
        rows: Rows of a series; each a whole number of steps long.
        step: Length of the new rows.

    Raises:
        ValueError: A row is no whole number of steps long.
    """
    length = (rows.t_end - rows.t_start).to_numpy()
    if (length == np.timedelta64(step)).all():
        return rows.reset_index(drop=True)
    count, rest = np.divmod(length, np.timedelta64(step))
    if (rest != np.timedelta64(0)).any():
        raise ValueError(f"a row is no whole number of steps of {step} long")
    fine = rows.loc[rows.index.repeat(count)].reset_index(drop=True)
    position = np.arange(len(fine)) - np.repeat(np.cumsum(count) - count, count)
    starts = fine.t_start + pd.to_timedelta(position * step.total_seconds(), unit="s")
    return fine.assign(t_start=starts, t_end=starts + step)


def compress(rows: pd.DataFrame, step: timedelta) -> pd.DataFrame:
    """Return the mean over each interval of `step` that rows cover wholly, weighted by time.

    Args:
        rows: Rows of a series by rising time, none across an edge of the steps.
        step: Length of the new rows; they lie on whole multiples of it since 1970-01-01T00:00Z.

    Returns:
        Rows with the kind of their first part and the flags of all; intervals with a gap have no row.
    """
    starts = rows.t_start.dt.floor(pd.Timedelta(step))
    length_s = (rows.t_end - rows.t_start).dt.total_seconds()
    parts = rows.assign(bin=starts, length_s=length_s, area=rows.value * length_s).groupby("bin", sort=True)
    covered_s = parts.length_s.sum()
    low, high = parts.value.min(), parts.value.max()
    # Equal parts keep their value exactly: a mean would move its last digit.
    value = (parts.area.sum() / covered_s).where(low != high, low)
    flags = parts["flags"].agg(lambda told: ";".join(sorted({f for one in told for f in one.split(";") if f})))
    out = pd.DataFrame({"value": value, "kind": parts.kind.first(), "flags": flags, "covered_s": covered_s})
    out = out[out.covered_s == step.total_seconds()].drop(columns="covered_s").reset_index(names="t_start")
    out.insert(1, "t_end", out.t_start + step)
    return out


def finest(rows: pd.DataFrame) -> timedelta:
    """Return the length of the shortest row."""
    shortest: npt.NDArray[np.timedelta64] = (rows.t_end - rows.t_start).to_numpy()
    return pd.Timedelta(shortest.min()).to_pytimedelta()
