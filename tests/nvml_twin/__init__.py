"""A twin of libnvidia-ml.so.1 for tests, built against NVIDIA's header and loaded by the unmodified binding.

with nvml_twin(tmp_path, "h100x8") as twin:
    subprocess.run(command, env={**os.environ, **twin.environment(root=False)})
    twin[0].fault("lost"); twin[1].limit_w = 450.0      # as someone else
    assert twin[2].energy_j > 0

with nvml_twin(tmp_path, "mig") as twin, twin.in_process():
    process_gpus({}, NvmlSession())
"""

from tests.nvml_twin.build import TwinUnavailable, twin_library
from tests.nvml_twin.profiles import A100, FAULTS, GH200, H100, L4, PROFILES, Board
from tests.nvml_twin.twin import Twin, TwinBoard, nvml_twin

__all__ = [
    "A100",
    "FAULTS",
    "GH200",
    "H100",
    "L4",
    "PROFILES",
    "Board",
    "Twin",
    "TwinBoard",
    "TwinUnavailable",
    "nvml_twin",
    "twin_library",
]
