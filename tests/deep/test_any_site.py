"""A thousand site files, absurd ones among them: a calendar that the judge passes, a named conflict, or its faults."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.drawn_sites import comes_to, sites

PARTS, IN_EACH = 20, 50


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_any_site_comes_to_something(part):
    @seed(part)
    @settings(max_examples=IN_EACH, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(text=sites())
    def every(text):
        comes_to(text)

    every()
