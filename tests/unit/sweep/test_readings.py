"""When there are enough readings, and how noisy ones are joined."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.sweep.readings import Reading, enough, error_share, spread_share


def readings(*rates, draw_w=300.0):
    return [Reading(draw_w, rate, 10.0) for rate in rates]


def test_spread_and_error_by_hand():
    # Mean 100, deviations -2, 0, 2: standard deviation 2, standard error 2 / sqrt(3).
    assert spread_share([98.0, 100.0, 102.0]) == pytest.approx(0.02)
    assert error_share([98.0, 100.0, 102.0]) == pytest.approx(0.02 / math.sqrt(3))
    assert spread_share([5.0]) == 0.0
    assert error_share([5.0]) == math.inf


def test_quiet_readings_are_taken_as_they_are():
    taken = readings(98.0, 100.0, 102.0)
    assert enough(taken, 3, 0.03) == tuple(taken)
    assert enough(taken[:2], 3, 0.03) is None


def test_noisy_readings_are_joined_in_pairs():
    # Spread 5.5 %: too much for readings of 10 s; in pairs it evens out.
    taken = readings(95.0, 105.0, 95.0, 105.0, 95.0, 105.0)
    assert enough(taken[:5], 3, 0.03) is None
    assert enough(taken, 3, 0.03) == (Reading(300.0, 100.0, 20.0),) * 3


def test_joining_weighs_by_duration():
    taken = [Reading(200.0, 80.0, 30.0), Reading(400.0, 160.0, 10.0)] * 2
    assert enough(taken, 2, 0.03) == (Reading(250.0, 100.0, 40.0),) * 2


def test_noise_that_stays_is_never_enough():
    assert enough(readings(*[80.0] * 8, *[120.0] * 8), 2, 0.03) is None


@given(st.lists(st.floats(50.0, 150.0), min_size=2, max_size=40), st.integers(2, 5))
def test_what_is_taken_keeps_mean_and_bounds(rates, fewest):
    found = enough(readings(*rates), fewest, 0.03)
    if found is not None:
        taken = [reading.rate_per_s for reading in found]
        assert len(taken) >= fewest
        assert spread_share(taken) <= 0.03
        assert error_share(taken) <= 0.03
        assert min(rates) - 1e-9 <= min(taken) <= max(taken) <= max(rates) + 1e-9
