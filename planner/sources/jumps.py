"""A unit that changes within a series, by a factor of a thousand from one day to the next."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd

_LOW, _HIGH = 400.0, 2500.0
_QUARTILES = (0.25, 0.5, 0.75)
_LEAST_ROWS = 6


def jump_of(rows: pd.DataFrame) -> tuple[datetime, float, float] | None:
    """Return where a series changes its unit, or None.

    All quartiles of a UTC day have to be about a thousand times those of the day before, or a thousandth: a day of
    prices near zero has a wide spread, and is none.

    Args:
        rows: Rows by rising time with columns t_start, value.

    Returns:
        First row of the day, UTC, and the median size before and after.
    """
    if len(rows) < 2 * _LEAST_ROWS:
        return None
    days = rows.t_start.dt.floor("D")
    sizes = rows.value.abs().groupby(days)
    table = pd.DataFrame({share: sizes.quantile(share) for share in _QUARTILES})[sizes.size() >= _LEAST_ROWS]
    values = table.to_numpy()
    if len(values) < 2:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values[1:] / values[:-1]
    up = ((ratio > _LOW) & (ratio < _HIGH)).all(axis=1)
    down = ((ratio < 1.0 / _LOW) & (ratio > 1.0 / _HIGH)).all(axis=1)
    found = np.flatnonzero(up | down)
    if not found.size:
        return None
    at = int(found[0])
    first = rows.t_start[days == table.index[at + 1]].iloc[0]
    return pd.Timestamp(first).to_pydatetime(), float(values[at, 1]), float(values[at + 1, 1])
