"""Means of the clock hour, and what a model expects over its sensors' noise."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from tests.plant_telemetry import made_up
from thermal.calibrate import Telemetry, scores
from thermal.calibrate.expected import expected
from thermal.calibrate.hourly import by_hour
from thermal.calibrate.prediction import inputs, predict
from thermal.calibrate.score import PARTS
from thermal.plant import dry_cooler, room_air
from thermal.units_out import ALL

PLANT = dry_cooler(10_000.0)
ROOM = room_air(1_000.0)
NIGHT = np.datetime64("2024-05-01T00:00:00", "s")


def test_means_of_the_hour_by_hand():
    time = NIGHT + np.array([0, 1200, 2400, 3600, 4800, 6000]) * np.timedelta64(1, "s")
    a = np.array([1.0, 2.0, 6.0, 10.0, np.nan, 20.0])
    b = np.array([1.0, 1.0, 4.0, 0.0, 7.0, 2.0])
    count, (of_a, of_b) = by_hour(time, a, b)
    assert count.tolist() == [3, 2]
    assert of_a.tolist() == [3.0, 15.0]
    assert of_b.tolist() == [2.0, 1.0]  # without the reading that the other series lacks


def test_an_hour_with_few_readings_is_no_hour():
    time = NIGHT + np.array([0, 1200, 2400, 3600]) * np.timedelta64(1, "s")
    count, _ = by_hour(time, np.ones(4))
    assert count.tolist() == [3]


def test_rarer_readings_stand_for_themselves():
    time = NIGHT + np.arange(3) * np.timedelta64(86_400, "s")
    assert by_hour(time, np.array([1.0, 2.0, 3.0])).means[0].tolist() == [1.0, 2.0, 3.0]


def test_without_readings_there_is_no_hour():
    assert by_hour(NIGHT + np.arange(2), np.full(2, np.nan)).means[0].size == 0


def test_beside_a_threshold_the_mean_is_half_of_both_sides():
    warm_c = ROOM.room.air_supply_setpoint_c
    readings = {"it_power_kw": np.array([800.0]), "dry_bulb_c": np.array([warm_c]), "chiller_kw": np.zeros(1)}
    telemetry = Telemetry("hand", np.array([NIGHT]), readings)
    sums = {"chiller_kw": ("chiller_kw",)}
    found = expected(ROOM, telemetry, sums, ALL, {})["chiller_kw"]

    def at(dry_c):
        moved = inputs(telemetry)._replace(dry_c=np.array([dry_c]))
        return float(predict(ROOM, moved, frozenset(sums), ALL)["chiller_kw"][0])

    # the sensor's 0.1 K to either side, at the middles of the four quarters of its noise
    quarters = [NormalDist().inv_cdf(share) for share in (0.125, 0.375, 0.625, 0.875)]
    away = [at(warm_c + 0.1 * z) for z in quarters]
    assert max(away) > 2.0 * min(away)
    assert found.mean[0] == pytest.approx(np.mean(away), rel=0.01)
    assert np.sqrt(found.variance[0]) == pytest.approx(np.std(away) / np.std(quarters), rel=0.05)


def test_the_noise_of_an_hour_falls_with_the_root_of_its_readings():
    often = made_up(PLANT, days=4, minutes=10, warmest_c=20.0)
    hourly = often.at(np.arange(len(often)) % 6 == 0)
    of_ten, of_sixty = ({s.signal: s.floor_pct for s in scores(PLANT, t)} for t in (often, hourly))
    for signal in ("rack_flow_l_per_min", "rack_pump_kw", PARTS):
        assert of_ten[signal] == pytest.approx(of_sixty[signal] / np.sqrt(6.0), rel=0.05)


def test_the_plant_itself_scores_what_the_floor_says():
    telemetry = made_up(PLANT, days=7, minutes=10, warmest_c=20.0, wear={})
    by_name = {s.signal: s for s in scores(PLANT, telemetry)}
    for signal in ("rack_flow_l_per_min", "rack_pump_kw", "fan_kw", PARTS):
        assert by_name[signal].cv_rmse_pct == pytest.approx(by_name[signal].floor_pct, rel=0.2), signal
