"""The psychrometric inversion against hand values, an independent library and its own limits."""

from __future__ import annotations

import numpy as np
import psychrolib
import pytest

from thermal.psychro import (
    humidity_ratio,
    pressure_pa,
    saturated_enthalpy_kj_per_kg,
    saturated_ratio,
    saturated_temp_c,
    wet_bulb_c,
)

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


TEMPS_C = np.linspace(-30.0, 60.0, 37)


def test_saturated_air_agrees_with_psychrolib():
    psychrolib.SetUnitSystem(psychrolib.SI)
    for temp_c, ratio, enthalpy in zip(
        TEMPS_C, saturated_ratio(TEMPS_C), saturated_enthalpy_kj_per_kg(TEMPS_C), strict=True
    ):
        assert ratio == pytest.approx(psychrolib.GetSatHumRatio(temp_c, 101325.0), rel=2e-3)
        assert enthalpy == pytest.approx(psychrolib.GetSatAirEnthalpy(temp_c, 101325.0) / 1000.0, rel=2e-3, abs=0.01)


def test_the_inverse_of_saturated_enthalpy():
    assert saturated_temp_c(saturated_enthalpy_kj_per_kg(TEMPS_C)) == pytest.approx(TEMPS_C, abs=1e-3)


def test_humidity_from_two_bulbs_agrees_with_psychrolib():
    psychrolib.SetUnitSystem(psychrolib.SI)
    for dry_c, wet_c in ((35.0, 22.0), (10.0, 7.0), (-10.0, -10.5), (30.0, 30.0)):
        ratio = float(humidity_ratio(np.array(dry_c), np.array(wet_c)))
        assert ratio == pytest.approx(psychrolib.GetHumRatioFromTWetBulb(dry_c, wet_c, 101325.0), rel=5e-3)
    assert float(humidity_ratio(np.array(30.0), np.array(31.0))) == pytest.approx(
        float(saturated_ratio(np.array(30.0)))
    )
    assert float(humidity_ratio(np.array(40.0), np.array(5.0))) == 0.0


def test_wet_bulb_agrees_with_coolprops_humid_air():
    props = pytest.importorskip("CoolProp.CoolProp").HAPropsSI
    for temp_c in (5.0, 15.0, 25.0, 35.0, 45.0):
        for humidity in (15.0, 50.0, 85.0):
            exact_c = props("B", "T", temp_c + 273.15, "R", humidity / 100.0, "P", 101325.0) - 273.15
            got = wet_bulb_c(np.array([temp_c]), np.array([humidity]), 101325.0)
            assert got == pytest.approx([exact_c], abs=0.1)
