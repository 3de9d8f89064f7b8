"""A gang makes no more pauses than it may, whatever the prices."""

from __future__ import annotations

import numpy as np
import pytest

from planner.optimize.limits import block_limits
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.pauses import paused
from planner.optimize.scale.responses import respond, slot_prices
from tests.weeks import make_block, make_pool, make_run, tiny_week


def gangs(most_pauses):
    """One gang with 12 h of work in a day whose every third hour is dear."""
    week = tiny_week(
        n_slots=24,
        blocks=(make_block("hall-1", 100.0, n_slots=24),),
        pools=(make_pool("a1", 64, "hall-1"),),
        runs=(make_run("r", 16, 12.0, 24.0, pools=("a1",), min_run_h=1.0, min_pause_h=1.0, max_pauses=most_pauses),),
    )
    return crowd(week, [block_limits(week, block) for block in week.blocks])


def spells(on):
    return int(on[0] + (on[1:] & ~on[:-1]).sum())


@pytest.mark.parametrize("most_pauses", [0, 1, 3])
def test_starts_get_dearer_until_there_are_few_enough(most_pauses):
    one = gangs(most_pauses)
    (rank,) = one.ranks
    it_price = np.where(np.arange(24) % 3 == 2, 5.0, 1.0)[None]
    price = slot_prices(one, it_price, np.zeros((1, 24)))
    free = respond(one, rank, price)
    assert spells(free.on[0]) > 4
    kept = paused(one, rank, price, rank.is_open)
    assert 1 <= spells(kept.on[0]) <= most_pauses + 1
    assert kept.on[0].sum() >= 12


def test_where_closed_cells_leave_no_other_way_the_longest_spells_stay():
    one = gangs(1)
    (rank,) = one.ranks
    is_open = np.ones((1, 24), dtype=bool)
    is_open[0, [3, 10, 15]] = False
    price = slot_prices(one, np.full((1, 24), 1.0), np.zeros((1, 24)))
    kept = paused(one, rank, price, is_open)
    assert spells(kept.on[0]) <= 2
    assert not (kept.on & ~is_open).any()
    assert kept.on[0].any()
