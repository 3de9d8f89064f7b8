"""Public reports of what went wrong between programs and GPUs, one test each: here it does not.

Each test is named by repository and number. What is AMD's in a report is held to the same twin of NVML.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pynvml
import pytest

from tests.nvml_twin import PROFILES
from tests.nvml_twin import nvml_twin as make_twin
from tests.run_calendars import two_hours
from trainer_hooks.calendar import write_calendar
from trainer_hooks.devices import machine_gpus, process_gpus
from trainer_hooks.errors import GpuError, ScopeError
from trainer_hooks.gpu import NvmlSession
from trainer_hooks.meter import EnergyMeter

INSTANCE = "MIG-d184f67c-c95f-5ef2-a935-000000000000"

TRAINING = """
import json, logging, sys
from tests.run_calendars import ManualClock
from trainer_hooks import Governor

logging.basicConfig(format="%(message)s", stream=sys.stderr)
clock = ManualClock()
saved = []
with Governor.from_env(clock=clock.clock) as governor:
    while clock.now_s < 4000.0 and not governor.step(tokens=1000, save=lambda: saved.append(clock.now_s)):
        clock.now_s += 10.0
print(json.dumps({"ended_s": clock.now_s, "saved": saved, "boards": governor.report().gpus}))
"""


@pytest.fixture
def train(root, tmp_path):
    """Train in a process of its own on a twin, along a calendar of 500 W for an hour and then off."""
    header, runs = two_hours("llm-8b")
    write_calendar(tmp_path / "calendar", header, runs)

    def run(twin, *, may_set=True, **environ):
        settings = {"GRIDPACE_CALENDAR": str(tmp_path / "calendar"), "GRIDPACE_RUN": "llm-8b"}
        done = subprocess.run(
            [sys.executable, "-c", TRAINING],
            cwd=root,
            env=os.environ | twin.environment(root=may_set) | settings | environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    return run


@pytest.fixture
def session(nvml_twin):
    """Make a twin with a stopped clock for this process."""
    entered = []

    def make(profile="h100", **options):
        twin = nvml_twin(profile, stopped=True, **options)
        entered.append(twin.in_process())
        entered[-1].__enter__()
        return twin, NvmlSession(monotonic=twin.now_s)

    yield make
    for context in entered:
        context.__exit__(None, None, None)


def test_ml_energy_zeus_109(nvml_twin, train):
    """A monitor broke off with a ValueError where the job was given a MIG instance; the training should go on."""
    done, said = train(nvml_twin("mig"), CUDA_VISIBLE_DEVICES=INSTANCE)
    assert done == {"ended_s": 3600.0, "saved": [3600.0], "boards": 0}
    assert said.count("it is split into MIG instances") == 1
    assert "ValueError" not in said


@pytest.mark.parametrize("form", [INSTANCE, INSTANCE[:12], "MIG-GPU-3eb79704-1571-707c-aee8-000000000000/1/0"])
def test_vllm_project_vllm_41848(session, form):
    """A MIG UUID was read with int()."""
    _, nvml = session("mig")
    with pytest.raises(ScopeError, match="split into MIG instances"):
        process_gpus({"CUDA_VISIBLE_DEVICES": form}, nvml)


def test_nvidia_dcgm_exporter_257(session):
    """Each MIG instance was shown with the power of the whole GPU, so that a GPU counted as often as it was split."""
    twin, nvml = session("mig")
    twin[0].load = 1.0
    for number in range(3):
        uuid = f"MIG-{0xD184F67C + 0x01010101 * number:08x}-c95f-5ef2-a935-000000000000"
        with pytest.raises(ScopeError):
            process_gpus({"CUDA_VISIBLE_DEVICES": uuid}, nvml)


def test_nvidia_dcgm_exporter_561(session):
    """With MIG on, temperature, power and energy of the GPU itself were not to be had any more."""
    twin, nvml = session("mig")
    twin[0].load = 1.0
    twin.advance(100.0)
    split, whole = machine_gpus(nvml)
    assert split.power_w() == pytest.approx(395.0)
    assert split.energy_j() == pytest.approx(39_500.0)
    assert split.temperature_c() > whole.temperature_c()


def test_mlco2_codecarbon_567(nvml_twin, train):
    """A job that was given one GPU of eight was billed for all of them."""
    twin = nvml_twin("h100x8")
    done, _ = train(twin, CUDA_VISIBLE_DEVICES="5")
    assert done["boards"] == 1
    # the limit was set and given back on that board only
    assert [board.writes for board in twin.boards] == [0, 0, 0, 0, 0, 2, 0, 0]
    assert [board.limit_w for board in twin.boards] == [700.0] * 8


@pytest.mark.parametrize(
    ("form", "indices"),
    [
        ("GPU-3eb79704-1571-707c-aee8-000000000000", [0]),
        ("GPU-41ba,GPU-3eb79704", [3, 0]),
        ("1gpu2,2ampere", [1, 2]),
        ("0,-1,2", [0]),
        ("2,1,2", []),
        ("GPU-3,GPU-3eb", []),
    ],
)
def test_pytorch_pytorch_pr_92315(session, form, indices):
    """UUIDs, also cut short, were dropped, and no device was seen."""
    twin, nvml = session("h100x8")
    found = process_gpus({"CUDA_VISIBLE_DEVICES": form}, nvml)
    assert [gpu.uuid for gpu in found] == [twin[index].uuid for index in indices]


def test_ml_energy_zeus_pr_242(session):
    """Where a driver lacks a power scope, the readings of the other scope were taken, or none at all."""
    twin, nvml = session("grace")
    (gpu,) = machine_gpus(nvml)
    twin[0].load = 1.0
    twin.advance(60.0)
    # the GPU's own, whatever the module draws beside it
    assert gpu.power_w() == pytest.approx(680.0, rel=1e-3)
    assert gpu.module_limit_w() == 1000.0
    assert gpu.limit_range_w() == (100.0, 900.0)
    twin[0].set("module_w", 0.0)
    twin[0].set("module_other_w", 0.0)
    assert gpu.module_limit_w() is None
    assert gpu.power_w() == pytest.approx(680.0, rel=1e-3)


def test_mlco2_codecarbon_pr_1038(session):
    """On a new generation one reading was not supported, and the whole GPU went untracked."""
    twin, nvml = session("h100x8", faults={0: ("no-energy", "no-margin", "no-causes", "no-fields")})
    gpus = machine_gpus(nvml)
    for board in twin.boards:
        board.load = 1.0
    meter = EnergyMeter(gpus, twin.now_s)
    for _ in range(60):
        twin.advance(1.0)
        meter.sample()
    assert meter.total.energy_j == pytest.approx(8 * 60 * 690.0, rel=0.01)


def test_nvidia_dcgm_199(session):
    """4294967295, and other numbers that cannot be, were passed on as readings."""
    twin, nvml = session("h100")
    (gpu,) = machine_gpus(nvml)
    twin[0].fault("blank")
    assert {gpu.power_w(), gpu.energy_j(), gpu.temperature_c(), gpu.margin_c(), gpu.power_limit_w()} == {None}
    meter = EnergyMeter([gpu], twin.now_s)
    twin.advance(10.0)
    assert meter.sample().energy_j < 10 * 700.0


def test_nvidia_dcgm_exporter_417(session):
    """A counter went down."""
    twin, nvml = session("h100")
    twin[0].load = 1.0
    twin.advance(10.0)
    meter = EnergyMeter(machine_gpus(nvml), twin.now_s)
    for second in range(60):
        twin.advance(1.0)
        if second == 30:
            twin[0].set("energy_j", 5.0)
        assert meter.sample().energy_j >= 0.0
    assert meter.total.energy_j == pytest.approx(60 * 690.0, abs=2 * meter.total.error_j)


def test_rocm_amdsmi_115(session):
    """The energy counter went backwards now and then, by a little, without a reset."""
    twin, nvml = session("h100")
    twin[0].load = 1.0
    twin.advance(10.0)
    meter = EnergyMeter(machine_gpus(nvml), twin.now_s)
    for second in range(60):
        twin.advance(1.0)
        if second % 20 == 10:
            twin[0].set("energy_j", twin[0].energy_j - 1500.0)
        assert meter.sample().energy_j >= 0.0
    assert meter.total.energy_j == pytest.approx(60 * 690.0, abs=2 * meter.total.error_j)


def test_rocm_amdsmi_38(session):
    """The energy counter did not agree with the power drawn."""
    twin, nvml = session("h100")
    (gpu,) = machine_gpus(nvml)
    begin_j, integrated_j = gpu.energy_j(), 0.0
    for second in range(120):
        twin[0].load = float(second % 40 < 20)
        twin.advance(1.0)
        integrated_j += gpu.power_w()
    assert gpu.energy_j() - begin_j == pytest.approx(integrated_j, rel=0.02)


def test_nvidia_nvidia_docker_495(nvml_twin, train):
    """In a container nobody may set a limit, not even its root: Insufficient Permissions."""
    twin = nvml_twin("h100x8")
    done, said = train(twin, may_set=False, CUDA_VISIBLE_DEVICES="0")
    assert done["saved"] == [3600.0]
    assert said.count("denied") == 1
    (verdict,) = {gpu.set_power_limit_w(300.0) for gpu in _unprivileged(twin)}
    assert "CAP_SYS_ADMIN" in verdict.why
    assert twin[0].limit_w == 700.0


def _unprivileged(twin):
    with twin.in_process(root=False):
        yield machine_gpus(NvmlSession())[0]


def test_nvidia_open_gpu_kernel_modules_483(nvml_twin, train):
    """After an update of the driver a board took no limit any more, also as root."""
    twin = nvml_twin("h100", faults={0: ("no-limit",)})
    done, said = train(twin)
    assert done["saved"] == [3600.0]
    assert said.count("unsupported") == 1
    with twin.in_process():
        (gpu,) = machine_gpus(NvmlSession())
        assert gpu.set_power_limit_w(300.0).why == "The board, or its driver, takes no limit."


NO_CUDA = """
import os, sys
from trainer_hooks.devices import process_gpus
from trainer_hooks.gpu import NvmlSession

gpus = process_gpus(os.environ, NvmlSession())
gpus[0].power_w(), gpus[0].set_power_limit_w(300.0), gpus[0].held_back(), gpus[0].margin_c()
loaded = open("/proc/self/maps").read()
assert "libnvidia-ml" in loaded and "libcuda" not in loaded and "libcudart" not in loaded, loaded
child = os.fork()
if not child:
    os._exit(0 if gpus[0].power_w() is not None else 1)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_vllm_project_vllm_32611(root, nvml_twin):
    """Looking for GPUs began CUDA, which a forked child then could not begin again."""
    done = subprocess.run(
        [sys.executable, "-c", NO_CUDA],
        cwd=root,
        env=os.environ | nvml_twin("h100x8").environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


class Calls:
    """The binding, with the names of the functions that are called."""

    def __init__(self):
        self.names = set()

    def __getattr__(self, name):
        found = getattr(pynvml, name)
        if name.startswith("nvml") and callable(found):
            self.names.add(name)
        return found


@pytest.fixture
def names_called(nvml_twin, tmp_path):
    """The functions of the binding that the device layer calls on all machines that the twin can be."""
    calls = Calls()
    nvml_twin("h100")  # skips where there is no twin
    for profile in PROFILES:
        with make_twin(tmp_path, profile) as twin, twin.in_process():
            session = NvmlSession(lambda: calls)
            for gpu in machine_gpus(session):
                readings = (gpu.power_w, gpu.energy_j, gpu.temperature_c, gpu.margin_c, gpu.held_back, gpu.is_split)
                limits = (gpu.power_limit_w, gpu.enforced_limit_w, gpu.limit_range_w, gpu.module_limit_w)
                for read in (*readings, *limits):
                    read()
                gpu.set_power_limit_w(300.0)
    return calls.names


def test_xuehaipan_nvitop_13(names_called):
    """Driver R510 counted reserved memory in another way, and the first function of memory showed it as used."""
    assert not {name for name in names_called if "Memory" in name}
    assert "nvmlDeviceGetPowerUsage" in names_called


def test_xuehaipan_nvitop_90(names_called):
    """A new binding and an older driver disagreed on a structure: versions of one function have to fit each other."""
    assert not {name for name in names_called if name.endswith(("_v2", "_v3", "_v4"))}


def test_gpuopenanalytics_pynvml_pr_48(names_called):
    """The list of processes was read with a structure of another size than the driver's."""
    assert not {name for name in names_called if "Process" in name}
    # what is read with structures is of one shape in all bindings since 12.575
    structures = {"nvmlDeviceGetFieldValues", "nvmlDeviceGetMarginTemperature", "nvmlDeviceGetPciInfo"}
    assert structures <= names_called


def test_mlco2_codecarbon_finds_gpus_without_nvidia_smi(nvml_twin, train):
    """No GPU was found where nvidia-smi was not on PATH, though the driver was there."""
    twin = nvml_twin("h100x8")
    done, _ = train(twin, PATH="/nonexistent")
    assert done["boards"] == 8


def test_no_driver_is_said_once_and_training_goes_on(nvml_twin, train):
    twin = nvml_twin("h100x8")
    twin.unload_driver()
    done, said = train(twin)
    assert done == {"ended_s": 4000.0, "saved": [], "boards": 0}
    assert said.count("NVML: it cannot be started") == 1
    with twin.in_process(), pytest.raises(GpuError):
        machine_gpus(NvmlSession())
