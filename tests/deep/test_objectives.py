"""Site files drawn at random with an order of measures or a carbon budget: no traceback, every calendar clean."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.drawn_sites import comes_to, sites

PARTS, IN_EACH = 10, 20
TABLES = (
    'order = ["carbon", "cost"]',
    'order = ["cost"]\ntolerance_share = 0.2',
    'order = ["water", "carbon", "lateness"]\ncarbon_budget_t = 5',
    "carbon_budget_t = 0",
    "carbon_budget_t = 2.5\nover_budget_per_t = 50",
)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_any_site_with_an_objective_comes_to_something(part):
    @seed(part)
    @settings(max_examples=IN_EACH, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(text=sites(most_blocks=2, most_runs=4, supplied=part % 2 == 1), table=st.sampled_from(TABLES))
    def every(text, table):
        comes_to(f"{text}\n[objective]\n{table}\n")

    every()
