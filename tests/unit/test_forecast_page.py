"""docs/forecast.md shows what can be run, and names what there is."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from planner import backtest_past
from planner.backtest_command import backtest_command
from planner.backtest_issued import FRESH
from planner.extension import LONGEST
from planner.far_past import SPREAD_DAYS
from planner.forecast import blend, boosted
from planner.forecast.backtest import EARLIER_DAYS, HORIZON_H, REFIT_DAYS
from planner.forecast.bridge import FADE_H
from planner.forecast.history import DAY_H, PROFILE_DAYS, PROFILE_H, WEATHER
from planner.forecast.lead_error import _PERSISTENCE, _SPREADS
from planner.forecast.spread import LEAST, LEVELS, WINDOW
from planner.forecast.zone import LEAST_DAYS
from planner.forecast_command import forecast_command
from planner.forecast_history import read_past
from planner.sources.long_past import BUDGET_S
from planner.zone_feeds import HISTORY_DAYS
from planner.zone_forecast import reference_plants
from planner.zone_series import SPOKEN

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


def test_its_commands_have_the_options_that_it_names(root):
    page = (root / "docs/forecast.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"```console\n(\$ gridpace forecast .*?)```", page, re.DOTALL)
    known = {option for parameter in forecast_command.params for option in parameter.opts}
    named = set(re.findall(r"--[a-z-]+", commands)) | {"--hours"}
    assert named <= known
    assert all(file in page for file in ("forecast.json", "forecast.csv", "forecast.html"))
    about = page[page.index("## Backtest") :]
    known = {option for parameter in backtest_command.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", about)) <= known


def test_its_numbers_are_those_of_the_code(root):
    page = " ".join((root / "docs/forecast.md").read_text(encoding="utf-8").split())
    assert f"up to {LONGEST.days} days before" in page
    assert f"quantiles ({', '.join(f'{100 * level:g}' for level in LEVELS)} %)" in page
    assert f"the last {WINDOW} forecasts" in page
    whole = PROFILE_DAYS + EARLIER_DAYS
    assert f"needs {whole} days before the first day ({PROFILE_DAYS} of profile, {EARLIER_DAYS} whose" in page
    assert f"with a past of {LEAST_DAYS} days or more" in page
    assert f"over its last {FADE_H} h of forecast" in page
    assert f"fewer than {LEAST} past forecasts" in page
    assert f"fitted anew every {REFIT_DAYS} days" in page
    assert (
        f"the {PROFILE_DAYS}-day median of each hour, plus {blend._LEVEL_WEIGHT:g} of the last day's mean difference "
        f"from it (fading over {blend._LEVEL_FADE_H:g} h) and {blend._SHAPE_WEIGHT:g} of that difference's shape "
        f"(fading over {blend._SHAPE_FADE_H:g} h)"
    ) in page
    assert (
        f"AR(1) of {_PERSISTENCE:g} an hour; standard deviation from the first to the {HORIZON_H}th hour of "
        f"{_SPREADS['dry_bulb']} K for temperature, a log-factor of {_SPREADS['wind_speed_10m']} for wind and "
        f"irradiance, {_SPREADS['cloud_cover']} points for cloud"
    ) in page
    assert all(f"`{name}`" in page for name in (blend.NAME, boosted.NAME, boosted.NAME_WITHOUT_WEATHER, *WEATHER))
    assert f"two years ({HISTORY_DAYS})" in page
    assert f"at most {BUDGET_S:g} s of a plan, and for {SPREAD_DAYS} days where no trees" in page
    assert f"tell the errors of {WINDOW} forecasts" in page
    assert f"once {LEAST} of its forecasts are kept as issued" in page
    assert f"for the {PROFILE_DAYS} days that a plan needs" in page
    assert all(f"`{name}`" in page for name in SPOKEN)
    assert f"the {backtest_past.BUDGET_S:g} s for it are used up" in page
    assert f"is less than {FRESH / timedelta(hours=1):g} h old" in page
    sun, wind = reference_plants((51.0, 10.0), "wind_speed_100m").values()
    assert f"fixed modules at {sun.plane.tilt_deg:g} degrees" in page
    assert f"an inverter of {sun.inverter_kw:.2f} kW" in page
    assert f"turbine at {wind.hub_height_m:g} m, of which a tenth is lost" in page
    assert (sun.peak_kw, wind.rated_kw, wind.available_share) == (1.0, 1.0, 0.9)
    months = ((PROFILE_H + boosted.LEAST_TRAINING_H + HORIZON_H) / DAY_H + EARLIER_DAYS) / 30.5
    assert 7.0 < months < 8.0  # "some 8 months"
