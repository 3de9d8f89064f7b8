"""What alignment keeps for any series."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.sources.align import align
from planner.sources.rows import make_series
from planner.timegrid import TimeGrid

MONDAY = datetime(2024, 5, 13, tzinfo=UTC)
TZ = ZoneInfo("America/New_York")
VALUES = st.floats(0.0, 1500.0, allow_subnormal=False)


def carbon(values, minutes, start=MONDAY, keep=None):
    t = pd.date_range(start, periods=len(values), freq=f"{minutes}min")
    rows = pd.DataFrame(
        {"t_start": t, "t_end": t + pd.Timedelta(minutes=minutes), "value": values, "kind": "actual", "flags": ""}
    )
    rows = rows if keep is None else rows[keep]
    return make_series(signal="carbon", zone="X", rows=rows, source="t", licence="own", basis="direct")


def slots(out):
    return out.values  # noqa: PD011 - no pandas object


@settings(max_examples=50, deadline=None)
@given(
    st.lists(VALUES, min_size=144, max_size=144),
    st.sampled_from([5, 10, 20, 30, 60, 120]),
    st.sampled_from([15, 30, 60]),
)
def test_the_integral_over_the_grid_is_kept(values, minutes, slot):
    hours = min(12, 144 * minutes // 60)
    grid = TimeGrid(MONDAY, slot, hours * 60 // slot)
    out = align(carbon(values, minutes), grid, TZ)
    rows = hours * 60 // minutes
    np.testing.assert_allclose(slots(out).mean(), np.mean(values[:rows]), rtol=1e-9, atol=1e-9)
    assert slots(out).min() >= min(values) - 1e-9
    assert slots(out).max() <= max(values) + 1e-9


@settings(max_examples=50, deadline=None)
@given(st.lists(VALUES, min_size=9 * 24, max_size=9 * 24), st.data())
def test_any_gaps_leave_numbers_within_what_was_seen(values, data):
    missing = data.draw(st.sets(st.integers(7 * 24 + 1, 9 * 24 - 1), max_size=40))
    keep = np.array([i not in missing for i in range(len(values))])
    grid = TimeGrid(MONDAY + timedelta(days=8), 60, 24)
    out = align(carbon(np.array(values), 60, keep=keep), grid, TZ)
    seen = np.array(values)[keep]
    assert np.isfinite(slots(out)).all()
    assert seen.min() - 1e-9 <= slots(out).min()
    assert slots(out).max() <= seen.max() + 1e-9
    gaps = {i for i in missing if i >= 8 * 24}
    made = dict(out.flags)
    assert made.get("filled", 0) + made.get("profile", 0) == len(gaps)


@settings(max_examples=30, deadline=None)
@given(st.lists(VALUES, min_size=24, max_size=24), st.randoms())
def test_the_order_of_rows_does_not_matter(values, random):
    order = list(range(24))
    random.shuffle(order)
    plain = carbon(values, 60)
    shuffled = make_series(
        signal="carbon", zone="X", rows=plain.rows.iloc[order], source="t", licence="own", basis="direct"
    )
    assert plain.rows.equals(shuffled.rows)
