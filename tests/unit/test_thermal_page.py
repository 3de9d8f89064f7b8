"""The thermal report as page and file, and the requests for the building system."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import plotly.graph_objects as go
import pytest

from planner.errors import ConfigError
from planner.export import wording
from planner.export.dsx import LEAST_KW, dsx_json, read_tags
from planner.export.points import points
from planner.export.thermal_json import SERIES, thermal_document, thermal_json
from planner.export.thermal_report import thermal_html
from planner.export.thermal_view import closing_lines
from planner.export.thermal_words import told_quantity
from planner.timegrid import iso
from tests.outcomes import HOSTILE, sample_outcome
from tests.outlooks import GRID, outlook
from tests.unit.test_export_report import Page
from thermal.plant import dry_cooler, room_air, tower_chiller, w_max_kw
from thermal.quantity import Quantity
from thermal.reserve import Reserve

LARGEST_BYTES = 6_000_000
DSX_POINT_TYPES = {
    "AirTemperature", "FanSpeed", "LeakDetect", "LiquidDifferentialPressure", "LiquidFlow", "LiquidTemperature",
    "LiquidTemperatureSpRequest", "RackLiquidReturnTemperature", "RackLiquidSupplyTemperature", "RackPower",
}  # fmt: skip


@pytest.fixture(scope="module")
def hot():
    return outlook()


@pytest.fixture(scope="module")
def page(hot):
    return Page(thermal_html(hot))


@pytest.fixture(scope="module")
def document(hot):
    return json.loads(thermal_json(thermal_document(hot)))


def test_it_asks_for_nothing_outside_and_is_small_enough(hot, page):
    assert len(thermal_html(hot)) <= LARGEST_BYTES
    assert not [a for _, a in page.tags if a.get("src") or str(a.get("href", "data:")).startswith(("http", "//"))]


def test_what_must_be_known_stands_above_all(page):
    words = page.words
    for told in (
        "Load: full rated IT power in every hour; there is no calendar in force for these days.",
        "Synthetic data",
        "Single forecast: the weather has no quantiles",
    ):
        assert told in words
        assert words.index(told) < words.index("Alarms")


def test_every_content_is_there(page):
    for told in (
        "Derated hours", "Temperatures against their limits", "Approach of the CDUs", "Temperature rise (dT)",
        "Flow per kW of liquid heat", "CDU load with one out", "Reserve: may one unit fail?", "Seconds to a limit",
        "Hours of each mode", "PUE, power usage effectiveness", "WUE, water", "ERF, energy reuse", "CUE, carbon",
        "ISO/IEC 30134-9", "Energy balance of the model", "Trend of approach", "not measured",
        "RackLiquidSupplyTemperature", "LiquidTemperatureSpRequest", "SupplyTemperatureControlCelsius",
        "What a plan may take",
    ):  # fmt: skip
        assert told in page.words, told


def test_every_number_says_how_it_is_known(document):
    (block,) = document["blocks"]
    tags = {"measured", "modelled", "assumed"}
    for name in ("totals", "figures", "mode_hours"):
        assert {entry["tag"] for entry in block[name].values()} <= tags
    for name in ("temperatures", "seconds_to_limit", "kpis", "alarms"):
        assert {entry["tag"] for entry in block[name]} <= tags
    assert {entry["grade"] for entry in block["plant_values"]} <= {"measured", "datasheet", "assumed"}


def test_the_limit_of_the_plan_is_told_with_its_cause(page):
    assert "The site asks its plan for no reserve, neither cooling_n1 nor ride_through_restart_s." in page.words
    found = outlook(reserve=Reserve(one_out=True, restart_s=900.0))
    (block,) = thermal_document(found)["blocks"]
    causes = {spell["cause"] for spell in block["plan_limits"]}
    assert {"one dry cooler out", "ride-through"} <= causes
    held = Page(thermal_html(found))
    assert "to bear any one unit out (cooling_n1) and heat rejection lost for 900 s" in held.words
    assert all(cause in held.words for cause in causes)
    (figure,) = held.figures.values()
    (shown,) = (trace for trace in figure["data"] if trace.get("name") == "A plan may take")
    assert shown["y"][:-1] == pytest.approx([kw / 1000.0 for kw in block["slots"]["limit_kw"]], abs=1e-3)
    assert f"a plan may take {wording.power(min(block['slots']['limit_kw']))} at the least" in held.words


def test_what_was_measured_is_told_with_its_tag(page):
    found = outlook(readings=True)
    (block,) = thermal_document(found)["blocks"]
    told = block["measured"]
    assert {entry["tag"] for entry in told["trends"].values()} == {"measured"}
    for name in ("energy_balance", "model_against_meters"):
        assert {row["tag"] for row in told[name]} == {"measured"}
    assert told["plan_against_meters"] == []  # there is no calendar
    change = told["trends"]["cdu_approach_k"]["change_in_30_days"]
    assert change == pytest.approx(1.5, abs=0.05)
    shown = Page(thermal_html(found))
    for text in ("Measured in hall-a", "Trends of the loops", "Energy balance of the loops", "The model against"):
        assert text in shown.words
        assert text not in page.words
    assert f"+{change:.2f} \u00b1 " in shown.words
    assert "Fouling of the CDUs" in shown.words
    unmeasured = {row["what"] for row in thermal_document(found)["not_measured"]}
    assert "Plan against what happened" in unmeasured
    assert not any("fouling" in what for what in unmeasured)


def test_only_signals_that_the_report_stands_on_are_traced_on_the_page(page):
    traced = page.words[page.words.index("Where weather and carbon intensity come from") :]
    assert all(name in traced for name in ("Dry bulb", "Wet bulb", "Carbon intensity"))
    assert "Energy price" not in traced


def test_page_and_file_tell_the_same(hot, page, document):
    (block,) = document["blocks"]
    report = hot.blocks[0].report
    assert block["totals"]["derate_h"]["value"] == report.totals["derate_h"].value
    assert f"{report.totals['derate_h'].value:.0f} h" in page.words
    for alarm in block["alarms"]:
        assert " ".join(alarm["told"].split()) in page.words
        assert alarm["owner"] in {"facilities", "planning"}
    assert document["alarms"]["red"] == 2
    assert document["forecast_quantiles"] is None


def test_slots_carry_a_value_each_and_none_where_there_is_none(document):
    (block,) = document["blocks"]
    assert document["slots"] == GRID.n_slots
    assert all(len(block["slots"][name]) == GRID.n_slots for name in (*SERIES, "mode", "cause", "worst_unit"))
    derated = [c for c in block["slots"]["cause"] if c]
    assert len(derated) == block["totals"]["derate_h"]["value"]
    assert sum(d["hours"] for d in block["derates"]) == len(derated)
    limited = [c for c in block["slots"]["limit_cause"] if c]
    assert len(block["slots"]["limit_kw"]) == GRID.n_slots
    assert sum(d["hours"] for d in block["plan_limits"]) == len(limited) == block["totals"]["limited_h"]["value"]


def test_figures_are_valid_plotly_and_show_the_carried_power(hot, page):
    (figure,) = page.figures.values()
    go.Figure(figure)
    traces = {t.get("name"): t for t in figure["data"]}
    assert traces["Cooling carries"]["y"][:-1] == pytest.approx(hot.blocks[0].report.hours.w_max_kw / 1000.0, abs=1e-3)
    assert {"Fans", "Pumps", "Compressors", "Chip case", "Chip case, limit", "Dry bulb"} <= set(traces)


def test_a_hostile_name_stays_text():
    found = outlook(name=HOSTILE)
    content = thermal_html(found)
    assert HOSTILE.encode() not in content
    assert HOSTILE in Page(content).words


def test_the_load_is_that_of_the_calendar_where_it_covers_the_week(hot):
    plan = sample_outcome().calendar
    n = GRID.n_slots
    block = replace(
        plan.blocks[0], block="hall-a", it_kw=tuple(np.full(n, 5_000.0)), import_kw=tuple(np.full(n, 1_000.0))
    )
    calendar = replace(plan, valid_from=GRID.start, slot_minutes=60, n_slots=n, blocks=(block,))
    found = outlook(calendar=calendar)
    assert found.calendar_id == calendar.calendar_id
    assert found.blocks[0].load == "calendar"
    assert (found.blocks[0].report.hours.it_kw == 5_000.0).all()
    assert f"Load: the IT power of the calendar in force, {calendar.calendar_id}." in found.labels
    held = next(a for a in found.blocks[0].report.alarms if a.name == "Plan limit")
    over = found.blocks[0].report.limit.it_kw < 5_000.0
    assert held.hours_h == over.sum()
    assert (held.level == "green") == (not over.any())
    assert not any(a.name == "Plan limit" for a in hot.blocks[0].report.alarms)  # without a calendar none is checked
    cue = next(k for k in found.blocks[0].report.kpis if k.name == "CUE")
    assert cue.value == pytest.approx(hot.signals.ci_gco2_per_kwh.mean() / 1000.0 / 5.0)
    other = outlook(calendar=replace(calendar, slot_minutes=30))
    assert other.calendar_id is None
    assert any("covers other slots" in label for label in other.labels)
    unnamed = outlook(calendar=replace(calendar, blocks=(replace(block, block="hall-z"),)))
    assert any("hall-a at full rated IT power" in label for label in unnamed.labels)


def test_a_calendar_beyond_the_plans_limit_is_an_alarm_on_the_page():
    plan = sample_outcome().calendar
    n = GRID.n_slots
    block = replace(plan.blocks[0], block="hall-a", it_kw=tuple(np.full(n, 18_400.0)), import_kw=tuple(np.full(n, 1.0)))
    calendar = replace(plan, valid_from=GRID.start, slot_minutes=60, n_slots=n, blocks=(block,))
    found = outlook(calendar=calendar, reserve=Reserve(one_out=True))
    (held,) = (a for a in thermal_document(found)["blocks"][0]["alarms"] if a["name"] == "Plan limit")
    limit_kw = found.blocks[0].report.limit.it_kw
    assert held["hours"] == (limit_kw < 18_400.0).sum() > 0
    assert held["owner"] == "planning"
    assert f"where a plan may take {limit_kw.min():,.0f} kW" in held["told"]
    assert held["told"] in Page(thermal_html(found)).words


def test_the_highest_load_is_told_beside_now_and_the_tightest_hour(hot, page, document):
    (block,) = document["blocks"]
    report = hot.blocks[0].report
    assert block["peak"] == iso(hot.grid.starts[report.peak])
    share = block["figures"]["cdu_load_share"]
    assert share["peak"] == pytest.approx(report.hours.cdu_load_share[report.peak], abs=1e-4)
    assert "The load is highest at" in page.words
    assert page.words.count("Highest load") >= 2  # of the figures and of the reserve


def test_now_is_the_present_hour_and_outside_the_week_the_first():
    found = [
        outlook(issued_at=GRID.start + timedelta(hours=h)).blocks[0].report.now for h in (-5.0, 0.0, 30.9, 167.0, 168.0)
    ]
    assert found == [0, 0, 30, 167, 0]
    assert "the week's first hour" not in Page(thermal_html(outlook())).words
    assert "the week's first hour" in Page(thermal_html(outlook(issued_at=GRID.end))).words


def test_five_lines_close_it(hot, tmp_path):
    lines = closing_lines(hot, (tmp_path / "a", tmp_path / "b"))
    assert [line.split()[0] for line in lines] == ["alarms", "derated", "tightest", "pue", "files"]


@pytest.mark.parametrize(
    ("quantity", "told"),
    [
        (Quantity(None, "kW"), "\u2013"),
        (Quantity(12_345.0, "kW"), "12.3 MW"),
        (Quantity(-1.25, "K"), "\u22121.2 K"),
        (Quantity(0.914, ""), "91 %"),
        (Quantity(41.26, "C"), "41.3 \u00b0C"),
        (Quantity(1.497, "L/min/kW"), "1.50 L/min/kW"),
    ],
)
def test_quantities_are_told_as_people_read_them(quantity, told):
    assert told_quantity(quantity) == told


def test_points_bear_the_names_of_dsx_and_belong_to_series_of_the_file():
    for plant in (dry_cooler(10.0), tower_chiller(10.0), room_air(10.0)):
        found = points(plant)
        assert {p.point_type for p in found} <= DSX_POINT_TYPES
        assert {p.series for p in found} - {""} <= set(SERIES)
        assert all(p.redfish.startswith("/redfish/v1/ThermalEquipment/CDUs/") for p in found if p.redfish)


@pytest.fixture(scope="module")
def planned():
    return sample_outcome()


def requests(planned, week=None, **changes):
    given = {"integration": "gridpace", "tags": {}} | changes
    return json.loads(dsx_json(week or planned.week, planned.calendar, **given))


def test_a_setpoint_is_a_request_on_the_points_topic(planned):
    block = planned.week.blocks[0]
    found = requests(planned, integration="mine", tags={block.name: "site1/row3/cdu5"})
    request = found["setpoint_requests"][0]
    assert request["topic"] == "BMS/v1/mine/Value/CDU/LiquidTemperatureSpRequest/site1/row3/cdu5"
    assert request["tagPathKnown"]
    assert "building system keeps authority" in found["authority"]
    messages = request["messages"]
    assert len(messages) == planned.week.grid.n_slots
    assert all(set(m) == {"value", "timestamp", "quality"} and m["quality"] == 1 for m in messages)
    first = datetime.fromtimestamp(messages[0]["timestamp"] / 1000.0, UTC)
    assert first == planned.week.grid.start
    assert messages[1]["timestamp"] - messages[0]["timestamp"] == planned.week.grid.slot / timedelta(milliseconds=1)
    assert [m["value"] for m in messages] == pytest.approx(planned.calendar.blocks[0].supply_setpoint_c, abs=1e-3)


def test_without_a_tag_path_a_stand_in_says_that_it_is_one(planned):
    week = replace(planned.week, site="a/b +#")
    request = requests(planned, week)["setpoint_requests"][0]
    assert not request["tagPathKnown"]
    assert request["topic"].endswith("/a%2Fb%20%2B%23/hall-a")


def test_capacity_limits_are_load_targets_in_kilowatts(planned):
    week = planned.week
    (first, *_) = requests(planned)["capacity_limits"]
    assert (first["type"], first["topic"]) == ("grid.loadtarget.set.v1", "grid/v1/isv/gridpace/loadtarget/set")
    targets = first["data"]["targets"]
    carried = w_max_kw(week.blocks[0].plant, week.signals.dry_bulb_c, week.signals.wet_bulb_c)
    assert [t["load_constraint"]["value"] for t in targets] == pytest.approx(carried, abs=1e-3)
    assert {t["load_constraint"]["unit"] for t in targets} == {"kilowatt"}
    assert [t["interval"]["end_time"] for t in targets[:-1]] == [t["interval"]["start_time"] for t in targets[1:]]
    assert targets[0]["feed_tags"] == [week.blocks[0].name]


def test_a_limit_keeps_the_sites_reserve_and_is_never_zero(planned):
    scorching = replace(planned.week.signals, dry_bulb_c=np.full(168, 54.0), wet_bulb_c=np.full(168, 30.0))
    blocks = tuple(replace(block, reserve=Reserve(one_out=True)) for block in planned.week.blocks)
    held = requests(planned, replace(planned.week, blocks=blocks, signals=scorching))
    values = {t["load_constraint"]["value"] for t in held["capacity_limits"][0]["data"]["targets"]}
    assert values == {LEAST_KW}


def test_a_room_has_no_liquid_setpoint_to_request(planned):
    blocks = tuple(replace(block, plant=room_air(500.0)) for block in planned.week.blocks)
    found = requests(planned, replace(planned.week, blocks=blocks))
    assert found["setpoint_requests"] == []
    assert len(found["capacity_limits"]) == len(blocks)


@pytest.mark.parametrize("text", ["hall-a", "hall-z=a/b", "hall-a=", "hall-a=a/#", "hall-a=+/b", "hall-a=/b"])
def test_a_wrong_tag_is_refused_with_its_text(text):
    with pytest.raises(ConfigError, match="--tag"):
        read_tags([text], ["hall-a"])


def test_tags_are_read():
    assert read_tags(["hall-a=x/y", "hall-b=z=1"], ["hall-a", "hall-b"]) == {"hall-a": "x/y", "hall-b": "z=1"}
