"""The page about own supply has every key of its tables, figures that its tests find, and a sound example."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.config import site_from_text, starter_site, supply_tables
from power.wind import WindTurbines, wind_power_kw
from tests.unit.test_site_file_page import table_of_keys

HEADERS = {
    supply_tables.WindTable: "[block.wind]",
    supply_tables.GeneratorTable: "[[block.generator]]",
    supply_tables.ExportTable: "[block.export]",
    supply_tables.PpaTable: "[[ppa]]",
}
ELSEWHERE = {supply_tables.Table, supply_tables.SolarTable, supply_tables.BatteryTable}


@pytest.fixture(scope="module")
def page(root) -> str:
    return (root / "docs" / "on-site-power.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", HEADERS, ids=lambda t: t.__name__)
def test_the_page_has_every_key_of_every_table(page, table):
    assert table_of_keys(table, HEADERS[table]) in page


def test_every_table_is_on_a_page():
    every = {t for t in vars(supply_tables).values() if isinstance(t, type) and issubclass(t, supply_tables.Table)}
    assert every == set(HEADERS) | ELSEWHERE


def test_the_example_is_sound(page):
    example = page.split("```toml\n")[1].split("```")[0]
    block, ppa = example.split("[[ppa]]", 1)
    text = starter_site().replace("[block.cooling]\n", f"{block}\n[block.cooling]\n", 1) + f"\n[[ppa]]{ppa}"
    site = site_from_text(text, Path("site.toml"))
    (group,) = site.blocks[0].generators
    assert group.fuel_cost_per_kwh == pytest.approx(0.125)
    assert [deal.name for deal in site.ppas] == ["ridge", "flat"]


def test_the_wind_of_the_page(page):
    turbines = WindTurbines("w", 5000.0, 120.0, available_share=1.0)
    thin = WindTurbines("w", 5000.0, 120.0, available_share=1.0, elevation_m=1500.0)
    (sea,), (high,) = (wind_power_kw(one, np.array([8.0]), np.array([15.0])) for one in (turbines, thin))
    assert sea == pytest.approx(1929, abs=1.5)
    assert "= 1,929 of 5,000 kW" in page
    assert high / sea == pytest.approx(0.85, abs=0.02)
