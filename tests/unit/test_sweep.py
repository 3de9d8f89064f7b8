"""Sweeps of power limits: cleaned, refused, read from files, and what is left out of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.config.sweep_files import read_sweep
from planner.errors import ConfigError
from power.gpu import OperatingPoint, concave_points, left_out
from power.sweep import SweepPoint, SweepRefused, clean, operating_points


def sweep(*points: tuple[float, float, float]) -> tuple[SweepPoint, ...]:
    return tuple(SweepPoint(limit, draw, speed) for limit, draw, speed in points)


def test_a_sound_sweep_stays_as_it_is():
    found = clean(sweep((700, 650, 50.0), (350, 340, 30.0), (500, 480, 45.0)))
    assert found.gpu_power_limit_w.tolist() == [350, 500, 700]
    assert found.relative_throughput.tolist() == [0.6, 0.9, 1.0]
    assert found.gpu_draw_w.tolist() == [340, 480, 650]
    assert (found.residual_share, found.noise_share) == (0.0, 0.0)


def test_a_dip_is_shared_by_its_neighbours_and_told():
    # 90 and 88 become 89 each; the mean is (60 + 90 + 88 + 102) / 4 = 85, the root mean square sqrt(2 / 4)
    found = clean(sweep((300, 290, 60.0), (400, 390, 90.0), (500, 480, 88.0), (700, 650, 102.0)))
    assert (found.relative_throughput * 102).tolist() == pytest.approx([60, 89, 89, 102])
    assert found.residual_share == pytest.approx(np.sqrt(0.5) / 85)


def test_a_point_measured_more_often_counts_for_more():
    often = SweepPoint(500, 480, 88.0, repeats=3)
    found = clean((*sweep((300, 290, 60.0), (400, 390, 90.0), (700, 650, 102.0)), often))
    assert found.relative_throughput[1] * 102 == pytest.approx((90 + 3 * 88) / 4)


@pytest.mark.parametrize(
    ("points", "why"),
    [
        (sweep((350, 340, 0.6), (700, 650, 1.0)), "2 power limits; at least 3"),
        (sweep((350, 340, 0.6), (350, 341, 0.61), (700, 650, 1.0)), "350 W stands twice"),
        (sweep((350, 340, 0.0), (500, 450, 0.9), (700, 650, 1.0)), "not above zero"),
        (sweep((350, 340, 0.9), (500, 450, 0.7), (700, 650, 1.0)), "by 9.4 % from the nearest rising curve"),
        (
            (*sweep((350, 340, 0.6), (700, 650, 1.0)), SweepPoint(500, 450, 0.9, 3, 0.041)),
            "at 500 W varies by 4.1 % between repeats; at most 3 %",
        ),
    ],
)
def test_a_sweep_from_which_nothing_can_be_read_is_refused(points, why):
    with pytest.raises(SweepRefused, match=why):
        clean(points)


@given(st.lists(st.floats(0.2, 1.0), min_size=3, max_size=12), st.integers(0, 100))
def test_whatever_is_taken_rises_and_ends_at_one(speeds, seed):
    draws = np.sort(np.random.default_rng(seed).uniform(100, 700, len(speeds)))
    points = [
        SweepPoint(100.0 + 50 * i, draw, speed) for i, (draw, speed) in enumerate(zip(draws, speeds, strict=True))
    ]
    try:
        found = clean(tuple(points))
    except SweepRefused:
        return
    assert (np.diff(found.relative_throughput) >= 0).all()
    assert found.relative_throughput[-1] == 1.0
    made = operating_points(found, 250.0)
    assert [point.it_w_per_gpu for point in made] == pytest.approx(found.gpu_draw_w + 250.0, abs=0.06)


POINTS = (
    OperatingPoint(100, 350, 0.18),
    OperatingPoint(200, 450, 0.63),
    OperatingPoint(250, 500, 0.64),
    OperatingPoint(300, 550, 0.87),
    OperatingPoint(400, 650, 1.0),
    OperatingPoint(420, 660, 0.99),
)


def test_each_point_left_out_says_what_beats_it():
    told = left_out(POINTS, 300.0)
    assert {p for p, _ in told} == set(POINTS) - set(concave_points(POINTS, 300.0))
    assert [(point.gpu_power_limit_w, why) for point, why in told] == [
        # 50 of the 150 W from idle to 200 W: a third of 0.63
        (100, "pausing between spells at 200 W gives 0.210 of full throughput at the same mean power, against 0.180"),
        # half way between 0.63 and 0.87
        (
            250,
            "time shared between 200 and 300 W gives 0.750 of full throughput at the same mean power, against 0.640",
        ),
        (420, "draws more than 400 W does and is no faster"),
    ]
    assert left_out(concave_points(POINTS, 300.0), 300.0) == ()


def written(tmp_path, points=None, **changes):
    points = points or [
        {"gpu_power_limit_w": 350, "gpu_draw_w": [340.0, 342.0], "tokens_per_gpu_s": [590, 610]},
        {"gpu_power_limit_w": 500, "gpu_draw_w": [480.0], "tokens_per_gpu_s": [900]},
        {"gpu_power_limit_w": 700, "gpu_draw_w": [650.0], "tokens_per_gpu_s": [1000]},
    ]
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps({"schema": "gridpace.sweep/1", "gpu": "H100-SXM", "points": points} | changes), "utf-8")
    return file


def test_the_own_form_is_read(tmp_path):
    found = read_sweep(written(tmp_path, idle_w=72.0, held_w=110.0, remark="ignored"), None)
    assert found.gpu == "H100-SXM"
    assert found.held_above_idle_w == 38.0
    assert found.sweep.relative_throughput.tolist() == [0.6, 0.9, 1.0]
    assert found.sweep.gpu_draw_w.tolist() == [341, 480, 650]
    assert found.sweep.noise_share == pytest.approx(np.std([590, 610], ddof=1) / 600)
    assert read_sweep(written(tmp_path), None).held_above_idle_w is None


def test_steps_do_in_place_of_tokens(tmp_path):
    points = [
        {"gpu_power_limit_w": w, "gpu_draw_w": [w], "steps_per_s": [s]} for w, s in ((300, 2), (400, 3), (500, 4))
    ]
    assert read_sweep(written(tmp_path, points), None).sweep.relative_throughput.tolist() == [0.5, 0.75, 1.0]
    points[1] = {"gpu_power_limit_w": 400, "gpu_draw_w": [400], "tokens_per_gpu_s": [3]}
    with pytest.raises(ConfigError, match="the point of 400 W gives tokens and others do not"):
        read_sweep(written(tmp_path, points), None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no file of the form gridpace.sweep/1"),
        ("[" * 100_000, "is no file of the form gridpace.sweep/1"),
        ('{"schema": "gridpace.sweep/2", "gpu": "x", "points": []}', "schema: Input should be 'gridpace.sweep/1'"),
        ('{"schema": "gridpace.sweep/1", "gpu": "x"}', "points: Field required"),
        ('{"schema": "gridpace.sweep/1", "gpu": "x", "points": []}', "it has 0 power limits"),
        (
            '{"schema": "gridpace.sweep/1", "gpu": "x", "points": [{"gpu_power_limit_w": NaN, "gpu_draw_w": [1]}]}',
            "points.0.gpu_power_limit_w: Input should be",
        ),
    ],
)
def test_a_file_of_another_form_is_named(tmp_path, text, why):
    (tmp_path / "sweep.json").write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=why):
        read_sweep(tmp_path / "sweep.json", None)
    with pytest.raises(ConfigError, match="does not exist"):
        read_sweep(tmp_path / "none.json", None)


HEAD = "Workload,GPU power cap,throughput,power per GPU\n"


@pytest.mark.parametrize(
    ("text", "workload", "why"),
    [
        ("a,b\n1,2\n", None, "has no column 'Workload'"),
        (HEAD, None, "has no rows"),
        (HEAD + "a,100,1,99\nb,100,1,99\n", None, "holds 2 workloads"),
        (HEAD + "a,100,1,99\n", "c", "holds no workload 'c'"),
        (HEAD + "a,100,fast,99\n", None, "a cell of workload 'a' at 100 W is no number"),
        (HEAD + "a,100\n", None, "is no number"),
        (HEAD + 'a,"100', None, "is not sound CSV"),
    ],
)
def test_a_table_of_another_form_is_named(tmp_path, text, workload, why):
    (tmp_path / "sweep.csv").write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=why):
        read_sweep(tmp_path / "sweep.csv", workload)


def test_the_measured_sweeps_are_read_and_their_deep_caps_left_out(shared_data):
    file = shared_data / "gpu" / "emerald_power_cap_sweep.csv"
    found = read_sweep(file, "pt_mpt_7b_fast").sweep
    assert found.gpu_power_limit_w.tolist() == [100, 200, 250, 300, 350, 400]
    assert found.relative_throughput[:2] == pytest.approx([0.17489, 0.62556], abs=1e-5)
    assert found.residual_share == 0.0
    points = operating_points(found, 300.0)
    ((deep, why),) = [one for one in left_out(points, 200.0) if one[0].gpu_power_limit_w < 200]
    assert deep.gpu_power_limit_w == 100
    assert why.startswith("pausing between spells at 250 W gives 0.453 of full throughput")
    with pytest.raises(ConfigError, match=r"holds \d+ workloads"):
        read_sweep(file, None)
