"""Timers that end a training which seems to hang."""

from __future__ import annotations

import math

import pytest

from trainer_hooks.errors import SettingError
from trainer_hooks.watchdogs import USED_SHARE, grace_s, hold_cap_s, watchdogs


@pytest.mark.parametrize(
    ("environ", "modules", "ranks", "cap_s", "drained_cap_s"),
    [
        ({}, set(), 1, math.inf, math.inf),
        # The heartbeat of NCCL, 480 s, is below the 10 min of a process group.
        ({}, set(), 8, 480.0, math.inf),
        ({"TORCH_NCCL_ENABLE_MONITORING": "0"}, set(), 8, 600.0, math.inf),
        ({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "60"}, set(), 8, 60.0, math.inf),
        ({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "soon"}, set(), 8, 480.0, math.inf),
        ({"DEEPSPEED_TIMEOUT": "5"}, set(), 8, 300.0, math.inf),
        ({}, {"torchtitan"}, 8, 100.0, math.inf),
        ({}, {"torchtitan", "torchft"}, 8, 15.0, 15.0),
        ({"TORCHFT_TIMEOUT_SEC": "600"}, {"torchft"}, 1, 600.0, 600.0),
        ({}, {"nvidia_resiliency_ext.inprocess"}, 1, 90.0, 90.0),
        ({}, {"nvidia_resiliency_ext.fault_tolerance"}, 1, 2700.0, 2700.0),
        ({"GRIDPACE_WATCHDOG_S": "40"}, {"torchtitan"}, 8, 40.0, 40.0),
    ],
)
def test_the_smallest_timer_bounds_a_hold_and_those_of_collectives_no_drained_one(
    environ, modules, ranks, cap_s, drained_cap_s
):
    timers = watchdogs(environ, modules, ranks)
    assert hold_cap_s(timers, drained=False) == USED_SHARE * cap_s
    assert hold_cap_s(timers, drained=True) == USED_SHARE * drained_cap_s


def test_grace_bounds_a_checkpoint_and_no_hold():
    timers = watchdogs({"SLURM_JOB_ID": "7", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}, set(), 1)
    assert hold_cap_s(timers, drained=False) == math.inf
    assert grace_s(timers) == 30.0
    assert grace_s(()) == math.inf


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf"])
def test_our_own_setting_has_to_be_a_time(text):
    with pytest.raises(SettingError, match="GRIDPACE_WATCHDOG_S"):
        watchdogs({"GRIDPACE_WATCHDOG_S": text}, set(), 1)
