"""Sunshine that does not stand where the sun stood is found, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from planner.errors import ConfigError, SchemaChanged
from planner.gather import gather
from planner.sources import SourceSpec, open_source
from planner.sources.rows import make_series
from planner.sources.solar_noon import check_noon, equation_of_time_h, noon_shift
from tests.unit.test_gather import NOW, csv_site

HOUR = timedelta(hours=1)


def sun(longitude, start=datetime(2024, 5, 1, tzinfo=UTC), days=14, *, minutes=60, shift_h=0.0, cloud=None):
    """Clear days at 50 degrees north: mean irradiance of each row, from the sine of the sun's height."""
    per_day = 24 * 60 // minutes
    starts = pd.date_range(start, periods=days * per_day, freq=f"{minutes}min")
    fine = (np.arange(days * per_day)[:, None] + (np.arange(60) + 0.5) / 60.0) * minutes / 60.0
    eot = equation_of_time_h(starts.day_of_year.to_numpy(dtype=float))[:, None]
    angle = np.radians(15.0 * (fine + longitude / 15.0 + eot - 12.0))
    height = np.sin(np.radians(50)) * np.sin(np.radians(18)) + np.cos(np.radians(50)) * np.cos(np.radians(18)) * np.cos(
        angle
    )
    value = 900.0 * np.clip(height, 0.0, None).mean(axis=1)
    if cloud is not None:
        value *= cloud(len(value))
    moved = starts + pd.Timedelta(hours=shift_h)
    rows = pd.DataFrame({"t_start": moved, "t_end": moved + timedelta(minutes=minutes), "value": value})
    rows = rows.assign(kind="actual", flags="")
    return make_series(signal="ghi", zone="X", rows=rows, source="csv sun.csv", licence="own")


@pytest.mark.parametrize("longitude", [-179.0, -119.5, -75.0, 0.0, 9.2, 77.2, 151.0, 179.0])
@pytest.mark.parametrize("minutes", [15, 60])
def test_true_stamps_pass_wherever_the_place_lies(longitude, minutes):
    shift = noon_shift(sun(longitude, minutes=minutes).rows, longitude)
    assert shift.hours == pytest.approx(0.0, abs=0.02)
    check_noon(sun(longitude, minutes=minutes), longitude)


def test_the_equation_of_time_by_the_almanac():
    # 3 November: +16.4 min, 11 February: -14.2 min
    found = 60.0 * equation_of_time_h(np.array([307.0, 42.0]))
    assert found == pytest.approx([16.4, -14.2], abs=0.4)


def test_stamps_of_the_hours_end_are_found_and_the_option_named():
    with pytest.raises(ConfigError, match=r"csv sun\.csv: sunshine of X lies 1\.0 h after the solar noon") as caught:
        check_noon(sun(9.2, shift_h=1.0), 9.2)
    assert 'stamp = "end"' in caught.value.fix
    assert "2024-05-0" in caught.value.what


@pytest.mark.parametrize(("shift_h", "side"), [(2.0, "2.0 h after"), (-1.0, "1.0 h before"), (-7.0, "7.0 h before")])
def test_an_offset_nobody_declared_is_found(shift_h, side):
    with pytest.raises(ConfigError, match=side) as caught:
        check_noon(sun(9.2, shift_h=shift_h), 9.2)
    assert "time_zone" in caught.value.fix


def test_a_providers_wrong_stamps_are_its_fault():
    series = replace(sun(9.2, shift_h=1.0), fetched_at=datetime(2024, 6, 1, tzinfo=UTC))
    with pytest.raises(SchemaChanged, match="csv sun"):
        check_noon(series, 9.2)


def test_clouds_do_not_move_the_noon():
    rng = np.random.default_rng(7)
    shift = noon_shift(sun(9.2, days=28, cloud=lambda n: rng.uniform(0.2, 1.0, n)).rows, 9.2)
    assert abs(shift.hours) < 0.3


@pytest.mark.parametrize("rows", ["few", "night", "flat"])
def test_where_too_little_says_it_nothing_is_said(rows):
    series = sun(9.2, days=4) if rows == "few" else sun(9.2)
    if rows == "night":
        series = replace(series, rows=series.rows.assign(value=0.0))
    if rows == "flat":
        series = replace(series, rows=series.rows.assign(value=300.0))
    assert noon_shift(series.rows, 9.2) is None
    check_noon(series, 9.2)


@pytest.mark.parametrize("zone", ["demo-north-sea", "demo-central", "demo-sunbelt"])
def test_the_demos_sun_stands_right(zone):
    longitude = {"demo-north-sea": -1.0, "demo-central": 10.0, "demo-sunbelt": -119.5}[zone]
    series = open_source(SourceSpec("demo")).fetch(
        "ghi", zone, datetime(2024, 5, 5, tzinfo=UTC), datetime(2024, 6, 4, tzinfo=UTC)
    )
    assert abs(noon_shift(series.rows, longitude).hours) < 0.1


@pytest.mark.parametrize(("shift_h", "fine"), [(0, True), (1, False)])
def test_a_file_of_ones_own_is_checked_as_a_week_is_gathered(tmp_path, shift_h, fine):
    site = csv_site(tmp_path, datetime(2024, 4, 10, tzinfo=UTC), 24 * 45)
    table = pd.read_csv(tmp_path / "all.csv")
    table["ghi"] = sun(site.place.longitude, datetime(2024, 4, 10, tzinfo=UTC), 45).rows.value.to_numpy()
    table["t"] = [t.isoformat() for t in pd.to_datetime(table["t"]) + timedelta(hours=shift_h)]
    table.to_csv(tmp_path / "all.csv", index=False)
    if fine:
        assert gather(site, now=NOW).signals.ghi_w_per_m2.max() > 500
        return
    with pytest.raises(ConfigError, match=r"csv all\.csv: sunshine of .* lies 1\.0 h after the solar noon"):
        gather(site, now=NOW)
