"""Least squares on a box, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.calibrate.descent import OUTLIER, Box, least_loss, loss

WIDE = Box(np.full(2, -1e3), np.full(2, 1e3))
AT = np.linspace(-1.0, 1.0, 41)


def line(measured, weak=1e6):
    """Residuals and slopes of a straight line through measured values, with priors about zero."""
    shape = np.column_stack([np.ones_like(AT), AT])

    def residuals(point):
        return np.concatenate([measured - shape @ point, point / weak])

    def slopes(_point):
        return np.concatenate([-shape, np.eye(2) / weak])

    return residuals, slopes


def test_the_loss_by_hand():
    # a near error counts by its square, a far one by twice three times its size, a prior always by its square
    assert loss(np.array([0.01, 0.0]), 1) == pytest.approx(1e-4, rel=1e-4)
    assert loss(np.array([1e6, 0.0]), 1) == pytest.approx(2.0 * OUTLIER * 1e6, rel=1e-4)
    assert loss(np.array([0.0, 100.0]), 1) == pytest.approx(1e4)
    assert loss(np.array([np.inf, 0.0]), 1) == np.inf


def test_a_line_is_found():
    found = least_loss(*line(0.2 + 0.7 * AT), np.zeros(2), WIDE)
    assert found == pytest.approx([0.2, 0.7], abs=1e-3)


def test_one_wild_reading_moves_it_by_little():
    wild = 0.2 + 0.7 * AT
    wild[20] += 1000.0
    mean_moved = 1000.0 / len(AT)
    assert least_loss(*line(wild), np.zeros(2), WIDE)[0] - 0.2 < 0.01 * mean_moved


def test_a_wall_holds_and_the_others_find_the_best_beside_it():
    box = Box(np.array([-1.0, -1.0]), np.array([0.1, 1.0]))
    found = least_loss(*line(0.2 + 0.7 * AT), np.zeros(2), box)
    assert found == pytest.approx([0.1, 0.7], abs=1e-3)


def test_a_start_at_a_wall_comes_off_it():
    box = Box(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    found = least_loss(*line(0.2 + 0.7 * AT), np.array([1.0, -1.0]), box)
    assert found == pytest.approx([0.2, 0.7], abs=1e-3)


def test_where_no_plant_is_possible_steps_are_taken_shorter():
    plain, slopes = line(2.0 + 0.0 * AT)

    def residuals(point):
        return plain(point) if point[0] <= 0.5 else np.full(len(AT) + 2, np.inf)

    found = least_loss(residuals, slopes, np.zeros(2), WIDE)
    assert 0.3 < found[0] <= 0.5
