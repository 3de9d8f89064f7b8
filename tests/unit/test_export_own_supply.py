"""Own supply in what people are given: table, figure, rows of the report, figures for machines."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.export.charts.frame import TimeAxis
from planner.export.charts.power import limit_told, power_figure
from planner.export.csv_files import OWN_COLUMNS, SLOT_COLUMNS, slots_csv
from planner.export.own_supply import TELLERS, figures, told_costs, told_energy
from planner.export.report import report_html
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from power.export import GridExport
from power.generation import Generator
from power.ppa import BASELOAD, PHYSICAL, Ppa
from power.wind import WindTurbines
from tests.outcomes import full_week, sample_outcome
from tests.unit.test_export_report import Page
from tests.weeks import battery, make_block, make_run, solar, tiny_week
from thermal.limit import PlanLimit


def supplied():
    """A week with every kind of own supply, its calendar and the verdict."""
    group = Generator("<b>sets</b>", 4, 60.0, 0.4, 1.0, 1.0, 1.0, 0.05, 500.0)
    turbines = WindTurbines("ridge", 400.0, 100.0)
    block = make_block(n_slots=8, solar=solar(50.0), grid_kw=150.0)
    block = replace(block, wind=turbines, generators=(group,), export=GridExport(80.0))
    week = tiny_week(
        blocks=(block,), ghi_w_per_m2=400.0, price_per_kwh=[0.06] * 4 + [0.2] * 4, runs=(make_run(work_h=3),)
    )
    signals = replace(week.signals, wind_speed_m_per_s=np.array([4.0, 9.0] * 4))
    week = replace(week, signals=signals, ppas=(Ppa("flat", BASELOAD, PHYSICAL, 0.05, baseload_kw=30.0),))
    found = plan(week, PlanOptions(gap_target=0.0, time_limit_s=20.0))
    calendar, runs = to_calendar(week, found.schedule, status=found.status, certified_gap=0.0)
    return week, calendar, evaluate(calendar, runs, week)


def test_the_table_has_its_columns_only_where_a_block_uses_them():
    _, calendar, judged = supplied()
    rows = list(csv.DictReader(io.StringIO(slots_csv(calendar).decode())))
    assert list(rows[0]) == [*SLOT_COLUMNS[:-1], *OWN_COLUMNS, "notes"]
    for column, kwh in (
        ("wind_kw", judged.wind_kwh),
        ("generation_kw", judged.generation_kwh),
        ("export_kw", judged.export_kwh),
    ):
        assert kwh > 0.0
        assert sum(float(row[column]) for row in rows) == pytest.approx(kwh)
    plain = tiny_week()
    calendar, _ = to_calendar(plain, plan(plain, PlanOptions()).schedule, status="optimal", certified_gap=None)
    assert next(csv.reader(io.StringIO(slots_csv(calendar).decode()))) == list(SLOT_COLUMNS)


def test_the_figure_of_a_block_balances_with_its_own_sources():
    week, calendar, _ = supplied()
    block, told = week.blocks[0], calendar.blocks[0]
    time = TimeAxis(week.grid.starts, week.grid.end, week.tz)
    allowed = PlanLimit(np.full(8, 1000.0), np.full(8, "liquid supply"))
    limits_kw = (week.capacity_kw(block), week.import_limit_kw(block))
    figure = power_figure(block, told, time, limits_kw, allowed, (1.0, "kW"))
    traces = {t.get("name"): np.array(t["y"], dtype=float)[:8] for t in figure["data"] if t.get("name")}
    # figures carry four or so digits
    served = traces["Grid import"] + traces["Solar"] + traces["Wind"]
    served = served + traces["Generators &lt;b&gt;sets&lt;/b&gt;"]
    assert served == pytest.approx(traces["IT"] + traces["Cooling"] + traces["Export"], abs=0.003)
    assert traces["Limit of grid import"] == pytest.approx(np.full(8, 150.0))
    assert "grid import, solar, wind and generators" in str(figure["layout"])
    assert "battery" not in str(figure["layout"])


def test_the_limit_speaks_of_what_the_block_has_alone():
    week, calendar, _ = supplied()
    block, told = week.blocks[0], calendar.blocks[0]
    bare = replace(told, wind_kw=(), generators=(), export_kw=())
    held = "The dashed limit holds for IT with cooling, and for the grid import, each by itself"
    ends = "so a stack with it may stand above the line."
    store = battery(100.0, 50.0)
    for has, plan_of, sentence in (
        (replace(block, solar=None), bare, f"{held}."),
        (replace(block, solar=None, battery=store), bare, f"{held}."),
        (
            replace(block, battery=store),
            bare,
            f"{held}; charging the battery from solar counts towards neither, {ends}",
        ),
        (block, told, f"{held}; export counts towards neither, {ends}"),
        (
            replace(block, solar=None, battery=store),
            told,
            f"{held}; export and charging the battery from wind and generators count towards neither, {ends}",
        ),
        (
            replace(block, solar=None),
            replace(bare, heat_pump_kw=(1.0,) * 8),
            f"{held.replace('with cooling', 'with cooling and heat pumps')}.",
        ),
    ):
        assert limit_told(has, plan_of) == sentence


def test_a_report_of_blocks_without_sun_says_nothing_of_it():
    halls = (make_block("hall-a", 700.0, n_slots=168), make_block("hall-b", 300.0, n_slots=168))
    page = Page(report_html(sample_outcome(full_week(blocks=halls), kept=True)))
    assert page.words.count("The dashed limit holds for IT with cooling, and for the grid import, each by itself.") == 2
    titles = [str(figure) for name, figure in page.figures.items() if name.startswith("chart-block")]
    assert len(titles) == 2
    assert not [title for title in titles if "solar" in title or "battery" in title]
    assert "from solar" not in page.words
    assert "charging the battery from solar counts" in Page(report_html(sample_outcome(kept=True))).words


def test_rows_and_figures_are_told_only_where_there_is_something_to_tell():
    week, _, judged = supplied()
    assert told_costs(tiny_week()) == ()
    assert told_energy(tiny_week()) == ()
    assert figures(tiny_week(), judged) == {}
    keys = [key for _, key in (*told_costs(week), *told_energy(week))]
    assert sorted(keys) == sorted(TELLERS)
    told = {key: TELLERS[key](judged, lambda amount: f"{amount:.2f} EUR") for key in keys}
    assert told["export_earned"] == f"{-judged.terms.export:.2f} EUR"
    assert float(told["export_earned"].split()[0]) > 0.0
    assert figures(week, judged) == {
        "wind_kwh": judged.wind_kwh,
        "generation_kwh": judged.generation_kwh,
        "generation_carbon_kg": judged.generation_carbon_kg,
        "export_kwh": judged.export_kwh,
    }
