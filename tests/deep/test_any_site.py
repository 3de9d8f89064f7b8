"""A thousand site files, absurd ones among them: a calendar that the judge passes, a named conflict, or its faults.

Two hundred more have own supply, storage, contracts, agreements and failures.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.drawn_sites import comes_to, sites

pytestmark = pytest.mark.deep
PARTS, SUPPLIED_PARTS, IN_EACH = 20, 4, 50


def every_one(part, drawn):
    @seed(part)
    @settings(max_examples=IN_EACH, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(text=drawn)
    def every(text):
        comes_to(text)

    every()


@pytest.mark.parametrize("part", range(PARTS))
def test_any_site_comes_to_something(part):
    every_one(part, sites())


@pytest.mark.parametrize("part", range(SUPPLIED_PARTS))
def test_any_site_with_own_supply_comes_to_something(part):
    every_one(part, sites(supplied=True))
