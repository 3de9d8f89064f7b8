"""The psychrometric inversion against hand values, an independent library and its own limits."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.psychro import pressure_pa, wet_bulb_c

SEA_LEVEL_PA = 101_325.0


def test_standard_pressure():
    assert pressure_pa(0.0) == SEA_LEVEL_PA
    assert pressure_pa(1500.0) == pytest.approx(84_556, abs=5)  # ASHRAE 2017, chapter 1, table 1


@pytest.mark.parametrize(
    ("dry_c", "humidity_pct", "pressure", "wet_c"),
    [
        (-25.0, 70.0, SEA_LEVEL_PA, -25.297),
        (-5.0, 30.0, 84_556.0, -8.604),
        (3.0, 70.0, SEA_LEVEL_PA, 1.035),
        (15.0, 5.0, SEA_LEVEL_PA, 3.915),
        (30.0, 70.0, 84_556.0, 25.302),
        (45.0, 30.0, SEA_LEVEL_PA, 28.693),
    ],
)
def test_against_an_independent_program(dry_c, humidity_pct, pressure, wet_c):
    # PsychroLib 2.5.0 gives these; it stops at 0.001 K.
    assert wet_bulb_c(np.array([dry_c]), np.array([humidity_pct]), pressure)[0] == pytest.approx(wet_c, abs=0.002)


def test_saturated_air_is_its_own_wet_bulb():
    dry = np.array([-10.0, 5.0, 35.0])
    np.testing.assert_allclose(wet_bulb_c(dry, np.full(3, 100.0), SEA_LEVEL_PA), dry, atol=1e-6)


def test_humidity_over_100_is_read_as_saturated():
    assert wet_bulb_c(np.array([20.0]), np.array([104.0]), SEA_LEVEL_PA)[0] == pytest.approx(20.0)


def test_unknown_stays_unknown():
    out = wet_bulb_c(np.array([20.0, np.nan, 20.0]), np.array([50.0, 50.0, np.nan]), SEA_LEVEL_PA)
    assert np.isnan(out).tolist() == [False, True, True]
