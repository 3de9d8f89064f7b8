"""Host joules: which zones of powercap are summed, and what their counters may do."""

from __future__ import annotations

import pytest

from trainer_hooks.energy import NO_ENERGY
from trainer_hooks.rapl import MEMORY_ERROR, PACKAGE_ERROR, RaplMeter, find_domains

RANGE_UJ = 262_143_328_850  # a Xeon's


@pytest.fixture
def powercap(tmp_path):
    """Zones as Linux shows them: flat, each with its own name."""

    def zone(folder, name, energy_uj=1_000_000, range_uj=RANGE_UJ):
        path = tmp_path / folder
        path.mkdir(exist_ok=True)
        (path / "name").write_text(f"{name}\n")
        (path / "energy_uj").write_text(f"{energy_uj}\n")
        if range_uj is not None:
            (path / "max_energy_range_uj").write_text(f"{range_uj}\n")
        return path

    return zone


def count(path, energy_uj):
    (path / "energy_uj").write_text(f"{energy_uj}\n")


@pytest.fixture
def time_s():
    return [0.0]


@pytest.fixture
def meter(powercap, tmp_path, time_s):
    def make():
        return RaplMeter(find_domains(tmp_path), lambda: time_s[0])

    return make


def test_packages_and_memory_are_summed_and_nothing_of_it_twice(powercap, tmp_path):
    (tmp_path / "intel-rapl").mkdir()  # the control type itself
    for folder, name in (
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:0:0", "core"),
        ("intel-rapl:0:1", "uncore"),
        ("intel-rapl:0:2", "dram"),
        ("intel-rapl:1", "package-1"),
        ("intel-rapl:1:0", "dram"),
        ("intel-rapl:2", "psys"),
        ("intel-rapl-mmio:0", "package-0"),
    ):
        powercap(folder, name)
    assert [(d.name, d.error_share) for d in find_domains(tmp_path)] == [
        ("dram of package-0", MEMORY_ERROR),
        ("dram of package-1", MEMORY_ERROR),
        ("package-0", PACKAGE_ERROR),
        ("package-1", PACKAGE_ERROR),
    ]


def test_amd_and_several_dies_stand_under_the_same_names(powercap, tmp_path):
    powercap("intel-rapl:0", "package-0")
    powercap("intel-rapl:0:0", "core")
    powercap("intel-rapl:1", "package-1-die-0")
    powercap("intel-rapl:2", "package-1-die-1")
    powercap("intel-rapl:3", "dram")
    assert [d.name for d in find_domains(tmp_path)] == [
        "dram of intel-rapl:3",
        "package-0",
        "package-1-die-0",
        "package-1-die-1",
    ]


def test_without_rapl_there_is_nothing_and_nothing_is_said(tmp_path):
    meter = RaplMeter(find_domains(tmp_path / "absent"), lambda: 0.0)
    assert (meter.names, meter.notice, meter.sample()) == ((), "", NO_ENERGY)


def test_microjoules_become_joules_with_each_domains_error(powercap, meter, time_s):
    package, memory = powercap("intel-rapl:0", "package-0"), powercap("intel-rapl:0:0", "dram")
    meter = meter()
    time_s[0] = 10.0
    count(package, 1_000_000 + 2_000_000_000)
    count(memory, 1_000_000 + 300_000_000)
    energy = meter.sample()
    assert energy.energy_j == pytest.approx(2300.0)
    assert energy.sensor_error_j == pytest.approx(0.05 * 2000.0 + 0.2 * 300.0)
    assert energy.source == "counter"


def test_a_counter_wraps_around_at_its_range(powercap, meter, time_s):
    package = powercap("intel-rapl:0", "package-0", RANGE_UJ - 1_000_000_000)
    meter = meter()
    time_s[0] = 10.0
    count(package, 500_000_000)
    assert meter.sample().energy_j == pytest.approx(1500.0)


def test_a_counter_that_may_have_wrapped_twice_is_not_guessed_at(powercap, meter, time_s):
    # 65 kJ, as older processors have: at most 1500 W fill it in 44 s.
    package = powercap("intel-rapl:0", "package-0", 1_000_000, 65_532_610_987)
    meter = meter()
    time_s[0] = 40.0
    count(package, 8_001_000_000)
    assert meter.sample().energy_j == pytest.approx(8000.0)
    time_s[0] = 140.0
    count(package, 18_001_000_000)
    assert meter.sample() == NO_ENERGY
    time_s[0] = 150.0
    count(package, 19_001_000_000)
    assert meter.sample().energy_j == pytest.approx(1000.0)


def test_a_counter_that_was_reset_or_vanished_costs_one_stretch(powercap, meter, time_s):
    package = powercap("intel-rapl:0", "package-0", 9_000_000_000)
    meter = meter()
    time_s[0] = 1.0
    count(package, 1000)  # backwards by more than any node draws in a second
    assert meter.sample() == NO_ENERGY
    time_s[0] = 2.0
    (package / "energy_uj").unlink()
    assert meter.sample() == NO_ENERGY
    time_s[0] = 3.0
    count(package, 100_001_000)
    assert meter.sample() == NO_ENERGY
    time_s[0] = 4.0
    count(package, 200_001_000)
    assert meter.sample().energy_j == pytest.approx(100.0)


def test_a_domain_that_may_not_be_read_is_named_and_the_others_count(powercap, meter, time_s):
    package, other = powercap("intel-rapl:0", "package-0"), powercap("intel-rapl:1", "package-1")
    (other / "energy_uj").unlink()
    (other / "energy_uj").mkdir()  # refuses to be read, whoever asks
    meter = meter()
    assert meter.names == ("package-0",)
    assert "package-1 may not be read" in meter.notice
    time_s[0] = 1.0
    count(package, 101_000_000)
    assert meter.sample().energy_j == pytest.approx(100.0)
