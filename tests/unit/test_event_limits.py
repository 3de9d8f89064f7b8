"""The judge on limits of events: at every instant, for the site or for a block."""

from __future__ import annotations

import pytest

from planner.evaluate import evaluate
from power.events import ImportLimit
from tests.judged import kept, published, site
from tests.weeks import at

WEEK = site()
CALENDAR = published(WEEK, kept())
HALL = next(plan for plan in CALENDAR[0].blocks if plan.block == "hall-a")
SITE_KW = sum(plan.import_kw[9] for plan in CALENDAR[0].blocks)


def broken(limit_kw: float, block: str | None = None, first: float = 9.0, after: float = 10.0):
    limits = (ImportLimit(at(first), at(after), limit_kw, block, "cut"),)
    return evaluate(*CALENDAR, WEEK, limits=limits).violations


def test_a_limit_that_is_kept_breaks_nothing():
    assert broken(SITE_KW) == ()
    assert broken(HALL.import_kw[9], "hall-a") == ()


def test_a_limit_that_is_not_kept_is_told_with_its_worst_instant():
    (found,) = broken(SITE_KW - 1.0)
    assert (found.kind, found.at) == ("event-limit", at(9))
    assert found.value == pytest.approx(SITE_KW)
    assert found.limit == pytest.approx(SITE_KW - 1.0)
    assert found.sentence.startswith("the site in event cut imports")


def test_a_block_has_a_limit_of_its_own():
    (found,) = broken(HALL.import_kw[9] - 1.0, "hall-a")
    assert found.subject == "block hall-a in event cut"


def test_a_minute_of_an_hour_counts():
    (found,) = broken(SITE_KW - 1.0, first=9.5, after=9.51)
    assert found.at == at(9)


def test_other_hours_do_not():
    lower = min(sum(plan.import_kw[t] for plan in CALENDAR[0].blocks) for t in range(24))
    assert [v for v in broken(lower - 1.0, first=23.0, after=24.0) if v.at != at(23)] == []
