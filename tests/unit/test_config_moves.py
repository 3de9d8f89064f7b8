"""Sizes and migration in a site file: what they become, and curves and pools that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.config import SiteFaults, site_from_text
from tests.two_pools import SITE

FILE = Path("site.toml")
NORTH = """
[[other_site]]
name = "far"
timezone = "Etc/UTC"
latitude = 60.0
longitude = 10.0
zone = "demo-north-sea"
tariff = { energy_per_kwh = 0.1 }
[[block]]
name = "hall-f"
site = "far"
capacity_kw = 400
cooling = { kind = "dry_cooler", rated_it_kw = 350 }
[[pool]]
name = "f"
block = "hall-f"
gpu = "H100-SXM"
count = 400
"""
LINK = '[[link]]\nbetween = ["hall", "far"]\nrate_gb_per_s = 2\nenergy_kwh_per_tb = 60\ncost_per_tb = 7\n'


def text(full="", more=""):
    return SITE.replace("PROTO", "").replace("STAGES", "").replace("FULL", full) + more


def full_of(full, more=""):
    return site_from_text(text(full, more), FILE).run("full")


def faults(full, more=""):
    with pytest.raises(SiteFaults) as caught:
        site_from_text(text(full, more), FILE)
    return [f"{fault.what} {fault.fix}" for fault in caught.value.faults]


def test_sizes_are_options_with_their_measured_throughput():
    run = full_of("sizes = [{ gpus = 128, throughput_share = 0.6 }, { gpus = 384, throughput_share = 1.3 }]")
    assert [(o.pool, run.size(o)) for o in run.options] == [("a", 256), ("a", 128), ("b", 128), ("a", 384)]
    own = run.option("a", 256).tokens_per_gpu_s * 256
    assert run.option("b", 128).tokens_per_gpu_s * 128 == pytest.approx(0.6 * own)
    assert run.fastest_tokens_per_s == pytest.approx(1.3 * own)
    assert run.best_tokens_per_gpu_s * 256 == own
    assert run.moves
    assert run.migration is None


def test_a_run_that_says_nothing_keeps_its_place():
    run = full_of("")
    assert not run.moves
    assert [o.gpus for o in run.options] == [0]


def test_a_migration_within_a_site_takes_its_size_over_its_rate():
    run = full_of(
        "sizes = [{ gpus = 128, throughput_share = 0.5 }]\n[run.migration]\nsize_tb = 3\nrate_gb_per_s = 10\n"
        "energy_kwh_per_tb = 20\ncost_per_tb = 4\nsettle_s = 60\nlies_in = 'a'"
    )
    way = run.migration.way("a", "b")
    assert (way.time_s, way.energy_kwh, way.cost) == (360.0, 60.0, 12.0)
    assert run.migration.way("a", "a") is None
    assert run.migration.lies_in == "a"


def test_pools_that_share_a_store_change_at_no_cost():
    run = full_of("sizes = [{ gpus = 128, throughput_share = 0.5 }]\n[run.migration]\nsize_tb = 3")
    assert run.migration.way("b", "a").time_s == 0.0
    assert run.migration.way("b", "a").energy_kwh == 0.0


def test_between_sites_the_state_goes_over_their_link():
    run = full_of("[run.migration]\nsize_tb = 3\nrate_gb_per_s = 10\nsettle_s = 60", NORTH + LINK)
    way = run.migration.way("f", "a")
    assert (way.time_s, way.energy_kwh, way.cost) == (60.0 + 3e12 / 2e9, 180.0, 21.0)
    site = site_from_text(text("[run.migration]\nsize_tb = 3", NORTH), FILE)
    assert site.run("full").migration.ways == ()
    assert any("no link lies between 'far' and 'hall'" in told for told in site.warnings)


def test_failures_are_those_of_the_largest_count():
    site = "[goodput]\nfailures_per_gpu_day = 1e-3\n"
    own = full_of("", site).goodput
    more = full_of("sizes = [{ gpus = 384, throughput_share = 1.4 }]", site).goodput
    assert more.failures_per_s == pytest.approx(1.5 * own.failures_per_s)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sizes = [{ gpus = 128, throughput_share = 0.4 }]", "from 128 to 256 GPUs the throughput rises from 0.4 to 1"),
        ("sizes = [{ gpus = 384, throughput_share = 1.6 }]", "from 256 to 384 GPUs the throughput rises from 1 to 1.6"),
        (
            "sizes = [{ gpus = 384, throughput_share = 0.9 }]",
            "384 GPUs have 0.9 of the throughput of 256, no more",
        ),
        ("sizes = [{ gpus = 128, throughput_share = 1.0 }]", "no more than the 1 of 128"),
        ("sizes = [{ gpus = 256, throughput_share = 1.0 }]", "256 GPUs are the run's own count"),
        (
            "sizes = [{ gpus = 128, throughput_share = 0.6 }, { gpus = 128, throughput_share = 0.7 }]",
            "128 GPUs are an earlier size",
        ),
        ("sizes = [{ gpus = 500, throughput_share = 1.5 }]", "500 GPUs fit no pool; the largest that the run may use"),
        ("running_gpus = 128\nrunning_in = 'a'", "128 GPUs are none of its counts [256]"),
        ("running_gpus = 256", "stands without running_in"),
        ("pools = ['a']\n[run.migration]", "the run fits one pool only, 'a'"),
        ("[run.migration]\nlies_in = 'c'", "there is no pool 'c'"),
        ("running_in = 'a'\n[run.migration]\nlies_in = 'a'", "stands beside running_in = 'a'"),
        ("[run.migration]\nrate_gb_per_s = 3", "stands without size_tb"),
        ("[run.migration]\nsize_tb = 3\ncost_per_tb = 1", "stands without rate_gb_per_s"),
    ],
)
def test_what_cannot_be_is_told_with_a_mend(given, words):
    # a migration needs a second pool: the runs of this site fit one, but for those of 128 GPUs
    more = "" if "pools = " in given or "sizes" in given else "sizes = [{ gpus = 128, throughput_share = 0.6 }]\n"
    if "none of its counts" in words:
        more = ""
    (told,) = faults(f"{more}{given}")
    assert words in told


def test_the_leg_that_is_running_has_its_gpus():
    legs = '{ name = "more", tokens = 1e9, deadline = 2024-05-20T00:00:00, tokens_per_gpu_s = 600 },'
    full = text("running_in = 'a'\nrunning_gpus = 256").replace(
        "deadline = 2024-05-19T00:00:00 },", f"deadline = 2024-05-19T00:00:00 }}, {legs}"
    )
    site = site_from_text(full, FILE)
    assert [(run.running_in, run.running_gpus) for run in site.runs[1:]] == [("a", 256), (None, 0)]


def test_legs_do_not_move():
    legs = '{ name = "more", tokens = 1e9, deadline = 2024-05-20T00:00:00, tokens_per_gpu_s = 600 },'
    full = text("sizes = [{ gpus = 128, throughput_share = 0.6 }]\n[run.migration]").replace(
        "deadline = 2024-05-19T00:00:00 },", f"deadline = 2024-05-19T00:00:00 }}, {legs}"
    )
    with pytest.raises(SiteFaults) as caught:
        site_from_text(full, FILE)
    told = [fault.what for fault in caught.value.faults]
    assert told == ["is of one gang, but the run's stages have keys of their own"] * 2
