"""The checks for a real GPU, tried on the twin of NVML: they find what it does, and see what is not as assumed."""

from __future__ import annotations

import pytest

from tests.nvml_twin import nvml_twin
from trainer_hooks.clock import Clock

gpu_check = pytest.importorskip("tests.gpu.check", reason="PyTorch is not installed; make test-frameworks installs it")
transformer = pytest.importorskip("tests.gpu.transformer")
pytestmark = pytest.mark.frameworks


def table(twin) -> dict[str, tuple[str, bool | None]]:
    """Run the checks in the twin's own time, in which a step takes 20 ms."""

    def train() -> int:
        twin.advance(0.02)
        return 100

    clock = Clock(monotonic=twin.now_s, sleep=twin.advance)
    with twin.in_process():
        return {
            row.check: (row.found, row.holds)
            for row in gpu_check.rows(train, seconds=10, window_s=1, points=3, clock=clock)
        }


def test_every_check_holds_on_a_sound_board_and_its_limit_is_given_back(tmp_path):
    with nvml_twin(tmp_path, "h100", stopped=True) as twin:
        twin[0].load = 1.0
        found = table(twin)
        assert twin[0].limit_w == 700.0
    assert not [check for check, (_, holds) in found.items() if holds is False and not check.startswith("step()")]
    assert found["limit given back"][0] == "700.0 W"
    assert len([check for check in found if check.startswith("sweep at")]) == 3


@pytest.mark.parametrize(
    ("fault", "check"),
    [("denied", "setting a limit"), ("ignored", "setting a limit"), ("stuck", "limit in force")],
)
def test_a_board_that_does_not_obey_is_seen(tmp_path, fault, check):
    with nvml_twin(tmp_path, "h100", stopped=True) as twin:
        twin[0].fault(fault)
        assert table(twin)[check][1] is False


def test_the_small_transformer_trains_and_counts_its_tokens():
    model = transformer.TinyTransformer("cpu")
    assert model.step() == model.step() > 0
