"""Every command in README.md and docs/ is run, in the order of its page, in a folder that looks like the checkout."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.pages import BY_WHEEL, ELSEWHERE, FENCE, ON_POSTGRESQL, PAGES, ROOT, beside, commands, run_page

LINK = re.compile(r"\]\(([^)\s]+)\)")
KINDS = {"console", "csv", "ini", "json", "python", "sql", "text", "toml", "yaml"}
COMMAND = re.compile(
    r"(?:\$ )?(?:\w+=\S+ )*(?:sudo )?(?:"
    r"gridpace(?:-\w+)?|python3?|pip|make|pytest|curl|kubectl|helm|docker|git|createdb|createuser|psql|pg_\w+|groupadd|"
    r"usermod|install|cp|mv|rm|mkdir|chmod|chown|export|source|cd|cat|echo|keyring|openssl|apt-get|systemctl|s?batch|srun|"
    r"scontrol|squeue|\./\S+"
    r")(?: |$)"
)
OTHERS = (*BY_WHEEL, *ON_POSTGRESQL)
LIGHT = [name for name, page in PAGES.items() if commands(page) and name not in OTHERS]


def bodies(text: str, kinds: set[str]) -> list[str]:
    return [fence["body"] for fence in FENCE.finditer(text) if fence["kind"] in kinds]


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("name", PAGES)
def test_no_command_escapes_by_the_way_its_block_is_written(name):
    text = PAGES[name].read_text(encoding="utf-8")
    assert {fence["kind"] for fence in FENCE.finditer(text)} <= KINDS
    outside = FENCE.sub("", text)
    assert "```" not in outside, "a fence stands at the begin of its line, and is closed"
    assert not re.search(r"^\s*~~~|<(?:pre|code)\b", outside, re.MULTILINE)
    assert not [line for line in re.findall(r"^(?: {4,}|\t)(.*)$", outside, re.MULTILINE) if COMMAND.match(line)]
    for body in bodies(text, {"text"}):
        script = body.startswith("#!")
        assert script or not [line for line in body.splitlines() if COMMAND.match(line)], "commands stand in ```console"
    for body in bodies(text, {"console"}):
        lines = re.sub(r"\\\n", "", body).splitlines()
        assert [line for line in lines if not line.startswith("$ ")] == [], "each line is a command"


def test_what_escapes_is_found():
    assert COMMAND.match("GRIDPACE_RUN=a python train.py")
    assert COMMAND.match("./slurm/submit.sh")
    assert not COMMAND.match("Tue 15:00 to Tue 17:00  site: 7.05 kW")


def test_what_is_run_elsewhere_is_run_there():
    everywhere = {command for page in PAGES.values() for command in commands(page)}
    for command, place in ELSEWHERE.items():
        assert command in everywhere, f"{command} stands on no page"
        proof = re.sub(r"^make |^pip install '[.\w]*(?=\[)|'$", "", command)
        assert proof in (ROOT / place).read_text(encoding="utf-8")


def test_every_page_that_is_run_by_another_suite_has_commands():
    assert not [name for name in OTHERS if not commands(PAGES[name])]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    page = PAGES[name]
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file, _, part = target.partition("#")
        found = page.parent / file if file else page
        assert found.exists(), target
        if part:
            headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in map(anchor, headings), target


def test_every_page_is_reached_from_the_index():
    index = ROOT / "docs" / "index.md"
    linked = {target.partition("#")[0] for target in LINK.findall(index.read_text(encoding="utf-8"))}
    assert {page.name for name, page in PAGES.items() if name.startswith("docs/")} - linked == {"index.md"}
    assert "docs/index.md" in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LIGHT)
def test_commands(name, tmp_path):
    for folder in ("data", "docs", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {
        **os.environ,
        "PATH": beside(Path(sys.executable).parent),
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT),
    }
    ran = run_page(name, tmp_path, environment, 600.0)
    assert ran.code == 0, f"{name}: {ran.last}\n{ran.output}"
