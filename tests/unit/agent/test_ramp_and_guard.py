"""Turns of nodes within a site's ramp, and limits that heat lowers: both by hand and as properties."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents import PlainGpu
from trainer_hooks.agent.guard import GuardRules, GuardState, guarded, margin_c
from trainer_hooks.agent.ramp import node_names, offset_s

RULES = GuardRules(lower_below_c=5.0, give_back_above_c=12.0, step_w=25.0, every_s=10.0, lowest_w=300.0)


def test_turns_by_hand():
    # 5 MW a minute and nodes of 8.4 kW: one node each 0.1008 s
    assert offset_s(0, 8.4, 5000.0) == pytest.approx(0.1008)
    assert offset_s(99, 8.4, 5000.0) == pytest.approx(10.08)


@given(st.integers(1, 200), st.floats(0.5, 150.0), st.floats(10.0, 1e5), st.floats(0.0, 2.0))
def test_the_sum_of_rises_is_never_above_the_ramp(nodes, swing_kw, ramp_kw_per_min, share):
    turns_s = [offset_s(index, swing_kw, ramp_kw_per_min) for index in range(nodes)]
    at_s = share * turns_s[-1]
    risen_kw = sum(turn_s <= at_s for turn_s in turns_s) * swing_kw
    assert risen_kw <= ramp_kw_per_min * at_s / 60.0 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu1", ["gpu1"]),
        ("gpu[08-11]", ["gpu08", "gpu09", "gpu10", "gpu11"]),
        ("a[1,3-4].x, b", ["a1.x", "a3.x", "a4.x", "b"]),
    ],
)
def test_lists_of_nodes_as_slurm_writes_them(text, names):
    assert node_names(text) == names


@pytest.mark.parametrize("text", ["", "a[3-1]", "a[1-2", "a b", "x,x", "a[1-999999]", "a[1-2],a2", "a[]"])
def test_what_is_no_list_of_nodes(text):
    with pytest.raises(ValueError, match=r"is not|twice|at most"):
        node_names(text)


def test_a_hot_board_is_lowered_step_by_step_and_given_back_step_by_step():
    state, seen = GuardState(), []
    limit_w = 400.0
    for second, margin in enumerate([4.0] * 40 + [8.0] * 20 + [20.0] * 60):
        state = guarded(state, RULES, margin, limit_w, 400.0, float(second))
        limit_w = 400.0 if state.cap_w is None else state.cap_w
        seen.append(limit_w)
    assert seen[:40:10] == [375.0, 350.0, 325.0, 300.0]
    assert set(seen[39:60]) == {300.0}, "between the margins it rests, and below its lowest it does not go"
    assert seen[60::10] == [325.0, 350.0, 375.0, 400.0, 400.0, 400.0]


def test_what_is_not_known_changes_nothing():
    held = GuardState(350.0, 0.0)
    assert guarded(held, RULES, None, 350.0, 400.0, 99.0) is held
    assert guarded(held, RULES, 1.0, None, 400.0, 99.0) is held


def test_a_limit_that_someone_raised_on_a_hot_board_is_lowered_again():
    assert guarded(GuardState(300.0, 0.0), RULES, 1.0, 450.0, 450.0, 99.0).cap_w == 425.0


@given(st.lists(st.floats(-20.0, 60.0), max_size=60), st.floats(300.0, 700.0))
def test_the_guard_never_raises_above_what_is_free_and_never_swings_within_its_pause(margins, free_w):
    state, changes, limit_w = GuardState(), [], free_w
    for second, margin in enumerate(margins):
        before = state
        state = guarded(state, RULES, margin, limit_w, free_w, float(second))
        if state.cap_w != before.cap_w:
            changes.append(second)
        limit_w = free_w if state.cap_w is None else min(state.cap_w, free_w)
        assert state.cap_w is None or RULES.lowest_w <= state.cap_w < free_w
    assert all(later - earlier >= RULES.every_s for earlier, later in itertools.pairwise(changes))


def test_the_margin_is_the_board_s_own_or_by_the_temperature_that_the_administrator_gives():
    assert margin_c(PlainGpu(margin=7.0), RULES) == 7.0
    assert margin_c(PlainGpu(margin=None), GuardRules(slowdown_c=90.0)) == 42.0
    assert margin_c(PlainGpu(margin=None), RULES) is None
