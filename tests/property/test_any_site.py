"""A few drawn site files; a thousand are in the deep suite."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from tests.drawn_sites import comes_to, sites


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(text=sites(most_blocks=1, most_runs=3))
def test_any_site_comes_to_a_calendar_a_named_conflict_or_its_faults(text):
    assert comes_to(text) in {"kept", "late", "infeasible", "refused"}
