"""Gangs that span fabric islands: whole GPUs of each, a measured share of the throughput, no island overfull."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.baseline import asap
from planner.config import load_site
from planner.config.faults import SiteFaults
from planner.evaluate import evaluate
from planner.islands import allotted, largest_gang
from planner.optimize import PlanOptions, plan
from planner.optimize.solver import Highs
from planner.pool import Pool
from planner.publish import to_calendar
from planner.run import PoolOption
from planner.stagger import longest_moves
from tests.enumeration import best_cost
from tests.two_pools import SITE
from tests.weeks import FULL_POWER, make_pool, make_run, random_week, tiny_week
from tests.whole_schedules import PATIENCE_S, drawn

EXACT = PlanOptions(gap_target=0.0, time_limit_s=30.0)
N_SLOTS = 6


def span(*parts, throughput_share=0.8, name="both"):
    total = sum(part.commissioning[-1][1] for part in parts)
    shares = tuple((part.name, part.commissioning[-1][1] / total) for part in parts)
    first = parts[0]
    return Pool(name, first.block, first.gpu, "+", (), spans=shares, spanning_share=throughput_share)


def options(*pools, rate=1000.0, points=FULL_POWER):
    return tuple(PoolOption(pool.name, rate * pool.spanning_share, points) for pool in pools)


def islands_week(runs, **changes):
    """Two islands of 300 and 100 GPUs and the span over both, at 80 % of the throughput."""
    first, second = make_pool("i1", 300, points=FULL_POWER), make_pool("i2", 100, points=FULL_POWER)
    both = span(first, second)
    runs = tuple(replace(run, options=options(first, second, both)) for run in runs)
    return tiny_week(n_slots=N_SLOTS, pools=(first, second, both), runs=runs, **changes)


def published(week):
    found = plan(week, EXACT)
    return found, *to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )


def test_whole_gpus_follow_the_shares():
    assert allotted("a", (), 7) == {"a": 7}
    # 5.25 and 1.75 of 7: the larger rest gets the GPU that is left
    assert allotted("both", (("a", 0.75), ("b", 0.25)), 7) == {"a": 5, "b": 2}
    assert allotted("both", (("a", 0.5), ("b", 0.5)), 3) == {"a": 2, "b": 1}
    assert largest_gang((("a", 0.75), ("b", 0.25)), {"a": 300, "b": 100}) == 400
    # 21 GPUs would be 10.5 and 10.5, of which one island has to give 11
    assert largest_gang((("a", 0.5), ("b", 0.5)), {"a": 10, "b": 12}) == 20


def test_a_gang_larger_than_an_island_spans_and_is_slower():
    week = islands_week((make_run(gpus=320, work_h=2.0, deadline_h=3.0),))
    found, calendar, runs = published(week)
    # 2 h of work at 80 % take 2.5 h: three whole hours, in which 2.4 h of work are done
    assert found.shortfalls == ()
    assert [w.pool for w in runs[0].windows if w.state == "run"] == ["both"]
    assert sum(w.tokens for w in runs[0].windows) == pytest.approx(2.4 * 3600 * 320 * 1000, rel=1e-6)
    assert evaluate(calendar, runs, week).violations == ()


def test_who_fits_on_an_island_does_not_span():
    week = islands_week((make_run(gpus=300, work_h=2.0, deadline_h=3.0),))
    found, *_ = published(week)
    assert [r.pool for r in found.schedule.runs] == ["i1"]


def test_no_island_is_overfull():
    # the gang of 320 takes 240 and 80 GPUs: 60 are left on the first island and 20 on the second
    large = make_run("large", 320, 4.8, 6.0, priority=1)
    small = [make_run(f"s{i}", 60, 2.0, 6.0, priority=5) for i in range(2)]
    week = islands_week((large, *small))
    found, calendar, runs = published(week)
    on = {r.run: (r.pool, r.gpu_power_limit_w > 0.0) for r in found.schedule.runs}
    assert on["large"][0] == "both"
    assert on["large"][1].all()
    assert not (on["s0"][1] & on["s1"][1]).any()
    assert {pool for name, (pool, _) in on.items() if name != "large"} == {"i1"}
    assert evaluate(calendar, runs, week).violations == ()


def test_the_judge_counts_a_spanning_gang_on_every_island():
    large = make_run("large", 320, 4.8, 6.0)
    week = islands_week((large,))
    _, calendar, runs = published(week)
    small = replace(week, pools=(week.pools[0], make_pool("i2", 79, points=FULL_POWER), week.pools[2]))
    broken = [v for v in evaluate(calendar, runs, small).violations if v.kind == "gpus"]
    assert [(v.subject, v.value, v.limit) for v in broken] == [("pool i2", 80.0, 79.0)]


def test_spans_have_no_gpus_and_no_idle_power_of_their_own():
    week = islands_week((make_run(gpus=320),))
    assert week.idle_kw(week.blocks[0]) == pytest.approx(np.full(N_SLOTS, 400 * 0.15))
    assert week.holds(week.pool("both"), 400).all()
    assert not week.holds(week.pool("both"), 401).any()


def spanning_week(seed, n_runs, n_slots):
    """A drawn week of two islands in two halls, whose runs may all span both."""
    week = random_week(seed, n_runs=n_runs, n_slots=n_slots, n_pools=2)
    both = span(*week.pools, throughput_share=0.9)
    blocks = tuple((pool.block, share) for pool, (_, share) in zip(week.pools, both.spans, strict=True))
    both = replace(both, block_share=blocks)
    runs = []
    for run in week.runs:
        option = run.options[0]
        more = PoolOption("both", 0.9 * option.tokens_per_gpu_s, option.points)
        runs.append(replace(run, options=(*run.options, more)))
    return replace(week, pools=(*week.pools, both), runs=tuple(runs))


@pytest.mark.parametrize("seed", range(5))
def test_spans_reach_the_optimum_that_enumeration_finds(seed):
    week = spanning_week(seed, 2, 4)
    found, calendar, runs = published(week)
    assert found.objective == pytest.approx(best_cost(longest_moves(week)), rel=1e-6, abs=1e-6)
    assert evaluate(calendar, runs, week).violations == ()


def test_whole_schedules_that_span_bound_the_week_from_below():
    found = drawn(spanning_week(1, 3, 8))
    best = Highs(found.matrix, whole=True, mip_rel_gap=0.0).run(PATIENCE_S)
    assert best.status == "optimal"
    found.schedules.work(found.deadline)
    bound = found.schedules.bound(np.inf)
    assert 0.9 * best.objective <= bound <= best.objective * (1.0 + 1e-7)


def test_the_baseline_keeps_islands_too():
    large = make_run("large", 320, 2.0, 6.0, priority=1)
    other = make_run("other", 100, 2.0, 6.0, priority=5)
    week = islands_week((large, other))
    result = asap(week, {run.name: week.work_tokens(run) for run in week.runs})
    assert result.tokens_missing == {}
    calendar, runs = to_calendar(week, result.schedule, status="asap", certified_gap=None)
    assert evaluate(calendar, runs, week).violations == ()
    on = {r.run: np.flatnonzero(r.gpu_power_limit_w)[0] for r in result.schedule.runs}
    # 60 and 20 GPUs are free beside the large gang for two and a half hours: slot 3 is the first whole one
    assert on == {"large": 0, "other": 3}


OTHER_SITE = """
[[other_site]]
name = "far"
timezone = "Etc/UTC"
latitude = 50.0
longitude = 8.0
zone = "demo-central"
[[block]]
name = "south"
site = "far"
capacity_kw = 800
cooling = { kind = "dry_cooler", rated_it_kw = 700 }
[[pool]]
name = "b"
block = "south"
"""
SPAN = '[[span]]\nname = "ab"\npools = ["a", "b"]\nthroughput_share = 0.9\n[[run]]\nname = "proto"'


def site(tmp_path, text, full=""):
    file = tmp_path / "site.toml"
    text = SITE.replace('[[run]]\nname = "proto"', text)
    file.write_text(text.replace("FULL", full).replace("PROTO", "").replace("STAGES", ""))
    return load_site(file)


def test_the_site_file_gives_spans(tmp_path):
    found = site(tmp_path, SPAN)
    both = found.pools[2]
    assert both.spans == (("a", pytest.approx(2 / 3)), ("b", pytest.approx(1 / 3)))
    assert (both.shares, both.commissioning, both.island) == ((("north", 1.0),), (), "a+b")
    assert [(o.pool, o.tokens_per_gpu_s) for o in found.runs[1].options] == [("a", 900.0), ("ab", 810.0)]
    assert [o.pool for o in site(tmp_path, SPAN, 'pools = ["ab"]').runs[1].options] == ["ab"]


def test_a_span_lies_at_one_site(tmp_path):
    file = tmp_path / "site.toml"
    text = SITE.replace('[[run]]\nname = "proto"', SPAN).replace('[[pool]]\nname = "b"\nblock = "north"\n', OTHER_SITE)
    file.write_text(text.replace("FULL", "").replace("PROTO", "").replace("STAGES", ""))
    with pytest.raises(SiteFaults) as error:
        load_site(file)
    assert "span[0].pools: stand at far and hall; a fabric is at one site; span pools of one site" in [
        f"{fault.key}: {fault.what}; {fault.fix}" for fault in error.value.faults
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SPAN.replace('"b"]', '"c"]'), "span[0].pools[1]: there is no pool 'c'; known are: a, b"),
        (SPAN.replace('"b"]', '"a"]'), "span[0].pools[1]: pool 'a' stands twice; name each pool once"),
        (
            SPAN.replace('"a", "b"]', '"a"]'),
            (
                "span[0].pools: has 1 entry, fewer than 2 (pools that a gang spans; its GPUs are shared out by their "
                "size); give pools at least 2 entries"
            ),
        ),
        (SPAN.replace('"ab"', '"a"'), "span[0].name: 'a' is the name of a pool; give the span its own name"),
        (
            SPAN.replace("0.9", "1.2"),
            (
                "span[0].throughput_share: 1.2 is above 1 (measured throughput of a gang that spans them over that of "
                "the same gang on one island); set throughput_share to 1 or less"
            ),
        ),
    ],
)
def test_wrong_spans_are_named(tmp_path, text, said):
    with pytest.raises(SiteFaults) as error:
        site(tmp_path, text)
    assert said in [f"{fault.key}: {fault.what}; {fault.fix}" for fault in error.value.faults]
