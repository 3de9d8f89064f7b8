"""What the meter tells beside what the boards of the twin truly took, under a load that jumps."""

from __future__ import annotations

import random

import pytest

from trainer_hooks.devices import process_gpus
from trainer_hooks.gpu import NvmlSession
from trainer_hooks.meter import EnergyMeter


def stretches(twin, length_s, seed, count=100):
    """Sample stretches in which the load jumps every tenth to second; yields what is told, and the truth."""
    drawn = random.Random(seed)
    meter = EnergyMeter(process_gpus({}, NvmlSession()), twin.now_s)
    board = twin[0]
    for _ in range(count):
        begin_j, left_s = board.energy_j, length_s
        while left_s > 0.0:
            board.load = drawn.choice((0.0, 0.3, 1.0))
            passes_s = min(left_s, drawn.uniform(0.1, 1.0))
            twin.advance(passes_s)
            left_s -= passes_s
        yield meter.sample(), board.energy_j - begin_j
    return meter


@pytest.mark.parametrize("length_s", [0.3, 2.0, 30.0])
@pytest.mark.parametrize("profile", ["h100", "a100"])
def test_the_truth_lies_within_the_error_of_a_counter(nvml_twin, profile, length_s):
    twin = nvml_twin(profile, stopped=True)
    with twin.in_process():
        told = list(stretches(twin, length_s, seed=1))
    assert {energy.source for energy, _ in told} == {"counter"}
    assert all(abs(energy.energy_j - true_j) <= energy.error_j for energy, true_j in told)
    total_j, true_j = sum(energy.energy_j for energy, _ in told), sum(true_j for _, true_j in told)
    # What a stretch misses at its edge the next one has.
    assert total_j == pytest.approx(true_j, abs=twin[0].get("highest_w") * 0.1)


@pytest.mark.parametrize("length_s", [2.0, 30.0])
def test_the_truth_lies_within_the_error_of_integrated_power(nvml_twin, length_s):
    twin = nvml_twin("bare", stopped=True)
    with twin.in_process():
        told = list(stretches(twin, length_s, seed=2))
    assert {energy.source for energy, _ in told} == {"power"}
    within = sum(abs(energy.energy_j - true_j) <= energy.error_j for energy, true_j in told)
    assert within >= 0.95 * len(told)
    # Errors of stretches do not add up: the sum is known better than any of them.
    total, true_j = told[0][0], sum(true_j for _, true_j in told)
    for energy, _ in told[1:]:
        total = total.then(energy)
    assert abs(total.energy_j - true_j) <= total.error_j
    assert total.sampling_error_j / total.energy_j < 0.2 * max(e.sampling_error_j / e.energy_j for e, _ in told)
