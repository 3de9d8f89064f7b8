"""PyTorch's reading of CUDA_VISIBLE_DEVICES, which its authors held against a driver: UUIDs cut short, odd numbers."""

from __future__ import annotations

import pytest

from trainer_hooks.devices import process_gpus
from trainer_hooks.gpu import NvmlSession

pytestmark = pytest.mark.frameworks
torch = pytest.importorskip("torch")

FORMS = [
    "0", "7", "3,1,2", "1,-1,2", "-1", "0,0", "1gpu2,2ampere", "+1", "1,GPU-3eb79704", "gpu-3eb79704", "", "x", "1,,2",
    "GPU-3eb79704", "GPU-3eb79704-1571,GPU-40", "GPU-4", "GPU-3eb79704,GPU-4,GPU-40", "GPU-3eb,GPU-3eb79704", "GPU-",
    "GPU-41ba,1", "GPU-41ba,GPU-00000000,GPU-3eb",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_whole_gpus_are_read_as_pytorch_reads_them(nvml_twin, monkeypatch, form):
    twin = nvml_twin("h100x8")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", form)
    found = torch.cuda._parse_visible_devices()
    if found and isinstance(found[0], str):
        found = torch.cuda._transform_uuid_to_ordinals(found, [board.uuid for board in twin.boards])
    with twin.in_process():
        gpus = process_gpus({"CUDA_VISIBLE_DEVICES": form}, NvmlSession())
    assert [gpu.uuid for gpu in gpus] == [twin[index].uuid for index in found]
