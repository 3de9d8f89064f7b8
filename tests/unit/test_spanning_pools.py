"""Pools that span several blocks: a gang draws from each by its share, and every block keeps its own limits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from planner.baseline import asap
from planner.config.build import sound_steps
from planner.errors import ConfigError
from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.stagger import longest_moves
from tests.enumeration import best_cost
from tests.two_pools import HEAD
from tests.weeks import FULL_POWER, make_block, make_pool, make_run, random_week, tiny_week

EXACT = PlanOptions(gap_target=0.0, time_limit_s=30.0)
N_SLOTS = 6


def spanning_week(second_kw: float = 400.0, **changes):
    """400 GPUs, 300 of them in the north hall and 100 in the south one; one run on all of them."""
    blocks = (
        make_block("north", 800.0, n_slots=N_SLOTS),
        make_block("south", second_kw, n_slots=N_SLOTS),
    )
    pool = make_pool("both", 400, "north", points=FULL_POWER, split=(("north", 0.75), ("south", 0.25)))
    run = make_run(gpus=400, work_h=2.0, deadline_h=6.0, pools=("both",), points=FULL_POWER)
    return tiny_week(n_slots=N_SLOTS, blocks=blocks, pools=(pool,), runs=(run,), **changes)


def published(week):
    found = plan(week, EXACT)
    return found, *to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )


def test_a_gang_draws_from_each_block_by_its_share():
    week = spanning_week(price_per_kwh=[0.2, 0.2, 0.05, 0.05, 0.2, 0.2])
    _, calendar, runs = published(week)
    north, south = calendar.blocks
    # 400 GPUs of 1.1 kW in training and 0.15 kW idle: 330 / 45 kW in the north, 110 / 15 kW in the south
    assert north.it_kw == pytest.approx((45.0, 45.0, 330.0, 330.0, 45.0, 45.0))
    assert south.it_kw == pytest.approx((15.0, 15.0, 110.0, 110.0, 15.0, 15.0))
    (window,) = [w for w in runs[0].windows if w.state == "run"]
    assert (window.pool, window.block, window.gpus) == ("both", "north+south", 400)
    assert evaluate(calendar, runs, week).violations == ()


def test_the_smaller_block_stops_the_whole_gang():
    week = spanning_week(second_kw=60.0)
    found, calendar, runs = published(week)
    assert [r.pool for r in found.schedule.runs] == [None]
    assert [s.run for s in found.shortfalls] == ["r1"]
    assert evaluate(calendar, runs, week).violations == ()
    assert asap(week, {"r1": 1e6}).tokens_missing == {"r1": 1e6}


def test_the_judge_adds_a_gang_to_both_blocks():
    week = spanning_week()
    _, calendar, runs = published(week)
    tight = replace(week, blocks=(week.blocks[0], make_block("south", 60.0, n_slots=N_SLOTS)))
    broken = evaluate(calendar, runs, tight).violations
    assert {v.subject for v in broken if v.kind == "capacity"} == {"block south"}


@pytest.mark.parametrize("seed", range(6))
def test_a_spanning_pool_reaches_the_optimum_that_enumeration_finds(seed):
    week = random_week(seed, n_runs=2, n_slots=4, n_pools=2)
    first, second = week.pools
    spanning = replace(first, block_share=((first.block, 0.6), (second.block, 0.4)))
    week = replace(week, pools=(spanning, second))
    assert plan(week, EXACT).objective == pytest.approx(best_cost(longest_moves(week)), rel=1e-6, abs=1e-6)


def test_idle_power_is_shared_as_the_gpus_are():
    week = spanning_week()
    total = sum((week.idle_kw(block) for block in week.blocks), np.zeros(N_SLOTS))
    assert total == pytest.approx(np.full(N_SLOTS, 60.0))


SITE = (
    HEAD
    + """\
water_per_m3 = 2
[[block]]
name = "north"
capacity_kw = 800
cooling = { kind = "dry_cooler", rated_it_kw = 700 }
[[block]]
name = "south"
capacity_kw = 400
cooling = { kind = "dry_cooler", rated_it_kw = 300 }
[[pool]]
name = "both"
block = "north"
gpu = "H100-SXM"
count = 400
split = SPLIT
[[run]]
name = "r1"
gpus = 400
tokens_per_gpu_s = 900
stages = [{ name = "train", tokens = 1e9, deadline = 2024-05-19T00:00:00 }]
"""
)


def site(tmp_path, split):
    from planner.config import load_site

    file = tmp_path / "site.toml"
    file.write_text(SITE.replace("SPLIT", split))
    return load_site(file)


def test_the_site_file_gives_the_shares(tmp_path):
    found = site(tmp_path, '[{ block = "north", share = 0.75 }, { block = "south", share = 0.25 }]')
    assert found.pools[0].shares == (("north", 0.75), ("south", 0.25))


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ('[{ block = "north", share = 0.75 }, { block = "west", share = 0.25 }]', "there is no block 'west'"),
        ('[{ block = "north", share = 0.75 }, { block = "north", share = 0.25 }]', "stands twice"),
        ('[{ block = "south", share = 0.75 }, { block = "north", share = 0.25 }]', "the first part is in 'south'"),
        ('[{ block = "north", share = 0.75 }, { block = "south", share = 0.35 }]', "the shares add up to 1.1"),
    ],
)
def test_wrong_shares_are_named(tmp_path, split, said):
    with pytest.raises(ConfigError, match=said):
        site(tmp_path, split)


def moment(day):
    return datetime(2024, 5, day, tzinfo=UTC)


def test_sound_gpus_are_the_installed_ones_times_their_share():
    installed = ((moment(10), 1000), (moment(14), 2000))
    sound = [(moment(12), 0.8), (moment(16), 0.29)]
    # all of 1,000; 80 % of 1,000; 80 % of 2,000; 29 % of 2,000
    assert sound_steps(installed, sound) == (
        (moment(10), 1000),
        (moment(12), 800),
        (moment(14), 1600),
        (moment(16), 580),
    )
    assert sound_steps(installed, []) == installed


def test_shares_before_the_first_gpu_count_from_the_first_gpu_on():
    assert sound_steps(((moment(14), 100),), [(moment(10), 0.5)]) == ((moment(14), 50),)
