from __future__ import annotations

import math

import pytest

from trainer_hooks.limits import LimitKeeper, LimitSet
from trainer_hooks.simulated import PRETRAINING_400_W, CurvePoint, SimulatedGpu
from trainer_hooks.throttle import HeldBack


@pytest.fixture
def time_s():
    return [0.0]


@pytest.fixture
def twin(time_s):
    return SimulatedGpu(monotonic=lambda: time_s[0], idle_power_w=50.0)


def test_energy_follows_limit_and_work(twin, time_s):
    time_s[0] = 10.0
    twin.set_busy(True)
    time_s[0] = 20.0
    twin.set_power_limit_w(225.0)
    time_s[0] = 30.0
    # 10 s idle at 50 W, 10 s at 400 W, 10 s at 225 W.
    assert twin.energy_j() == pytest.approx(500.0 + 4000.0 + 2250.0)
    # Halfway between 200 W (0.63) and 250 W (0.78).
    assert twin.relative_throughput() == pytest.approx(0.705)
    twin.reset_energy()
    assert twin.energy_j() == 0.0


def test_capping_below_half_costs_more_per_token_than_pausing(twin):
    joules_per_work = {
        point.gpu_power_limit_w: point.power_w / point.relative_throughput for point in PRETRAINING_400_W
    }
    assert joules_per_work[250.0] < joules_per_work[400.0] < joules_per_work[100.0]
    assert twin.limit_range_w() == (100.0, 400.0)


def test_temperature_is_first_order(twin, time_s):
    twin.set_busy(True)
    start_c = twin.temperature_c()
    steady_c = 25.0 + 0.217 * 400.0
    time_s[0] = 60.0
    assert twin.temperature_c() == pytest.approx(steady_c + (start_c - steady_c) * math.exp(-1.0))
    time_s[0] = 10_000.0
    assert twin.temperature_c() == pytest.approx(steady_c)


def test_margin_and_time_held_back(twin, time_s):
    assert twin.margin_c() == pytest.approx(87.0 - (25.0 + 0.217 * 50.0))
    twin.set_busy(True)
    time_s[0] = 10.0
    assert twin.held_back() == HeldBack(0.0, 0.0, 0.0, 0.0)
    twin.set_power_limit_w(300.0)
    time_s[0] = 40.0
    twin.set_busy(False)
    time_s[0] = 50.0
    assert twin.held_back() == HeldBack(30.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("asked_w", "limit_w", "outcome"), [(300.0, 300.0, "applied"), (99.0, 100.0, "clamped"), (1e6, 400.0, "clamped")]
)
def test_limits_stay_in_range(twin, asked_w, limit_w, outcome):
    verdict = twin.set_power_limit_w(asked_w)
    assert (verdict.limit_w, verdict.enforced_w, verdict.outcome, verdict.applied) == (limit_w, limit_w, outcome, True)


@pytest.mark.parametrize("points", [(), (CurvePoint(200, 200, 0.5), CurvePoint(200, 300, 1.0))])
def test_points_must_rise(points):
    with pytest.raises(ValueError, match="rising limit"):
        SimulatedGpu(points)


def test_the_keeper_restores_what_it_found(twin):
    twin.set_power_limit_w(350.0)
    with LimitKeeper(twin) as keeper:
        keeper.apply(300.0)
        keeper.apply(200.0)
        assert twin.power_limit_w() == 200.0
    assert twin.power_limit_w() == 350.0
    assert keeper.restore() is None


def test_the_keeper_leaves_a_limit_that_someone_else_set(twin):
    keeper = LimitKeeper(twin)
    keeper.apply(300.0)
    twin.set_power_limit_w(250.0)
    assert keeper.restore() is None
    assert twin.power_limit_w() == 250.0


def test_a_forked_child_does_not_restore(twin, monkeypatch):
    keeper = LimitKeeper(twin)
    keeper.apply(300.0)
    with monkeypatch.context() as child:
        child.setattr("trainer_hooks.limits.os.getpid", lambda: -1)
        assert keeper.restore() is None
    assert twin.power_limit_w() == 300.0
    keeper.restore()
    assert twin.power_limit_w() == 400.0


def test_a_denied_limit_is_told_and_nothing_is_restored(time_s):
    twin = SimulatedGpu(monotonic=lambda: time_s[0], may_set=False)
    limits = LimitSet([twin])
    assert limits.set(300.0) == ("power limit of GPU-simulated-0: 300 W asked, denied; 400 W is in force.",)
    assert limits.set(None) == ()
    assert limits.enforced_w() == 400.0


def test_gpus_that_answer_alike_are_told_in_one_sentence(time_s):
    twins = [SimulatedGpu(monotonic=lambda: time_s[0], uuid=f"GPU-{i}", may_set=i != 5) for i in range(32)]
    assert LimitSet(twins).set(700.0) == (
        "power limit of 31 GPUs, GPU-0 to GPU-31: 700 W asked, clamped; 400 W is in force.",
        "power limit of GPU-5: 700 W asked, denied; 400 W is in force.",
    )


def test_a_set_gives_the_lowest_limit_in_force(time_s):
    twins = [SimulatedGpu(monotonic=lambda: time_s[0], uuid=f"GPU-{i}") for i in range(2)]
    limits = LimitSet(twins)
    assert limits.set(300.0) == ()
    twins[1].set_power_limit_w(250.0)
    assert limits.enforced_w() == 250.0
    assert LimitSet([]).enforced_w() is None


def test_the_limit_is_restored_when_python_exits(root, tmp_path):
    import subprocess
    import sys

    script = (
        "import atexit; from trainer_hooks.simulated import SimulatedGpu; from trainer_hooks.limits import LimitKeeper;"
        "gpu = SimulatedGpu(); atexit.register(lambda: print(gpu.power_limit_w())); LimitKeeper(gpu).apply(300.0);"
        "print(gpu.power_limit_w())"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["300.0", "400.0"]
