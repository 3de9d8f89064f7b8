"""The node's own power meter: what it may say, how long it may take, and that it stops nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from trainer_hooks import node_power
from trainer_hooks.energy import NO_ENERGY
from trainer_hooks.errors import SettingError
from trainer_hooks.metering import metering_from
from trainer_hooks.node_power import NodePowerMeter, command_reader, file_reader, parse_watts


@pytest.mark.parametrize(
    ("text", "power_w"), [("345", 345.0), (" 345.5 W\n", 345.5), ("8400 Watts\n", 8400.0), ("0", 0.0)]
)
def test_watts_are_a_number(text, power_w):
    assert parse_watts(text) == power_w


@pytest.mark.parametrize("text", ["", "nan", "-5", "1e9", "12 kW", "345 W 346 W", "power: 345 W", "9999999", "\u0663"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="is not a number of watts"):
        parse_watts(text)


def python(code):
    return f"{sys.executable} -c {code!r}"


def test_a_command_is_run_without_a_shell():
    assert command_reader(python("print(4200)"))() == 4200.0
    with pytest.raises(ValueError, match="is not a number"):
        command_reader("echo 42; echo 43")()


@pytest.mark.parametrize("command", ["", "  ", "ipmitool 'dcmi"])
def test_a_command_that_is_none_is_refused_at_the_start(command):
    with pytest.raises(SettingError, match="GRIDPACE_NODE_POWER_COMMAND"):
        command_reader(command)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import time; time.sleep(60)", subprocess.TimeoutExpired),
        ("import time; print(5, flush=True); time.sleep(60)", subprocess.TimeoutExpired),
        ("import sys; sys.exit(3)", subprocess.CalledProcessError),
        ("print('9' * 1000000)", ValueError),
    ],
)
def test_a_command_that_hangs_fails_or_floods_is_ended(monkeypatch, code, error):
    monkeypatch.setattr(node_power, "TIMEOUT_S", 0.5)
    begin_s = time.monotonic()
    with pytest.raises(error):
        command_reader(python(code))()
    assert time.monotonic() - begin_s < 5.0


def test_what_a_command_has_started_goes_with_it(monkeypatch, tmp_path):
    monkeypatch.setattr(node_power, "TIMEOUT_S", 0.5)
    child = tmp_path / "pid"
    code = (
        "import os, subprocess; p = subprocess.Popen(['sleep', '60']); "
        f"open({str(child)!r}, 'w').write(str(p.pid)); p.wait()"
    )
    with pytest.raises(subprocess.TimeoutExpired):
        command_reader(python(code))()
    pid = int(child.read_text())
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(100):
        if not stat.exists() or " Z " in stat.read_text():
            return
        time.sleep(0.02)
    pytest.fail("the command's child still runs")


def test_a_file_is_read_and_a_pipe_in_its_place_does_not_block(tmp_path):
    path = tmp_path / "watts"
    path.write_text("512.5\n")
    assert file_reader(path)() == 512.5
    path.unlink()
    with pytest.raises(FileNotFoundError):
        file_reader(path)()
    os.mkfifo(path)
    with pytest.raises(ValueError, match="is not a number"):
        file_reader(path)()


@pytest.fixture
def watched():
    """A meter that is asked by the test alone, on the test's clock."""
    state = {"now_s": 0.0, "answers": []}
    first = threading.Event()

    def read():
        if not first.is_set():
            first.set()
            raise OSError("not yet")
        answer = state["answers"].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    meter = NodePowerMeter(read, lambda: state["now_s"], period_s=3600.0)
    assert first.wait(5.0)
    yield meter, state
    meter.close()


def ask(watched, now_s, answer):
    meter, state = watched
    state["now_s"] = now_s
    state["answers"].append(answer)
    meter.ask()


def test_power_between_answers_becomes_joules(watched):
    meter, _ = watched
    ask(watched, 0.0, 4000.0)
    assert meter.sample() == NO_ENERGY
    ask(watched, 10.0, 5000.0)
    ask(watched, 20.0, 5000.0)
    energy = meter.sample()
    assert energy.energy_j == 45_000.0 + 50_000.0
    # 5 % of the meter, 500 W between the first two answers, and one answer's time at the edge.
    assert energy.sensor_error_j == pytest.approx(0.05 * 95_000.0 + 5000.0)
    assert energy.edge_error_j == 50_000.0
    assert meter.sample() == NO_ENERGY


def test_a_meter_that_does_not_answer_leaves_a_gap_and_says_so(watched):
    meter, _ = watched
    ask(watched, 0.0, 4000.0)
    ask(watched, 10.0, ValueError("'off' is not a number of watts"))
    ask(watched, 20.0, 4000.0)
    assert meter.sample() == NO_ENERGY
    assert "'off' is not a number of watts" in meter.notice
    ask(watched, 30.0, 4000.0)
    assert meter.sample().energy_j == 40_000.0


def test_settings_name_what_is_wrong(tmp_path):
    with pytest.raises(SettingError, match="a node has one meter"):
        metering_from({"GRIDPACE_NODE_POWER_COMMAND": "x", "GRIDPACE_NODE_POWER_FILE": "y"})
    with pytest.raises(SettingError, match=r"neither \.prom nor \.jsonl"):
        metering_from({"GRIDPACE_METRICS": "metrics.txt"})
    path = tmp_path / "watts"
    path.write_text("70")
    settings = metering_from(
        {"GRIDPACE_NODE_POWER_FILE": str(path), "GRIDPACE_METRICS": "m.prom", "GRIDPACE_METER_LOCKS": str(tmp_path)}
    )
    assert settings.node_power is not None
    assert settings.node_power() == 70.0
    assert (settings.locks, settings.metrics.name) == (tmp_path, "m.prom")
    assert metering_from({}).node_power is None
