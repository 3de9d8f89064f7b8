"""A site with a tank and a buyer of heat, from its file to plan, judge, thermal report and building system."""

from __future__ import annotations

import json

import pytest

from tests.mini_site import ISSUED, MINI, gridpace

REUSE = MINI.replace(
    'kind = "room_air"\nrated_it_kw = 18',
    'kind = "dry_cooler"\nrated_it_kw = 18\nstore_volume_m3 = 2\nheat_pump_capacity_share = 0.3\n'
    'heat_pump_supply_c = { value = 65, grade = "datasheet", source = "its plate" }\n\n'
    "[block.heat]\nprice_per_kwh = 0.06\ndemand_kw = 3\nsupply_c = 60",
)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reuse")
    (folder / "site.toml").write_text(REUSE, encoding="utf-8")
    asked = ("--out", "week", "--json", "--issued-at", ISSUED, "--offline")
    done = gridpace("plan", "site.toml", *asked, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_the_plan_sells_heat_and_is_judged_clean(planned):
    folder, told = planned
    assert told["violations"] == 0
    header = json.loads((folder / "week/calendars" / told["calendar_id"] / "calendar.json").read_text(encoding="utf-8"))
    (block,) = header["blocks"]
    assert told["heat_sold_kwh_th"] == pytest.approx(sum(block["heat_sold_kw_th"]), rel=1e-6)
    assert told["terms"]["heat"] == pytest.approx(-0.06 * told["heat_sold_kwh_th"])
    assert told["erf"] == pytest.approx(told["heat_sold_kwh_th"] / told["energy_kwh"])
    assert len(block["cold_kwh_th"]) == header["n_slots"]
    checked = gridpace("check", "week", "--site", "site.toml", "--offline", cwd=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_accounts_state_the_heat_that_the_plan_sells(planned):
    folder, told = planned
    done = gridpace("accounts", "week", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    stated = {one["name"]: one["value"] for one in json.loads(done.stdout)["eu_2024_1364"]["indicators"]}
    assert stated["E_REUSE"] == pytest.approx(told["heat_sold_kwh_th"], rel=1e-9)
    # without a battery and an export the load is the facility's energy
    assert stated["ERF"] == pytest.approx(told["erf"], rel=1e-6)


def test_the_thermal_report_follows_the_calendar(planned):
    folder, told = planned
    done = gridpace("thermal", "site.toml", "--out", "week", "--json", "--issued-at", ISSUED, "--offline", cwd=folder)
    assert done.returncode == 0, done.stderr
    (block,) = json.loads(done.stdout)["blocks"]
    assert block["totals"]["heat_reused_kwh"]["value"] == pytest.approx(told["heat_sold_kwh_th"], rel=1e-6)
    figures = {kpi["name"]: kpi["value"] for kpi in block["kpis"]}
    assert figures["ERF"] == pytest.approx(told["erf"], rel=1e-3)
    assert figures["ERE"] == pytest.approx(told["ere"], rel=1e-3)


def test_a_buyer_of_warmer_heat_is_refused(tmp_path):
    (tmp_path / "site.toml").write_text(REUSE.replace("supply_c = 60", "supply_c = 80"), encoding="utf-8")
    done = gridpace("plan", "site.toml", "--out", "week", "--offline", cwd=tmp_path)
    assert done.returncode == 2
    assert "the buyer asks for 80 C, but the heat pumps give 65 C" in done.stderr
