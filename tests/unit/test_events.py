"""What the grid asks for, where events overlap, and how a start is put off."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from power.events import LAST_PRIORITY, Ask, Asked, GridEvent, in_force, put_off, within
from tests.weeks import at

LIMIT = Asked.IMPORT_LIMIT


def ask(first: float, after: float | None, value: float, kind: Asked = LIMIT, **changes) -> Ask:
    return Ask(kind, at(first), None if after is None else at(after), value, changes.pop("event", "e"), **changes)


def spans(asks):
    return [((a.start - at(0)) / timedelta(hours=1), (a.end - at(0)) / timedelta(hours=1), a.value) for a in asks]


def test_the_tightest_of_equals_holds_where_events_overlap():
    assert spans(in_force([ask(0, 4, 90.0), ask(2, 6, 70.0, event="f")])) == [(0, 2, 90.0), (2, 6, 70.0)]


def test_priority_goes_before_tightness():
    first = ask(2, 3, 95.0, priority=0, event="first")
    assert spans(in_force([ask(0, 4, 90.0, priority=5), first])) == [(0, 2, 90.0), (2, 3, 95.0), (3, 4, 90.0)]


def test_a_named_priority_goes_before_none():
    assert spans(in_force([ask(0, 1, 50.0), ask(0, 1, 60.0, priority=9, event="named")])) == [(0, 1, 60.0)]


def test_for_prices_and_levels_the_highest_is_the_tightest():
    prices = [ask(0, 1, 0.1, Asked.PRICE), ask(0, 1, 0.4, Asked.PRICE, event="f")]
    levels = [ask(0, 1, 1.0, Asked.SIMPLE), ask(0, 1, 3.0, Asked.SIMPLE, event="f")]
    assert [a.value for a in in_force(prices + levels)] == [0.4, 3.0]


def test_blocks_and_kinds_stand_apart():
    asks = [ask(0, 1, 10.0, block="a"), ask(0, 1, 20.0, block="b"), ask(0, 1, 30.0), ask(0, 1, 40.0, Asked.SETPOINT)]
    assert sorted(a.value for a in in_force(asks)) == [10.0, 20.0, 30.0, 40.0]


def test_what_lies_outside_a_span_is_left_out_and_an_open_end_is_closed():
    asks = [ask(-5, -1, 1.0), ask(-1, 2, 2.0), ask(3, None, 3.0), ask(9, 12, 4.0)]
    assert spans(within(asks, at(0), at(8))) == [(0, 2, 2.0), (3, 8, 3.0)]


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=8
    )
)
def test_at_every_instant_the_winner_is_the_one_that_a_search_finds(drawn):
    asks = [ask(a, a + n, float(v), priority=p, event=f"e{i}") for i, (a, n, v, p) in enumerate(drawn)]
    found = in_force(asks)
    for half in range(82):
        t = at(half / 2 + 0.25)
        there = [a for a in asks if a.start <= t < a.end]
        held = [a for a in found if a.start <= t < a.end]
        assert len(held) == bool(there)
        if there:
            assert (held[0].priority, held[0].value) == min((a.priority, a.value) for a in there)


def event(minutes: float) -> GridEvent:
    return GridEvent("cut", "17", "p", LAST_PRIORITY, (), None, timedelta(minutes=minutes), (ask(1, 2, 5.0),))


def test_a_start_is_put_off_by_the_sites_own_share_and_the_same_each_time():
    first, again, other = (put_off(event(10), site) for site in ("here", "here", "there"))
    assert first == again
    assert first.asks[0].start != other.asks[0].start
    by = first.asks[0].start - at(1)
    assert timedelta(0) <= by < timedelta(minutes=10)
    assert by.microseconds == 0
    assert first.asks[0].end - first.asks[0].start == timedelta(hours=1)
    assert str(by) in first.notes[0]


def test_a_start_that_may_not_be_put_off_stays():
    assert put_off(event(0), "here") == event(0)


def test_an_open_end_stays_open_when_the_start_is_put_off():
    opened = replace(event(10), asks=(ask(1, None, 5.0),))
    assert put_off(opened, "here").asks[0].end is None
