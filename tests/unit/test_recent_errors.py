"""Forecasts that go on from the last errors: what is left of them is learned, and nothing of the future is seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from planner.forecast.recent_errors import REACH_DAYS, moved_by_recent

DAYS = 90
ORIGINS = np.arange(DAYS - 7, dtype=np.int64) * 24


def erring(persistence, seed=3):
    """Return forecasts of zero, and what came: errors that fade by a share an hour."""
    noise = np.random.default_rng(seed).standard_normal(DAYS * 24)
    came = lfilter([np.sqrt(1.0 - persistence**2)], [1.0, -persistence], noise)
    return np.zeros((len(ORIGINS), 168)), came


def ahead(came):
    return came[ORIGINS[:, None] + np.arange(168)]


def test_what_is_left_of_lasting_errors_is_taken_off():
    points, came = erring(0.97)
    moved = moved_by_recent(points, came, ORIGINS)
    before, after = np.abs(ahead(came))[30:], np.abs(ahead(came) - moved)[30:]
    assert after[:, 0].mean() < 0.4 * before[:, 0].mean()
    assert after[:, :24].mean() < 0.85 * before[:, :24].mean()
    # what fades away adds nothing later
    assert after[:, 48:].mean() < 1.02 * before[:, 48:].mean()
    assert np.array_equal(moved[:, REACH_DAYS * 24 :], points[:, REACH_DAYS * 24 :])


def test_errors_without_memory_are_left_as_they_are():
    points, came = erring(0.0)
    moved = moved_by_recent(points, came, ORIGINS)
    assert np.abs(ahead(came) - moved)[30:].mean() < 1.01 * np.abs(ahead(came))[30:].mean()


def test_errors_that_fade_as_they_always_did_are_made_good_in_full():
    # every forecast is too high by 2 as it begins, and fades to 1/e in a day
    off = 2.0 * np.exp(-(np.arange(168) + 1.0) / 24.0)
    points, came = np.tile(off, (len(ORIGINS), 1)), np.zeros(DAYS * 24)
    moved = moved_by_recent(points, came, ORIGINS)
    assert np.abs(moved[10:, : REACH_DAYS * 24]).max() < 0.01
    assert np.array_equal(moved[:10], points[:10])


@pytest.mark.parametrize("place", [12, 40, 82])
def test_nothing_from_the_origin_on_is_looked_at(place):
    points, came = erring(0.97)
    spoilt = came.copy()
    spoilt[ORIGINS[place] :] = np.nan
    one, other = moved_by_recent(points, came, ORIGINS), moved_by_recent(points, spoilt, ORIGINS)
    assert np.array_equal(one[: place + 1], other[: place + 1])
    cut = moved_by_recent(points[: place + 1], came[: ORIGINS[place]], ORIGINS[: place + 1])
    assert np.array_equal(one[: place + 1], cut)


def test_unknown_hours_and_short_horizons():
    points, came = erring(0.97)
    holed = np.where(np.random.default_rng(0).random(len(came)) < 0.2, np.nan, came)
    moved = moved_by_recent(points, holed, ORIGINS)
    assert np.isfinite(moved).all()
    assert np.abs(ahead(came) - moved)[30:, :6].mean() < 0.75 * np.abs(ahead(came))[30:, :6].mean()
    nothing = moved_by_recent(points, np.full(len(came), np.nan), ORIGINS)
    assert np.array_equal(nothing, points)
    assert np.array_equal(moved_by_recent(points[:, :12], came, ORIGINS), points[:, :12])
    day = moved_by_recent(points[:, :36], came, ORIGINS)
    assert np.abs(ahead(came)[:, 0] - day[:, 0])[30:].mean() < 0.4 * np.abs(ahead(came)[:, 0])[30:].mean()
