"""The bundled demo as a provider, and the registry that opens it."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from planner import bundled
from planner.errors import ConfigError, DataUnavailable
from planner.sources import SourceSpec, open_source
from planner.sources.align import HISTORY, align
from planner.timegrid import iso_week

BERLIN = ZoneInfo("Europe/Berlin")
WEEK = iso_week("2024-W20", BERLIN, 60)


def demo(**options):
    return open_source(SourceSpec("demo", options))


@pytest.mark.parametrize("signal", ["carbon", "price", "dry_bulb", "wet_bulb", "ghi", "wind_speed_100m"])
@pytest.mark.parametrize("zone", ["demo-north-sea", "demo-central", "demo-sunbelt"])
def test_every_signal_covers_the_demo_week_and_is_called_synthetic(signal, zone):
    series = demo().fetch(signal, zone, WEEK.start - HISTORY, WEEK.end)
    out = align(series, WEEK, BERLIN)
    assert out.flags == (("synthetic", 168),)
    assert set(series.rows.kind) == {"modelled"}
    assert "synthetic" in series.licence


def test_prices_are_in_the_zones_money_per_kwh():
    series = demo().fetch("price", "demo-north-sea", WEEK.start, WEEK.end)
    assert series.unit == "GBP/kWh"
    assert 0.01 < series.rows.value.mean() < 0.3


def test_the_basis_is_chosen_and_named():
    direct, lifecycle = (
        demo(basis=b).fetch("carbon", "demo-central", WEEK.start, WEEK.end) for b in ("direct", "lifecycle")
    )
    assert (direct.basis, lifecycle.basis) == ("direct", "lifecycle")
    assert (lifecycle.rows.value >= direct.rows.value).all()
    with pytest.raises(ConfigError, match="basis is 'marginal'; allowed are direct, lifecycle"):
        demo(basis="marginal")


def test_a_week_after_the_demo_is_its_profile_and_still_synthetic():
    week = iso_week("2026-W50", BERLIN, 60)
    series = demo().fetch("carbon", "demo-central", week.start - HISTORY, week.end)
    out = align(series, week, BERLIN)
    assert out.flags == (("profile", 168), ("synthetic", 168))
    assert out.seam == datetime(2024, 6, 4, tzinfo=UTC)


def test_a_week_before_the_demo_is_not_there():
    week = iso_week("2023-W20", BERLIN, 60)
    with pytest.raises(DataUnavailable, match=r"no row of carbon from 2023-.*\nwhy: its rows go from 2024-05-05"):
        demo().fetch("carbon", "demo-central", week.start, week.end)


def test_unknown_zones_and_providers_meet_a_suggestion():
    with pytest.raises(ConfigError, match=r'(?s)no zone \'demo-centre\'.*did you mean "demo-central"'):
        demo().fetch("carbon", "demo-centre", WEEK.start, WEEK.end)
    with pytest.raises(ConfigError, match=r'(?s)no source \'open-meto\'.*did you mean "open-meteo"'):
        open_source(SourceSpec("open-meto"))
    with pytest.raises(ConfigError, match="source 'uk-carbon-intensity' has no option 'key'"):
        open_source(SourceSpec("uk-carbon-intensity", {"key": "x"}))
    with pytest.raises(ConfigError, match="source 'open-meteo' needs the option 'latitude'"):
        open_source(SourceSpec("open-meteo", {"longitude": 8.0}))
    with pytest.raises(ConfigError, match="latitude is 91; it must lie in -90 to 90"):
        open_source(SourceSpec("open-meteo", {"latitude": 91, "longitude": 8.0}))


def test_providers_have_names():
    assert demo().name == "demo"
    assert open_source(SourceSpec("open-meteo", {"latitude": 50, "longitude": 8.0})).name == "Open-Meteo"


def test_an_incomplete_installation_is_named(tmp_path, monkeypatch):
    assert (bundled.data_dir() / "demo" / "demo.toml").is_file()
    monkeypatch.setattr(bundled, "__file__", str(tmp_path / "planner" / "bundled.py"))
    with pytest.raises(ConfigError, match="bundled data of gridpace is neither in"):
        bundled.data_dir()
    (tmp_path / "planner" / "data" / "demo").mkdir(parents=True)
    (tmp_path / "planner" / "data" / "demo" / "demo.toml").touch()
    assert bundled.data_dir() == tmp_path / "planner" / "data"
