"""The site file that `gridpace init --zone` writes is sound in every listed zone, and of the week to come."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli import cli
from planner.config import site_from_text, zone_site
from planner.errors import ConfigError
from planner.sources.zones import listed_zones
from planner.timegrid import coming_week, iso_week, zone

NOW = datetime(2026, 11, 4, 12, tzinfo=UTC)
FILE = Path("site.toml")


@pytest.mark.parametrize("name", listed_zones())
def test_a_zones_file_is_sound_and_its_dates_lie_from_the_coming_week_on(name):
    text = zone_site(name, NOW)
    site = site_from_text(text, FILE)
    tz = zone(site.place.timezone)
    grid = iso_week(coming_week(NOW, tz), tz, 60)
    assert site.warnings == ()
    assert site.horizon.week is None
    assert site.place.timezone == listed_zones()[name]["timezone"]
    assert {site.sources.carbon.provider, site.sources.weather.provider}.isdisjoint({"demo", None})
    due = [stage.deadline for run in site.runs for stage in run.stages]
    assert all(grid.start < deadline for deadline in due)
    assert sum(deadline <= grid.end for deadline in due) == len(due) - 1  # one is longer than the week
    assert not re.search(r"\b2024\b", text)


def test_great_britain_by_hand():
    # 4 November 2026 is a Wednesday: the coming week is that of the 9th, 130 weeks after the example's
    text = zone_site("GB", NOW)
    assert 'provider = "uk-carbon-intensity"\nzone = "GB"\n' in text
    assert "deadline = 2026-11-12T18:00:00" in text
    assert "\nenergy_per_kwh = 0.11" in text  # no source of prices there needs no key
    assert '# week = "2026-W46"' in text


def test_a_zone_with_published_prices_takes_them_and_a_key_is_named():
    german, californian = zone_site("DE-LU", NOW), zone_site("CISO", NOW)
    assert '[sources.price]\nprovider = "energy-charts"\nzone = "DE-LU"\n' in german
    assert "\n# energy_per_kwh" in german
    assert 'provider = "eia" # its key: GRIDPACE_EIA_KEY\n' in californian


def test_a_zone_that_is_not_listed_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"zone 'UK' is not listed") as told:
        zone_site("UK", NOW)
    assert "GB, DE-LU" in told.value.fix


def test_the_command_writes_it(tmp_path):
    done = CliRunner().invoke(cli, ["init", str(tmp_path / "own"), "--zone", "GB"])
    assert done.exit_code == 0, done.output
    assert 'zone = "GB"' in (tmp_path / "own" / "site.toml").read_text(encoding="utf-8")
    assert (tmp_path / "own" / "site.schema.json").is_file()
