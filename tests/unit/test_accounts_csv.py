"""The three tables: their headers stay, their rows add up, and every figure of the report comes from them alone."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from planner.export.accounts_csv import (
    CONTRACT_COLUMNS,
    HOURLY_COLUMNS,
    RUN_COLUMNS,
    contracts_csv,
    hourly_csv,
    runs_csv,
)
from planner.export.accounts_view import exact
from planner.export.report import report_html
from tests.accounting import ACCOUNTING, accounted_outcome, sample_accounts, with_contracts
from tests.outcomes import FORMULA, HOSTILE

CASES = ("low", "mid", "high")


@pytest.fixture(scope="module")
def outcome():
    kept_by = replace(ACCOUNTING, residual_gco2_per_kwh=430.0, marginal_gco2_per_kwh=620.0, grid_cfe_share=0.4)
    found = accounted_outcome(kept_by)
    return replace(found, carbon=with_contracts(sample_accounts(found)))


@pytest.fixture(scope="module")
def accounts(outcome):
    return outcome.carbon


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@pytest.fixture(scope="module")
def hourly(accounts):
    return rows(hourly_csv(accounts))


@pytest.fixture(scope="module")
def runs(accounts):
    return rows(runs_csv(accounts))


@pytest.fixture(scope="module")
def contracts(accounts):
    return rows(contracts_csv(accounts))


def test_headers_carry_units_and_stay():
    assert HOURLY_COLUMNS == (
        "calendar_id", "series", "kind", "subject", "start_utc", "end_utc", "factor_set", "basis", "boundary", "it_kwh",
        "load_kwh", "import_kwh", "onsite_kwh", "matched_kwh", "unmatched_kwh", "cfe_kwh", "average_gco2_per_kwh",
        "residual_gco2_per_kwh", "marginal_gco2_per_kwh", "grid_cfe_share", "location_kg", "market_kg", "onsite_kg",
        "marginal_kg", "water_l", "heat_sold_kwh_th",
    )  # fmt: skip
    assert RUN_COLUMNS == (
        "calendar_id", "series", "kind", "subject", "start_utc", "end_utc", "factor_set", "basis", "boundary", "server",
        "it_kwh", "heat_kwh", "load_kwh", "import_kwh", "onsite_kwh", "matched_kwh", "cfe_kwh", "cfe_score",
        "location_kg", "market_kg", "market_by_volume_kg", "onsite_kg", "marginal_kg", "water_l", "gpu_hours",
        "embodied_low_kg",
        "embodied_mid_kg", "embodied_high_kg", "useful_tokens", "sci_low_g_per_mtoken", "sci_mid_g_per_mtoken",
        "sci_high_g_per_mtoken", "notes", "heat_sold_kwh_th",
    )  # fmt: skip
    assert CONTRACT_COLUMNS == (
        "calendar_id", "series", "contract", "technology", "boundary", "counts", "carbon_free", "renewable",
        "factor_set", "basis", "factor_gco2_per_kwh", "start_utc", "end_utc", "supplied_kwh", "used_kwh", "excess_kwh",
        "used_kg",
    )  # fmt: skip


def test_every_row_names_factor_set_basis_and_boundary(hourly, runs, contracts):
    for row in (*hourly, *runs, *contracts):
        assert (row["factor_set"], row["basis"]) == ("made-up/3", "lifecycle")
    assert {row["boundary"] for row in hourly} == {"zone-a"}
    assert {row["boundary"]: row["counts"] for row in contracts} == {"on-site": "yes", "zone-a": "yes", "zone-b": "no"}


def test_in_every_slot_the_runs_and_what_is_left_are_the_site(hourly):
    sums = defaultdict(lambda: defaultdict(float))
    site = {row["start_utc"]: row for row in hourly if row["kind"] == "site"}
    names = [name for name in HOURLY_COLUMNS if name.endswith(("_kwh", "_kg", "_l", "_kwh_th")) and "gco2" not in name]
    for row in hourly:
        if row["kind"] != "site":
            for name in names:
                sums[row["start_utc"]][name] += float(row[name])
    for start, whole in site.items():
        for name in names:
            assert sums[start][name] == pytest.approx(float(whole[name]), rel=1e-9, abs=1e-9), (start, name)


def test_sums_of_rows_are_the_totals(hourly, runs):
    for total in runs:
        mine = [row for row in hourly if row["kind"] == total["kind"] and row["subject"] == total["subject"]]
        for name in (
            "it_kwh",
            "load_kwh",
            "matched_kwh",
            "cfe_kwh",
            "location_kg",
            "market_kg",
            "marginal_kg",
            "water_l",
            "heat_sold_kwh_th",
        ):
            assert sum(float(row[name]) for row in mine) == pytest.approx(float(total[name]), rel=1e-9, abs=1e-9)


def test_a_runs_row_is_its_part_of_the_sites_row(hourly):
    site = {row["start_utc"]: row for row in hourly if row["kind"] == "site"}
    some = [row for row in hourly if row["kind"] == "run"][::17]
    assert len(some) > 5
    for row in some:
        whole = site[row["start_utc"]]
        part = float(row["it_kwh"]) / float(whole["it_kwh"])
        for name in ("location_kg", "market_kg", "onsite_kg", "marginal_kg", "cfe_kwh", "water_l", "heat_sold_kwh_th"):
            assert float(row[name]) == pytest.approx(part * float(whole[name]), rel=1e-9, abs=1e-12)


def test_no_name_becomes_a_formula(runs):
    names = [row["subject"] for row in runs if row["kind"] == "run"]
    assert f"'{FORMULA}" in names
    assert HOSTILE in names


class Tables(HTMLParser):
    """The rows of every table of a page, by the label of the region around it, and all text."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = defaultdict(list)
        self.items: list[str] = []
        self._label = ""
        self._in: str | None = None
        self.feed(content.decode())

    def handle_starttag(self, tag, attrs):
        if tag == "div" and dict(attrs).get("role") == "region":
            self._label = dict(attrs)["aria-label"]
        if tag == "tr":
            self.tables[self._label].append([])
        if tag in {"td", "th"}:
            self.tables[self._label][-1].append("")
        if tag == "li":
            self.items.append("")
        self._in = tag if tag in {"td", "th", "li"} else self._in

    def handle_endtag(self, tag):
        if tag == self._in:
            self._in = None

    def handle_data(self, data):
        if self._in in {"td", "th"}:
            self.tables[self._label][-1][-1] += data
        elif self._in == "li":
            self.items[-1] += data


@pytest.fixture(scope="module")
def page(outcome):
    return Tables(report_html(outcome))


def number(cell: str) -> float:
    return float(cell.replace("\u202f", ""))


def same(cell: str, value: float) -> None:
    assert number(cell) == pytest.approx(value, rel=1e-5, abs=1e-9)


def test_every_figure_of_the_audit_table_is_made_again_from_the_rows_alone(page, hourly, runs, contracts):
    site = [row for row in hourly if row["kind"] == "site"]
    bought = [row for row in contracts if row["boundary"] != "on-site"]
    made = [row for row in contracts if row["boundary"] == "on-site"]

    def total(name):
        return sum(float(row[name]) for row in site)

    def product(some, one, other):
        return sum(float(row[one]) * float(row[other]) for row in some)

    free = defaultdict(float)
    for row in contracts:
        if row["carbon_free"] == "yes":
            free[row["start_utc"]] += float(row["used_kwh"])
    supplied, factor = defaultdict(float), {}
    for row in bought:
        supplied[row["contract"]] += float(row["supplied_kwh"])
        factor[row["contract"]] = float(row["factor_gco2_per_kwh"])
    left = imported = total("import_kwh")
    by_volume = 0.0
    for name, kwh in supplied.items():
        covered = min(kwh, left)
        by_volume += covered * factor[name] / 1000
        left -= covered
    by_volume += left * product(site, "import_kwh", "residual_gco2_per_kwh") / imported / 1000
    gpu_hours = sum(float(row["gpu_hours"]) for row in runs if row["kind"] != "site")
    operational = total("location_kg") + total("onsite_kg")
    tokens = sum(float(row["useful_tokens"]) for row in runs if row["kind"] == "run")
    expected = {
        "Load": total("import_kwh") + total("onsite_kwh"),
        "Grid energy": imported,
        "Energy from behind the meter": sum(float(row["used_kwh"]) for row in made),
        "Grid energy matched by contracts": sum(float(row["used_kwh"]) for row in bought),
        "Location-based emissions of grid energy": product(site, "import_kwh", "average_gco2_per_kwh") / 1000,
        "Market-based emissions of grid energy, matched slot by slot": (
            product(site, "unmatched_kwh", "residual_gco2_per_kwh") + product(bought, "used_kwh", "factor_gco2_per_kwh")
        )
        / 1000,
        "Market-based emissions of grid energy, by volume alone": by_volume,
        "Emissions behind the meter": product(made, "used_kwh", "factor_gco2_per_kwh") / 1000,
        "CFE score": sum(
            free[row["start_utc"]] + float(row["unmatched_kwh"]) * float(row["grid_cfe_share"]) for row in site
        )
        / total("load_kwh"),
        "Beside the inventory: grid energy at the marginal intensity": product(
            site, "import_kwh", "marginal_gco2_per_kwh"
        )
        / 1000,
        "GPU-hours in service": gpu_hours,
        "Water": total("water_l"),
        "Heat that the IT energy becomes": total("it_kwh"),
        "Heat sold": total("heat_sold_kwh_th"),
    }
    table = {row[0]: row for row in page.tables["Figures of the carbon accounts"][1:]}
    for case in CASES:
        name = f"Embodied carbon of these hours, {case}"
        gpus, kg, life_h = map(float, re.findall(r"/ (\d+) GPUs x (\d+) kg / (\d+) h", table[name][3])[0])
        embodied = gpu_hours / gpus * kg / life_h
        expected[name] = embodied
        expected[f"Software carbon intensity, {case}"] = (operational + embodied) * 1e9 / tokens
    assert set(table) == set(expected)
    for name, value in expected.items():
        assert value > 0.0
        same(table[name][1], value)


def test_reused_heat_and_its_factor_are_made_again_from_the_rows_alone(page, accounts, hourly):
    site = [row for row in hourly if row["kind"] == "site"]
    sold_kwh = sum(float(row["heat_sold_kwh_th"]) for row in site)
    total_kwh = sum(float(row["load_kwh"]) for row in site) - accounts.stored_kwh
    (indicators,) = (rows for rows in page.tables.values() if any("E_REUSE" in row for row in rows))
    stated = {row[0]: row for row in indicators}
    same(stated["E_REUSE"][2], sold_kwh)
    same(stated["ERF"][2], sold_kwh / total_kwh)
    assert "heat_sold_kwh_th" in stated["E_REUSE"][4]


def test_every_figure_of_runs_and_contracts_is_made_again_from_the_rows_alone(page, hourly, runs, contracts):
    told = {"no run: GPUs without a job": "unallotted", "the site: sum of all": "sample"}
    table = page.tables["Carbon accounts of the runs"][1:]
    assert len(table) == len(runs)
    by_subject = {row["subject"].removeprefix("'"): row for row in runs}
    for name, *cells in table:
        subject = told.get(name, name)
        mine = [row for row in hourly if row["subject"].removeprefix("'") == subject]
        sums = [sum(float(row[column]) for row in mine) for column in (
            "it_kwh", "load_kwh", "location_kg", "market_kg", "onsite_kg", "cfe_kwh",
        )]  # fmt: skip
        for cell, value in zip(cells, (*sums[:5], sums[5] / sums[1]), strict=False):
            same(cell, value)
        total = by_subject[subject]
        same(cells[6], float(total["gpu_hours"]))
        for cell, name_of in ((cells[7], "embodied_{}_kg"), (cells[8], "sci_{}_g_per_mtoken")):
            values = [total[name_of.format(case)] for case in ("mid", "low", "high")]
            if values[0] == "":
                assert cell == "\u2013"
                continue
            for shown, value in zip(re.findall(r"[\d.\u202f]+", cell), values, strict=True):
                same(shown, float(value))
    for name, _, _, factor, *cells in page.tables["Contracts of the carbon accounts"][1:]:
        mine = [row for row in contracts if row["contract"] == name]
        assert mine[0]["factor_gco2_per_kwh"] == factor.rstrip("0").rstrip(".")
        for cell, column in zip(cells, ("supplied_kwh", "used_kwh", "excess_kwh", "used_kg"), strict=True):
            same(cell, sum(float(row[column]) for row in mine))


def test_the_rows_on_the_page_are_the_rows_of_the_table(page, hourly):
    head, *shown = page.tables["Rows of the site's carbon account"]
    site = [row for row in hourly if row["kind"] == "site"]
    assert len(shown) == len(site)
    for cells, row in zip(shown, site, strict=True):
        assert cells[0] == row["start_utc"]
        for name, cell in zip(head[1:], cells[1:], strict=True):
            same(cell, float(row[name]))


def test_the_worked_row_is_right_and_is_the_one_of_the_highest_load(page, hourly):
    sentences = [item for item in page.items if item.startswith(("Row of", "location_kg", "market_kg", "Of it"))]
    assert len(sentences) == 4
    start = sentences[0].removeprefix("Row of ").split(": ")[0]
    site = {row["start_utc"]: row for row in hourly if row["kind"] == "site"}
    assert float(site[start]["load_kwh"]) == max(float(row["load_kwh"]) for row in site.values())
    for sentence, name in zip(sentences[1:3], ("location_kg", "market_kg"), strict=True):
        left, right = sentence.removeprefix(f"{name} ").rstrip(".").split(" = ")
        formula = re.sub(r" of \S+", "", right).replace("kWh", "").replace("g/", "").replace("x", "*")
        assert eval(formula.replace("\u202f", "")) == pytest.approx(number(left), rel=1e-4)
        same(left, float(site[start][name]))


def test_a_figure_that_is_not_known_is_a_dash_and_an_empty_cell(outcome):
    plain = accounted_outcome()
    accounts = sample_accounts(plain)
    assert exact(None) == "\u2013"
    assert {row["marginal_kg"] for row in rows(hourly_csv(accounts))} == {""}
    assert {row["heat_sold_kwh_th"] for row in rows(hourly_csv(accounts)) + rows(runs_csv(accounts))} == {""}
    assert {row["sci_mid_g_per_mtoken"] for row in rows(runs_csv(accounts)) if row["kind"] == "unallotted"} == {""}
    table = Tables(report_html(replace(plain, carbon=accounts))).tables["Figures of the carbon accounts"]
    assert [row[1] for row in table if "marginal" in row[0]] == ["\u2013"]
    assert "Heat sold" not in {row[0] for row in table}


def test_without_accounts_the_report_has_no_such_section(outcome):
    assert b"carbon-accounts" not in report_html(replace(outcome, carbon=None))
    assert b"carbon-accounts" in report_html(outcome)
