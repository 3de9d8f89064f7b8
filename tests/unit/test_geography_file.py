"""Several sites in a site file: read, checked, gathered, kept, and told in the report."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from planner.config import SiteFaults, load_site, site_from_text
from planner.config import geography_tables as tables
from planner.entered_accounts import entered_accounts
from planner.errors import ConfigError
from planner.export.report import report_html
from planner.gather import gather
from planner.kept_series import read_series, series_file, series_json
from planner.optimize import PlanOptions
from planner.pipeline import plan_week
from planner.sources.series import SYNTHETIC
from planner.summary import closing_lines, summary
from planner.terminal import stage

NOW = datetime(2024, 5, 12, 18, tzinfo=UTC)
FILE = Path("two-zones.toml")


@pytest.fixture(scope="module")
def text(root):
    return (root / "data" / "sites" / "two-zones.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def week(text):
    return gather(site_from_text(text, FILE), now=NOW, offline=True)


@pytest.fixture(scope="module")
def planned(week):
    outcome, found = plan_week(week, PlanOptions(gap_target=0.05, time_limit_s=60.0), stage)
    return outcome, summary(outcome, found, {"report": "out/report.html"})


def edited(text, *changes):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def test_the_reference_site_is_sound_and_each_block_knows_its_site(root):
    site = load_site(root / "data" / "sites" / "two-zones.toml")
    assert site.warnings == ()
    assert [block.site for block in site.blocks] == ["", "north-sea"]
    (other,) = site.others
    assert (other.place.zone, other.exchange_rate) == ("demo-north-sea", 1.17)
    assert other.tariff.adder_per_kwh == pytest.approx(1.17 * 0.025)


def test_data_takes_bytes_over_rate(root):
    site = load_site(root / "data" / "sites" / "two-zones.toml")
    here, there = site.run("dense-70b").options
    assert here.transfers == ()
    (moved,) = there.transfers
    assert moved.hours == pytest.approx(100e12 / 2.5e9 / 3600)
    assert (moved.energy_kwh, moved.cost) == (600.0, 400.0)
    assert all(option.transfers == () for option in site.run("code-8b").options)


def test_a_running_run_has_its_data_where_it_runs(text):
    running = edited(text, ('name = "dense-70b"\n', 'name = "dense-70b"\nrunning_in = "north"\n'))
    assert all(o.transfers == () for o in site_from_text(running, FILE).run("dense-70b").options)


def test_each_site_has_its_own_series_and_money_is_converted(week):
    (other,) = week.others
    assert week.zone == "demo-central"
    sources = {p.signal: p.source for p in week.provenance}, {p.signal: p.source for p in other.provenance}
    assert all("demo-central" in source for source in sources[0].values())
    assert all("demo-north-sea" in source for source in sources[1].values())
    assert not np.allclose(week.signals.ci_gco2_per_kwh, other.signals.ci_gco2_per_kwh)
    price = next(p for p in other.provenance if p.signal == "price_per_kwh")
    assert price.unit == "GBP/kWh at 1.17 EUR for 1 GBP"
    assert "Prices of north-sea are taken at 1.17 EUR for 1 GBP." in week.labels
    assert dict(price.flags)[SYNTHETIC] == week.grid.n_slots


def test_a_flat_price_of_the_other_site_is_converted_too(text):
    flat = edited(text, ("tariff = { adder", "tariff = { energy_per_kwh = 0.2, adder"))
    (other,) = gather(site_from_text(flat, FILE), now=NOW, offline=True).others
    assert other.signals.price_per_kwh == pytest.approx(0.2 * 1.17)


@pytest.mark.parametrize(
    "change", [(), ("tariff = { adder", "tariff = { energy_per_kwh = 0.2, adder")], ids=["series", "flat price"]
)
def test_the_series_of_all_sites_are_kept_and_read_again(text, tmp_path, planned, change):
    site = site_from_text(edited(text, *([change] if change else [])), FILE)
    week = gather(site, now=NOW, offline=True)
    inputs = {f"signal {p.signal}": {"sha256": p.sha256} for p in week.provenance}
    inputs |= {f"signal {p.signal} of north-sea": {"sha256": p.sha256} for p in week.others[0].provenance}
    header = replace(planned[0].calendar, inputs=inputs)
    file = series_file(tmp_path, header.calendar_id)
    file.parent.mkdir()
    file.write_bytes(series_json(week))
    again = gather(site, now=datetime(2026, 1, 1, tzinfo=UTC), issued_at=NOW, kept=read_series(file, header))
    assert again.sha256 == week.sha256
    document = json.loads(file.read_text(encoding="utf-8"))
    document["others"][0]["signals"]["ci_gco2_per_kwh"][0] += 1.0
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ConfigError, match="ci_gco2_per_kwh of north-sea is not the series"):
        read_series(file, header)


def test_the_plan_keeps_its_promises_and_sites_add_up(planned):
    outcome, told = planned
    found = outcome.evaluation
    assert found.violations == ()
    assert found.deadlines_missed == 0
    assert found.carbon_kg == pytest.approx(sum(s.carbon_kg for s in found.sites) + found.transfer_kg)
    assert found.terms.energy == pytest.approx(sum(s.energy_cost for s in found.sites))
    assert outcome.carbon is None
    assert [site["zone"] for site in told["sites"]] == ["demo-central", "demo-north-sea"]
    assert told["transfer_kg"] == found.transfer_kg
    assert outcome.calendar.inputs["signal ci_gco2_per_kwh of north-sea"]["source"].startswith("demo")


def test_accounts_are_not_promised_where_there_are_none(planned, tmp_path, monkeypatch):
    header = planned[0].calendar
    monkeypatch.setattr("planner.entered_accounts.read_published", lambda path: (header, [], tmp_path))
    with pytest.raises(ConfigError, match="plans several sites; they have no carbon accounts"):
        entered_accounts(tmp_path, actual=False)


def test_the_report_tells_carbon_and_money_by_site(planned):
    outcome, _ = planned
    page = report_html(outcome).decode()
    section = page.split("<h2>Carbon and money by site</h2>")[1].split("</section>")[0]
    for part in ("two-zones", "demo-central", "north-sea", "demo-north-sea", "EUR/kWh", "asap"):
        assert part in section
    lines = [line for line in closing_lines(outcome, {"report": "out/report.html"}) if line.startswith("site")]
    assert len(lines) == 2


NOT_HERE = "stands in a file of several sites"
DATA = 'data = { site = "two-zones", size_tb = 100'
LATE = '[[block]]\nname = "hall-central"'


@pytest.mark.parametrize(
    ("change", "key", "what"),
    [
        (('site = "north-sea"\ncap', 'site = "north-see"\ncap'), "block[1].site", "there is no site 'north-see'"),
        (("exchange_rate = 1.17\n", ""), "other_site[0].exchange_rate", "prices are in GBP, the plan counts EUR"),
        (('currency = "GBP"\n', ""), "other_site[0].exchange_rate", "the plan's own money"),
        (('name = "north-sea"', 'name = "two-zones"'), "other_site[0].name", "is the name of an earlier site"),
        (("Europe/London", "Europe/Londn"), "other_site[0].timezone", "Londn"),
        (('zone = "demo-north-sea"', 'zone = "demo-nord"'), "other_site[0].zone", "the demo has no zone"),
        (('"two-zones", "north-sea"]', '"two-zones", "two-zones"]'), "link[0].between", "names one site twice"),
        (('"two-zones", "north-sea"]', '"two-zones", "x"]'), "link[0].between[1]", "there is no site 'x'"),
        (
            ('data = { site = "two-zones", size_tb = 100', 'data = { site = "x", size_tb = 100'),
            "run[0].data.site",
            "'x'",
        ),
        (("rate_gb_per_s = 2.5", "rate_gb_per_s = 0"), "link[0].rate_gb_per_s", "0"),
        (
            ("adder_per_kwh = 0.03", "demand_charge_per_kw_month = 3"),
            "tariff.demand_charge_per_kw_month",
            "of one site",
        ),
        ((LATE, "[demand_response]\nlead_s = 30\n\n" + LATE), "demand_response", NOT_HERE),
        ((LATE, "[accounts]\ngrid_cfe_share = 0.3\n\n" + LATE), "accounts", NOT_HERE),
    ],
)
def test_wrong_input_is_told_on_its_line(text, change, key, what):
    with pytest.raises(SiteFaults) as caught:
        site_from_text(edited(text, change), FILE)
    fault = next(one for one in caught.value.faults if one.key == key)
    assert what in fault.what
    assert fault.fix
    assert fault.line is not None


def test_a_pool_that_no_link_reaches_is_no_choice(text):
    start, end = text.index("# 20 Gbit/s"), text.index('[[block]]\nname = "hall-central"')
    alone = text[:start] + text[end:]
    site = site_from_text(alone, FILE)
    assert [option.pool for option in site.run("dense-70b").options] == ["central"]
    assert site.warnings[0] == "run 'dense-70b': no link brings its data from 'two-zones' to pool 'north'."
    nowhere = edited(alone, (DATA, 'pools = ["north"]\n' + DATA))
    with pytest.raises(SiteFaults, match="no link brings it to any of its pools"):
        site_from_text(nowhere, FILE)


TABLES = {
    tables.OtherSiteTable: "[[other_site]]",
    tables.OtherTariffTable: "tariff = { ... }",
    tables.LinkTable: "[[link]]",
    tables.DataTable: "data = { ... }",
}


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.__name__)
def test_the_page_has_every_key(root, table):
    rows = [f"### `{TABLES[table]}`", "", "| key | default | meaning |", "|---|---|---|"]
    for key, info in table.model_fields.items():
        default = "required" if info.is_required() else "-" if info.default is None else f"`{info.default}`"
        rows.append(f"| `{key}` | {default} | {info.description} |")
    assert "\n".join(rows) in (root / "docs" / "geography.md").read_text(encoding="utf-8")
