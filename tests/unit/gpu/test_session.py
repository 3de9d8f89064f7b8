"""NVML over forks, losses and driver reloads: what is lost is found again, and what is well is not disturbed."""

from __future__ import annotations

import itertools
import os
import signal
import threading

import pynvml
import pytest

from trainer_hooks.errors import GpuError


def in_child(action):
    child = os.fork()
    if not child:
        code = 1
        signal.alarm(10)  # a child that waits for ever ends, and the test fails
        try:
            code = 0 if action() else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_reads_and_sets_by_itself(machine):
    twin, (gpu,) = machine()
    assert gpu.power_w() == 75.0
    in_child(lambda: gpu.power_w() == 75.0 and gpu.set_power_limit_w(300.0).applied)
    assert twin[0].limit_w == 300.0
    assert gpu.power_limit_w() == 300.0


def test_a_child_is_not_blocked_by_a_lock_that_a_thread_of_its_parent_held(machine):
    _, (gpu,) = machine()
    held, done = threading.Event(), threading.Event()

    def hold():
        with gpu._session._lock:
            held.set()
            done.wait(10.0)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10.0)
    in_child(lambda: gpu.power_w() == 75.0)
    done.set()
    thread.join()


def test_a_lost_gpu_does_not_take_the_others_with_it_and_is_found_again(machine):
    twin, gpus = machine("h100x8")
    twin[3].fault("lost")
    with pytest.raises(GpuError):
        gpus[3].power_w()
    assert [gpu.power_w() for gpu in gpus if gpu is not gpus[3]] == [75.0] * 7
    twin[3].fault()
    assert gpus[3].power_w() == 75.0


def test_an_unknown_error_is_a_reason_to_start_again(machine, monkeypatch):
    twin, (gpu,) = machine()
    stops = []
    stop = pynvml.nvmlShutdown
    monkeypatch.setattr("pynvml.nvmlShutdown", lambda: (stops.append(1), stop()))
    twin[0].fault("unknown")
    with pytest.raises(GpuError, match="Unknown"):
        gpu.power_w()
    twin.advance(3.0)
    twin[0].fault()
    assert gpu.power_w() == 75.0
    assert stops == [1]


def test_a_driver_that_was_loaded_again_is_found_after_a_moment(machine):
    twin, gpus = machine("h100x8")
    gpus[0].set_power_limit_w(300.0)
    twin.unload_driver()
    assert gpus[0].set_power_limit_w(300.0).outcome == "lost"
    twin.advance(3.0)
    with pytest.raises(GpuError, match="cannot be started"):
        gpus[0].power_w()
    twin.load_driver()
    twin.advance(10.0)
    assert [gpu.power_w() for gpu in gpus] == [75.0] * 8
    assert gpus[0].power_limit_w() == 700.0


def test_a_gpu_that_stays_lost_is_not_asked_for_by_ever_new_starts(machine, monkeypatch):
    twin, gpus = machine("h100x8")
    starts = []
    start = pynvml.nvmlInit
    monkeypatch.setattr("pynvml.nvmlInit", lambda: (starts.append(twin.now_s()), start()))
    twin[0].fault("lost")
    for _ in range(3600):
        with pytest.raises(GpuError):
            gpus[0].power_w()
        assert gpus[1].power_w() == 75.0
        twin.advance(1.0)
    gaps_s = [round(later - earlier) for earlier, later in itertools.pairwise(starts)]
    assert gaps_s[:6] == [2, 4, 8, 16, 32, 64]
    assert set(gaps_s[6:]) == {120}
    twin[0].fault()
    assert gpus[0].power_w() == 75.0


def test_a_gpu_that_was_lost_while_the_driver_was_loaded_again_is_found_again(machine):
    twin, (gpu,) = machine()
    twin.load_driver()
    with pytest.raises(GpuError, match="lost"):
        gpu.power_w()
    twin.advance(2.0)
    assert gpu.power_w() == 75.0
