"""The units of systemd on the pages start what there is, with options that there are."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from planner.cli import cli
from tests.pages import FENCE, PAGES
from trainer_hooks.agent import main as agent

UNITS = [
    (name, fence["body"])
    for name, page in PAGES.items()
    for fence in FENCE.finditer(page.read_text(encoding="utf-8"))
    if fence["kind"] == "ini" and "[Service]" in fence["body"]
]


def started(unit: str) -> list[str]:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str
    parser.read_string(unit)
    return shlex.split(parser["Service"]["ExecStart"])


def found_wrong(unit: str, folder: Path) -> list[str]:
    """What systemd says of a unit, where it is installed; that this machine has not the other units is no fault."""
    if shutil.which("systemd-analyze") is None:
        return []
    program = folder / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = folder / "gridpace.service"
    file.write_text(unit.replace(started(unit)[0], str(program)), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    return [line for line in done.stderr.splitlines() if "gridpace.service" in line and "not found" not in line]


def test_there_are_three():
    assert [name for name, _ in UNITS] == ["docs/agent.md", "docs/agent.md", "docs/service.md"]


@pytest.mark.parametrize(("name", "unit"), UNITS)
def test_what_a_unit_starts_takes_its_options(name, unit, capsys, tmp_path):
    program, *words = started(unit)
    if Path(program).name == "gridpace":
        command = cli.commands[words[0]]
        assert isinstance(command, click.Command)
        assert command.make_context("gridpace", words[1:]).params["tokens"] == Path("/etc/gridpace/tokens")
    else:
        assert Path(program).name == "gridpace-agent"
        with pytest.raises(SystemExit):
            agent.main([*words, "--no-such-option"])
        assert re.search(r"unrecognized arguments: --no-such-option$", capsys.readouterr().err.strip())
    assert found_wrong(unit, tmp_path) == []
