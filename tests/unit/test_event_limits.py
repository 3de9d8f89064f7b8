"""The judge on limits of events: at every instant, for the site or for a block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import ConfigError
from planner.evaluate import evaluate
from power.event_limits import as_text, from_text
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


def stating(*limits: ImportLimit):
    header, runs = CALENDAR
    inputs = {**header.inputs, "event": {"limits": as_text(limits)}}
    return replace(header, inputs=inputs), runs


def test_what_a_calendar_says_it_promised_is_checked_without_being_told():
    kept_limit = ImportLimit(at(9), at(10), SITE_KW, None, "kept")
    broken_limit = ImportLimit(at(9), at(10), HALL.import_kw[9] - 1.0, "hall-a", "broken")
    found = [v for v in evaluate(*stating(kept_limit, broken_limit), WEEK).violations if v.kind == "event-limit"]
    assert [v.subject for v in found] == ["block hall-a in event broken"]
    assert not [v for v in evaluate(*stating(kept_limit), WEEK).violations if v.kind == "event-limit"]


def test_limits_come_back_as_they_were_written():
    limits = (ImportLimit(at(9.25), at(10), 93.125, None, 'evening "cut"'), ImportLimit(at(1), at(2), 0.0, "ü", "e"))
    assert from_text(as_text(limits)) == limits
    assert from_text(as_text(())) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "no JSON"),
        ("{}", "no list"),
        ("[3]", "limit 1 must have"),
        ('[{"event":"e"}]', "limit 1 must have"),
        ('[{"event":3,"block":null,"start":"","end":"","limit_kw":1}]', "event is a name"),
        ('[{"event":"e","block":null,"start":"","end":"","limit_kw":true}]', "no number of kW"),
        ('[{"event":"e","block":null,"start":"","end":"","limit_kw":NaN}]', "no number of kW"),
        ('[{"event":"e","block":null,"start":"soon","end":"","limit_kw":1}]', "'soon' is no instant"),
        ('[{"event":"e","block":null,"start":"2024-05-13T09:00:00","end":"","limit_kw":1}]', "has no offset"),
        (
            '[{"event":"e","block":null,"start":"2024-05-13T09:00:00Z","end":"2024-05-13T09:00:00Z","limit_kw":1}]',
            "not after its start",
        ),
    ],
)
def test_limits_that_cannot_be_read_are_refused_in_words(text, told):
    header, runs = CALENDAR
    with pytest.raises(ConfigError) as caught:
        evaluate(replace(header, inputs={**header.inputs, "event": {"limits": text}}), runs, WEEK)
    assert told in caught.value.what
    assert header.calendar_id in caught.value.what
