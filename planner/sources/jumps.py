"""A unit that changes within a series, by a factor of a thousand from one day to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from datetime import datetime

    import numpy.typing as npt

_LOW, _HIGH = 400.0, 2500.0
_QUARTILES = (0.25, 0.5, 0.75)
_LEAST_ROWS = 6


def jump_of(rows: pd.DataFrame) -> tuple[datetime, float, float] | None:
    """Return where a series changes its unit, or None.

    All quartiles of a UTC day have to be about a thousand times those of the day before, or a thousandth: a day of
    prices near zero has a wide spread, and is none. Where the unit changes within a day, that day's quartiles lie
    between: then the day after is held against the day before.

    Args:
        rows: Rows by rising time with columns t_start, value.

    Returns:
        First row of the new unit, UTC, and the median size before and after.
    """
    if len(rows) < 2 * _LEAST_ROWS:
        return None
    days = rows.t_start.dt.floor("D")
    sizes = rows.value.abs().groupby(days)
    table = pd.DataFrame({share: sizes.quantile(share) for share in _QUARTILES})[sizes.size() >= _LEAST_ROWS]
    values = table.to_numpy()
    at = [(int(i), int(i) + apart) for apart in (1, 2) for i in _jumps(values, apart)[:1]]
    if not at:
        return None
    before, after = min(at, key=lambda pair: (pair[1], pair[0]))
    since = rows[(days > table.index[before]) & (days <= table.index[after])]
    middle = np.sqrt(values[before, 1] * values[after, 1])
    changed = (since.value.abs() > middle) == bool(values[after, 1] > values[before, 1])
    start: datetime = since.t_start[changed].iloc[0].to_pydatetime()
    return start, float(values[before, 1]), float(values[after, 1])


def _jumps(values: npt.NDArray[np.float64], apart: int) -> npt.NDArray[np.intp]:
    """Return after which days a day `apart` later is about a thousand times as large, or a thousandth."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values[apart:] / values[:-apart]
    up = ((ratio > _LOW) & (ratio < _HIGH)).all(axis=1)
    down = ((ratio < 1.0 / _LOW) & (ratio > 1.0 / _HIGH)).all(axis=1)
    return np.flatnonzero(up | down)
