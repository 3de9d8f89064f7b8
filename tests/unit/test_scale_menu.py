"""What a cell costs for a worth of its work, against every operating point of every slot."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from planner.optimize.scale.crowd import Table
from planner.optimize.scale.menu import Menu

EDGES = np.array([0, 1, 4, 6])


def tables():
    """A pool with three points and one with a single one."""
    told = (([300.0, 450.0, 700.0], [0.55, 0.8, 1.0]), ([500.0], [1.0]))
    return [Table(i, np.array(w), np.array(rate), np.array(w), ((i, 1.0),)) for i, (w, rate) in enumerate(told)]


def prices(rng):
    """Money per GPU and slot, shape (2, 3, 6); the table with one point repeats it."""
    three = np.sort(rng.uniform(-0.2, 1.0, (3, 6)), axis=0)
    one = np.repeat(rng.uniform(0.1, 1.0, (1, 6)), 3, axis=0)
    return np.array([three, one])


def by_hand(price, rate, worth, *, each_slot):
    """Cost of the cells at the worth of each."""
    found = []
    for c, (a, b) in enumerate(pairwise(EDGES.tolist())):
        per_point = price[:, a:b] - worth[c] * rate[:, None]
        found.append(per_point.min(axis=0).sum() if each_slot else per_point.sum(axis=1).min())
    return np.array(found)


@pytest.mark.parametrize("each_slot", [True, False])
def test_what_is_read_is_never_too_much_and_hardly_too_little(each_slot):
    rng = np.random.default_rng(4)
    price, rates = prices(rng), (np.array([0.55, 0.8, 1.0]), np.array([1.0, 1.0, 1.0]))
    menu = Menu(tables(), price, EDGES, 400, each_slot=each_slot)
    which, worth = rng.integers(0, 2, 60), rng.uniform(-3.0, 6.0, (3, 60))
    found = menu.costs(which, worth)
    for r in range(60):
        hand = by_hand(price[which[r]], rates[which[r]], worth[:, r], each_slot=each_slot)
        assert (found[:, r] <= hand + 1e-9).all()
        assert found[:, r] == pytest.approx(hand, abs=0.01)


def test_beyond_the_table_every_slot_keeps_its_point():
    price = prices(np.random.default_rng(5))
    menu = Menu(tables(), price, EDGES, 8)
    worth = np.array([[50.0], [-50.0], [50.0]])
    hand = by_hand(price[0], np.array([0.55, 0.8, 1.0]), worth[:, 0], each_slot=True)
    assert menu.costs(np.array([0]), worth)[:, 0] == pytest.approx(hand, abs=1e-9)
