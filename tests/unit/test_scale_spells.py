"""The cheapest spells of a gang, against all ways to be on and off."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from planner.optimize.scale.spells import Spells, cheapest_spells, least_costs


def best_by_hand(cost, is_open, start, stop, min_run, min_pause, running):
    """Least cost over every pattern that keeps the shortest spells and pauses."""
    n, least = len(cost), np.inf
    for on in product((False, True), repeat=n):
        if any(o and not free for o, free in zip(on, is_open, strict=True)):
            continue
        money, since, legal = 0.0, 0 if running else -min_pause, True
        was, going_on = running, running
        for c in range(n):
            if on[c] and not was:
                legal &= (going_on and c == 0) or c - since >= min_pause or since < 0
                since, going_on = c, False
                money += start[c]
            if not on[c] and was:
                if c > 0:
                    legal &= going_on or c - since >= min_run
                    money += stop[c]
                    since = c
                else:
                    since = -min_pause
                going_on = False
            money += cost[c] if on[c] else 0.0
            was = on[c]
        if legal:
            least = min(least, money)
    return least


@pytest.mark.parametrize("alike", [False, True])
def test_no_pattern_is_cheaper_and_the_cells_cost_what_is_said(alike):
    rng = np.random.default_rng(3)
    n, b = 120, 7
    cost = rng.normal(-0.3, 1.0, (n, b))
    is_open = rng.random((n, b)) < 0.85
    start, stop = rng.uniform(0.0, 0.6, (n, b)), rng.uniform(0.0, 0.4, (n, b))
    min_run, min_pause = rng.integers(1, 4, n), rng.integers(1, 4, n)
    if alike:
        min_run[:], min_pause[:] = 3, 2
    running = (rng.random(n) < 0.3) & is_open[:, 0]
    spells = Spells(cost.T, is_open.T, start.T, stop.T, min_run, min_pause, running)
    least, on_by_cell = cheapest_spells(spells)
    assert np.array_equal(least_costs(spells), least)
    on = on_by_cell.T
    for r in range(n):
        hand = best_by_hand(cost[r], is_open[r], start[r], stop[r], min_run[r], min_pause[r], running[r])
        assert abs(least[r] - hand) < 1e-9, r
        before = np.append(running[r], on[r, :-1])
        told = (cost[r] * on[r]).sum() + (start[r] * (on[r] & ~before)).sum() + (stop[r] * (~on[r] & before))[1:].sum()
        assert abs(told - least[r]) < 1e-9, r
        assert not (on[r] & ~is_open[r]).any()
    assert (np.abs(np.diff(on.astype(int), axis=1)).sum(axis=1) > 2).any()


def test_an_evening_off_pays_for_a_start_or_does_not():
    cost = np.array([[-5.0, -5.0, 2.0, 2.0, -5.0, -5.0]] * 2)
    start = np.array([[0.0] * 6, [6.0] * 6])
    one, six = np.ones(2, dtype=np.int64), np.zeros((2, 6))
    open_all, off = np.ones((6, 2), dtype=bool), np.zeros(2, dtype=bool)
    least, on = cheapest_spells(Spells(cost.T, open_all, start.T, six.T, one, one, off))
    assert on.T.tolist() == [[True, True, False, False, True, True], [True] * 6]
    assert least.tolist() == [-20.0, -10.0]
