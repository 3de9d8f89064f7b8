"""Every command that a sentence of the program or a page names is there, with the options that it names."""

from __future__ import annotations

import re
from pathlib import Path

import click

from planner.cli import cli

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(file for folder in ("planner", "trainer_hooks") for file in (ROOT / folder).rglob("*.py")),
]
NAMED = re.compile(r"`gridpace ([a-z][^`\n]*)`")


def fault(words: list[str]) -> str:
    """Say what there is not of what is named, or nothing."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and "|" not in words[0]:
        if words[0] not in command.commands:
            return words[0]
        command, words = command.commands[words[0]], words[1:]
    known = {name for option in command.params for name in option.opts}
    return next((word for word in words if word.startswith("--") and word not in known), "")


def test_what_is_named_is_there():
    named = [(file.name, words) for file in FILES for words in NAMED.findall(file.read_text(encoding="utf-8"))]
    assert len(named) > 50
    assert not [(file, words, fault(words.split())) for file, words in named if fault(words.split())]


def test_what_is_not_there_is_found():
    assert fault(["sources", "check"]) == "check"
    assert fault(["calibrate", "meters.csv", "--sites", "site.toml"]) == "--sites"
    assert not fault(["export", "ics|csv"])
