"""A few drawn site files; many are in the deep suite."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from tests.drawn_sites import comes_to, sites

FEW = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}


@settings(max_examples=4, **FEW)
@given(text=sites(most_blocks=1, most_runs=3))
def test_any_site_comes_to_a_calendar_a_named_conflict_or_its_faults(text):
    assert comes_to(text) in {"kept", "late", "infeasible", "refused"}


@settings(max_examples=3, **FEW)
@given(text=sites(most_blocks=1, most_runs=2, supplied=True))
def test_any_site_with_own_supply_comes_to_the_same(text):
    assert comes_to(text) in {"kept", "late", "infeasible", "refused"}
