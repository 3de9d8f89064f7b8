"""Pools of a site file: GPUs in service over time, and what can be wrong with them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.starter import assert_told, edited, faults_of, site_of


def test_commissioning_steps_are_kept_in_order():
    steps = "commissioning = [{ since = 2024-05-14T06:00:00, count = 32 }, { since = 2024-05-16T06:00:00, count = 64 }]"
    pool = site_of(("count = 64", steps)).pools[0]
    assert pool.commissioning == (
        (datetime(2024, 5, 14, 4, tzinfo=UTC), 32),
        (datetime(2024, 5, 16, 4, tzinfo=UTC), 64),
    )


LATER, EARLIER = "{ since = 2024-05-14T06:00:00, share = 0.9 }", "{ since = 2024-05-13T06:00:00, share = 1.0 }"
FAULTS = {
    "sound steps out of order": (
        "count = 64",
        f"count = 64\navailability = [{LATER}, {EARLIER}]",
        "2024-05-13 06:00:00 is not after 2024-05-14 06:00:00 before it",
    ),
    "MW written as kW": ("count = 64", "count = 64000", "64000 GPUs draw 67,200 kW at full power"),
    "block of the pool": ('block = "hall"', 'block = "hal"', "did you mean 'hall'"),
    "GPU of the pool": ('gpu = "H100-SXM"', 'gpu = "H100-SMX"', "did you mean 'H100-SXM'"),
    "count and steps": (
        "count = 64",
        "count = 64\ncommissioning = [{ since = 2024-05-14T06:00:00, count = 32 }]",
        "both count and commissioning",
    ),
    "neither count nor steps": ("count = 64\n", "", "neither count nor commissioning"),
    "steps out of order": (
        "count = 64",
        "commissioning = [{ since = 2024-05-14T06:00:00, count = 64 }, { since = 2024-05-14T06:00:00, count = 70 }]",
        "sort the steps",
    ),
    "half a GPU": ("count = 64", "count = 64.5", "a whole number is wanted"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_one_fault_is_told_once_on_its_line_with_a_mend(case):
    assert_told(*FAULTS[case])


def test_a_new_hall_has_whole_sound_gpus_only():
    steps = (
        "commissioning = [{ since = 2024-05-14T06:00:00, count = 32 }, { since = 2024-05-16T06:00:00, count = 64 }]\n"
        "availability = [{ since = 2024-05-15T06:00:00, share = 0.8 }, { since = 2024-05-17T06:00:00, share = 0.97 }]"
    )
    pool = site_of(("count = 64", steps)).pools[0]
    # 0.8 x 32 = 25.6, 0.8 x 64 = 51.2 and 0.97 x 64 = 62.08, each rounded down
    assert pool.commissioning == tuple(
        (datetime(2024, 5, day, 4, tzinfo=UTC), count) for day, count in ((14, 32), (15, 25), (16, 51), (17, 62))
    )


def test_a_wrong_pool_is_told_once_and_not_again_by_its_runs():
    (fault,) = faults_of(edited(("count = 64", "count = -64")))
    assert fault.key == "pool[0].count"
