"""What people and machines are given of a tank and of heat sold, and of weeks without either."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from planner.export import view
from planner.export.csv_files import REUSE_COLUMNS, SLOT_COLUMNS, slots_csv
from planner.export.report import report_html
from planner.heat import HeatSale
from planner.schedule import Plan
from planner.summary import closing_lines, summary
from tests.outcomes import full_week, sample_outcome
from tests.published import header
from tests.unit.test_export_report import Page
from tests.weeks import battery, make_block, solar
from thermal.plant import dry_cooler
from trainer_hooks.calendar import CalendarError, read_calendar, write_calendar
from trainer_hooks.codec import OPTIONAL_SERIES

PLANT = dry_cooler(700.0, store_volume_m3=30.0, heat_pump_capacity_share=0.2)


@pytest.fixture(scope="module")
def outcome():
    """A week whose first hall has a tank and sells heat, and whose second has neither."""
    hall = make_block("hall-a", 700.0, n_slots=168, plant=PLANT, solar=solar(200.0), battery=battery(400.0, 100.0))
    hall = replace(hall, heat=HeatSale(0.08, np.full(168, 25.0)))
    return sample_outcome(full_week(blocks=(hall, make_block("hall-b", 300.0, n_slots=168))))


@pytest.fixture(scope="module")
def plain():
    return sample_outcome()


def told(outcome):
    plan = Plan(None, "optimal", 1.0, 1.0, 0.0, (), (), 0.0, 0.0, ())
    return summary(outcome, plan, {})


def test_the_sample_is_clean_and_adds_up(outcome):
    found = outcome.evaluation
    assert found.violations == ()
    assert found.heat_sold_kwh_th == pytest.approx(25.0 * 168, rel=1e-6)
    assert found.terms.heat == pytest.approx(-0.08 * 25.0 * 168, rel=1e-6)
    (first, second) = outcome.calendar.blocks
    balance = np.array(first.import_kw) + first.solar_kw + first.discharge_kw
    used = np.array(first.it_kw) + first.cooling_kw + first.heat_pump_kw + first.charge_kw
    np.testing.assert_allclose(balance, used, atol=1e-5)
    assert all(getattr(second, name) == () for name in OPTIONAL_SERIES)


def test_the_table_of_slots_has_their_columns_behind_all_others(outcome, plain):
    rows = list(csv.reader(io.StringIO(slots_csv(outcome.calendar).decode())))
    assert tuple(rows[0]) == (*SLOT_COLUMNS, *REUSE_COLUMNS)
    first, second = (next(row for row in rows if row[1] == name) for name in ("hall-a", "hall-b"))
    assert float(first[rows[0].index("heat_sold_kw_th")]) == 25.0
    assert second[-len(REUSE_COLUMNS) :] == [""] * len(REUSE_COLUMNS)
    assert tuple(next(csv.reader(io.StringIO(slots_csv(plain.calendar).decode())))) == SLOT_COLUMNS


def test_the_summary_has_their_figures_where_there_are_any(outcome, plain):
    found, figures = outcome.evaluation, told(outcome)
    for name in ("heat_sold_kwh_th", "heat_pump_kwh", "erf", "ere", "cold_change_kwh_th"):
        assert figures[name] == getattr(found, name)
    assert figures["terms"]["heat"] == found.terms.heat
    assert not {"heat_sold_kwh_th", "erf", "cold_change_kwh_th"} & set(told(plain))
    assert "heat sold 4.20 MWh" in closing_lines(outcome, {"plan": "out/a", "page": "out/b"})[2]
    assert "heat sold" not in closing_lines(plain, {"plan": "out/a", "page": "out/b"})[2]


def test_the_page_tells_them_where_there_are_any(outcome, plain):
    rows = {row.name: row.plan for row in view.compare_rows(outcome)}
    assert rows["of which heat sold"] == "-336 EUR"
    assert rows["Heat sold"] == "4.20 MWh"
    assert rows["ERF"] == f"{outcome.evaluation.erf:.3f}"
    assert "Cold in the tanks, change" in rows
    page = Page(report_html(outcome))
    assert "of heat sold: ERF" in page.words
    traces = {t.get("name"): np.array(t["y"]) for t in page.figures["chart-block-1-data"]["data"]}
    used = traces["IT"] + traces["Cooling"] + traces["Heat pumps"] + traces["Battery charging"]
    assert used == pytest.approx(traces["Grid import"] + traces["Solar"] + traces["Battery discharging"], abs=0.01)
    assert not {"Heat sold", "ERF", "Cold in the tanks, change"} & {row.name for row in view.compare_rows(plain)}
    assert "ERF" not in Page(report_html(plain)).words


def test_series_are_written_only_where_used_and_read_back(tmp_path, root):
    (block,) = header().blocks
    series = {name: tuple(float(i) + k for i in range(24)) for k, name in enumerate(OPTIONAL_SERIES)}
    used = header(blocks=(replace(block, **series), replace(block, block="annex")))
    folder = write_calendar(tmp_path, used, [])
    document = json.loads(Path(folder, "calendar.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, json.loads((root / "data/schema/calendar.schema.json").read_text(encoding="utf-8")))
    assert [name in document["blocks"][0] for name in OPTIONAL_SERIES] == [True] * len(OPTIONAL_SERIES)
    assert not set(OPTIONAL_SERIES) & set(document["blocks"][1])
    assert read_calendar(tmp_path).blocks == used.blocks


def test_a_short_series_is_refused(tmp_path):
    (block,) = header().blocks
    with pytest.raises(CalendarError, match="cold_kwh_th has 3 entries for 24 slots"):
        write_calendar(tmp_path, header(blocks=(replace(block, cold_kwh_th=(1.0, 2.0, 3.0)),)), [])
