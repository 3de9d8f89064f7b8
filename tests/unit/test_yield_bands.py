"""Bands of a site's own sun and wind, from those of its weather."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from planner.band import Band
from planner.export.charts.power import OFFER
from planner.export.report import report_html
from planner.forecast.spread import LEVELS
from planner.gather import gather
from planner.optimize import PlanOptions, plan
from planner.pipeline import judged
from planner.publish import to_calendar
from planner.yield_bands import OFFERED_LEVELS, name_of, offered_kw, physical, yield_bands
from power.renewables import solar_power_kw
from power.wind import WindTurbines, wind_power_kw
from tests.unit.test_export_own_supply import supplied
from tests.unit.test_export_report import Page
from tests.unit.test_gather import NOW, csv_site


@pytest.fixture(scope="module")
def unsure(tmp_path_factory):
    """A site with a solar array and its week, whose file ends inside it."""
    folder, start, hours = tmp_path_factory.mktemp("site"), datetime(2024, 1, 10, tzinfo=UTC), 24 * 125
    site = csv_site(folder, start, hours)
    h = np.arange(hours)
    cloud = np.random.default_rng(2).uniform(0.3, 1.0, hours // 24).repeat(24)
    ghi = np.maximum(0.0, 700.0 * np.sin(2 * np.pi * (h - 5.5) / 24)) * cloud
    dry = 8.0 + 0.01 * ghi + 3.0 * cloud
    rows = [
        f"{(start + timedelta(hours=int(i))).isoformat()},300,50,{dry[i]:.3f},{dry[i] - 2:.3f},{ghi[i]:.2f}" for i in h
    ]
    (folder / "all.csv").write_text("\n".join(["t,carbon,price,dry_bulb,wet_bulb,ghi", *rows]), encoding="utf-8")
    return site, gather(site, now=NOW)


def band(signal, paths, origin=datetime(2024, 5, 13, tzinfo=UTC)):
    return Band(signal, "any/1", origin, LEVELS, np.quantile(paths, LEVELS, axis=0), np.array(paths))


def test_a_week_whose_weather_was_forecast_has_a_band_of_its_own_sun(unsure):
    site, week = unsure
    own = week.bands[-1]
    block = site.blocks[0]
    assert own.signal == name_of("solar_yield", block.power.name)
    assert own.model.endswith("through PVWatts")
    known = {one.signal: one for one in week.bands}
    assert own.paths.shape == known["ghi_w_per_m2"].paths.shape
    made_kw = solar_power_kw(
        block.solar, week.grid.start, 60, known["ghi_w_per_m2"].paths[3], known["dry_bulb_c"].paths[3]
    )
    seen = own.paths[3] > 0.0
    assert own.paths[3][seen] * block.solar.peak_kw == pytest.approx(made_kw[seen])
    assert (np.diff(own.quantiles, axis=0) >= 0.0).all()
    assert (own.quantiles[:, np.array([t.hour for t in week.grid.starts]) == 0] == 0.0).all()
    # What was measured is sure.
    before = np.array([t < own.origin for t in week.grid.starts])
    assert before.any()
    assert (np.ptp(own.paths[:, before], axis=0) == 0.0).all()
    assert np.ptp(own.paths[:, ~before], axis=0).max() > 0.05


def test_wind_and_sun_are_summed_path_by_path(unsure):
    site, week = unsure
    ridge = WindTurbines("ridge", 3000.0, hub_height_m=100.0)
    windy = replace(site, blocks=(replace(site.blocks[0], wind=ridge), *site.blocks[1:]))
    signals = replace(week.signals, wind_speed_m_per_s=np.full(week.grid.n_slots, 6.0))
    speeds = np.broadcast_to(np.linspace(4.0, 11.0, 8)[:, None], (8, week.grid.n_slots))
    suns = np.broadcast_to(np.linspace(900.0, 100.0, 8)[:, None], (8, week.grid.n_slots))
    bands = yield_bands(windy, week.grid, signals, [band("wind_speed_m_per_s", speeds), band("ghi_w_per_m2", suns)])
    name = windy.blocks[0].power.name
    assert [one.signal for one in bands] == [name_of("solar_yield", name), name_of("wind_yield", name)]
    assert bands[1].paths[5] * 3000.0 == pytest.approx(wind_power_kw(ridge, speeds[5], signals.dry_bulb_c))
    block = replace(week.blocks[0], wind=ridge)
    low, high = offered_kw(block, bands)
    both = bands[0].paths * block.solar.peak_kw + bands[1].paths * 3000.0
    expected = np.quantile(both, OFFERED_LEVELS, axis=0, method="hazen")
    assert low == pytest.approx(expected[0])
    assert high == pytest.approx(expected[1])
    # A dull path is a windy one here: the sum is surer than its parts.
    parts = zip(bands, (block.solar.peak_kw, 3000.0), strict=True)
    apart = sum(np.ptp(one.quantiles[[1, 5]] * kw, axis=0) for one, kw in parts)
    assert ((high - low) < apart)[12:15].all()


def test_weather_that_is_known_gives_no_band(unsure):
    site, week = unsure
    assert yield_bands(site, week.grid, week.signals, []) == ()
    assert offered_kw(week.blocks[0], ()) == ()


def test_no_path_or_quantile_of_the_wet_bulb_lies_above_the_dry_bulb(unsure):
    _, week = unsure
    n = week.grid.n_slots
    rng = np.random.default_rng(0)
    wet, dry = (band(name, rng.normal(15.0, 4.0, (30, n))) for name in ("wet_bulb_c", "dry_bulb_c"))
    found = physical([wet, dry], week.signals)
    assert found[1] is dry
    assert (found[0].paths <= dry.paths).all()
    assert (found[0].quantiles <= dry.quantiles).all()
    assert (found[0].paths == np.minimum(wet.paths, dry.paths)).all()
    (alone,) = physical([wet], week.signals)
    assert (alone.paths <= week.signals.dry_bulb_c).all()
    assert (alone.quantiles <= week.signals.dry_bulb_c).all()


def test_the_report_shades_what_own_sun_and_wind_may_offer():
    week = supplied()[0]
    block, n = week.blocks[0], week.grid.n_slots
    suns = band(name_of("solar_yield", block.name), np.linspace(0.1, 0.8, 11)[:, None] * np.ones(n))
    shown = replace(week, bands=(suns, band("price_per_kwh", np.ones((11, n)))))
    found = plan(shown, PlanOptions(gap_target=0.0, time_limit_s=20.0))
    calendar, runs = to_calendar(shown, found.schedule, status=found.status, certified_gap=0.0)
    outcome = judged(shown, calendar, runs)
    page = Page(report_html(outcome))
    figure = page.figures["chart-block-1-data"]
    assert "quantile shaded" in page.words  # of the price
    sun_alone = replace(outcome, week=replace(shown, bands=(suns,)))
    assert "quantile shaded" not in Page(report_html(sun_alone)).words
    low, high = (trace for trace in figure["data"] if trace.get("name") == OFFER)
    assert (low["yaxis"], high["yaxis"]) == ("y2", "y2")
    assert (low.get("fill"), high["fill"]) == (None, "tonexty")
    expected = (
        np.quantile(np.linspace(0.1, 0.8, 11), OFFERED_LEVELS, method="hazen") * block.solar.peak_kw / 1000.0
    )  # MW
    assert low["y"] == pytest.approx([expected[0]] * (n + 1), abs=6e-4)
    assert high["y"] == pytest.approx([expected[1]] * (n + 1), abs=6e-4)
