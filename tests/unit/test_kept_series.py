"""The series of a plan, kept so that its calendar can be judged after forecasts have changed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from planner.errors import ConfigError
from planner.gather import gather
from planner.kept_series import read_series, series_file, series_json
from planner.outlook import Gathered
from tests.published import header
from tests.unit.test_gather import NOW, csv_site, site_of


@pytest.fixture(scope="module")
def week():
    return gather(site_of(), now=NOW)


def header_of(week):
    inputs = {f"signal {entry.signal}": {"sha256": entry.sha256} for entry in week.provenance}
    return header(n_slots=week.grid.n_slots, inputs=inputs)


def kept(week, folder):
    file = series_file(folder, "c0ffee")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(series_json(week))
    return read_series(file, header_of(week))


def test_the_week_made_from_kept_series_is_the_same_to_the_last_digit(week, tmp_path):
    again = gather(site_of(), now=NOW + timedelta(days=400), issued_at=week.issued_at, kept=kept(week, tmp_path))
    assert again.sha256 == week.sha256
    assert again.labels == week.labels


def test_forecasts_that_changed_since_do_not_matter(week, tmp_path):
    warmer = replace(week.signals, dry_bulb_c=week.signals.dry_bulb_c + 3.0)
    other = Gathered(warmer, week.provenance, week.labels)
    assert gather(site_of(), now=NOW, issued_at=week.issued_at, kept=other).sha256 != week.sha256
    assert gather(site_of(), now=NOW, issued_at=week.issued_at, kept=kept(week, tmp_path)).sha256 == week.sha256


def test_wind_is_kept_where_something_turns_in_it(week, tmp_path):
    assert kept(week, tmp_path).signals.wind_speed_m_per_s is None
    windy = replace(week, signals=replace(week.signals, wind_speed_m_per_s=np.full(week.grid.n_slots, 7.123456789)))
    again = kept(windy, tmp_path).signals.wind_speed_m_per_s
    assert again.tolist() == windy.signals.wind_speed_m_per_s.tolist()


def test_none_are_kept(week, tmp_path):
    assert read_series(series_file(tmp_path, "c0ffee"), header_of(week)) is None


@pytest.mark.parametrize(
    "change",
    [
        ("slot_minutes = 60", "slot_minutes = 30"),
        ('basis = "direct"', 'basis = "lifecycle"'),
        ("# energy_per_kwh = 0.11", "energy_per_kwh = 0.11"),
    ],
)
def test_a_site_that_asks_for_other_series_asks_its_sources(week, tmp_path, change):
    asked = gather(site_of(change), now=NOW, issued_at=week.issued_at, kept=kept(week, tmp_path))
    assert asked.sha256 == gather(site_of(change), now=NOW, issued_at=week.issued_at).sha256


def test_another_flat_price_is_seen(tmp_path):
    flat = gather(site_of(("# energy_per_kwh = 0.11", "energy_per_kwh = 0.11")), now=NOW)
    other = site_of(("# energy_per_kwh = 0.11", "energy_per_kwh = 0.12"))
    assert set(gather(other, now=NOW, kept=kept(flat, tmp_path)).signals.price_per_kwh) == {0.12}
    series = gather(site_of(), now=NOW, kept=kept(flat, tmp_path)).signals.price_per_kwh
    assert len(np.unique(series)) > 100


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda d: d["signals"]["dry_bulb_c"].__setitem__(7, 99.0), "dry_bulb_c is not the series"),
        (lambda d: d["signals"]["price_per_kwh"].pop(), "price_per_kwh is not the series"),
        (lambda d: d["signals"].pop("ghi_w_per_m2"), "ghi_w_per_m2: it is missing"),
        (lambda d: d["signals"]["ghi_w_per_m2"].__setitem__(0, "x"), r"ghi_w_per_m2\[0\]: it must be a number"),
        (lambda d: d["provenance"][0].__setitem__("signal", "tz"), "tz is not the series"),
        (lambda d: d.__setitem__("schema", "gridpace.series/2"), "is not 'gridpace.series/1'"),
    ],
)
def test_damaged_series_are_refused_with_the_mend(week, tmp_path, damage, said):
    document = json.loads(series_json(week))
    damage(document)
    file = tmp_path / "c0ffee.json"
    file.write_text(json.dumps(document))
    with pytest.raises(ConfigError, match=said) as refused:
        read_series(file, header_of(week))
    assert "the sources are then asked again" in refused.value.fix


@pytest.fixture
def unsure(tmp_path):
    """A week whose file ends inside it, with a past from which its errors are known."""
    return gather(csv_site(tmp_path, datetime(2024, 1, 10, tzinfo=UTC), 24 * 125), now=NOW)


def test_bands_of_what_was_forecast_are_kept_and_change_no_plan(unsure, tmp_path):
    known = [entry.signal for entry in unsure.provenance]
    assert [band.signal for band in unsure.bands] == [*known, "solar_yield:hall"]
    back = kept(unsure, tmp_path).bands
    for band, other in zip(unsure.bands, back, strict=True):
        assert (band.signal, band.model, band.origin, band.levels) == (
            other.signal, other.model, other.origin, other.levels
        )  # fmt: skip
        assert np.allclose(band.quantiles, other.quantiles, rtol=1e-5, atol=0.0)
        assert np.allclose(band.paths, other.paths, rtol=1e-5, atol=0.0)
    assert replace(unsure, bands=()).sha256 == unsure.sha256


def test_a_week_without_bands_keeps_none(week):
    assert "bands" not in json.loads(series_json(week))


def test_a_band_of_another_length_is_refused(unsure, tmp_path):
    file = series_file(tmp_path, "c0ffee")
    file.parent.mkdir(parents=True)
    document = json.loads(series_json(unsure))
    document["bands"][0]["paths"][3]["values"].pop()
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ConfigError, match="there are 167 values for 168 slots"):
        read_series(file, header_of(unsure))
