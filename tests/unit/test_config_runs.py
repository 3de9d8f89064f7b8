"""Runs of a site file: their rates, limits, stages and grids, and what can be wrong with them."""

from __future__ import annotations

import pytest

from planner.config.build import default_on_off_grid_h
from planner.config.catalogue import gpu_catalogue
from power.gpu import at_limit
from tests.starter import assert_told, edited, faults_of, site_of


def test_a_rate_holds_at_the_gpus_highest_limit():
    option = site_of().runs[0].options[0]
    assert option.tokens_per_gpu_s == 8400.0
    assert option.points[-1].gpu_power_limit_w == 700.0
    assert option.points[-1].relative_throughput == 1.0


def test_limits_of_a_run_cut_its_points_and_scale_its_rate():
    site = site_of(("priority = 2 # 1 first, 5 last", "power_limits_w = [437.5, 525, 500]"))
    option = site.runs[0].options[0]
    _, throughput = at_limit(gpu_catalogue()["H100-SXM"].points, 525.0)
    assert option.points[-1].gpu_power_limit_w == 525.0
    assert option.points[-1].relative_throughput == 1.0
    assert option.tokens_per_gpu_s == pytest.approx(8400.0 * float(throughput))
    slower = option.points[0]
    assert slower.gpu_power_limit_w == 437.5
    assert slower.relative_throughput * option.tokens_per_gpu_s == pytest.approx(8400.0 * 0.784)


def test_rates_by_gpu_type_choose_the_pools():
    other = '[[pool]]\nname = "old"\nblock = "hall"\ngpu = "A100-SXM"\ncount = 64\n\n[[run]]'
    site = site_of(("tokens_per_gpu_s = 8400", "tokens_per_gpu_s = { A100-SXM = 3000 }"), ("[[run]]", other))
    assert [(o.pool, o.tokens_per_gpu_s) for o in site.runs[0].options] == [("old", 3000.0)]
    assert [o.pool for o in site.runs[1].options] == ["racks", "old"]


def test_pools_too_small_for_the_gang_are_no_option():
    small = '[[pool]]\nname = "small"\nblock = "hall"\ngpu = "H100-SXM"\ncount = 16\n\n[[run]]'
    site = site_of(("[[run]]", small))
    assert [o.pool for o in site.runs[0].options] == ["racks"]
    assert [o.pool for o in site.runs[1].options] == ["racks", "small"]


@pytest.mark.parametrize(
    ("work_h", "window_h", "min_run_h", "slot_h", "grid_h"),
    [
        (100.0, 100.0, 8.0, 1.0, 4.0),
        (12.0, 12.0, 4.0, 1.0, 4.0),  # exactly three cells
        (11.9, 100.0, 8.0, 1.0, 2.0),  # the work is too short for 4 h
        (100.0, 5.0, 8.0, 0.25, 1.0),  # a stage window is
        (100.0, 100.0, 3.0, 0.25, 2.0),  # never longer than the shortest spell
        (100.0, 100.0, 0.5, 0.25, 0.25),
        (2.0, 100.0, 8.0, 0.5, 0.5),
        (2.0, 100.0, 8.0, 1.0, 1.0),  # no finer than a slot
    ],
)
def test_grid_of_starts_and_stops_by_the_rule(work_h, window_h, min_run_h, slot_h, grid_h):
    assert default_on_off_grid_h(work_h, window_h, min_run_h, slot_h) == grid_h


def test_grid_of_starts_and_stops_as_the_file_says():
    site = site_of(
        ("slot_minutes = 60 ", "on_off_grid_h = 3\nslot_minutes = 60 "), ("min_run_h = 2\n", "on_off_grid_h = 6\n")
    )
    assert [run.on_off_grid_h for run in site.runs] == [3.0, 6.0, 3.0]


FAULTS = {
    "gang too large": ("gpus = 32", "gpus = 65", "a gang of 65 GPUs fits no pool"),
    "unknown pool": ("priority = 2 #", 'pools = ["rack"] #', "did you mean 'racks'"),
    "no pools": ("priority = 2 #", "pools = [] #", "give pools at least one entry"),
    "priority": ("priority = 2 #", "priority = 6 #", "6 is above 5"),
    "unknown GPU of a rate": ("tokens_per_gpu_s = 8400", "tokens_per_gpu_s = { H100 = 8400 }", "mean 'H100-SXM'"),
    "no rate for the pool": ("tokens_per_gpu_s = 8400", "tokens_per_gpu_s = { B200 = 8400 }", "no speed for H100-SXM"),
    "negative rate": ("tokens_per_gpu_s = 8400", "tokens_per_gpu_s = { H100-SXM = -1 }", "not above 0"),
    "rate as text": ("tokens_per_gpu_s = 8400", 'tokens_per_gpu_s = "fast"', "a number is wanted"),
    "limit out of range": ("priority = 2 #", "power_limits_w = [90] #", "90 W is outside 200 to 700 W"),
    "stages out of order": ("deadline = 2024-05-19T18:00:00", "deadline = 2024-05-16T17:00:00", "sort the stages"),
    "stage named twice": ('name = "instruct"', 'name = "pretrain"', "name of an earlier stage"),
    "no stages": (
        'stages = [{ name = "train", tokens = 2.2e11, deadline = 2024-05-18T12:00:00 }]',
        "stages = []",
        "empty",
    ),
    "deadline as text": ("deadline = 2024-05-19T18:00:00", 'deadline = "2024-05-19T18:00:00"', "without quotes"),
    "deadline as date": ("deadline = 2024-05-19T18:00:00", "deadline = 2024-05-19", "such as 2024-05-19T18:00:00"),
    "hour that exists twice": ("2024-05-19T18:00:00", "2024-10-27T02:30:00", "exists twice in Europe/Berlin"),
    "hour that does not exist": ("2024-05-13T12:00:00", "2024-03-31T02:30:00", "does not exist in Europe/Berlin"),
    "start after the deadline": ("2024-05-13T12:00:00", "2024-05-18T12:00:00", "not before the first deadline"),
    "more done than there is": ("tokens_done = 5e10", "tokens_done = 5e11", "5e+11 tokens are done of 4e+11"),
    "spell over the horizon": ("min_run_h = 4", "min_run_h = 169", "longer than the horizon of 168 h"),
    "pause over the horizon": ("min_pause_h = 2", "min_pause_h = 169", "longer than the horizon of 168 h"),
    "grid no whole slots": ("min_run_h = 4", "on_off_grid_h = 1.5", "no whole count of slots of 60 min"),
    "grid below a slot": ("min_run_h = 4", "on_off_grid_h = 0.25", "set it to 1"),
    "grid over the horizon": ("min_run_h = 4", "on_off_grid_h = 200", "longer than the horizon"),
    "name used twice": ('name = "search-1b"', 'name = "vision-3b"', "name of an earlier run"),
    "name empty": ('name = "search-1b"', 'name = ""', "give name a text"),
    "name too long": ('name = "search-1b"', f'name = "{"x" * 121}"', "121 characters"),
    "running in no pool": ("tokens_done = 5e10", 'running_in = "rack"', "did you mean 'racks'"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_one_fault_is_told_once_on_its_line_with_a_mend(case):
    assert_told(*FAULTS[case])


def test_a_gang_whose_start_is_more_than_the_ramp_is_a_fault():
    faults = faults_of(edited(("ramp_kw_per_min = 20", "ramp_kw_per_min = 0.9")))
    # By hand: 32 GPUs from 264.7 W idle to 810.6 W at the lowest point worth running; 0.9 kW/min over 15 min.
    assert [f.key for f in faults] == ["run[0].gpus", "run[2].gpus"]
    assert "a step of 17 kW; block 'hall' may change by 14 kW between slots" in faults[0].what


def test_a_ramp_that_holds_in_one_pool_only_is_a_warning():
    other = '[[block]]\nname = "b2"\ncapacity_kw = 100\nramp_kw_per_min = 0.5\n[block.cooling]\nkind = "room_air"\n'
    other += 'rated_it_kw = 90\n\n[[pool]]\nname = "slow"\nblock = "b2"\ngpu = "H100-SXM"\ncount = 64\n\n[[run]]'
    site = site_of(("[[run]]", other))
    assert len(site.warnings) == 3
    assert "run 'assistant-8b': a start of 32 GPUs" in site.warnings[0]


ON_THE_LIMIT = {
    "all tokens done": ("tokens_done = 5e10", "tokens_done = 4.0e11"),
    "a spell of the whole week": ("min_run_h = 4", "min_run_h = 168"),
    "a pause of the whole week": ("min_pause_h = 2", "min_pause_h = 168"),
    "a grid of the whole week": ("min_run_h = 4", "on_off_grid_h = 168"),
    "lowest and highest limit": ("priority = 2 #", "power_limits_w = [200, 700] #"),
    "a gang of the whole pool": ("gpus = 32", "gpus = 64"),
    "the narrowest ramp": ("ramp_kw_per_min = 20", f"ramp_kw_per_min = {32 * (810.6 - 264.7) / 1000 / 15!r}"),
}


@pytest.mark.parametrize("case", ON_THE_LIMIT)
def test_on_the_limit_is_within_it(case):
    assert site_of(ON_THE_LIMIT[case]).warnings == ()


OVER_THE_LIMIT = {
    "equal deadlines": (
        "deadline = 2024-05-19T18:00:00",
        "deadline = 2024-05-16T18:00:00",
        "run[0].stages[1].deadline",
    ),
}


@pytest.mark.parametrize("case", OVER_THE_LIMIT)
def test_what_must_differ_may_not_be_equal(case):
    old, new, key = OVER_THE_LIMIT[case]
    (fault,) = faults_of(edited((old, new)))
    assert fault.key == key
