"""Everything around a Governor fails at random: nothing reaches training, and no limit stays behind."""

from __future__ import annotations

import random
import shutil

import pynvml
import pytest

from tests.fake_nvml import Board, FakeNvml, NvmlCode
from tests.run_calendars import ManualClock, run_calendar, second, window
from trainer_hooks import Governor
from trainer_hooks.clock import Clock
from trainer_hooks.codec import run_document
from trainer_hooks.feed import CalendarFeed
from trainer_hooks.gpu import NvmlGpu, NvmlSession
from trainer_hooks.strictjson import dump_object
from trainer_hooks.telemetry import TelemetryWriter

CLOCK_ERRORS_S = (0.0, 600.0, -1e6, 1e6, -5e9, 3.1e10)
BOARD_FAULTS = (
    {},
    {"all": NvmlCode(pynvml.NVML_ERROR_GPU_IS_LOST)},
    {"nvmlDeviceSetPowerManagementLimit": NvmlCode(pynvml.NVML_ERROR_NO_PERMISSION)},
    {"nvmlDeviceGetPowerManagementLimit": NvmlCode(pynvml.NVML_ERROR_UNKNOWN)},
    {"nvmlDeviceGetEnforcedPowerLimit": NvmlCode(pynvml.NVML_ERROR_TIMEOUT)},
)
HOSTILE_FILES = (b"", b"{}", b"\xff" * 9, b"[" * 99_999, b'{"schema": "gridpace.run/9"}', b"0" * 9999)
TOKENS = (1, 1000, -3, None, "many", float("nan"), float("inf"))


class Surroundings:
    """A calendar file, two boards, a clock and a folder of telemetry, each of which a seed makes fail."""

    def __init__(self, seed, folder):
        self.dice = random.Random(seed)
        self.clock = ManualClock()
        self.wrong_s = 0.0
        self.boards = [Board(f"GPU-{i}", f"0000:0{i}:00.0", limit_mw=mw) for i, mw in enumerate((700_000, 650_000))]
        self.calendar = folder / "run.json"
        self.telemetry = folder / "telemetry"
        self.publish()
        nvml = NvmlSession(lambda: FakeNvml(*self.boards))
        self.governor = Governor(
            feed=CalendarFeed(self.calendar, ""),
            run="llm-8b",
            gpus=[NvmlGpu(nvml, board.uuid, board.name) for board in self.boards],
            clock=Clock(lambda: second(self.clock.now_s + self.wrong_s), lambda: self.clock.now_s, self.sleep),
            telemetry=TelemetryWriter(self.telemetry, "llm-8b", "w"),
            on_off=self.dice.choice(["exit", "wait"]),
            poll_s=5.0,
        )

    def sleep(self, duration_s):
        self.clock.sleep(max(duration_s, 0.01))

    def publish(self):
        windows, begin = [], 0
        for _ in range(self.dice.randint(1, 8)):
            end = begin + self.dice.choice([5, 30, 300, 1000])
            state = self.dice.choice(["run", "run", "hold", "off"])
            limit_w = None if state == "off" else self.dice.choice([None, 1e-3, 200.0, 300.0, 1e6])
            windows.append(window(begin, end, state, limit_w=limit_w))
            begin = end
        self.calendar.write_bytes(dump_object(run_document(run_calendar(*windows))))

    def spoil_telemetry(self):
        shutil.rmtree(self.telemetry, ignore_errors=True)
        self.telemetry.mkdir(exist_ok=True)
        (self.telemetry / "llm-8b.w.jsonl").mkdir()

    def save(self):
        self.clock.now_s += self.dice.choice([0, 1, 50])
        if self.dice.random() < 0.3:
            raise self.dice.choice([OSError("disk full"), RuntimeError("no"), ValueError()])

    def happen(self):
        self.clock.now_s += self.dice.choice([0, 1, 10, 60])
        lot = self.dice.random()
        if lot < 0.05:
            self.wrong_s = self.dice.choice(CLOCK_ERRORS_S)
        elif lot < 0.10:
            self.dice.choice(self.boards).answers = dict(self.dice.choice(BOARD_FAULTS))
        elif lot < 0.13:
            self.calendar.write_bytes(self.dice.choice(HOSTILE_FILES))
        elif lot < 0.16:
            self.publish()
        elif lot < 0.18:
            self.spoil_telemetry()
        elif lot < 0.19:
            self.governor.request_stop()
        elif lot < 0.21:
            self.boards[0].energy_mj = self.dice.choice([0, 10**18])


@pytest.mark.parametrize("seed", range(40))
def test_nothing_reaches_training_and_no_limit_stays(seed, tmp_path):
    around = Surroundings(seed, tmp_path)
    for _ in range(150):
        around.happen()
        around.governor.step(tokens=around.dice.choice(TOKENS), save=around.dice.choice([around.save, None]))
    for board in around.boards:
        board.answers = {}
    around.governor.close()
    assert [board.limit_mw for board in around.boards] == [700_000, 650_000]
    assert str(around.governor.report())
    assert around.governor.step(tokens=1) is around.governor.should_exit
