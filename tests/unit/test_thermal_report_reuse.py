"""The thermal report of a block with a tank and heat sold."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from planner.export.thermal_json import REUSE_SERIES, SERIES, thermal_document, thermal_json
from planner.export.thermal_report import thermal_html
from planner.export.thermal_rows import use_rows
from planner.export.thermal_view import cards
from tests.outlooks import GRID, TZ, gathered, outlook
from tests.unit.test_export_report import Page
from thermal.kpi import kpis
from thermal.limit import within_power_kw
from thermal.plant import cooling, dry_cooler, w_max_kw
from thermal.report import cooling_report
from thermal.reserve import Reserve, carried_it_kw
from thermal.reuse import HeatFlows

RATED_KW = 1_000.0
PLANT = dry_cooler(RATED_KW, store_volume_m3=60.0, heat_pump_capacity_share=0.3)
DRY_C = np.array([18.0, 24.0, 36.0])
IT_KW = np.array([800.0, 800.0, 950.0])
FLOWS = HeatFlows(np.array([120.0, 0.0, -150.0]), np.array([100.0, 100.0, 100.0]))


def report(flows=FLOWS, **given):
    asked = {"powered": np.ones(3, bool), "slot_h": 1.0, "now": 0, "carbon_kg": None}
    signals = {"ci_gco2_per_kwh": np.full(3, 200.0)}
    return cooling_report(PLANT, IT_KW, DRY_C, DRY_C - 10.0, flows=flows, **(asked | signals | given))


def test_figures_follow_the_physics_with_the_flows():
    found, exact = report(), cooling(PLANT, IT_KW, DRY_C, DRY_C - 10.0, tank_kw=FLOWS.tank_kw, heat_sold_kw=100.0)
    assert found.hours.cooling_kw.tolist() == exact.cooling_kw.tolist()
    assert found.hours.heat_pump_kw.tolist() == exact.heat_pump_kw.tolist()
    assert found.totals["heat_reused_kwh"].value == pytest.approx(300.0)
    assert found.totals["heat_pump_kwh"].value == pytest.approx(float(exact.heat_pump_kw.sum()))
    assert found.totals["tank_filled_kwh"].value == pytest.approx(120.0)
    assert found.totals["tank_drawn_kwh"].value == pytest.approx(150.0)
    assert abs(found.totals["energy_balance_residual_share"].value) < 1e-9
    assert {span.name for span in found.spans} >= {"heat_sold_kw", "tank_kw"}


def test_a_tank_that_is_drawn_on_lifts_what_is_carried_and_allowed():
    alone, drawn = (report(flows).hours for flows in (HeatFlows(np.zeros(3), np.zeros(3)), FLOWS))
    assert alone.w_max_kw[2] < 950.0 < drawn.w_max_kw[2]
    assert alone.w_max_n1_kw[2] < drawn.w_max_n1_kw[2]
    assert report().limit.it_kw[2] == drawn.w_max_kw[2]
    one_out = Reserve(one_out=True)
    assert report(reserve=one_out).limit.it_kw[2] == drawn.w_max_n1_kw[2]
    assert carried_it_kw(PLANT, Reserve(), DRY_C, DRY_C - 10.0, tank_kw=FLOWS.tank_kw).tolist() == [
        float(w_max_kw(PLANT, dry, dry - 10.0, tank_kw=kw)) for dry, kw in zip(DRY_C, FLOWS.tank_kw, strict=True)
    ]


def test_heat_pumps_count_in_the_power_of_the_block():
    most, room_kw = np.full(1, RATED_KW), np.full(1, 900.0)
    with_pumps, without = (
        float(within_power_kw(PLANT, most, room_kw, DRY_C[:1], DRY_C[:1] - 10.0, HeatFlows(np.zeros(1), sold))[0])
        for sold in (np.full(1, 100.0), np.zeros(1))
    )
    state = cooling(PLANT, with_pumps, DRY_C[0], DRY_C[0] - 10.0, heat_sold_kw=100.0)
    assert with_pumps + float(state.cooling_kw + state.heat_pump_kw) == pytest.approx(900.0, abs=1e-6)
    assert without - with_pumps == pytest.approx(float(state.heat_pump_kw), rel=0.1)


def test_key_figures_of_heat_reuse_by_hand():
    # 1,000 kWh of IT, 60 of cooling, 40 of heat pumps; 220 sold
    found = {k.name: k.value for k in kpis(1_000.0, 60.0, 0.0, 220.0, 0.0, "made up", heat_pump_kwh=40.0)}
    assert found["PUE"] == pytest.approx(1.1)
    assert found["ERF"] == pytest.approx(0.2)
    assert found["ERE"] == pytest.approx(0.88)
    assert "ERE" not in {k.name for k in kpis(1_000.0, 60.0, 0.0, 0.0, 0.0, "made up")}


def test_carbon_of_heat_pumps_is_counted():
    found = {k.name: k.value for k in report().kpis}
    hours = report().hours
    facility_kwh = float((hours.it_kw + hours.cooling_kw + hours.heat_pump_kw).sum())
    assert found["CUE"] == pytest.approx(0.2 * facility_kwh / float(hours.it_kw.sum()))


@pytest.fixture(scope="module")
def sold():
    """A week's outlook whose block sells heat and uses its tank."""
    week = outlook(mean_c=24.0)
    (block,) = week.blocks
    plant = dry_cooler(block.plant.rated_it_kw, store_volume_m3=900.0, heat_pump_capacity_share=0.2)
    day = np.sin(2.0 * np.pi * np.arange(GRID.n_slots) / 24.0)
    signals = gathered(24.0).signals
    facts = cooling_report(
        plant,
        np.full(GRID.n_slots, 0.7 * plant.rated_it_kw),
        signals.dry_bulb_c,
        signals.wet_bulb_c,
        powered=np.ones(GRID.n_slots, bool),
        slot_h=1.0,
        now=0,
        carbon_kg=None,
        ci_gco2_per_kwh=signals.ci_gco2_per_kwh,
        flows=HeatFlows(900.0 * day, np.full(GRID.n_slots, 1_500.0)),
    )
    return replace(week, blocks=(replace(block, plant=plant, report=facts),))


def test_page_and_file_tell_them(sold):
    (block,) = json.loads(thermal_json(thermal_document(sold)))["blocks"]
    assert all(len(block["slots"][name]) == GRID.n_slots for name in (*SERIES, *REUSE_SERIES))
    assert block["totals"]["heat_reused_kwh"]["value"] == pytest.approx(1_500.0 * GRID.n_slots)
    assert "ERE" in {kpi["name"] for kpi in block["kpis"]}
    words = Page(thermal_html(sold)).words
    for told in ("Heat sold", "Energy of heat pumps", "Heat rejected to fill the tank", "ERE, energy reuse"):
        assert told in words


def test_the_pue_on_top_is_that_of_the_key_figures(sold):
    (block,) = sold.blocks
    (pue,) = (kpi.value for kpi in block.report.kpis if kpi.name == "PUE")
    (card,) = (card for card in cards(sold) if card.name.startswith("PUE"))
    assert card.value == f"{pue:.3f}"
    assert card.notes[0].startswith("IT, cooling and heat pumps alone, modelled; ")
    alone = replace(sold, blocks=(replace(block, report=report(HeatFlows(np.zeros(3), np.zeros(3)))),))
    assert "heat pumps" not in " ".join(note for card in cards(alone) for note in card.notes)


def test_without_them_nothing_is_told():
    week = outlook(mean_c=24.0)
    (block,) = json.loads(thermal_json(thermal_document(week)))["blocks"]
    assert not set(REUSE_SERIES) & set(block["slots"])
    assert {"heat_pump_kwh", "tank_filled_kwh"} & set(block["totals"]) == set()
    assert [row[0] for row in use_rows(week.blocks[0])].count("Energy of heat pumps") == 0
    assert week.tz == TZ
