"""docs/forecast.md shows what can be run, and names what there is."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from planner.extension import LONGEST
from planner.forecast import blend, boosted
from planner.forecast.history import PROFILE_H, WEATHER
from planner.forecast.spread import LEVELS, WINDOW
from planner.forecast_history import read_past

START = datetime(2024, 5, 13, tzinfo=UTC)


def test_the_example_of_sources_is_read(root, tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", (root / "docs/forecast.md").read_text(encoding="utf-8"), re.DOTALL)
    rows = [f"{(START + timedelta(hours=h)).isoformat()},300,80,12,18,50" for h in range(48)]
    (tmp_path / "de-lu.csv").write_text("\n".join(["utc_start,ci,price,temp,wind,cloud", *rows]), encoding="utf-8")
    (tmp_path / "sources.toml").write_text(example, encoding="utf-8")
    past = read_past(tmp_path / "sources.toml", "DE-LU", START, START + timedelta(days=2))
    assert {signal: float(hours[0]) for signal, hours in past.history.signals.items()} == {
        "carbon": 300.0,
        "price": 0.08,
        "dry_bulb": 12.0,
        "wind_speed_10m": 5.0,
        "cloud_cover": 50.0,
    }


def test_its_numbers_are_those_of_the_code(root):
    page = " ".join((root / "docs/forecast.md").read_text(encoding="utf-8").split())
    assert f"up to {LONGEST.days} days before" in page
    assert f"quantiles ({', '.join(f'{100 * level:g}' for level in LEVELS)} %)" in page
    assert f"the last {WINDOW} forecasts" in page
    assert f"needs {28 + WINDOW + 7} days before the first day (28 of profile, {WINDOW + 7} whose" in page
    assert all(f"`{name}`" in page for name in (blend.NAME, boosted.NAME, boosted.NAME_WITHOUT_WEATHER, *WEATHER))
    months = (PROFILE_H + boosted.LEAST_TRAINING_H + 168) / 24 / 30.5 + (WINDOW + 7) / 30.5
    assert 7.0 < months < 8.0  # "some 8 months"
