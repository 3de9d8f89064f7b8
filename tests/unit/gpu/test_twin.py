"""The twin itself: the unmodified binding drives it, and limit, power, energy and heat hang together."""

from __future__ import annotations

import importlib.metadata
import math
import os
import subprocess
import sys
import time

import pynvml
import pytest

from tests.nvml_twin import H100, PROFILES, Twin, TwinUnavailable, twin_library

FIRST = "import pynvml, sys\npynvml.nvmlInit()\nhandle = pynvml.nvmlDeviceGetHandleByIndex(0)\n"


def child(twin, script, *, root):
    done = subprocess.run(
        [sys.executable, "-c", FIRST + script],
        env=os.environ | twin.environment(root=root),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def handle(nvml_twin):
    twin = nvml_twin("h100", stopped=True)
    with twin.in_process():
        pynvml.nvmlInit()
        yield twin[0], twin, pynvml.nvmlDeviceGetHandleByIndex(0)


def test_processes_share_the_boards_and_only_root_sets(nvml_twin):
    twin = nvml_twin("h100x8")
    setting = "pynvml.nvmlDeviceSetPowerManagementLimit(handle, 300000)"
    reading = "print(pynvml.nvmlDeviceGetPowerManagementLimit(handle), pynvml.nvmlDeviceGetCount())"
    child(twin, setting, root=True)
    assert twin[0].limit_w == 300.0
    assert child(twin, reading, root=False) == ["300000", "8"]
    refused = f"try:\n    {setting}\nexcept pynvml.NVMLError_NoPermission:\n    print('refused')"
    twin[0].limit_w = 450.0
    assert child(twin, refused, root=False) == ["refused"]
    assert twin[0].limit_w == 450.0


def test_the_second_setter_refuses_and_the_binding_drops_what_it_says(nvml_twin):
    twin = nvml_twin("h100")
    told = child(twin, "print(pynvml.nvmlDeviceSetPowerManagementLimit_v2(handle, 0, 300000))", root=False)
    assert told == [str(pynvml.NVML_SUCCESS)]
    assert twin[0].limit_w == 700.0
    child(twin, "pynvml.nvmlDeviceSetPowerManagementLimit_v2(handle, 0, 300000)", root=True)
    assert twin[0].limit_w == 300.0


def test_a_limit_lowers_power_and_clock_and_fills_the_counter(handle):
    board, twin, device = handle
    board.load = 1.0
    assert board.power_w == 690.0
    assert board.throughput == 1.0
    before_j = board.energy_j
    pynvml.nvmlDeviceSetPowerManagementLimit(device, 300_000)
    twin.advance(0.04)
    assert (board.limit_w, board.enforced_w) == (300.0, 700.0)
    twin.advance(0.02)
    assert board.enforced_w == 300.0
    # 0.05 s at 690 W until the limit is in force, then 9.95 s at 300 W
    twin.advance(9.94)
    assert board.energy_j - before_j == pytest.approx(0.05 * 690 + 9.95 * 300)
    # above idle, power goes with the clock to the 2.4
    assert board.throughput == pytest.approx(((300 - 75) / (690 - 75)) ** (1 / 2.4))
    assert pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM) == int(board.throughput * 1980)


def test_the_counter_is_renewed_every_tenth_of_a_second_and_power_is_a_mean_over_a_second(handle):
    board, twin, device = handle
    before = pynvml.nvmlDeviceGetTotalEnergyConsumption(device)
    board.load = 1.0
    twin.advance(0.05)
    assert pynvml.nvmlDeviceGetTotalEnergyConsumption(device) == before
    twin.advance(0.05)
    assert pynvml.nvmlDeviceGetTotalEnergyConsumption(device) - before == pytest.approx(69_000, abs=1)
    mean_w = 690 + (75 - 690) * math.exp(-0.1)
    assert pynvml.nvmlDeviceGetPowerUsage(device) == pytest.approx(mean_w * 1000, abs=1)


def test_heat_follows_power_and_holds_the_clock_down(handle):
    board, twin, device = handle
    board.load = 1.0
    twin.advance(1000.0)
    assert board.temperature_c == pytest.approx(30 + 0.06 * 690)
    assert pynvml.nvmlDeviceGetMarginTemperature(device) == round(87 - 71.4)
    assert board.get("sw_thermal_s") == 0.0
    board.set("coolant_c", 60.0)
    twin.advance(1000.0)
    # no more than what carries the board to its highest operating temperature
    assert board.temperature_c == pytest.approx(87.0, abs=1.0)
    assert board.get("sw_thermal_s") > 500.0
    assert board.get("power_cap_s") == 0.0


@pytest.mark.parametrize(
    ("fault", "function", "code"),
    [
        ("lost", "nvmlDeviceGetPowerUsage", pynvml.NVML_ERROR_GPU_IS_LOST),
        ("timeout", "nvmlDeviceGetPowerUsage", pynvml.NVML_ERROR_TIMEOUT),
        ("no-energy", "nvmlDeviceGetTotalEnergyConsumption", pynvml.NVML_ERROR_NOT_SUPPORTED),
        ("no-power", "nvmlDeviceGetPowerUsage", pynvml.NVML_ERROR_NOT_SUPPORTED),
        ("no-margin", "nvmlDeviceGetMarginTemperature", pynvml.NVML_ERROR_NOT_SUPPORTED),
        ("no-limit", "nvmlDeviceGetPowerManagementLimitConstraints", pynvml.NVML_ERROR_NOT_SUPPORTED),
        ("no-read", "nvmlDeviceGetPowerManagementLimit", pynvml.NVML_ERROR_NOT_SUPPORTED),
    ],
)
def test_a_fault_is_what_the_binding_raises(handle, fault, function, code):
    board, _, device = handle
    board.fault(fault)
    with pytest.raises(pynvml.NVMLError) as caught:
        getattr(pynvml, function)(device)
    assert caught.value.value == code
    board.fault()
    getattr(pynvml, function)(device)


def test_faults_of_setting_blanks_and_rivals(handle):
    board, twin, device = handle
    board.fault("denied")
    with pytest.raises(pynvml.NVMLError_NoPermission):
        pynvml.nvmlDeviceSetPowerManagementLimit(device, 300_000)
    board.fault("ignored")
    pynvml.nvmlDeviceSetPowerManagementLimit(device, 300_000)
    assert board.limit_w == 700.0
    board.fault("stuck")
    pynvml.nvmlDeviceSetPowerManagementLimit(device, 300_000)
    twin.advance(60.0)
    assert (board.limit_w, board.enforced_w) == (300.0, 700.0)
    board.fault("blank")
    assert pynvml.nvmlDeviceGetPowerUsage(device) == 0xFFFFFFFF
    assert pynvml.nvmlDeviceGetTotalEnergyConsumption(device) == 0xFFFFFFFFFFFFFFFF
    board.fault()
    board.rival(500.0, 2.0)
    pynvml.nvmlDeviceSetPowerManagementLimit(device, 250_000)
    twin.advance(1.9)
    assert board.limit_w == 250.0
    twin.advance(0.2)
    assert board.limit_w == 500.0


def test_a_driver_that_is_loaded_again_forgets_and_asks_for_a_new_start(handle):
    board, twin, device = handle
    pynvml.nvmlDeviceSetPowerManagementLimit(device, 300_000)
    board.load = 1.0
    twin.advance(10.0)
    twin.unload_driver()
    with pytest.raises(pynvml.NVMLError_DriverNotLoaded):
        pynvml.nvmlDeviceGetPowerUsage(device)
    twin.load_driver()
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetPowerUsage(device)
    pynvml.nvmlShutdown()
    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlDeviceGetPowerManagementLimit(device) == 700_000
    assert pynvml.nvmlDeviceGetTotalEnergyConsumption(device) == 0


def test_a_forked_child_has_to_start_nvml_itself(handle):
    child_id = os.fork()
    if not child_id:
        try:
            pynvml.nvmlDeviceGetPowerUsage(handle[2])
        except pynvml.NVMLError_Uninitialized:
            pynvml.nvmlInit()
            os._exit(0 if pynvml.nvmlDeviceGetPowerUsage(handle[2]) else 2)
        os._exit(1)
    assert os.waitpid(child_id, 0)[1] == 0


def test_a_slow_driver_takes_its_time_and_calls_are_counted(handle):
    board, twin, device = handle
    before = board.reads
    twin.delay_calls(0.02)
    began_s = time.perf_counter()
    pynvml.nvmlDeviceGetPowerUsage(device)
    assert time.perf_counter() - began_s >= 0.02
    assert board.reads == before + 1


def test_locked_clocks_lower_power_and_work(handle):
    board, _, device = handle
    board.load = 1.0
    pynvml.nvmlDeviceSetGpuLockedClocks(device, 990, 990)
    assert board.throughput == 0.5
    assert board.power_w == pytest.approx(75.0 + 615.0 * 0.5**2.4)
    pynvml.nvmlDeviceResetGpuLockedClocks(device)
    assert board.power_w == 690.0


def test_a_child_plays_the_load_of_a_training(nvml_twin, root):
    twin = nvml_twin("h100")
    script = f"sys.path.insert(0, {str(root)!r})\nfrom tests.nvml_twin import Twin\nTwin.of_environment()[0].load = 0.5"
    child(twin, script, root=False)
    assert twin[0].load == 0.5
    assert twin[0].power_w == 75.0 + 615.0 * 0.5


def test_a_week_passes_in_an_instant(handle):
    board, twin, _ = handle
    board.load = 1.0
    before_j = board.energy_j
    twin.advance(7 * 86400.0)
    assert board.energy_j - before_j == pytest.approx(690.0 * 7 * 86400.0)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_can_be_listed(nvml_twin, profile):
    twin = nvml_twin(profile)
    with twin.in_process():
        pynvml.nvmlInit()
        assert pynvml.nvmlDeviceGetCount() == len(twin) == len(PROFILES[profile])
        names = [pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByUUID(board.uuid)) for board in twin.boards]
    assert names == [board.name for board in PROFILES[profile]]


def test_where_it_cannot_be_built_the_reason_is_said(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(TwinUnavailable, match="needs gcc"):
        twin_library.__wrapped__()
    monkeypatch.undo()

    def absent(_name):
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.files", absent)
    monkeypatch.setattr("shutil.which", lambda name: name)
    with pytest.raises(TwinUnavailable, match="nvidia-nvml-dev"):
        twin_library.__wrapped__()


def test_the_state_outlives_processes_that_are_killed_in_the_middle_of_a_reading(nvml_twin):
    twin = nvml_twin((H100,))
    twin[0].load = 1.0
    script = (
        "import os, signal, threading\n"
        "threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGKILL)).start()\n"
        "while True: pynvml.nvmlDeviceGetPowerUsage(handle)\n"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", FIRST + script], env=os.environ | twin.environment(), check=False)
        assert done.returncode == -9
    assert Twin(twin.path)[0].power_w == 690.0
