"""The page about the site file lists every key as the models have it."""

from __future__ import annotations

import re

import pytest

from planner.config import model
from planner.config.faults import FaultList
from planner.config.runs_csv import read_runs
from planner.config.sentences import unit_of
from planner.sources.csv_file import CsvFile
from planner.sources.series import SIGNALS
from planner.sources.units import RELATIVE_HUMIDITY
from thermal.plant import settings

HEADERS = {
    model.SiteTable: "[site]",
    model.HorizonTable: "[horizon]",
    model.PlanTable: "[plan]",
    model.CarbonTable: "[carbon]",
    model.PricesTable: "[prices]",
    model.TariffTable: "[tariff]",
    model.ProviderTable: "[sources.carbon], [sources.price], [sources.weather]",
    model.BlockTable: "[[block]]",
    model.MaintenanceTable: "maintenance = [{ ... }]",
    model.CoolingTable: "[block.cooling]",
    model.SolarTable: "[block.solar]",
    model.BatteryTable: "[block.battery]",
    model.PoolTable: "[[pool]]",
    model.CommissioningTable: "commissioning = [{ ... }]",
    model.GpuTable: "[gpu.NAME]",
    model.OperatingPointTable: "points = [{ ... }]",
    model.RunTable: "[[run]]",
    model.StageTable: "stages = [{ ... }]",
}


def key_table(table):
    """The keys of a table in Markdown: name, default, meaning."""
    rows = [f"### `{HEADERS[table]}`", "", "| key | default | meaning |", "|---|---|---|"]
    for key, info in table.model_fields.items():
        default = "required" if info.is_required() else "-" if info.default in (None, []) else f"`{info.default}`"
        if key in {"cooling", "solar", "battery", "maintenance", "commissioning", "points", "stages"}:
            default = "required" if info.is_required() else "none"
        rows.append(f"| `{key}` | {default} | {info.description} |")
    return "\n".join(rows)


@pytest.mark.parametrize("table", HEADERS, ids=lambda t: t.__name__)
def test_the_page_has_every_key_of_every_table(root, table):
    assert key_table(table) in (root / "docs" / "site-file.md").read_text(encoding="utf-8")


def test_every_name_on_the_page_is_one_that_a_site_file_knows(root):
    page = (root / "docs" / "site-file.md").read_text(encoding="utf-8")
    known = {key for table in (*HEADERS, model.SiteFile) for key in table.model_fields}
    known |= {*settings("dry_cooler"), *CsvFile.__dataclass_fields__, "step_minutes", "time_zone"}
    known |= {*SIGNALS, RELATIVE_HUMIDITY}
    assert set(re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", page)) - known == set()


def test_every_table_is_on_the_page():
    every = {m for m in vars(model).values() if isinstance(m, type) and issubclass(m, model.Table)}
    assert every - set(HEADERS) == {model.Table, model.SiteFile, model.SourcesTable}


def test_every_number_with_a_unit_says_it_in_its_meaning():
    for table in HEADERS:
        for key, info in table.model_fields.items():
            unit = unit_of(key)
            if unit in {"kW", "kWh", "W", "h", "s", "min", "W per GPU"}:
                assert f" {unit.split()[0]}" in f" {info.description}", (table.__name__, key)


def test_the_rows_on_the_page_are_sound(root):
    page = (root / "docs" / "site-file.md").read_text(encoding="utf-8")
    faults = FaultList("page", {})
    (run,) = read_runs(page.partition("```csv\n")[2].partition("```")[0], faults)
    assert faults.found == []
    assert [stage.name for stage in run.table.stages] == ["pretrain", "align"]
    assert run.table.tokens_per_gpu_s == {"H100-SXM": 8400, "H200-SXM": 8820}
