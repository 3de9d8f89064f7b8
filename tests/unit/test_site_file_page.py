"""The page about the site file lists every key as the models have it."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest

from planner.config import model, site_from_text, starter_site
from planner.config.faults import FaultList
from planner.config.move_tables import MigrationTable, SizeTable
from planner.config.objective_table import ObjectiveTable
from planner.config.runs_csv import read_runs
from planner.config.sentences import unit_of
from planner.config.service_table import ServiceTable
from planner.gather import gather
from planner.sources.csv_file import STAMPS, CsvFile
from planner.sources.local_time import AMBIGUOUS
from planner.sources.rows import KINDS
from planner.sources.series import SIGNALS
from planner.sources.units import RELATIVE_HUMIDITY, known_units
from power.battery import AT_LEAST, EQUAL, FREE
from thermal.plant import settings

HALVES = (timedelta(0), timedelta(minutes=30))

HEADERS = {
    model.SiteTable: "[site]",
    model.HorizonTable: "[horizon]",
    model.PlanTable: "[plan]",
    model.UncertaintyTable: "[plan.uncertainty]",
    model.RollingTable: "[plan.rolling]",
    model.ForecastTable: "[forecast]",
    model.CarbonTable: "[carbon]",
    model.AccountsTable: "[accounts]",
    model.ServerTable: "[accounts.server]",
    model.PricesTable: "[prices]",
    ObjectiveTable: "[objective]",
    model.TariffTable: "[tariff]",
    model.ProviderTable: "[sources.carbon], [sources.price], [sources.weather]",
    model.BlockTable: "[[block]]",
    model.MaintenanceTable: "maintenance = [{ ... }]",
    model.CoolingTable: "[block.cooling]",
    model.GradedTable: "setting = { ... }",
    model.SolarTable: "[block.solar]",
    model.BatteryTable: "[block.battery]",
    model.HeatTable: "[block.heat]",
    model.PoolTable: "[[pool]]",
    model.CommissioningTable: "commissioning = [{ ... }]",
    model.AvailabilityTable: "availability = [{ ... }]",
    model.PoolPartTable: "split = [{ ... }]",
    model.SpanTable: "[[span]]",
    model.GpuTable: "[gpu.NAME]",
    model.OperatingPointTable: "points = [{ ... }]",
    model.DemandResponseTable: "[demand_response]",
    ServiceTable: "[service]",
    model.RunTable: "[[run]]",
    model.AfterTable: "after = [{ ... }]",
    SizeTable: "sizes = [{ ... }]",
    MigrationTable: "[run.migration]",
    model.FlexibilityTable: "flexibility = { ... }",
    model.StageTable: "stages = [{ ... }]",
    model.GoodputTable: "[goodput]",
    model.RunGoodputTable: "goodput = { ... }",
}


def table_of_keys(table, header):
    """The keys of a table in Markdown: name, default, meaning."""
    rows = [f"### `{header}`", "", "| key | default | meaning |", "|---|---|---|"]
    for key, info in table.model_fields.items():
        default = "required" if info.is_required() else "-" if info.default in (None, []) else f"`{info.default}`"
        if key in {
            "cooling",
            "solar",
            "battery",
            "heat",
            "maintenance",
            "commissioning",
            "availability",
            "split",
            "points",
            "stages",
        }:
            default = "required" if info.is_required() else "none"
        rows.append(f"| `{key}` | {default} | {info.description} |")
    return "\n".join(rows)


@pytest.mark.parametrize("table", HEADERS, ids=lambda t: t.__name__)
def test_the_page_has_every_key_of_every_table(root, table):
    assert table_of_keys(table, HEADERS[table]) in (root / "docs" / "site-file.md").read_text(encoding="utf-8")


def test_every_name_on_the_page_is_one_that_a_site_file_knows(root):
    page = (root / "docs" / "site-file.md").read_text(encoding="utf-8")
    known = {key for table in (*HEADERS, model.SiteFile) for key in table.model_fields}
    known |= {*settings("dry_cooler"), *CsvFile.__dataclass_fields__, "step_minutes", "time_zone"}
    known |= {*SIGNALS, RELATIVE_HUMIDITY, AT_LEAST, EQUAL, FREE}
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


def test_the_page_has_every_unit_and_every_key_of_a_file_of_ones_own(root):
    page = (root / "docs" / "site-file.md").read_text(encoding="utf-8")
    own = page.split("### Files of your own")[1].split("## Power blocks")[0]
    for signal in ("carbon", "dry_bulb", "wet_bulb", "relative_humidity", "ghi", "wind_speed_100m"):
        assert ", ".join(f"`{unit}`" for unit in known_units(signal)) in own
    keys = {field.name for field in fields(CsvFile)} - {"tz", "step"} | {"time_zone", "step_minutes"}
    assert [key for key in keys if f"| `{key}` |" not in own] == []
    assert all(f'"{choice}"' in own for choice in (*STAMPS, *KINDS, *AMBIGUOUS))


def test_the_example_of_files_of_ones_own_is_sound(root, tmp_path):
    page = (root / "docs" / "site-file.md").read_text(encoding="utf-8")
    example = page.split("### Files of your own")[1].split("```toml\n")[1].split("```")[0]
    hours = [datetime(2024, 5, 1, tzinfo=UTC) + timedelta(hours=i) for i in range(24 * 21)]
    (tmp_path / "carbon.csv").write_text(
        "time,intensity\n" + "".join(f"{t + half:%Y-%m-%dT%H:%M},200\n" for t in hours for half in HALVES), "utf-8"
    )
    (tmp_path / "weather.csv").write_text(
        "time,temp,rh\n" + "".join(f"{t:%Y-%m-%dT%H:%M},12,70\n" for t in hours), "utf-8"
    )
    text = starter_site()
    for table in ("[tariff]\n", "[block.solar] # leave out what you do not have\npeak_kw = 40\n"):
        assert table in text
        text = text.replace(table, "")
    first, rest = example.split("\n\n", 1)
    text = text.replace("# energy_per_kwh = 0.11", f"{first}\n#").replace("# Without [sources]", f"{rest}\n# Without")
    week = gather(site_from_text(text, tmp_path / "site.toml"), now=hours[-1])
    assert set(week.signals.ci_gco2_per_kwh) == {200.0}
    assert set(week.signals.price_per_kwh) == {0.14}
    assert (week.signals.wet_bulb_c < week.signals.dry_bulb_c).all()
