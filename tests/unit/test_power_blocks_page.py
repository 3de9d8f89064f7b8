"""The page about power blocks has every key of their tables, and its example is a sound site file."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.config import power_tables, site_from_text, starter_site
from tests.unit.test_site_file_page import table_of_keys

HEADERS = {
    power_tables.PeriodTable: "[[tariff.period]]",
    power_tables.ContractedDemandTable: "[tariff.contracted]",
    power_tables.ContractTable: "[[contract]]",
    power_tables.InterruptionTable: "interruption = [{ ... }]",
    power_tables.ConnectionTable: "[block.connection]",
    power_tables.GridUnitTable: "unit = [{ ... }]",
    power_tables.UnitOutageTable: "outage = [{ ... }]",
    power_tables.CapacityStepTable: "step = [{ ... }]",
    power_tables.SmoothingTable: "smoothing = { ... }",
}


@pytest.fixture(scope="module")
def page(root) -> str:
    return (root / "docs" / "power-blocks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", HEADERS, ids=lambda t: t.__name__)
def test_the_page_has_every_key_of_every_table(page, table):
    assert table_of_keys(table, HEADERS[table]) in page


def test_every_table_is_on_the_page():
    every = {t for t in vars(power_tables).values() if isinstance(t, type) and issubclass(t, power_tables.Table)}
    assert every - set(HEADERS) == {power_tables.Table}


def test_the_example_is_sound(page):
    example = page.split("```toml\n")[1].split("```")[0]
    tariff, connection = example.split("[block.connection]\n")
    text = starter_site()
    begin, end = text.index("[tariff]"), text.index("# Without [sources]")
    text = text[:begin] + tariff + text[end:]
    text = text.replace("[block.cooling]\n", f"[block.connection]\n{connection}\n[block.cooling]\n", 1)
    site = site_from_text(text, Path("site.toml"))
    assert [contract.name for contract in site.contracts] == ["base-24", "peak-week-20", "call-block"]
    assert site.declared == (
        "Block 'hall' declares to smooth swings of up to 40 kW and 2 s (capacitors in racks); no plan relies on it.",
    )
