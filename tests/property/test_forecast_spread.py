"""Quantiles never cross, scenarios keep every hour's distribution and who errs with whom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.forecast.scenarios import draw_shares
from planner.forecast.spread import LEAST, LEVELS, WINDOW, spread_at

H = 48
LEVELS_BY_HOUR = np.repeat(np.array(LEVELS)[:, None], H, axis=1)


def daily(n: int):
    return np.arange(n, dtype=np.int64) * 24


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(LEAST + 2, 90), st.sampled_from(["normal", "spiky", "constant", "gaps"]))
def test_quantiles_never_cross_and_are_numbers(seed, n, kind):
    rng = np.random.default_rng(seed)
    errors = {
        "normal": rng.standard_normal((n, H)),
        "spiky": rng.standard_cauchy((n, H)),
        "constant": np.zeros((n, H)),
        "gaps": np.where(rng.random((n, H)) < 0.2, np.nan, rng.standard_normal((n, H))),
    }[kind]
    spread = spread_at(errors, daily(n), (n + 1) * 24)
    assert spread is not None
    offsets = spread.offsets(LEVELS_BY_HOUR)
    assert np.isfinite(offsets).all()
    assert (np.diff(offsets, axis=0) >= 0).all()


def test_what_lies_after_the_origin_changes_nothing():
    rng = np.random.default_rng(1)
    errors, origins, at = rng.standard_normal((90, H)), daily(90), 70 * 24
    poisoned = errors.copy()
    for i, origin in enumerate(origins):
        poisoned[i, max(0, at - origin) :] = 1e9
    clean, other = spread_at(errors, origins, at), spread_at(poisoned, origins, at)
    assert (clean.offsets(LEVELS_BY_HOUR) == other.offsets(LEVELS_BY_HOUR)).all()
    first, second = (draw_shares({"carbon": e}, origins, at, 40, 0)["carbon"] for e in (errors, poisoned))
    assert (first == second).all()


def test_few_past_forecasts_say_nothing_about_errors():
    errors = np.ones((LEAST, H))
    assert spread_at(errors, daily(LEAST), LEAST * 24) is None  # the last one's second day is not over
    assert spread_at(errors, daily(LEAST), (LEAST + 1) * 24) is not None
    assert draw_shares({"carbon": errors}, daily(LEAST), LEAST * 24, 10, 0) == {}


def test_only_the_last_window_counts():
    errors = np.ones((200, H))
    errors[: 200 - WINDOW - 2] = 1e6
    spread = spread_at(errors, daily(200), 200 * 24)
    assert np.allclose(spread.offsets(LEVELS_BY_HOUR), 1.0)


def test_the_interval_covers_what_it_says():
    rng = np.random.default_rng(3)
    errors, origins = rng.standard_normal((400, H)) * np.linspace(1.0, 3.0, H), daily(400)
    inside = []
    for i in range(70, 400):
        offsets = spread_at(errors, origins, int(origins[i])).offsets(LEVELS_BY_HOUR)
        inside.append((errors[i] >= offsets[1]) & (errors[i] <= offsets[5]))
    assert 100 * np.mean(inside) == pytest.approx(80.0, abs=2.0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(5, 150))
def test_every_hour_of_the_scenarios_has_every_share_once(seed, n_paths):
    rng = np.random.default_rng(seed)
    errors = {"carbon": rng.standard_normal((70, H)), "price": rng.standard_normal((70, H))}
    for shares in draw_shares(errors, daily(70), 72 * 24, n_paths, seed).values():
        expected = (np.arange(n_paths) + 0.5) / n_paths
        assert np.allclose(np.sort(shares, axis=0), expected[:, None])


def test_scenarios_keep_dependence_across_signals_and_hours():
    rng = np.random.default_rng(5)
    common = rng.standard_normal((60, 1)) + 0.3 * rng.standard_normal((60, H))
    errors = {"carbon": common, "price": common + 0.1 * rng.standard_normal((60, H)), "wind": -common}
    shares = draw_shares(errors, daily(60), 62 * 24, 120, 0)
    assert np.corrcoef(shares["carbon"][:, 3], shares["price"][:, 3])[0, 1] > 0.9
    assert np.corrcoef(shares["carbon"][:, 3], shares["wind"][:, 3])[0, 1] < -0.9
    assert np.corrcoef(shares["carbon"][:, 0], shares["carbon"][:, 47])[0, 1] > 0.6


def test_signals_drawn_apart_err_on_the_same_days_although_one_has_a_shorter_past():
    errors, origins = np.random.default_rng(7).standard_normal((62, 1)) * np.ones(H), daily(62)
    long, short = (draw_shares({"any": errors[n:]}, origins[n:], 64 * 24, 120, 0)["any"][:, 0] for n in (0, 20))
    # 42 of the 60 days of a window are known to both.
    assert np.corrcoef(long, short)[0, 1] > 0.6


def test_hours_that_never_erred_are_sure_and_do_not_narrow_the_others():
    errors = np.random.default_rng(1).standard_normal((62, H))
    dark = np.arange(H) % 24 < 8
    errors[:, dark] = 0.0
    offsets = spread_at(errors, daily(62), 64 * 24).offsets(LEVELS_BY_HOUR)
    assert (offsets[:, dark] == 0.0).all()
    inside = (errors >= offsets[1]) & (errors <= offsets[5])
    assert 100 * inside[:, ~dark].mean() == pytest.approx(80.0, abs=3.0)
    assert (spread_at(np.zeros((62, H)), daily(62), 64 * 24).offsets(LEVELS_BY_HOUR) == 0.0).all()
