"""The psychrometric inversion against hand values, an independent library and its own limits."""

from __future__ import annotations

import numpy as np
import psychrolib
import pytest

from thermal.psychro import pressure_pa, wet_bulb_c

SEA_LEVEL_PA = 101_325.0


def test_standard_pressure():
    assert pressure_pa(0.0) == SEA_LEVEL_PA
    assert pressure_pa(1500.0) == pytest.approx(84_556, abs=5)  # ASHRAE 2017, chapter 1, table 1


def test_against_psychrolib():
    psychrolib.SetUnitSystem(psychrolib.SI)
    steps = (np.linspace(-30.0, 50.0, 41), np.linspace(2.0, 100.0, 15), [70_000.0, 84_556.0, SEA_LEVEL_PA])
    dry, humidity, pressure = (grid.ravel() for grid in np.meshgrid(*steps))
    ours = np.concatenate([wet_bulb_c(dry[pressure == p], humidity[pressure == p], p) for p in steps[2]])
    theirs = np.array(
        [
            psychrolib.GetTWetBulbFromRelHum(t, rh / 100.0, p)
            for p in steps[2]
            for t, rh in zip(dry[pressure == p].tolist(), humidity[pressure == p].tolist(), strict=True)
        ]
    )
    # Around freezing a wet bulb over water and one over ice both solve the equation, up to 0.9 K apart.
    either = np.minimum(np.abs(ours), np.abs(theirs)) < 0.9
    assert either.mean() < 0.05
    assert ours[~either] == pytest.approx(theirs[~either], abs=0.002)
    assert ours[either] == pytest.approx(theirs[either], abs=0.9)


def test_saturated_air_is_its_own_wet_bulb():
    dry = np.array([-10.0, 5.0, 35.0])
    np.testing.assert_allclose(wet_bulb_c(dry, np.full(3, 100.0), SEA_LEVEL_PA), dry, atol=1e-6)


def test_humidity_over_100_is_read_as_saturated():
    assert wet_bulb_c(np.array([20.0]), np.array([104.0]), SEA_LEVEL_PA)[0] == pytest.approx(20.0)


def test_unknown_stays_unknown():
    out = wet_bulb_c(np.array([20.0, np.nan, 20.0]), np.array([50.0, 50.0, np.nan]), SEA_LEVEL_PA)
    assert np.isnan(out).tolist() == [False, True, True]
