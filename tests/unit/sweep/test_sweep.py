"""A sweep recovers the curve of the boards that it measures, and gives their limits back whatever happens."""

from __future__ import annotations

import json
import random

import pytest

from planner.config.sweep_files import read_sweep
from tests.nvml_twin import TwinUnavailable, nvml_twin, twin_library
from tests.run_calendars import ManualClock
from trainer_hooks.clock import Clock
from trainer_hooks.devices import process_gpus
from trainer_hooks.errors import SweepError
from trainer_hooks.gpu import LimitVerdict, NvmlSession
from trainer_hooks.simulated import PRETRAINING_400_W, SimulatedGpu
from trainer_hooks.sweep.sweep import Sweep, draw_w

STEP_S = 0.5
TOKENS = 8000
LIMITS = (100.0, 200.0, 250.0, 300.0, 400.0)


class Loop:
    """A training on simulated GPUs, slowed as their limit slows it, with steps that vary."""

    def __init__(self, jitter=0.0, boards=2, **kwargs):
        self.manual = ManualClock()
        self.gpus = [SimulatedGpu(monotonic=lambda: self.manual.now_s, uuid=f"GPU-{n}") for n in range(boards)]
        for gpu in self.gpus:
            gpu.set_busy(True)
        self.random = random.Random(7)
        self.jitter = jitter
        self.limits_seen = []
        self.sweep = Sweep(self.gpus, LIMITS, gpu="A100-SXM", clock=self.manual.clock, **kwargs)

    def run(self, steps=100_000, tokens=TOKENS, before_step=lambda loop: None):
        for _ in range(steps):
            before_step(self)
            self.limits_seen.append(self.gpus[0].power_limit_w())
            noise = 1.0 + self.jitter * self.random.uniform(-1.0, 1.0)
            self.manual.now_s += STEP_S * noise / self.gpus[0].relative_throughput()
            if self.sweep.step(tokens=tokens):
                break
        return self


@pytest.mark.parametrize("jitter", [0.0, 0.1])
def test_the_known_curve_is_recovered_within_three_percent(jitter, tmp_path):
    loop = Loop(jitter=jitter).run()
    assert loop.sweep.problem == ""
    loop.sweep.write(tmp_path / "sweep.json")
    read = read_sweep(tmp_path / "sweep.json", None)
    assert read.gpu == "A100-SXM"
    known = {point.gpu_power_limit_w: point for point in PRETRAINING_400_W}
    assert tuple(read.sweep.gpu_power_limit_w) == LIMITS
    for limit_w, draw, speed in zip(LIMITS, read.sweep.gpu_draw_w, read.sweep.relative_throughput, strict=True):
        assert draw == pytest.approx(known[limit_w].power_w, rel=0.03)
        assert speed == pytest.approx(known[limit_w].relative_throughput, rel=0.03)
    point = json.loads((tmp_path / "sweep.json").read_text())["points"][-1]
    # 8000 tokens of the job in half a second on two GPUs.
    assert point["tokens_per_gpu_s"] == pytest.approx([8000.0] * len(point["tokens_per_gpu_s"]), rel=0.03)


def test_limits_come_in_another_order_in_each_round():
    seen = Loop().run().limits_seen
    visits = [limit for at, limit in enumerate(seen) if at and limit != seen[at - 1]]
    rounds = [tuple(visits[at : at + 5]) for at in range(0, 15, 5)]
    assert all(set(one) == set(LIMITS) for one in rounds)
    assert len(set(rounds)) == 3


def test_steps_are_measured_where_no_tokens_are_told():
    document = Loop().run(tokens=0).sweep.document()
    assert document["points"][-1]["steps_per_s"] == pytest.approx([2.0, 2.0, 2.0])


def test_the_limit_found_comes_back_at_the_end_and_not_the_highest():
    loop = Loop(boards=1)
    loop.gpus[0].set_power_limit_w(350.0)
    loop.run()
    assert loop.sweep.done
    assert loop.gpus[0].power_limit_w() == 350.0


def test_an_exception_in_training_gives_the_limits_back():
    loop = Loop()

    def train():
        with loop.sweep:
            loop.run(steps=40)
            assert loop.gpus[0].power_limit_w() != 400.0
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError):
        train()
    assert [gpu.power_limit_w() for gpu in loop.gpus] == [400.0, 400.0]
    with pytest.raises(SweepError, match="ended with 0 of 5 limits"):
        loop.sweep.document()
    assert loop.sweep.step()


def test_a_limit_that_somebody_else_sets_ends_the_sweep_and_stays():
    def meddle(loop):
        if len(loop.limits_seen) == 60:
            loop.gpus[0].set_power_limit_w(123.0)

    loop = Loop().run(before_step=meddle)
    assert "somebody else" in loop.sweep.problem or "enforces 123 W" in loop.sweep.problem
    assert [gpu.power_limit_w() for gpu in loop.gpus] == [123.0, 400.0]


def test_noise_that_does_not_end_is_told():
    def swing(loop):
        loop.jitter = 0.0
        loop.manual.now_s += 5.0 * (len(loop.limits_seen) // 150 % 2)

    loop = Loop(most_readings=6).run(before_step=swing)
    assert "too noisy after 6 readings" in loop.sweep.problem


def test_boards_that_refuse_or_do_not_follow_end_the_sweep():
    denied = SimulatedGpu(may_set=False)
    sweep = Sweep([denied], LIMITS, warmup_steps=0)
    assert sweep.step()
    assert "denied" in sweep.problem

    class Stuck(SimulatedGpu):
        def enforced_limit_w(self):
            return 400.0

    manual = ManualClock()
    sweep = Sweep([Stuck(monotonic=lambda: manual.now_s)], LIMITS, clock=manual.clock, warmup_steps=0)
    for _ in range(30):
        manual.now_s += 1.0
        if sweep.step():
            break
    assert "enforces 400 W 10 s after" in sweep.problem


def test_a_held_job_is_measured_at_the_end():
    loop = Loop(boards=1, held_s=30.0)
    gpu = loop.gpus[0]
    sleep = loop.manual.sleep

    def idle(duration_s):
        gpu.set_busy(False)
        sleep(duration_s)
        gpu.set_busy(True)

    loop.sweep._clock = Clock(loop.manual.clock.wall, loop.manual.clock.monotonic, idle)
    assert loop.run().sweep.document()["held_w"] == 50.0


@pytest.mark.parametrize(("limits_w", "why"), [((300.0, 400.0), "no curve"), ((99.0, 200.0, 300.0), "100 to 400 W")])
def test_limits_that_make_no_sweep_are_refused(limits_w, why):
    with pytest.raises(SweepError, match=why):
        Sweep([SimulatedGpu()], limits_w)
    with pytest.raises(SweepError, match="no GPU"):
        Sweep([], (100.0, 200.0, 300.0))


def test_limits_by_default_span_the_range():
    sweep = Sweep([SimulatedGpu()])
    assert sweep.limits_w == (100.0, 160.0, 220.0, 280.0, 340.0, 400.0)
    sweep.close()


def test_the_disk_may_refuse_the_file(tmp_path):
    loop = Loop().run()
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="cannot be written"):
        loop.sweep.write(tmp_path / "file" / "sweep.json")


def test_a_gpu_that_is_lost_ends_the_sweep():
    from trainer_hooks.errors import GpuError

    class Lost(SimulatedGpu):
        def enforced_limit_w(self):
            raise GpuError("GPU-0", "it is lost.", "Look.")

        def set_power_limit_w(self, limit_w):
            return LimitVerdict(limit_w, limit_w, limit_w, "applied")

    sweep = Sweep([Lost()], LIMITS, warmup_steps=0)
    assert not sweep.step()
    assert sweep.step()
    assert "lost" in sweep.problem


@pytest.fixture
def twin(tmp_path):
    try:
        twin_library()
    except TwinUnavailable as absent:
        pytest.skip(str(absent))
    with nvml_twin(tmp_path, "h100") as made, made.in_process():
        made.stop_clock()
        yield made


def test_the_curve_of_an_nvml_board_is_recovered_within_three_percent(twin, tmp_path):
    board = twin[0]
    board.limit_w = 650.0  # what somebody set before
    clock = Clock(monotonic=twin.now_s, sleep=twin.advance)
    gpus = process_gpus({}, NvmlSession())
    board.load = 0.0
    twin.advance(5.0)
    idle_w = draw_w(gpus, 5.0, clock)
    board.load = 1.0
    limits_w = (250.0, 350.0, 450.0, 550.0, 700.0)
    truth = {}
    with Sweep(gpus, limits_w, gpu="H100-SXM", idle_w=idle_w, clock=clock, warmup_steps=5) as sweep:
        for _ in range(5000):
            twin.advance(0.25 / board.throughput)
            truth[board.limit_w] = (board.power_w, board.throughput)
            if sweep.step(tokens=TOKENS):
                break
    sweep.write(tmp_path / "sweep.json")
    read = read_sweep(tmp_path / "sweep.json", None)
    highest = truth[700.0][1]
    for limit_w, draw, speed in zip(limits_w, read.sweep.gpu_draw_w, read.sweep.relative_throughput, strict=True):
        assert draw == pytest.approx(truth[limit_w][0], rel=0.03)
        assert speed == pytest.approx(truth[limit_w][1] / highest, rel=0.03)
    assert json.loads((tmp_path / "sweep.json").read_text())["idle_w"] == pytest.approx(75.0, rel=0.03)
    assert board.limit_w == 650.0
