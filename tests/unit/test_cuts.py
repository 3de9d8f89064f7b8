"""Hull cuts: valid for every set of gangs that fits, violated by what no set can do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from planner.optimize.cuts import HullCuts, Packing, heaviest_set


def packing(gpus, in_service):
    return Packing("a1", np.array(gpus), in_service, np.arange(len(gpus))[None, :])


def test_two_halves_of_gangs_that_do_not_fit_together_are_cut_off():
    (row,) = HullCuts(packing([600, 500], 1000)).separate(np.array([0.8, 1.0]))
    assert row.values == pytest.approx([1.0, 1.0])
    assert row.upper == 1.0
    assert list(row.columns) == [0, 1]


def test_a_cut_names_what_three_gangs_of_which_two_fit_may_do():
    (row,) = HullCuts(packing([400, 400, 400], 1000)).separate(np.array([0.8, 0.8, 0.8]))
    assert row.values == pytest.approx([0.5, 0.5, 0.5])


def test_whole_values_and_hull_points_are_not_cut():
    hull = HullCuts(packing([600, 500], 1000))
    assert hull.separate(np.array([1.0, 0.0])) == []
    assert hull.separate(np.array([0.5, 0.5])) == []


@pytest.mark.parametrize("seed", range(12))
def test_cuts_hold_for_every_set_that_fits(seed):
    rng = np.random.default_rng(seed)
    gpus = rng.choice([64, 128, 256, 512, 1024], 7)
    room = int(gpus.sum() * 0.55) // 64 * 64
    hull = HullCuts(packing(gpus, max(room, int(gpus.max()))))
    fitting = [s for s in itertools.product((0, 1), repeat=7) if np.array(s) @ gpus <= max(room, gpus.max())]
    for _ in range(5):
        y = rng.random(7)
        y *= min(1.0, room / (y @ gpus))  # within the count of GPUs, so that only the packing can be violated
        for row in hull.separate(y):
            assert row.values @ y[row.columns] > 1.0
            assert max(row.values @ np.array(s)[row.columns] for s in fitting) <= 1.0 + 1e-6


def test_a_gang_that_cannot_be_on_has_no_part_in_a_cut():
    moments = np.array([[0, 1, -1], [3, 4, 5]])
    hull = HullCuts(Packing("a1", np.array([600, 500, 450]), 1000, moments))
    rows = hull.separate(np.array([0.9, 0.9, 0.0, 0.9, 0.9, 0.9]))
    assert all(-1 not in row.columns for row in rows)
    assert {tuple(row.columns) for row in rows} >= {(0, 1)}


@pytest.mark.parametrize("seed", range(10))
def test_the_heaviest_set_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    worth, sizes, room = rng.random(8), rng.integers(1, 20, 8), 40
    chosen = heaviest_set(worth, sizes, room)
    best = max(np.array(s) @ worth for s in itertools.product((0, 1), repeat=8) if np.array(s) @ sizes <= room)
    assert chosen @ sizes <= room
    assert chosen @ worth == pytest.approx(best)


def test_gpus_left_over_by_every_set_do_not_matter():
    (row,) = HullCuts(packing([600, 600, 600], 1777)).separate(np.array([0.9, 0.9, 0.9]))
    assert row.values == pytest.approx([0.5, 0.5, 0.5])
