"""The program's cooling curves: pieces, their segments, and a line below them."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from planner.optimize import PlanOptions, plan
from planner.optimize.curves import Curves, highest_segments, least_above
from planner.optimize.limits import block_limits
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.places import locate
from planner.optimize.polish import polish
from planner.publish import to_calendar
from tests.judged import judged
from tests.weeks import FULL_POWER, make_block, make_pool, make_run, solar, tiny_week
from thermal.plant import cooling, tower_chiller

NONE = np.zeros(1)
TWO = Curves(
    slope=np.array([[0.1, 0.2]]),
    intercept_kw=np.array([[10.0, 5.0]]),
    upper_slope=np.array([[0.3, 0.3]]),
    upper_intercept_kw=np.array([[20.0, 20.0]]),
    split_kw=np.array([100.0]),
    rough=np.array([True]),
    hull_gap_kw=np.array([40.0]),
    piece_gap_kw=NONE,
    fit_error_kw=NONE,
)


def test_the_piece_in_use_follows_from_the_load():
    assert TWO.cooling_kw(np.array([20.0])) == pytest.approx([12.0])
    assert TWO.cooling_kw(np.array([100.0])) == pytest.approx([25.0])
    assert TWO.cooling_kw(np.array([101.0])) == pytest.approx([50.3])


@pytest.mark.parametrize(("capacity", "it"), [(65.0, 50.0), (125.0, 100.0), (140.0, 100.0), (163.0, 110.0)])
def test_the_load_within_a_capacity_stays_before_the_jump_until_it_pays_for_it(capacity, it):
    assert TWO.within_kw(np.array([capacity])) == pytest.approx([it])


def test_loads_on_one_piece_leave_no_choice():
    low, high = np.array([120.0]), np.array([80.0])
    above, below = TWO.between(low, np.array([200.0])), TWO.between(NONE, high)
    assert not above.chosen.any()
    assert not below.chosen.any()
    assert above.cooling_kw(low) == pytest.approx([56.0])
    assert below.cooling_kw(high) == pytest.approx([21.0])
    assert TWO.between(NONE, np.array([200.0])).chosen.all()


@pytest.mark.parametrize(
    ("low", "high", "kept"),
    [(0.0, 100.0, [0, 1, 2]), (0.0, 9.0, [0]), (30.0, 60.0, [1, 2]), (12.0, 35.0, [1]), (5.0, 5.0, [0])],
)
def test_segments_that_are_never_the_highest_are_left_out(low, high, kept):
    lines = [(0.0, 10.0), (0.5, 5.0), (1.0, -15.0), (0.4, 4.0)]  # meet at 10 and 40; the last is always below
    slope, intercept = np.array(lines).T
    assert highest_segments(slope, intercept, low, high) == [lines[k] for k in kept]


def test_of_like_segments_one_is_kept():
    assert highest_segments(np.array([0.2, 0.2, 0.2]), np.array([1.0, 3.0, 3.0]), 0.0, 9.0) == [(0.2, 3.0)]


def test_a_piece_is_furthest_below_a_line_where_its_segments_meet():
    slope, intercept = np.array([0.0, 0.5]), np.array([10.0, 5.0])
    assert least_above(0.25, slope, intercept, 0.0, 100.0) == pytest.approx(10.0 - 2.5)
    assert least_above(0.25, slope, intercept, 20.0, 100.0) == pytest.approx(15.0 - 5.0)


def chilled_week(**changes):
    """Twelve hours in which chillers start within the span of loads."""
    block = make_block(capacity_kw=800.0, n_slots=12, plant=tower_chiller(600.0))
    given = {
        "n_slots": 12,
        "dry_bulb_c": 32.0,
        "wet_bulb_c": np.linspace(21.0, 26.0, 12),
        "price_per_kwh": np.linspace(0.10, 0.11, 12),
        "blocks": (block,),
        "pools": (make_pool(gpus=512),),
        "runs": (
            make_run("a", 256, 6.0, 12.0),
            make_run("b", 128, 6.0, 12.0),
            make_run("c", 128, 5.0, 12.0, points=FULL_POWER),
        ),
    }
    return tiny_week(**(given | changes))


def test_the_line_of_a_slot_with_two_pieces_is_below_both():
    week = chilled_week()
    limits = block_limits(week, week.blocks[0])
    assert limits.curves.chosen.sum() >= 6
    for share in np.linspace(0.0, 1.0, 101):
        it_kw = limits.idle_kw + share * (limits.it_max_kw - limits.idle_kw)
        assert (limits.envelope.cooling_kw(it_kw) <= limits.curves.cooling_kw(it_kw) + 1e-9).all()


def test_a_plan_counts_the_chillers_that_its_load_starts():
    week = chilled_week()
    found = plan(week, PlanOptions(gap_target=1e-4, time_limit_s=30.0))
    assert found.status == "optimal"
    (fit,) = found.cooling
    assert fit.binary_h >= 6.0
    calendar, _ = to_calendar(week, found.schedule, status=found.status, certified_gap=found.mip_gap)
    it_kw = np.array(calendar.blocks[0].it_kw)
    limits = block_limits(week, week.blocks[0])
    assert fit.energy_kwh == pytest.approx(limits.curves.cooling_kw(it_kw).sum(), rel=1e-4)
    state = cooling(week.blocks[0].plant, it_kw, week.signals.dry_bulb_c, week.signals.wet_bulb_c)
    assert (state.chiller_kw > 0.0).any()
    assert -1e-6 < fit.energy_kwh / state.cooling_kw.sum() - 1.0 < 0.005
    assert judged(week, found.schedule).violations == ()


@pytest.mark.parametrize("price", [-0.20, 0.0])
def test_where_import_costs_nothing_or_less_no_cooling_is_burnt_on_either_piece(price):
    block = make_block(capacity_kw=800.0, n_slots=12, plant=tower_chiller(600.0), solar=solar(300.0))
    week = chilled_week(
        price_per_kwh=price,
        ci_gco2_per_kwh=0.0,
        ghi_w_per_m2=600.0,
        blocks=(block,),
        runs=(make_run("a", 256, 5.0, 12.0),),
    )
    found = plan(week, PlanOptions(gap_target=1e-3, time_limit_s=30.0))
    assert judged(week, found.schedule).violations == ()
    limits = block_limits(week, week.blocks[0])
    calendar, _ = to_calendar(week, found.schedule, status=found.status, certified_gap=found.mip_gap)
    (flows,) = calendar.blocks
    counted = np.array(flows.it_kw) + limits.curves.cooling_kw(np.array(flows.it_kw)) - np.array(flows.solar_kw)
    assert dict(found.terms)["energy"] == pytest.approx(float(counted.sum()) * price, rel=1e-3, abs=1e-6)


def test_polishing_leaves_no_slot_on_two_pieces_at_once():
    program = build(chilled_week())
    matrix, index = from_pulp(program.problem)
    places = locate(program, index)
    (block,) = places.blocks
    on = np.zeros(matrix.n_columns)
    for (option,), hours in zip(places.gangs, (7, 7, 5), strict=True):
        on[option.on[:hours]] = 1.0
    start = polish(matrix, places, places.choices, on[places.choices], time.monotonic() + 60.0)
    used = start.values[block.upper[block.upper >= 0]]
    assert np.minimum(np.abs(used), np.abs(used - 1.0)).max() <= 1e-6
    above = start.values[block.it] > block.split
    assert (above[block.upper >= 0] == (used > 0.5)).all()
    # the objective counts the curve itself, not the hull of its pieces
    assert start.values[block.cooling] == pytest.approx(block.curve(start.values), abs=1e-6)


def test_an_hour_in_which_the_curve_is_convex_has_no_binary():
    week = chilled_week(wet_bulb_c=5.0, dry_bulb_c=8.0)
    limits = block_limits(week, week.blocks[0])
    assert not limits.curves.chosen.any()
    mixed = chilled_week(wet_bulb_c=[5.0] * 6 + [24.0] * 6)
    assert block_limits(mixed, mixed.blocks[0]).curves.chosen.tolist() == [False] * 6 + [True] * 6
    assert replace(limits.curves).cooling_kw(limits.idle_kw) == pytest.approx(
        limits.envelope.cooling_kw(limits.idle_kw)
    )
