"""Guideline 14 by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.plant_telemetry import made_up
from thermal.calibrate import cv_rmse_pct, nmbe_pct, scores
from thermal.calibrate.score import PARTS, pue_share_within
from thermal.plant import dry_cooler

PLANT = dry_cooler(10_000.0)
TRUE = made_up(PLANT, days=2, wear={}, noise=0.0)


def test_cv_rmse_and_nmbe_by_hand():
    measured, modelled = np.array([100.0, 120.0, 80.0]), np.array([90.0, 125.0, 80.0])
    assert cv_rmse_pct(measured, modelled) == pytest.approx(100.0 * math.sqrt(125.0 / 2.0) / 100.0)
    assert nmbe_pct(measured, modelled) == pytest.approx(100.0 * 5.0 / 2.0 / 100.0)


def test_the_plant_itself_scores_next_to_no_error():
    for score in scores(PLANT, TRUE):
        # the model is averaged over the noise of what drives it: where that bends, the mean lies beside the point
        assert score.rmse < 1e-5 or score.cv_rmse_pct < 0.5 * score.floor_pct, score
    assert pue_share_within(PLANT, TRUE) == 1.0


def test_parts_are_the_sum_of_what_is_metered():
    other = dry_cooler(10_000.0, facility_pump_head_kpa=300.0)
    by_name = {s.signal: s for s in scores(other, TRUE)}
    parts = ("rack_pump_kw", "facility_pump_kw", "fan_kw", "chiller_kw")
    assert by_name[PARTS].mean_error == pytest.approx(sum(by_name[name].mean_error for name in parts))
    assert by_name["facility_pump_kw"].nmbe_pct < 0.0  # the model takes more than was measured
    assert math.isnan(by_name["rack_supply_temp_c"].cv_rmse_pct)


def test_without_the_meter_of_all_cooling_nothing_is_said_of_pue():
    assert math.isnan(pue_share_within(PLANT, made_up(PLANT, days=1, signals=("it_power_kw", "dry_bulb_c", "fan_kw"))))
