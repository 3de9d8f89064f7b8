"""Where curves that are not convex are cut."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.cut import best_cut
from thermal.envelope import CONVEX_SHARE, fit_branches, fit_envelope
from thermal.plant import cooling, dry_cooler, tower_chiller

X = np.linspace(0.0, 10.0, 101)


def test_a_kink_that_bends_down_is_the_cut():
    steep, flat = 2.0 * X, 12.0 + 0.5 * (X - 6.0)
    assert best_cut(X[None], np.minimum(steep, flat)[None])[0] == pytest.approx(6.0)


def test_a_jump_belongs_to_neither_piece():
    x = np.sort(np.append(X, 4.0 + 1e-8))
    y = 0.1 * x**2 + 3.0 * (x > 4.0)
    assert best_cut(x[None], y[None])[0] == 4.0


def test_curves_are_cut_one_by_one():
    y = np.stack([np.minimum(2.0 * X, 2.0 * c + 0.1 * (X - c)) for c in (2.0, 7.0)])
    assert best_cut(np.stack([X, X]), y) == pytest.approx([2.0, 7.0])


@pytest.mark.parametrize(
    "plant", [tower_chiller(2_000.0), dry_cooler(2_000.0, chiller_capacity_share=0.4)], ids=lambda p: p.kind
)
def test_two_pieces_are_nearer_to_the_plant_than_one(plant):
    dry = np.linspace(20.0, 45.0, 26)
    wet = dry - 6.0
    whole = fit_envelope(plant, dry, wet, 8)
    rough = ~whole.convex
    cut = fit_branches(plant, dry[rough], wet[rough], 8)
    assert rough.sum() > 5
    assert (cut.hull_gap_kw <= whole.hull_gap_kw[rough] + 1e-9).all()
    assert np.median(cut.fit_error_kw) < CONVEX_SHARE * plant.rated_it_kw
    assert cut.fit_error_kw.max() < 0.5 * whole.fit_error_kw.max()
    for share in np.linspace(0.0, 1.0, 41):
        it_kw = share * whole.w_max_kw[rough]
        low = (cut.off_slope * it_kw[:, None] + cut.off_intercept_kw).max(axis=1)
        high = (cut.on_slope * it_kw[:, None] + cut.on_intercept_kw).max(axis=1)
        excess = np.where(it_kw > cut.split_kw, high, low) - cooling(plant, it_kw, dry[rough], wet[rough]).cooling_kw
        assert excess.min() >= -1e-6
        assert (excess <= cut.fit_error_kw + 1e-6).all()


def test_segments_may_be_asked_for_a_part_of_the_load_alone():
    plant, dry = dry_cooler(2_000.0), np.array([20.0, 30.0, 20.0])
    low, high = np.array([400.0, 400.0, 900.0]), np.array([1_000.0, 1_000.0, np.inf])
    whole, part = fit_envelope(plant, dry, dry - 6.0, 4), fit_envelope(plant, dry, dry - 6.0, 4, (low, high))
    assert (part.fit_error_kw[:2] < whole.fit_error_kw[:2]).all()
    assert part.w_max_kw.tolist() == whole.w_max_kw.tolist()
    for share in np.linspace(0.0, 1.0, 11):
        it_kw = low + share * (np.minimum(high, part.w_max_kw) - low)
        excess = part.cooling_kw(it_kw) - cooling(plant, it_kw, dry, dry - 6.0).cooling_kw
        assert excess.min() >= -1e-9
        assert (excess <= part.fit_error_kw + 1e-9).all()
