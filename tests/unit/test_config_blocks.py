"""Power blocks of a site file with sun and battery, and what can be wrong with them."""

from __future__ import annotations

import pytest

from tests.starter import assert_told, edited, faults_of, site_of

FAULTS = {
    "infinite": ("capacity_kw = 100 ", "capacity_kw = inf ", "no finite number"),
    "unit in a text": ("capacity_kw = 100 ", 'capacity_kw = "100 kW" ', "without quotes and without a unit"),
    "capacity below 1 kW": ("capacity_kw = 100 ", "capacity_kw = 0.1 ", "0.1 kW is below 1 kW"),
    "watts for kW in solar": ("peak_kw = 40", "peak_kw = 40000", "solar peak of 40000 kW beside a capacity of 100 kW"),
    "service dates swapped": (
        "capacity_kw = 100 ",
        "available_from = 2024-06-01T00:00:00\navailable_until = 2024-05-01T00:00:00\ncapacity_kw = 100 ",
        "is not after available_from",
    ),
    "maintenance swapped": ("start = 2024-05-15T08:00:00", "start = 2024-05-15T18:00:00", "swap them"),
    "maintenance of no length": ("start = 2024-05-15T08:00:00", "start = 2024-05-15T12:00:00", "set a later end"),
    "maintenance above capacity": ("capacity_kw = 60", "capacity_kw = 600", "600 kW is above the block's capacity"),
    "battery outside its window": ("energy_kwh = 100", "energy_kwh = 100\ninitial_share = 0.95", "0.1 to 0.9"),
    "battery window empty": ("energy_kwh = 100", "energy_kwh = 100\nmin_share = 0.9", "set max_share above it"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_one_fault_is_told_once_on_its_line_with_a_mend(case):
    assert_told(*FAULTS[case])


def test_a_ramp_window_longer_than_the_slot_is_a_fault():
    (fault,) = faults_of(
        edited(("slot_minutes = 60 ", "slot_minutes = 15 "), ("ramp_kw_per_min = 20", "ramp_window_min = 20"))
    )
    assert "20 min, longer than a slot of 15 min" in fault.what


ON_THE_LIMIT = {
    "maintenance at full capacity": ("capacity_kw = 60", "capacity_kw = 100"),
    "a full battery": ("energy_kwh = 100", "energy_kwh = 100\ninitial_share = 0.9\nfinal_share = 0.1"),
}


@pytest.mark.parametrize("case", ON_THE_LIMIT)
def test_on_the_limit_is_within_it(case):
    assert site_of(ON_THE_LIMIT[case]).warnings == ()


OVER_THE_LIMIT = {
    "an empty maintenance": ("end = 2024-05-15T12:00:00", "end = 2024-05-15T08:00:00", "block[0].maintenance[0].end"),
    "an empty battery window": ("energy_kwh = 100", "energy_kwh = 100\nmin_share = 0.9", "block[0].battery.min_share"),
    "an empty service": (
        "capacity_kw = 100 ",
        "available_from = 2024-05-01T00:00:00\navailable_until = 2024-05-01T00:00:00\ncapacity_kw = 100 ",
        "block[0].available_until",
    ),
    "a fiftieth of the power": ("rated_it_kw = 90", "rated_it_kw = 2", "block[0].cooling.rated_it_kw"),
    "fifty times the power": ("peak_kw = 40", "peak_kw = 5000", "block[0].solar.peak_kw"),
}


@pytest.mark.parametrize("case", OVER_THE_LIMIT)
def test_what_must_differ_may_not_be_equal(case):
    old, new, key = OVER_THE_LIMIT[case]
    (fault,) = faults_of(edited((old, new)))
    assert fault.key == key
