"""What the command line says when things go wrong, and how light it is."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from planner.cli import cli, run
from planner.errors import ConfigError, DataUnavailable, ExportError, Infeasible, NotPermitted
from planner.evaluate import Violation
from planner.schedule import Plan, Schedule
from tests.mini_site import MINI, ROOT, gridpace
from tests.outcomes import sample_outcome
from tests.signals import as_from_a_terminal


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from planner.cli import run\n"
        "run(['--help'])\n"
        "heavy = {'numpy', 'pandas', 'pulp', 'highspy', 'scipy', 'plotly', 'sqlalchemy', 'rich', 'jinja2'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Usage: gridpace" in done.stdout
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    "command", ["plan", "report", "export", "check", "init", "doctor", "demo", "forecast", "backtest"]
)
def test_every_command_has_help(command):
    done = CliRunner().invoke(cli, [command, "--help"])
    assert done.exit_code == 0
    assert len(done.output) > 80


@pytest.mark.parametrize(
    ("kind", "code"),
    [(ConfigError, 2), (Infeasible, 3), (DataUnavailable, 4), (NotPermitted, 5), (ExportError, 1)],
)
def test_each_error_has_its_exit_code_and_is_told_whole(monkeypatch, capsys, kind, code):
    def fail(*_, **__):
        raise kind("it failed", "because", "do this")

    monkeypatch.setattr("planner.inputs.read_week", fail)
    assert run(["plan", "site.toml"]) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines()[-3:] == ["error: it failed", "why: because", "fix: do this"]


def test_a_plan_that_breaks_a_promise_is_written_and_leaves_with_3(monkeypatch, capsys, tmp_path):
    outcome = sample_outcome(kept=True)
    broken = Violation("capacity", "hall-a", None, 701.0, 700.0, "kW", "block hall-a takes 701 kW of 700 kW")
    plan = Plan(Schedule((), ()), "optimal", 100.0, 99.2, 0.008, (), (), 0.5, 3.25, ())
    (tmp_path / "site.toml").write_text(MINI, encoding="utf-8")
    arguments = ["plan", str(tmp_path / "site.toml"), "--out", str(tmp_path / "out"), "--offline"]
    for violations, code in (((), 0), ((broken,), 3)):
        judged = replace(outcome, evaluation=replace(outcome.evaluation, violations=violations))
        monkeypatch.setattr("planner.pipeline.plan_week", lambda *_, judged=judged: (judged, plan))
        assert run(arguments) == code
        told = capsys.readouterr()
        assert ("broken: block hall-a takes 701 kW of 700 kW" in told.err) == bool(code)
        first_words = [line.split()[0] for line in told.out.splitlines()]
        assert first_words == ["carbon", "cost", "energy", "deadlines", "files", "failures", "hold"]
    assert (tmp_path / "out" / "report.html").is_file()
    assert (tmp_path / "out" / "calendars" / "current").is_file()


def test_a_plan_that_breaks_a_promise_is_not_put_in_force(monkeypatch, capsys, tmp_path):
    outcome = sample_outcome(kept=True)
    broken = Violation("capacity", "hall-a", None, 701.0, 700.0, "kW", "block hall-a takes 701 kW of 700 kW")
    judged = replace(outcome, evaluation=replace(outcome.evaluation, violations=(broken,)))
    plan = Plan(Schedule((), ()), "optimal", 100.0, 99.2, 0.008, (), (), 0.5, 3.25, ())
    monkeypatch.setattr("planner.pipeline.plan_week", lambda *_: (judged, plan))
    (tmp_path / "site.toml").write_text(MINI, encoding="utf-8")
    assert run(["plan", str(tmp_path / "site.toml"), "--out", str(tmp_path / "out"), "--offline"]) == 3
    assert "the calendar in force stays as it was" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "out" / "calendars").iterdir()] == [outcome.calendar.calendar_id]


def test_what_clashes_is_named(monkeypatch, capsys):
    def fail(*_, **__):
        raise Infeasible("no plan", conflicts=("block hall, slot 3", "battery"))

    monkeypatch.setattr("planner.inputs.read_week", fail)
    assert run(["plan", "site.toml"]) == 3
    assert capsys.readouterr().err.splitlines()[-2:] == ["clashes: block hall, slot 3", "clashes: battery"]


def test_with_json_an_error_is_an_object_too(monkeypatch, capsys):
    def fail(*_, **__):
        raise Infeasible("no plan", "too little", "add power", ("block hall, slot 3",))

    monkeypatch.setattr("planner.inputs.read_week", fail)
    assert run(["plan", "site.toml", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["error"] == {
        "kind": "Infeasible",
        "what": "no plan",
        "why": "too little",
        "fix": "add power",
        "conflicts": ["block hall, slot 3"],
        "exit_code": 3,
    }


def test_with_json_an_unknown_fault_is_an_object_too(monkeypatch, capsys):
    def fail(*_, **__):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("planner.inputs.read_week", fail)
    assert run(["plan", "site.toml", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["error"]
    assert (told["kind"], told["what"], told["exit_code"]) == ("ZeroDivisionError", "internal: by nothing", 1)


def test_an_unknown_fault_is_one_line_and_debug_shows_where(monkeypatch, capsys):
    def fail(*_, **__):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("planner.inputs.read_week", fail)
    assert run(["plan", "site.toml"]) == 1
    (line,) = [text for text in capsys.readouterr().err.splitlines() if text]
    assert line.startswith("error: internal: ZeroDivisionError: by nothing")
    assert run(["--debug", "plan", "site.toml"]) == 1
    assert "in fail" in capsys.readouterr().err


def test_an_interrupt_leaves_with_130(monkeypatch, capsys):
    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.inputs.read_week", fail)
    assert run(["plan", "site.toml"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_real_interrupt_leaves_with_130_and_no_traceback(tmp_path):
    code = (
        "import planner.cli as c, planner.inputs as i, time, sys\n"
        "def wait(*a, **k):\n"
        "    print('waiting', flush=True, file=sys.stderr); time.sleep(60)\n"
        "i.read_week = wait\n"
        "c.main(['plan', 'site.toml'])\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True, preexec_fn=as_from_a_terminal
    )
    assert started.stderr is not None
    assert started.stderr.readline() == "waiting\n"
    started.send_signal(signal.SIGINT)
    _, told = started.communicate(timeout=30)
    assert started.returncode == 130
    assert "Traceback" not in told


def test_a_reader_that_leaves_is_no_fault():
    line = f"{sys.executable} -m planner.cli plan --help | head -c 1"
    done = subprocess.run(line, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "U"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["plan"], "Missing argument"),
        (["plan", "nowhere.toml"], "nowhere.toml does not exist"),
        (["plan", "nowhere.toml", "--issued-at", "2024-05-12"], "is no instant"),
        (["plan", "nowhere.toml", "--issued-at", "9999-12-31T23:59:59-12:00"], "is no instant"),
        (["plna"], "No such command"),
        (["check", "nowhere", "--site", "nowhere.toml"], "nowhere"),
        (["export", "csv", "nowhere"], "nowhere"),
    ],
)
def test_wrong_use_leaves_with_2(arguments, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert told in capsys.readouterr().err


def test_what_c_libraries_print_does_not_reach_standard_output():
    code = (
        "import os, sys\n"
        "from planner.terminal import clean_stdout\n"
        "with clean_stdout():\n"
        "    os.write(1, b'banner of a solver')\n"
        "    print('and of Python')\n"
        "print('result')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "result\n"
    assert "banner of a solver" in done.stderr
    assert "and of Python" in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_fault(closed, tmp_path):
    line = f"{sys.executable} -m planner.cli init {tmp_path}/new {closed}"
    done = subprocess.run(line, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert (tmp_path / "new" / "site.toml").is_file()
    assert done.stderr == ""


def test_signs_that_a_terminal_cannot_show_are_replaced(tmp_path):
    done = gridpace("plan", "λ.toml", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert "?.toml does not exist" in done.stderr


def test_all_faults_of_a_site_file_are_told_at_once(tmp_path):
    (tmp_path / "site.toml").write_text(MINI.replace("gpus = 8", "gpus = -8").replace("count = 8", "cuont = 8"))
    done = gridpace("plan", "site.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "site.toml has" in done.stderr
    assert "cuont" in done.stderr
    assert "gpus" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "site.toml").write_text(MINI, encoding="utf-8")
    (tmp_path / "out").write_text("a file, no folder")
    done = gridpace("plan", "site.toml", "--offline", "--time-limit", "20", cwd=tmp_path)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert done.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} - {"cache"} == {"site.toml", "out"}


def test_no_colour_and_no_spinner_where_there_is_no_terminal(tmp_path):
    done = gridpace("plan", "nowhere.toml", cwd=tmp_path, NO_COLOR="1")
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}])
def test_on_a_terminal_progress_turns_and_results_stay_clean(tmp_path, colour):
    code = (
        "import time\n"
        "from planner.terminal import stage\n"
        "with stage('planning'):\n"
        "    time.sleep(0.3)\n"
        "print('result')\n"
    )
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm-256color", **colour},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.stdout == "result\n"
    assert shown.count("planning") >= 2
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", shown)) == (not colour)


def test_init_writes_a_site_file_that_doctor_and_plan_would_take_and_never_overwrites(tmp_path):
    done = gridpace("init", "neu er", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "neu er").iterdir()} == {"site.toml", "site.schema.json"}
    assert (tmp_path / "neu er" / "site.toml").read_text().startswith("#:schema ./site.schema.json")
    from planner.config import load_site

    assert load_site(tmp_path / "neu er" / "site.toml").runs
    again = gridpace("init", "neu er", cwd=tmp_path)
    assert again.returncode == 2
    assert "never overwrites" in again.stderr


def test_doctor_looks_at_everything(tmp_path):
    done = gridpace("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    for name in ("python", "packages", "solver", "time zones", "bundled data", "output folder", "cache", "NVML"):
        assert name in done.stdout


def test_doctor_tells_a_fault_and_goes_on(monkeypatch):
    from planner import doctor

    def broken():
        raise OSError("no such device")

    monkeypatch.setattr(doctor, "_solver", broken)
    done = CliRunner().invoke(cli, ["doctor"])
    assert done.exit_code == 1
    assert "FAULT solver         OSError: no such device" in done.output
    assert "ok    time zones" in done.output
