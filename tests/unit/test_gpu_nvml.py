from __future__ import annotations

import pynvml
import pytest

from tests.fake_nvml import Board, FakeNvml, NvmlCode
from trainer_hooks.devices import process_gpus
from trainer_hooks.errors import GpuError
from trainer_hooks.gpu import NvmlGpu, NvmlSession

SET = "nvmlDeviceSetPowerManagementLimit"
DENIED, ABSENT, LOST = (
    NvmlCode(pynvml.NVML_ERROR_NO_PERMISSION),
    NvmlCode(pynvml.NVML_ERROR_NOT_SUPPORTED),
    NvmlCode(pynvml.NVML_ERROR_GPU_IS_LOST),
)


@pytest.fixture
def board():
    return Board("GPU-aa", "0000:01:00.0")


@pytest.fixture
def gpu(board):
    return NvmlGpu(NvmlSession(lambda: FakeNvml(board)), board.uuid, board.name)


def test_readings_are_watts_joules_and_degrees(gpu):
    assert gpu.power_limit_w() == 700.0
    assert gpu.enforced_limit_w() == 700.0
    assert gpu.limit_range_w() == (200.0, 700.0)
    assert gpu.power_w() == 120.5
    assert gpu.energy_j() == 5000.25
    assert gpu.temperature_c() == 41.0


READINGS = {
    "power_limit_w": "nvmlDeviceGetPowerManagementLimit",
    "enforced_limit_w": "nvmlDeviceGetEnforcedPowerLimit",
    "limit_range_w": "nvmlDeviceGetPowerManagementLimitConstraints",
    "power_w": "nvmlDeviceGetPowerUsage",
    "energy_j": "nvmlDeviceGetTotalEnergyConsumption",
    "temperature_c": "nvmlDeviceGetTemperature",
}


@pytest.mark.parametrize(("reading", "function"), READINGS.items())
def test_what_a_board_does_not_offer_is_none_and_a_lost_board_an_error(gpu, board, reading, function):
    board.answers[function] = ABSENT
    assert getattr(gpu, reading)() is None
    board.answers[function] = [0xFFFFFFFF, 0xFFFFFFFF] if reading == "limit_range_w" else 0xFFFFFFFF
    assert getattr(gpu, reading)() is None
    board.answers[function] = LOST
    with pytest.raises(GpuError, match=r"GPU-aa.*does not answer") as caught:
        getattr(gpu, reading)()
    assert caught.value.fix


@pytest.mark.parametrize(
    ("asked_w", "answer", "limit_w", "outcome"),
    [
        (500.0, None, 500.0, "applied"),
        (350.5, None, 350.5, "applied"),
        (100.0, None, 200.0, "clamped"),
        (900.0, None, 700.0, "clamped"),
        (500.0, DENIED, 700.0, "denied"),
        (500.0, ABSENT, 700.0, "unsupported"),
        (500.0, "ignored", 700.0, "ignored"),
        (500.0, LOST, None, "lost"),
    ],
)
def test_a_limit_is_read_back(gpu, board, asked_w, answer, limit_w, outcome):
    if answer is not None:
        board.answers[SET] = answer
    verdict = gpu.set_power_limit_w(asked_w)
    assert (verdict.requested_w, verdict.limit_w, verdict.outcome) == (asked_w, limit_w, outcome)
    assert verdict.applied == (outcome in {"applied", "clamped"})


def test_only_the_first_setter_is_used():
    assert not hasattr(FakeNvml, "nvmlDeviceSetPowerManagementLimit_v2")
    assert hasattr(pynvml, SET)


def test_nvml_starts_once_and_again_after_a_fork(board, monkeypatch):
    nvml = FakeNvml(board)
    session = NvmlSession(lambda: nvml)
    assert nvml.inits == 0
    session.handle("GPU-aa")
    session.handle("GPU-aa")
    assert nvml.inits == 1
    monkeypatch.setattr("trainer_hooks.nvml.os.getpid", lambda: -7)
    session.handle("GPU-aa")
    assert nvml.inits == 2


def test_no_driver_is_a_gpu_error():
    def missing():
        raise ModuleNotFoundError("No module named 'pynvml'")

    with pytest.raises(GpuError, match="cannot be started"):
        NvmlSession(missing).module()


BOARDS = [
    Board("GPU-bb00", "0000:65:00.0"),
    Board("GPU-aa11", "0000:17:00.0"),
    Board("GPU-aa22", "0000:CA:00.0"),
]
MIXED = [BOARDS[0], Board("GPU-cc33", "0000:E3:00.0", name="NVIDIA L4")]


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        (None, ["GPU-aa11", "GPU-bb00", "GPU-aa22"]),
        ("", []),
        ("0", ["GPU-aa11"]),
        ("2,0", ["GPU-aa22", "GPU-aa11"]),
        (" 1 , 2 ", ["GPU-bb00", "GPU-aa22"]),
        ("1,-1,0", ["GPU-bb00"]),
        ("1,9,0", ["GPU-bb00"]),
        ("0,0", []),
        ("GPU-bb00", ["GPU-bb00"]),
        ("GPU-b,GPU-aa2", ["GPU-bb00", "GPU-aa22"]),
        ("gpu-BB00", []),
        ("GPU-aa", []),
        ("GPU-bb00,GPU-zz,GPU-aa11", ["GPU-bb00"]),
        ("GPU-bb00,1", ["GPU-bb00"]),
        ("1,GPU-bb00", ["GPU-bb00"]),
        ("1gpu2,2ampere", ["GPU-bb00", "GPU-aa22"]),
        ("0,GPU-aa11", ["GPU-aa11"]),
        ("GPU-aa11,GPU-aa1", []),
        ("NoDevFiles", []),
    ],
)
def test_visible_devices(visible, uuids):
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    gpus = process_gpus(environ, NvmlSession(lambda: FakeNvml(*BOARDS)))
    assert [gpu.uuid for gpu in gpus] == uuids
    assert {gpu.name for gpu in gpus} <= {"NVIDIA H100 80GB HBM3"}


def test_unlike_gpus_need_an_order():
    session = NvmlSession(lambda: FakeNvml(*MIXED))
    with pytest.raises(GpuError, match="CUDA_DEVICE_ORDER=PCI_BUS_ID"):
        process_gpus({"CUDA_VISIBLE_DEVICES": "0"}, session)
    ordered = {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert [gpu.uuid for gpu in process_gpus(ordered, session)] == ["GPU-cc33"]
    assert [gpu.uuid for gpu in process_gpus({"CUDA_VISIBLE_DEVICES": "GPU-cc"}, session)] == ["GPU-cc33"]


@pytest.mark.parametrize(
    ("rank", "ranks", "uuids"),
    [
        ("1", "3", ["GPU-bb00"]),
        ("0", "1", ["GPU-aa11", "GPU-bb00", "GPU-aa22"]),
        ("7", "8", []),
        ("x", "2", ["GPU-aa11", "GPU-bb00", "GPU-aa22"]),
    ],
)
def test_ranks_of_a_node_do_not_multiply_its_energy(rank, ranks, uuids):
    environ = {"LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": ranks}
    assert [gpu.uuid for gpu in process_gpus(environ, NvmlSession(lambda: FakeNvml(*BOARDS)))] == uuids


def test_a_rank_that_sees_one_gpu_has_it():
    environ = {"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "3", "CUDA_VISIBLE_DEVICES": "GPU-aa22"}
    assert [gpu.uuid for gpu in process_gpus(environ, NvmlSession(lambda: FakeNvml(*BOARDS)))] == ["GPU-aa22"]


def test_nvml_that_cannot_list_is_a_gpu_error():
    nvml = FakeNvml()
    nvml.nvmlDeviceGetCount = lambda: (_ for _ in ()).throw(pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN))
    with pytest.raises(GpuError, match="cannot list"):
        process_gpus({}, NvmlSession(lambda: nvml))
