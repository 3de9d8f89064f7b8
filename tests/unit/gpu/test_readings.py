"""Readings of a GPU: what is measured, what is not offered, and what is no data."""

from __future__ import annotations

import pytest

from trainer_hooks.errors import GpuError
from trainer_hooks.throttle import HeldBack

READINGS = ("power_limit_w", "enforced_limit_w", "limit_range_w", "power_w", "energy_j", "temperature_c", "margin_c")


def test_readings_are_those_of_the_board(machine):
    twin, (gpu,) = machine()
    twin[0].load = 1.0
    twin.advance(1000.0)
    assert gpu.power_limit_w() == gpu.enforced_limit_w() == 700.0
    assert gpu.limit_range_w() == (200.0, 700.0)
    assert gpu.power_w() == pytest.approx(690.0)
    assert gpu.energy_j() == pytest.approx(twin[0].energy_j)
    assert gpu.temperature_c() == 71.0
    assert gpu.margin_c() == 16.0


@pytest.mark.parametrize("reading", READINGS)
def test_blank_values_are_no_data(machine, reading):
    twin, (gpu,) = machine()
    twin[0].fault("blank")
    assert getattr(gpu, reading)() is None


def test_blank_fields_are_no_data(machine):
    twin, (gpu,) = machine()
    twin[0].fault("blank")
    assert gpu.held_back() == HeldBack(None, None, None, None)


@pytest.mark.parametrize("reading", [*READINGS, "held_back", "module_limit_w", "is_split"])
@pytest.mark.parametrize("fault", ["lost", "timeout"])
def test_a_silent_gpu_is_an_error_that_says_which_and_what_to_do(machine, reading, fault):
    twin, (gpu,) = machine()
    twin[0].fault(fault)
    with pytest.raises(GpuError, match="does not answer") as caught:
        getattr(gpu, reading)()
    assert gpu.uuid in caught.value.what
    assert "nvidia-smi" in caught.value.fix


def test_what_a_board_or_driver_lacks_is_none(machine):
    twin, (gpu,) = machine("bare")
    assert gpu.energy_j() is None
    assert gpu.held_back() == HeldBack(None, None, None, None)
    assert (gpu.power_limit_w(), gpu.enforced_limit_w()) == (400.0, 400.0)
    twin[0].fault("no-power")
    assert gpu.power_w() is None


def test_a_board_without_a_margin_has_its_highest_temperature_less_the_present_one(machine):
    twin, (gpu,) = machine("a100")
    twin[0].set("temperature_c", 60.0)
    assert gpu.margin_c() == 27.0


def test_a_margin_of_minus_one_is_a_margin_and_no_blank(machine):
    twin, (gpu,) = machine()
    twin[0].set("temperature_c", 88.0)
    assert gpu.margin_c() == -1.0


def test_the_counter_of_a_module_is_not_the_energy_of_its_gpu(machine):
    import pynvml

    twin, (gpu,) = machine("grace")
    twin[0].load = 1.0
    before_mj = pynvml.nvmlDeviceGetTotalEnergyConsumption(pynvml.nvmlDeviceGetHandleByIndex(0))
    twin.advance(10.0)
    counted_mj = pynvml.nvmlDeviceGetTotalEnergyConsumption(pynvml.nvmlDeviceGetHandleByIndex(0)) - before_mj
    assert counted_mj == pytest.approx(10.0 * (680.0 + 150.0) * 1000, rel=1e-3)
    assert gpu.energy_j() is None
    assert gpu.power_w() == pytest.approx(680.0, rel=1e-3)


@pytest.mark.parametrize("power_w", [-1.0, 10_000.0, 140_737_488_355.328])
def test_a_power_that_no_board_can_draw_is_no_data(machine, monkeypatch, power_w):
    _, (gpu,) = machine()
    monkeypatch.setattr("pynvml.nvmlDeviceGetPowerUsage", lambda _handle: round(power_w * 1000))
    assert gpu.power_w() is None


@pytest.mark.parametrize(
    ("set_up", "cause", "held"),
    [
        ({"requested_w": 300.0}, "limit", "limit_s"),
        ({"coolant_c": 70.0}, "heat", "heat_s"),
        ({"brake": 1.0}, "brake", "brake_s"),
        ({"temperature_c": 95.0, "coolant_c": 94.0}, "heat", "slowdown_s"),
    ],
)
def test_counters_tell_our_limit_from_heat_and_from_the_power_brake(machine, set_up, cause, held):
    twin, (gpu,) = machine()
    twin[0].load = 1.0
    twin.advance(100.0)
    for quantity, value in set_up.items():
        twin[0].set(quantity, value)
    twin.advance(100.0)
    before = gpu.held_back()
    twin.advance(200.0)
    between = gpu.held_back().since(before)
    assert getattr(between, held) == pytest.approx(200.0)
    assert between.cause(200.0) == cause


def test_nothing_holds_an_idle_gpu_back(machine):
    twin, (gpu,) = machine()
    before = gpu.held_back()
    twin.advance(200.0)
    assert gpu.held_back().since(before) == HeldBack(0.0, 0.0, 0.0, 0.0)
    assert gpu.held_back().since(before).cause(200.0) is None


def test_counters_that_ran_backwards_count_from_the_reset():
    between = HeldBack(5.0, 9.0, None, 4.0).since(HeldBack(70.0, 6.0, 3.0, None))
    assert between == HeldBack(5.0, 3.0, None, None)


@pytest.mark.parametrize(("share", "cause"), [(0.05, None), (0.01, "limit")])
def test_a_short_cause_does_not_count(share, cause):
    assert HeldBack(2.0, 0.0, 0.0, 0.0).cause(100.0, share) == cause
