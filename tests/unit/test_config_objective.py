"""The table [objective] of the site file: what it means, and a sentence for each fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.config import SiteFaults, site_from_text, starter_site
from planner.objective import BY_PRICE, CarbonBudget, Objective


def site_of(table: str):
    return site_from_text(f"{starter_site()}\n[objective]\n{table}\n", Path("site.toml"))


def test_without_the_table_all_is_weighed_by_its_price():
    assert site_from_text(starter_site(), Path("site.toml")).objective == BY_PRICE
    assert site_of("").objective == BY_PRICE


def test_lateness_comes_first_where_the_order_does_not_name_it():
    assert site_of('order = ["carbon", "cost"]').objective == Objective(("lateness", "carbon", "cost"), 0.01)
    found = site_of('order = ["carbon", "lateness"]\ntolerance_share = 0.05').objective
    assert found == Objective(("carbon", "lateness"), 0.05)


def test_a_carbon_budget_is_hard_unless_its_price_says_otherwise():
    assert site_of("carbon_budget_t = 1.5").objective == Objective(budget=CarbonBudget(1500.0, 1_000_000.0))
    assert site_of("carbon_budget_t = 0\nover_budget_per_t = 300").objective.budget == CarbonBudget(0.0, 300.0)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('order = ["carbon", "carbon"]', "names 'carbon' more than once"),
        ('order = ["grams"]', "grams"),
        ("order = []", "objective.order: is empty"),
        ("order = []\ntolerance_share = 0.1", "give order at least one entry"),
        ("tolerance_share = 0.1", "does nothing without an order"),
        ("over_budget_per_t = 10", "does nothing without a budget"),
        ("carbon_budget_t = -1", "carbon_budget_t"),
        ("carbon_budget_kg = 1", "carbon_budget_t"),
    ],
)
def test_each_fault_is_told(table, told):
    with pytest.raises(SiteFaults) as raised:
        site_of(table)
    assert told in str(raised.value)
