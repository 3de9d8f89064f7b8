"""Every command in README.md and docs/ is run, in the order of its page, in a folder that looks like the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = {
    "make plan": "tests/packaging/test_fresh_clone.py",
    "make test": ".ci/run",
    "make test-frameworks": ".ci/run",
    "make test-browser": ".ci/run",
    "make test-packaging": ".ci/run",
    "make lint": ".ci/run",
}
"""Commands that set up their own environment, and what runs them."""


def commands(page: Path) -> list[str]:
    found = []
    for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
        if fence["kind"] == "console":
            joined = re.sub(r"\\\n(?:> )?\s*", "", fence["body"])
            found += [line[2:].split("  #")[0].strip() for line in joined.splitlines() if line.startswith("$ ")]
    return found


def test_shell_blocks_are_written_so_that_they_are_run():
    for page in PAGES:
        kinds = {fence["kind"] for fence in FENCE.finditer(page.read_text(encoding="utf-8"))}
        assert not kinds & {"bash", "sh", "shell"}, f"{page.name}: write commands as ```console with $ before each"


def test_what_is_run_elsewhere_is_run_there():
    for command, place in ELSEWHERE.items():
        assert command.removeprefix("make ") in (ROOT / place).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target.split("#")[0]).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_commands(page, tmp_path):
    for name in ("data", "docs", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT),
    }
    for command in commands(page):
        if command in ELSEWHERE:
            continue
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
        )
        assert done.returncode == 0, f"{page.name}: {command}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
