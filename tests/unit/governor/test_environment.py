"""A Governor made from the environment's variables."""

from __future__ import annotations

import os
import signal

import pytest

from tests.governed import STEP_S, TOKENS, Training, warnings_of
from tests.run_calendars import two_hours
from trainer_hooks import Governor
from trainer_hooks.calendar import write_calendar
from trainer_hooks.errors import HookError
from trainer_hooks.telemetry import read_records


def test_the_five_lines(clock, tmp_path):
    header, runs = two_hours("llm-8b")
    write_calendar(tmp_path / "calendar", header, runs)
    environ = {
        "GRIDPACE_CALENDAR": str(tmp_path / "calendar"),
        "GRIDPACE_RUN": "llm-8b",
        "GRIDPACE_TELEMETRY": str(tmp_path / "telemetry"),
        "GRIDPACE_SIMULATE": "2",
    }
    saved = []
    gov = Governor.from_env(environ, clock=clock.clock)
    for _ in range(1000):
        clock.now_s += STEP_S
        gov.step(tokens=TOKENS, save=lambda: saved.append(clock.now_s))
        if gov.should_exit:
            break
    gov.close()
    assert saved == [3600.0]
    assert "2 GPU boards" in str(gov.report())
    records = list(read_records(tmp_path / "telemetry"))
    assert {record.run for record in records} == {"llm-8b"}
    assert records[-1].tokens + sum(record.tokens for record in records[:-1]) == 360 * TOKENS


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "GRIDPACE_CALENDAR is not set"),
        ({"GRIDPACE_CALENDAR": "x", "CUDA_VISIBLE_DEVICES": ""}, "NVML|no GPU"),
        ({"GRIDPACE_CALENDAR": "x", "GRIDPACE_SIMULATE": "two"}, "'two' is not a number of GPUs"),
        ({"GRIDPACE_CALENDAR": "x", "GRIDPACE_SIMULATE": "1", "GRIDPACE_ON_OFF": "sleep"}, "neither 'exit' nor 'wait'"),
    ],
)
def test_nothing_to_follow_is_a_no_op_that_says_so_once(clock, caplog, capsys, environ, said, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    with Governor.from_env(environ, clock=clock.clock) as governor:
        training = Training(governor, clock).run(5000)
        assert training.done == 500
        assert governor.report().tokens == 500 * TOKENS
        assert governor.report().tokens_per_joule is None
        assert "not known" in str(governor.report())
    (text,) = warnings_of(caplog)
    assert __import__("re").search(said, text)
    assert "training runs free" in text
    assert capsys.readouterr().out == ""


def test_strict_settings_raise(clock):
    with pytest.raises(HookError, match="GRIDPACE_SIMULATE"):
        Governor.from_env({"GRIDPACE_CALENDAR": "x", "GRIDPACE_SIMULATE": "-1"}, clock=clock.clock, strict=True)


@pytest.mark.parametrize("name", ["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_launchers_of_several_ranks_are_seen(clock, tmp_path, name):
    header, runs = two_hours("a")
    write_calendar(tmp_path, header, runs)
    environ = {"GRIDPACE_CALENDAR": str(tmp_path), "GRIDPACE_RUN": "a", "GRIDPACE_SIMULATE": "1", name: "16"}
    with Governor.from_env(environ, clock=clock.clock) as governor:
        training = Training(governor, clock).run(4000)
        assert training.done == 400


def test_from_env_takes_signals_when_asked(clock):
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    try:
        with Governor.from_env({}, clock=clock.clock, install_signals=True) as governor:
            os.kill(os.getpid(), signal.SIGTERM)
            training = Training(governor, clock).run(1000)
            assert training.saved == [(1, 10.0)]
            assert governor.should_exit
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
