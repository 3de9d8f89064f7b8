"""The public trial: 25 % for three hours on 256 GPUs, with whole gangs against the best that any plan can keep."""

from __future__ import annotations

import pytest

from tests import phoenix
from tests.bench.respond import minutes


@pytest.fixture(scope="module")
def workloads(shared_data):
    return phoenix.sweeps(shared_data)


def test_the_best_that_any_plan_can_keep(workloads):
    assert len(workloads) == 8
    assert phoenix.best_share(workloads) == pytest.approx(0.898, abs=5e-4)
    assert phoenix.best_share(workloads, phoenix.of_tiers(workloads)) == pytest.approx(0.891, abs=5e-4)


@pytest.mark.parametrize("tiered", [False, True])
def test_whole_gangs_keep_it_within_a_hundredth_with_the_way_in_and_out(workloads, tiered):
    limits = phoenix.of_tiers(workloads) if tiered else None
    best = phoenix.best_share(workloads, limits)
    response = phoenix.answered(workloads, None if tiered else dict.fromkeys(workloads, 1.0))
    assert best - 0.01 <= response.kept_share <= best + 1e-6
    assert response.found.violations == ()
    assert sum(course.run.gpus for course in response.answer.courses) == phoenix.GPUS
    held, least = minutes(response)
    assert held == 180
    assert least >= 0.25 - 1e-6
    for run in response.runs:
        assert run.kept_share >= 1.0 - run.max_loss_share - 1e-4
