"""Power limits when the GPU falls silent, refuses, or the process is told to end: none of ours stays behind."""

from __future__ import annotations

import signal
import subprocess
import sys

import pynvml
import pytest

from tests.fake_nvml import Board, FakeNvml, NvmlCode
from tests.run_calendars import ManualClock, run_calendar, window
from tests.signals import as_from_a_terminal
from trainer_hooks import Governor
from trainer_hooks.gpu import NvmlGpu, NvmlSession
from trainer_hooks.limits import LimitKeeper, LimitSet

FOUND_MW = 650_000
LOST = NvmlCode(pynvml.NVML_ERROR_GPU_IS_LOST)
ABSENT = NvmlCode(pynvml.NVML_ERROR_NOT_SUPPORTED)
DENIED = NvmlCode(pynvml.NVML_ERROR_NO_PERMISSION)
READ, SET = "nvmlDeviceGetPowerManagementLimit", "nvmlDeviceSetPowerManagementLimit"
ENFORCED = "nvmlDeviceGetEnforcedPowerLimit"


@pytest.fixture
def board():
    return Board("GPU-aa", "0000:01:00.0", limit_mw=FOUND_MW)


@pytest.fixture
def gpu(board):
    return NvmlGpu(NvmlSession(lambda: FakeNvml(board)), board.uuid, board.name)


@pytest.mark.parametrize(("answer", "outcome"), [(LOST, "lost"), (ABSENT, "unsupported"), (0xFFFFFFFF, "unsupported")])
def test_where_the_limit_found_cannot_be_read_none_is_set(board, gpu, answer, outcome):
    board.answers[READ] = answer
    assert LimitKeeper(gpu).apply(300.0).outcome == outcome
    assert board.limit_mw == FOUND_MW


def test_a_gpu_that_falls_silent_once_the_limit_is_set_gets_the_one_found_back(board, gpu):
    keeper = LimitKeeper(gpu)
    board.answers[ENFORCED] = LOST
    assert keeper.apply(300.0).outcome == "lost"
    assert board.limit_mw == 300_000
    board.answers.clear()
    assert keeper.restore().outcome == "applied"
    assert board.limit_mw == FOUND_MW


@pytest.mark.parametrize("fault", [{"all": LOST}, {READ: LOST}, {SET: LOST}, {SET: DENIED}])
def test_a_restore_that_fails_is_tried_again(board, gpu, fault):
    keeper = LimitKeeper(gpu)
    keeper.apply(300.0)
    board.answers.update(fault)
    assert keeper.restore().outcome in {"lost", "denied"}
    assert keeper.apply(250.0).outcome in {"lost", "denied"}
    board.answers.clear()
    assert keeper.restore().applied
    assert board.limit_mw == FOUND_MW
    assert keeper.restore() is None


def test_a_board_that_takes_another_limit_than_asked_gets_the_one_found_back(board, gpu, monkeypatch):
    monkeypatch.setattr(FakeNvml, SET, lambda _self, board, mw: setattr(board, "limit_mw", mw + 20_000))
    keeper = LimitKeeper(gpu)
    assert keeper.apply(300.0).outcome == "ignored"
    assert board.limit_mw == 320_000
    monkeypatch.undo()
    keeper.restore()
    assert board.limit_mw == FOUND_MW


def test_a_refused_limit_leaves_the_one_of_before_to_be_given_back(board, gpu):
    keeper = LimitKeeper(gpu)
    keeper.apply(300.0)
    board.answers[SET] = DENIED
    keeper.apply(250.0)
    board.answers.clear()
    board.limit_mw = 410_000  # someone else's
    assert keeper.restore() is None
    assert board.limit_mw == 410_000


def test_one_silent_gpu_of_two_is_asked_again(gpu):
    silent = Board("GPU-bb", "0000:02:00.0", limit_mw=FOUND_MW, answers={"all": LOST})
    limits = LimitSet([gpu, NvmlGpu(NvmlSession(lambda: FakeNvml(silent)), silent.uuid, silent.name)])
    assert limits.set(300.0) == ("power limit of GPU-bb: 300 W asked, lost; an unknown limit is in force.",)
    assert not limits.answered
    silent.answers.clear()
    assert limits.set(300.0) == ()
    assert limits.answered
    assert silent.limit_mw == 300_000


def test_a_governor_limits_a_gpu_that_answers_again_and_gives_back_what_it_could_not(board, gpu):
    clock = ManualClock()
    calendar = run_calendar(window(0, 1000, "run", limit_w=300.0), window(1000, 2000, "run"))
    governor = Governor(calendar, gpus=[gpu], clock=clock.clock)
    for until_s, fault, expected_mw in (
        (100.0, {"all": LOST}, 300_000),
        (900.0, {}, 300_000),
        (1500.0, {"all": LOST}, 300_000),
        (1900.0, {}, FOUND_MW),
    ):
        board.answers.clear()
        board.answers.update(fault)
        while clock.now_s < until_s:
            clock.now_s += 10.0
            governor.step(tokens=1)
        assert board.limit_mw == expected_mw
    governor.close()


@pytest.mark.parametrize("fault", [{"all": LOST}, {SET: DENIED}, {READ: LOST}])
def test_a_limit_that_could_not_be_given_back_in_its_time_is_at_the_end(board, gpu, fault):
    clock = ManualClock()
    calendar = run_calendar(window(0, 1000, "run", limit_w=300.0), window(1000, 2000, "run"))
    governor = Governor(calendar, gpus=[gpu], clock=clock.clock)
    board.answers.update(fault)
    clock.now_s = 1500.0
    governor.step(tokens=1)
    assert board.limit_mw == 300_000
    board.answers.clear()
    governor.close()
    assert board.limit_mw == FOUND_MW


def test_a_gpu_that_is_silent_as_the_training_begins_is_limited_later(board, gpu):
    clock = ManualClock()
    board.answers["all"] = LOST
    with Governor(run_calendar(window(0, 1000, "run", limit_w=300.0)), gpus=[gpu], clock=clock.clock) as governor:
        board.answers.clear()
        assert board.limit_mw == FOUND_MW
        clock.now_s = 100.0
        governor.step(tokens=1)
        assert board.limit_mw == 300_000
    assert board.limit_mw == FOUND_MW


TRAINING = """
import os, signal, sys, time
from tests.run_calendars import ManualClock, run_calendar, window
from trainer_hooks import Governor
from trainer_hooks.simulated import SimulatedGpu

class Twin(SimulatedGpu):
    def set_power_limit_w(self, limit_w):
        os.write(1, b"%g " % limit_w)
        return super().set_power_limit_w(limit_w)

{before}
clock = ManualClock()
governor = Governor(run_calendar(window(0, 1000, "run", limit_w=300.0)), gpus=[Twin()], clock=clock.clock)
{after}
os.kill(os.getpid(), signal.{name})
for _ in range(3):
    clock.now_s += 100.0
    if governor.step(tokens=1, save=lambda: os.write(1, b"saved ")):
        break
os.write(1, b"trained")
"""
OWN = "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'own '))"
CHAINED = (
    "earlier = signal.getsignal(signal.SIGTERM)\n"
    "signal.signal(signal.SIGTERM, lambda *a: (os.write(1, b'own '), earlier(*a)))"
)


@pytest.mark.parametrize(
    ("name", "before", "after", "told", "code"),
    [
        ("SIGTERM", "", "", "300 400 ", -signal.SIGTERM),
        ("SIGHUP", "", "", "300 400 ", -signal.SIGHUP),
        ("SIGTERM", OWN, "", "300 own trained400 ", 0),
        ("SIGTERM", "", OWN, "300 own trained400 ", 0),
        ("SIGTERM", "", CHAINED, "300 own 400 trained", 0),
        ("SIGTERM", "", "governor.install_signal_handlers()", "300 saved 400 trained", 0),
        ("SIGTERM", "", "governor.close()", "300 400 ", -signal.SIGTERM),
    ],
)
def test_a_process_that_is_told_to_end_gives_its_limit_back(root, name, before, after, told, code):
    script = TRAINING.format(name=name, before=before, after=after)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=as_from_a_terminal,
    )
    assert (done.stdout, done.returncode) == (told, code), done.stderr


def test_a_limit_that_someone_else_set_in_between_is_what_is_given_back(board, gpu):
    keeper = LimitKeeper(gpu)
    keeper.apply(300.0)
    board.limit_mw = 450_000
    assert keeper.apply(250.0).outcome == "applied"
    keeper.restore()
    assert board.limit_mw == 450_000
