"""Answers to random events on random weeks: clean or refused, and nothing before the decision changes."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from planner.errors import Infeasible
from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.respond.course import course_of, cut, tokens, windows_of
from planner.respond.site_load import block_load, block_plan, carbon_per_it_kwh, flows_of
from tests.answers import answer_to, decisions, limit
from tests.weeks import at, random_week

OPTIONS = PlanOptions(gap_target=0.2, time_limit_s=2.0)


def planned(seed: int):
    week = random_week(seed, n_runs=3, n_slots=16)
    found = plan(week, OPTIONS)
    calendar = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return week, calendar


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 500), st.data())
def test_figures_of_a_calendar_cut_anywhere_are_those_that_it_states(seed, data):
    week, (header, runs) = planned(seed)
    pieces = cut(week.grid, runs, data.draw(st.lists(st.integers(0, 16 * 3600).map(float), max_size=4)))
    given_runs = {run.run: run for run in runs}
    courses = [course_of(week, run, given_runs[run.name], pieces) for run in week.runs]
    plans = {}
    for block in week.blocks:
        stated = next(b for b in header.blocks if b.block == block.name)
        flows = flows_of(stated)
        load = block_load(week, block, stated, flows, courses, pieces)
        plans[block.name] = block_plan(week, block, stated, flows, load, pieces)
        for name in ("it_kw", "cooling_kw", "import_kw", "battery_kwh"):
            np.testing.assert_allclose(getattr(plans[block.name], name), getattr(stated, name), atol=1e-5)
    kg_per_kwh = carbon_per_it_kwh(week, plans)
    for course in courses:
        windows = windows_of(week, course, pieces, kg_per_kwh)
        stated = given_runs[course.run.name].windows
        for name in ("tokens", "energy_kwh", "kgco2e"):
            total, said = (sum(getattr(w, name) for w in ws) for ws in (windows, stated))
            np.testing.assert_allclose(total, said, rtol=1e-6, atol=1e-3)
        np.testing.assert_allclose(tokens(course, pieces).sum(), sum(w.tokens for w in stated), rtol=1e-6, atol=1e-3)


@settings(max_examples=15, deadline=None)
@example(112, 0.5, 2, 1.0, 1.0, 0.2)  # a last minute whose tokens nobody misses
@given(
    st.integers(0, 500),
    st.floats(0.0, 0.5),
    st.integers(2, 12),
    st.floats(0.25, 4.0),
    st.floats(0.0, 2.0),
    st.sampled_from([0.2, 0.4, 1.0]),
)
def test_an_answer_breaks_nothing_or_there_is_none(seed, share, first_h, hours, notice_h, most_lost):
    week, calendar = planned(seed)
    assume(evaluate(*calendar, week).clean)
    import_kw = np.sum([plan.import_kw for plan in calendar[0].blocks], axis=0)
    after_h = min(16.0, first_h + round(hours * 60) / 60)
    asked = (1.0 - share) * float(import_kw[first_h : int(np.ceil(after_h))].max())
    now = at(first_h - round(notice_h * 60) / 60)
    try:
        response, runs = answer_to(week, calendar, limit(first_h, after_h, asked), now=now, most_lost=most_lost)
    except Infeasible:
        event("refused")
        return
    event("changed" if response.changes else "nothing to do")
    assert response.found.clean, [v.sentence for v in response.found.violations]
    assert decisions(runs, now) == decisions(calendar[1], now)
    for part in response.delivered:
        assert part.highest_kw <= part.limit_kw * (1.0 + 1e-6) + 1e-3
