"""Scores and shares of savings worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from planner.forecast.saving import best_days, best_hours, kept_share
from planner.forecast.scores import CRPS_LEVELS, pinball, score
from planner.forecast.spread import LEVELS


def test_the_share_of_a_saving():
    actual = np.array([[4.0, 1.0, 3.0, 2.0]])
    assert kept_share(actual, actual, 2) == 1.0
    # The oracle takes 1 and 2 (mean 1.5 against 2.5), this forecast 1 and 3 (mean 2.0): half the saving.
    assert kept_share(actual, np.array([[4.0, 1.0, 2.0, 3.0]]), 2) == pytest.approx(0.5)
    assert kept_share(actual, -actual, 2) == pytest.approx(-1.0)
    assert kept_share(np.ones((1, 4)), actual, 2) is None
    assert kept_share(np.vstack([actual, np.full((1, 4), np.nan)]), np.vstack([actual, actual]), 2) == 1.0


def test_days_and_hours_of_a_week():
    days = np.array([5.0, 1.0, 2.0, 3.0, 7.0, 6.0, 4.0])
    actual = days.repeat(24)[None, :]
    swapped = np.array([5.0, 1.0, 2.0, 4.0, 7.0, 6.0, 3.0]).repeat(24)[None, :]
    assert best_days(actual, swapped) == pytest.approx((4.0 - 7.0 / 3.0) / (4.0 - 2.0))
    assert best_hours(actual, actual) == 1.0


def test_pinball_of_a_quantile():
    loss = pinball(np.array([[10.0, 10.0]]), np.array([[[8.0, 13.0]]]), (0.9,))
    assert loss[0, 0].tolist() == pytest.approx([1.8, 0.3])


def test_scores_by_lead_day():
    actual = np.concatenate([np.full(24, 100.0), np.full(24, 200.0)])[None, :]
    points = actual + 10.0
    quantiles = np.array([-30.0, -20.0, -5.0, 10.0, 20.0, 30.0, 40.0])[None, :, None] + actual[:, None, :]
    fine = np.repeat(points[:, None, :], len(CRPS_LEVELS), axis=1)
    found = score(actual, points, quantiles, fine)
    assert found.mape_pct.tolist() == pytest.approx([10.0, 5.0])
    assert found.mae.tolist() == pytest.approx([10.0, 10.0])
    # The score of a sure forecast is its absolute error.
    assert found.crps.tolist() == pytest.approx([10.0, 10.0])
    assert found.cover_50_pct.tolist() == [100.0, 100.0]
    by_hand = [0.05 * 30, 0.1 * 20, 0.25 * 5, 0.5 * 10, 0.25 * 20, 0.1 * 30, 0.05 * 40]
    assert found.pinball.tolist() == pytest.approx([np.mean(by_hand)] * 2)
    assert len(LEVELS) == quantiles.shape[1]


def test_what_is_not_known_does_not_count():
    actual = np.full((2, 24), 100.0)
    actual[1] = np.nan
    points = np.array([[110.0], [500.0]]) + np.zeros((2, 24))
    nothing = np.full((2, len(LEVELS), 24), np.nan)
    found = score(actual, points, nothing, np.full((2, len(CRPS_LEVELS), 24), np.nan))
    assert found.mae.tolist() == [10.0]
    assert np.isnan(found.pinball).all()
    assert np.isnan(found.cover_80_pct).all()
