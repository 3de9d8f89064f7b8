"""What report, summary and terminal say of power purchase agreements and of offers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.export import agreements_view
from planner.export.report import report_html
from planner.summary import closing_lines, summary
from power.ppa import DIFFERENCE
from tests.outcomes import sample_outcome
from tests.unit.test_contract_bills import hall, planned
from tests.unit.test_power_view import contracted, outcome_of
from tests.unit.test_supply_bills import farm

FILES = {"calendar": "out/a", "report": "out/b"}


def with_farm(**more):
    """The page's example 'as produced, with surplus': work at 0.04, the farm's 600 kW all day."""
    deal = replace(farm(*[600.0] * 8), **more)
    week = replace(hall(price=[0.08] * 4 + [0.04] * 4), ppas=(deal,))
    found, _ = planned(week)
    return outcome_of(week, found.schedule), found


def test_an_agreement_is_told_with_where_its_energy_goes_and_what_it_costs():
    # used 400 + 2,400 kWh, sold 2,000 at 0.9 x 0.08 = 144; paid 4,800 x 0.05 = 240; at the tariff 32 + 96 = 128
    outcome, found = with_farm()
    (told,) = agreements_view.agreements(outcome)
    assert (told.volume_kwh, told.used_kwh, told.sold_kwh, told.curtailed_kwh) == pytest.approx((4800, 2800, 2000, 0))
    assert (told.paid, told.earned, told.cost) == pytest.approx((240.0, 144.0, -32.0))
    assert told.cost == pytest.approx(outcome.evaluation.terms.ppa)
    assert summary(outcome, found, FILES)["ppas"][0]["sold_kwh"] == pytest.approx(2000.0)
    page = report_html(outcome).decode().replace("\u202f", " ")
    assert "Power purchase agreements" in page
    assert ">4.80 MWh<" in page
    assert ">-32.00 EUR<" in page
    (line,) = [line for line in closing_lines(outcome, FILES) if line.startswith("agreement")]
    assert line == (
        "agreement  farm: 4.80 MWh, 2.80 MWh used here, 2.00 MWh sold, 0 kWh curtailed; 32.00 EUR less than the tariff"
    )


def test_an_agreement_by_difference_goes_nowhere():
    outcome, _ = with_farm(settlement=DIFFERENCE)
    (row,) = agreements_view.rows(outcome)
    assert row[3:6] == ("by difference", "\u2013", "\u2013")
    (told,) = agreements_view.agreements(outcome)
    assert (told.paid, told.earned, told.cost) == pytest.approx((-48.0, 0.0, -48.0))
    assert "farm: 4.80 MWh, by difference; 48.00 EUR less" in agreements_view.closing_lines(outcome)[0]


def test_an_offer_is_told_as_a_planning_ends():
    lines = closing_lines(contracted(), FILES)
    assert [line.split()[0] for line in lines] == ["carbon", "cost", "energy", "deadlines", "offer", "files"]
    assert "is not bought" in lines[4]


def test_a_site_without_agreements_says_nothing_of_them_nor_of_sun_that_it_has_not():
    outcome = sample_outcome()
    assert agreements_view.figures(outcome) == {}
    assert agreements_view.closing_lines(outcome) == ()
    assert "Power purchase agreements" not in report_html(outcome).decode()
    assert "Solar energy used" in report_html(outcome).decode()
    assert "Solar energy used" not in report_html(with_farm()[0]).decode()
