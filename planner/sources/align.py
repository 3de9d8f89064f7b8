"""A series onto the slots of a time grid: means over slots, short gaps bridged, long ones filled by a profile.

Every value of a signal is a mean over its row's interval (energy-like), so a coarser slot takes the mean weighted by
time and a finer slot holds the value of its row: nothing is invented within a row. Work is done on quarter hours, of
which every slot and every local hour is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.errors import GapInSeries
from planner.sources.series import FALLBACK, FILLED, PROFILE, STALE, SYNTHETIC
from planner.timegrid import iso

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import numpy.typing as npt

    from planner.sources.series import Series
    from planner.timegrid import TimeGrid

QUARTER = timedelta(minutes=15)
LONGEST_BRIDGE = timedelta(hours=3)
"""Longest gap that a straight line fills."""
HISTORY = timedelta(days=28)
"""How far back a profile looks: ask a source from this long before the grid on."""
LEAST_HISTORY = timedelta(days=7)
"""Least time with values in HISTORY from which a profile is made."""

_INHERITED = (FALLBACK, STALE, SYNTHETIC)  # what is made from synthetic, stale or other rows is so itself
_Q64 = np.timedelta64(QUARTER)
_BRIDGE_QUARTERS = LONGEST_BRIDGE // QUARTER
_HISTORY_QUARTERS = HISTORY // QUARTER
_LEAST_QUARTERS = LEAST_HISTORY // QUARTER


@dataclass(frozen=True)
class Aligned:
    """One signal on a time grid.

    Args:
        values: Mean of each slot in the series' unit, shape (T,), never NaN.
        flags: (flag, count of slots that carry it), by name, as `planner.week.Provenance` wants it.
        seam: End of the source's last row where the grid goes on after it, UTC; None where the source covers the end.
    """

    values: npt.NDArray[np.float64]
    flags: tuple[tuple[str, int], ...]
    seam: datetime | None


def align(series: Series, grid: TimeGrid, tz: ZoneInfo) -> Aligned:
    """Return the series on the slots of a grid.

    A gap of up to 3 h between two rows is filled by a straight line and flagged "filled". A longer gap, and all
    after the series' end, is filled by the median of each local hour over the 28 days before it and flagged "profile".

    Args:
        series: What a source delivered, best from `grid.start - HISTORY` on.
        grid: The slots.
        tz: Site time zone, whose hours the profile has.

    Raises:
        GapInSeries: A long gap has less than 7 days of values in the 28 days before it, or none for an hour it needs.
    """
    edges = _lattice(series.rows, grid)
    values = _quarter_means(series.rows, edges)
    flags = {name: _touched(series.rows[mask], edges) for name, mask in _flag_masks(series.rows)}
    values, flags[FILLED] = _bridge(values)
    offset = len(values) - grid.n_slots * (grid.slot // QUARTER)
    values, flags[PROFILE] = _fill_by_profile(values, edges, offset, series, tz)
    for name in _INHERITED:
        if name in flags:
            flags[name] |= flags[FILLED] | flags[PROFILE]
    per_slot = values[offset:].reshape(grid.n_slots, -1)
    while per_slot.shape[1] > 1:  # means of pairs keep equal values exactly as they are
        per_slot = 0.5 * (per_slot[:, 0::2] + per_slot[:, 1::2])
    counts = {name: int(mask[offset:].reshape(grid.n_slots, -1).any(axis=1).sum()) for name, mask in flags.items()}
    last = series.rows.t_end.iloc[-1].to_pydatetime()
    return Aligned(
        values=per_slot[:, 0],
        flags=tuple(sorted((name, n) for name, n in counts.items() if n)),
        seam=last if last < grid.end else None,
    )


def _lattice(rows: pd.DataFrame, grid: TimeGrid) -> npt.NDArray[np.datetime64]:
    first = rows.t_start.iloc[0].floor("15min").to_pydatetime()
    start = min(first, grid.start)
    n = -((start - grid.end) // QUARTER)
    edges: npt.NDArray[np.datetime64] = np.datetime64(start.replace(tzinfo=None), "s") + np.arange(n + 1) * _Q64
    return edges


def _naive(times: pd.Series) -> npt.NDArray[np.datetime64]:
    naive: npt.NDArray[np.datetime64] = times.dt.tz_localize(None).to_numpy().astype("datetime64[s]")
    return naive


def _hours(times: npt.NDArray[np.datetime64], origin: np.datetime64) -> npt.NDArray[np.float64]:
    return (times - origin) / np.timedelta64(1, "h")


def _quarter_means(rows: pd.DataFrame, edges: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Return the mean of each quarter hour; NaN where rows cover less than half of it."""
    starts, ends, value = _naive(rows.t_start), _naive(rows.t_end), rows.value.to_numpy(dtype=float)
    row = np.searchsorted(starts, edges[:-1], side="right") - 1
    inside = (row >= 0) & (ends[row] >= edges[1:])
    knots = _hours(np.stack([starts, ends], axis=1).ravel(), edges[0])
    lengths = _hours(ends, edges[0]) - _hours(starts, edges[0])
    at = _hours(edges, edges[0])
    covered_h = np.diff(np.interp(at, knots, running_sum(lengths)))
    area = np.diff(np.interp(at, knots, running_sum(lengths * value)))
    enough = covered_h >= 0.5 * (QUARTER / timedelta(hours=1))
    means = np.divide(area, covered_h, out=np.full(len(area), np.nan), where=enough)
    return np.where(inside, value[row], means)


def running_sum(parts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the running sum at the start and end of each row, flat across the gap between two rows."""
    total = np.concatenate([[0.0], np.cumsum(parts)])
    return np.stack([total[:-1], total[1:]], axis=1).ravel()


def _touched(rows: pd.DataFrame, edges: npt.NDArray[np.datetime64]) -> npt.NDArray[np.bool_]:
    """Return which quarter hours a row reaches into."""
    starts, ends = _naive(rows.t_start), _naive(rows.t_end)
    return np.asarray(np.searchsorted(starts, edges[1:], side="left") > np.searchsorted(ends, edges[:-1], side="right"))


def _flag_masks(rows: pd.DataFrame) -> list[tuple[str, npt.NDArray[np.bool_]]]:
    names = sorted({name for flags in rows["flags"].unique() for name in flags.split(";") if name})
    return [(name, rows["flags"].str.split(";").map(lambda f, n=name: n in f).to_numpy(dtype=bool)) for name in names]


def _gaps(values: npt.NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return [first, end) of each run of NaN."""
    missing = np.isnan(values).astype(np.int8)
    steps = np.diff(np.concatenate([[0], missing, [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))


def _bridge(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    out, filled = values.copy(), np.zeros(len(values), dtype=bool)
    for first, end in _gaps(values):
        if end - first <= _BRIDGE_QUARTERS and first > 0 and end < len(values):
            weight = np.arange(1, end - first + 1) / (end - first + 1)
            out[first:end] = values[first - 1] * (1.0 - weight) + values[end] * weight
            filled[first:end] = True
    return out, filled


def _fill_by_profile(
    values: npt.NDArray[np.float64], edges: npt.NDArray[np.datetime64], offset: int, series: Series, tz: ZoneInfo
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    out, marked = values.copy(), np.zeros(len(values), dtype=bool)
    gaps = [(first, end) for first, end in _gaps(values) if end > offset]
    if not gaps:
        return out, marked
    hour = pd.DatetimeIndex(edges[:-1], tz="UTC").tz_convert(tz).hour.to_numpy()
    for first, end in gaps:
        since = max(0, first - _HISTORY_QUARTERS)
        known = ~np.isnan(values[since:first])
        table = pd.Series(values[since:first][known]).groupby(hour[since:first][known]).median()
        wanted = hour[max(first, offset) : end]
        if known.sum() < _LEAST_QUARTERS or not np.isin(wanted, table.index.to_numpy()).all():
            raise _gap(series, edges[first], edges[end], known.sum() * QUARTER)
        out[max(first, offset) : end] = table.reindex(wanted).to_numpy()
        marked[max(first, offset) : end] = True
    return out, marked


def _gap(series: Series, first: np.datetime64, end: np.datetime64, history: timedelta) -> GapInSeries:
    a, b = (pd.Timestamp(t, tz="UTC").to_pydatetime() for t in (first, end))
    return GapInSeries(
        f"{series.signal} of {series.zone} ({series.source}) has no values from {iso(a)} to {iso(b)}"
        f" ({(b - a) / timedelta(hours=1):g} h)",
        why="gaps up to 3 h are bridged; a longer one needs 7 days of values in the 28 days before it,"
        f" and there are {history / timedelta(days=1):.1f} days",
        fix="give the missing rows, take a source with a longer past, or plan a week that the source covers",
    )
