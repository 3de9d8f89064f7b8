"""Edges found by halving: on the side asked for, from either side, each of an array its own."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.halving import halved

EDGES = np.array([0.1, 0.5, 0.93])


def test_the_edge_lies_between_the_two_and_each_side_is_kept():
    low, high = halved(lambda x: x <= EDGES, np.zeros(3), np.ones(3), 20)
    assert np.all(low <= EDGES)
    assert np.all(high > EDGES)
    assert high - low == pytest.approx(np.full(3, 0.5**20))


def test_it_is_sought_downwards_alike():
    holds, fails = halved(lambda x: x >= EDGES, np.ones(3), np.zeros(3), 20)
    assert np.all(holds >= EDGES)
    assert np.all(fails < EDGES)


def test_what_holds_everywhere_ends_at_the_far_side():
    low, high = halved(lambda x: x < 2.0, np.zeros(2), np.ones(2), 60)
    assert low.tolist() == high.tolist() == [1.0, 1.0]
