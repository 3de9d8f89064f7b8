"""GPU types: the bundled ones, and those that a site file describes itself."""

from __future__ import annotations

import tomllib

import pytest

from planner.config import site_from_text, starter_site
from planner.config.catalogue import gpu_catalogue
from tests.gpu_table import GRADES, gpu_facts
from tests.starter import FILE, faults_of


def test_own_gpu_types_stand_in_place_of_the_catalogue():
    own = (
        "[gpu.H100-SXM]\nidle_w_per_gpu = 200\npoints = [{ gpu_power_limit_w = 350, it_w_per_gpu = 600, "
        "relative_throughput = 0.7 }, { gpu_power_limit_w = 700, it_w_per_gpu = 1000, relative_throughput = 1.0 }]\n"
    )
    site = site_from_text(starter_site() + own, FILE)
    assert site.pools[0].gpu.idle_w_per_gpu == 200.0
    assert [p.it_w_per_gpu for p in site.runs[0].options[0].points] == [600.0, 1000.0]


@pytest.mark.parametrize(
    ("points", "key"),
    [
        ([[350, 600, 0.7], [350, 900, 1.0]], "points[1].gpu_power_limit_w"),
        ([[350, 200, 0.7], [700, 900, 1.0]], "points[0].it_w_per_gpu"),
        ([[350, 600, 0.7], [700, 900, 0.9]], "points[1].relative_throughput"),
        ([[350, 600, 1.7], [700, 900, 1.0]], "points[0].relative_throughput"),
    ],
)
def test_points_of_an_own_gpu_type_must_be_physical(points, key):
    written = ", ".join(
        f"{{ gpu_power_limit_w = {limit}, it_w_per_gpu = {watts}, relative_throughput = {share} }}"
        for limit, watts, share in points
    )
    (fault,) = faults_of(starter_site() + f"[gpu.mine]\nidle_w_per_gpu = 200\npoints = [{written}]\n")
    assert fault.key == f"gpu.mine.{key}"


def test_h100_in_its_node_by_hand():
    h100 = gpu_catalogue()["H100-SXM"]
    # 8.4 kW node: 1050 W per GPU at 700 W; draw 0.955 x 700 = 668.5 W; overhead 381.5 W; idle 74 + half of it.
    assert h100.points[-1].it_w_per_gpu == pytest.approx(1050.0, abs=0.1)
    assert h100.idle_w_per_gpu == pytest.approx(74 + 0.5 * 381.5, abs=0.1)
    assert h100.points[1].gpu_power_limit_w == 350.0
    assert h100.points[1].it_w_per_gpu == pytest.approx(0.492 * 700 + 381.5, abs=0.1)
    # the driver takes no limit under 200 W, a seventh of the way from 175 to 350 W
    assert h100.points[0].gpu_power_limit_w == 200.0
    assert h100.points[0].relative_throughput == pytest.approx(0.186 + (0.629 - 0.186) / 7, abs=1e-4)
    assert h100.held_w_per_gpu == pytest.approx(112 + 0.5 * 381.5, abs=0.1)
    assert h100.overhead_w_per_gpu == pytest.approx(381.5, abs=0.1)


def test_every_value_of_the_catalogue_has_a_grade_and_a_source():
    facts = gpu_facts()
    assert {fact.gpu for fact in facts} == {"node", *gpu_catalogue()}
    assert all(fact.grade in GRADES and len(fact.source) > 5 for fact in facts)
    # whoever takes over a value from another type says so
    assert all(fact.grade == "assumed" for fact in facts if fact.source.startswith(("as of", "scaled")))


def test_every_gpu_type_is_physical():
    for gpu in gpu_catalogue().values():
        watts = [p.it_w_per_gpu for p in gpu.points]
        speed = [p.relative_throughput for p in gpu.points]
        assert watts == sorted(watts)
        assert speed == sorted(speed)
        assert speed[-1] == 1.0
        assert gpu.idle_w_per_gpu < gpu.hold_w_per_gpu < watts[0]


def test_the_sweep_is_the_mean_of_the_measured_pre_training_runs(root, shared_data):
    import pandas as pd

    sweep = tomllib.loads((root / "data" / "gpus.toml").read_text(encoding="utf-8"))["sweep"]["pretraining-400w"]
    measured = pd.read_csv(shared_data / "gpu" / "emerald_power_cap_sweep.csv")
    mean = measured[measured.Workload.str.startswith("pt_")].groupby("GPU power cap").mean(numeric_only=True)
    for row in sweep["rows"]:
        point = mean.loc[row["limit_share"] * sweep["limit_w"]]
        assert row["relative_throughput"] == pytest.approx(point["normalized throughput"], abs=6e-4)
        assert row["draw_share"] == pytest.approx(point["power per GPU"] / sweep["limit_w"], abs=6e-4)
