"""What the report and the summary say of contracts, and of starts and stops that follow each other."""

from __future__ import annotations

from planner.evaluate import evaluate
from planner.export import power_view
from planner.export.report import report_html
from planner.outcome import Outcome
from planner.publish import to_calendar
from planner.stagger import staggered
from power.contracts import EnergyContract
from tests.outcomes import sample_outcome
from tests.unit.test_contract_bills import base, hall, planned
from tests.unit.test_stagger import decided
from tests.unit.test_stagger import hall as ramped

OFFER = EnergyContract("block-b", 800.0, 0.07, min_take_share=1.0, offered=True, all_or_none=True)


def outcome_of(week, schedule) -> Outcome:
    calendar, runs = to_calendar(week, schedule, status="optimal", certified_gap=0.0)
    return Outcome(week, calendar, runs, evaluate(calendar, runs, week), ())


def contracted() -> Outcome:
    week = hall(base(300.0, 0.07, 0.85), OFFER, price=[0.05] * 4 + [0.12] * 4)
    found, _ = planned(week)
    return outcome_of(week, found.schedule)


def test_contracts_are_told_with_what_is_paid():
    outcome = contracted()
    in_force, offer = power_view.contract_rows(outcome)
    assert in_force[:4] == ("block", "300 kW, base", "0.07 EUR/kWh", "in force")
    assert [cell.replace("\u202f", " ") for cell in in_force[4:]] == ["2.40 MWh", "1.60 MWh", "2.04 MWh", "143 EUR"]
    assert offer[3] == "no"
    (sentence,) = power_view.offer_sentences(outcome)
    assert sentence.startswith("Offer 'block-b', 800 kW (base) at 0.07 EUR/kWh, is not bought")
    page = report_html(outcome).decode()
    assert "Energy contracts" in page
    assert "of which energy contracts" in page
    assert power_view.figures(outcome.evaluation)["contracts"][0]["paid_kwh"] == 2_040.0


def test_starts_and_stops_are_told_edge_by_edge():
    week = ramped(3, work_h=3.0)
    outcome = outcome_of(week, staggered(week, decided(week, *["00111100"] * 3)))
    rows = power_view.edge_rows(outcome)
    assert rows == (
        ("Mon 13 May 04:00", "r0 at the edge, r1 +3:03, r2 +6:05", ""),
        ("Mon 13 May 08:00", "", "r0 at the edge, r1 -3:03, r2 -6:05"),
    )
    assert "r1 +3:03" in report_html(outcome).decode()


def test_a_site_without_any_of_it_says_nothing_of_it():
    outcome = sample_outcome()
    assert power_view.contract_rows(outcome) == ()
    assert power_view.edge_rows(outcome) == ()
    assert power_view.figures(outcome.evaluation) == {}
    page = report_html(outcome).decode()
    assert "Energy contracts" not in page
    assert "follow each other" not in page


def test_gangs_alone_at_their_edges_are_not_told():
    week = ramped(2, work_h=3.0)
    outcome = outcome_of(week, staggered(week, decided(week, "00111100", "01111000")))
    assert power_view.edge_rows(outcome) == ()
