"""CUDA_VISIBLE_DEVICES in every form, against nvitop's own reading of the same boards."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from trainer_hooks.devices import machine_gpus, process_gpus
from trainer_hooks.errors import GpuError, ScopeError
from trainer_hooks.gpu import NvmlSession

# nvitop asks CUDA first, in further processes, and reads the variable itself where there is none; only the latter here.
ORACLE = """
import json, os, subprocess, sys

def no_cuda(*_, **__):
    raise subprocess.SubprocessError
subprocess.check_output = no_cuda
os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
from nvitop.api.device import normalize_cuda_visible_devices
print(json.dumps([normalize_cuda_visible_devices(form) for form in json.load(sys.stdin)]))
"""


def nvitop(twin, forms):
    if importlib.util.find_spec("nvitop") is None:
        pytest.skip("nvitop, the oracle of CUDA_VISIBLE_DEVICES, is not installed")
    done = subprocess.run(
        [sys.executable, "-c", ORACLE],
        env=os.environ | twin.environment(),
        input=json.dumps(forms),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [found.split(",") if found else [] for found in json.loads(done.stdout)]


def ours(form):
    environ = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"} | ({} if form is None else {"CUDA_VISIBLE_DEVICES": form})
    return [gpu.uuid for gpu in process_gpus(environ, NvmlSession())]


def test_whole_gpus_are_read_as_nvitop_reads_them(nvml_twin):
    twin = nvml_twin("h100x8")
    a, b, c = (twin[index].uuid for index in (0, 3, 7))
    forms = [
        None, "", " ", ",", "0", "7", "8", "16", "3,1,2", "0,1,2,3,4,5,6,7", " 4 , 5 ", "1,-1,2", "-1", "-1,0",
        "2,99,3", "0,0", "1,2,1", "1gpu,2", "0x1", "no", "none", "1,no,2", ",1", "1,,2", "1,",
        a, f"{a},{b}", f"{c}, {a}", f"{a},{a}", f"{a},1", f"1,{a}", f"{a},GPU-00000000-0000-0000-0000-000000000000,{b}",
        f"{a},", f"{a}x", a.upper(), a.removeprefix("GPU-"), f"MIG-{a}/1/0", "MIG-d184f67c-c95f-5ef2-a935-000000000000",
    ]  # fmt: skip
    with twin.in_process():
        assert dict(zip(forms, map(ours, forms), strict=True)) == dict(zip(forms, nvitop(twin, forms), strict=True))


def test_where_nvitop_finds_an_instance_we_say_that_it_is_one(nvml_twin):
    twin = nvml_twin("mig")
    split, whole = twin[0].uuid, twin[1].uuid
    one = "MIG-d184f67c-c95f-5ef2-a935-000000000000"
    none = "MIG-00000000-c95f-5ef2-a935-000000000000"
    forms = [None, "0", "1", "1,0", split, whole, f"{whole},{split}", one, f"{one},{one}", none, f"{one},{none}"]
    with twin.in_process():
        for form, expected in zip(forms, nvitop(twin, forms), strict=True):
            if any(uuid.startswith("MIG-") for uuid in expected):
                with pytest.raises(ScopeError, match="split into MIG instances") as caught:
                    ours(form)
                assert split in caught.value.what
            else:
                assert ours(form) == expected, form


@pytest.mark.parametrize(
    ("form", "instance"),
    [
        ("MIG-d184f67c", True),
        ("MIG-{split}/3/0", True),
        ("MIG-GPU-3eb79704/1/0", True),
        ("MIG-{split}/4/0", False),
        ("MIG-{whole}/1/0", False),
        ("MIG-{split}", False),
        ("MIG-d", False),
        ("mig-d184f67c", False),
    ],
)
def test_instances_by_short_and_by_older_names(nvml_twin, form, instance):
    twin = nvml_twin("mig")
    entry = form.format(split=twin[0].uuid, whole=twin[1].uuid)
    with twin.in_process():
        if instance:
            with pytest.raises(ScopeError):
                ours(entry)
        else:
            assert ours(entry) == []


@pytest.mark.parametrize(
    ("form", "indices"),
    [
        ("GPU-3eb79704", [0]),
        ("GPU-3eb79704-1571,GPU-40", [0, 2]),
        ("GPU-3eb,GPU-3eb79704-1571", []),
        ("GPU-4,GPU-3eb79704", []),
        ("GPU-", []),
    ],
)
def test_uuids_may_be_cut_short_as_long_as_they_mean_one_board(nvml_twin, form, indices):
    twin = nvml_twin("h100x8")
    with twin.in_process():
        assert ours(form) == [twin[index].uuid for index in indices]


def test_numbers_count_in_the_order_of_the_bus_not_of_nvml(nvml_twin):
    twin = nvml_twin("h100x8")
    for index, bus in enumerate((0xE3, 0x17, 0x65, 0xCA, 0x05, 0x9B, 0x3D, 0xB1)):
        twin[index].set_text("bus_id", f"00000000:{bus:02X}:00.0")
    with twin.in_process():
        assert ours("0,1,7") == [twin[index].uuid for index in (4, 1, 0)]
        assert [gpu.uuid for gpu in machine_gpus(NvmlSession())][:2] == [twin[4].uuid, twin[1].uuid]


def test_with_unlike_boards_a_number_needs_an_order(nvml_twin):
    twin = nvml_twin("mixed")
    with twin.in_process():
        session = NvmlSession()
        assert ours("1") == [twin[1].uuid]
        with pytest.raises(GpuError, match="CUDA_DEVICE_ORDER=PCI_BUS_ID"):
            process_gpus({"CUDA_VISIBLE_DEVICES": "1"}, session)
        found = process_gpus({"CUDA_VISIBLE_DEVICES": twin[1].uuid}, session)
        assert [gpu.name for gpu in found] == ["NVIDIA H100 80GB HBM3"]
        assert len(process_gpus({}, session)) == 2


def test_a_lost_board_is_not_in_the_way_of_those_named_by_uuid(nvml_twin):
    twin = nvml_twin("h100x8", faults={2: ("lost",)})
    with twin.in_process():
        assert ours(twin[5].uuid) == [twin[5].uuid]
        assert len(ours(None)) == 7
        with pytest.raises(GpuError, match="a GPU of this machine does not answer") as caught:
            ours("5")
        assert "UUID" in caught.value.fix


def test_a_board_that_the_process_may_not_use_is_not_counted(nvml_twin, monkeypatch):
    import pynvml

    twin = nvml_twin("h100x8")
    by_index = pynvml.nvmlDeviceGetHandleByIndex

    def permitted(index):
        if index < 6:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NO_PERMISSION)
        return by_index(index)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", permitted)
    with twin.in_process():
        assert ours("0,1") == [twin[6].uuid, twin[7].uuid]


@pytest.mark.parametrize(("rank", "indices"), [("0", [4]), ("1", [5]), ("2", [])])
def test_a_rank_has_the_board_of_its_number_among_those_visible(nvml_twin, rank, indices):
    twin = nvml_twin("h100x8")
    environ = {"CUDA_VISIBLE_DEVICES": "4,5", "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "3"}
    with twin.in_process():
        assert [gpu.uuid for gpu in process_gpus(environ, NvmlSession())] == [twin[index].uuid for index in indices]
