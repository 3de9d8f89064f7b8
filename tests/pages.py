"""The commands on a page, and a shell that runs them in their order."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in (
        *(ROOT / folder / "README.md" for folder in (".", "trainer_hooks", "data")),
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
}
FENCE = re.compile(r"^```(?P<kind>\S*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
BY_WHEEL = (
    "docs/agent.md",
    "docs/carbon-accounts.md",
    "docs/for-facilities.md",
    "docs/for-sustainability.md",
    "docs/forecast.md",
    "docs/kubernetes.md",
    "docs/power-blocks.md",
    "docs/recipes.md",
    "docs/service.md",
    "docs/slurm.md",
    "docs/sources.md",
    "docs/start.md",
    "docs/uncertainty.md",
)
"""Pages whose commands take minutes, providers or root: tests/packaging runs them with the wheel alone."""

ON_POSTGRESQL = ("docs/postgresql.md",)
"""Pages that tests/postgres runs."""

BENCH = "python -m tests.bench "
"""Benchmarks take up to hours: tests/unit/test_bench.py holds their names and options against those on the pages."""

ELSEWHERE = {
    "make plan": "tests/packaging/test_fresh_clone.py",
    "make test": ".ci/run",
    "pip install '.[service]'": "tests/packaging/conftest.py",
    "pip install 'gridpace[service]'": "tests/packaging/conftest.py",
    "pip install 'gridpace[postgres,service]'": "tests/postgres/test_page.py",
    "gridpace serve my-site/site.toml": "docs/service.md",
}
"""Commands that set up their own environment or do not end, and what runs them."""

_SERVED = "http://127.0.0.1:8470"
_SHELL = r"""
set -euo pipefail
served=
end_served() { if [ -n "$served" ]; then kill -TERM "$served"; wait "$served" || [ $? -eq 143 ]; served=; fi; }
trap end_served EXIT
serve() {
    end_served
    "$@" >>served.log 2>&1 &
    served=$!
    for _ in $(seq 240); do
        kill -0 "$served" 2>/dev/null || { cat served.log >&2; return 1; }
        if curl --silent --fail --output /dev/null SERVED/healthz; then return 0; fi
        sleep 0.5
    done
    return 1
}
""".replace("SERVED", _SERVED)
_ASKS = re.compile(r"(?:\w+=\$\()?curl ")
_PATIENCE_S = 240


@dataclass(frozen=True)
class Ran:
    """What became of a page's commands.

    Args:
        last: The command that was run last.
        code: Exit code.
        output: What all of them said, the end of it.
    """

    last: str
    code: int
    output: str


def commands(page: Path) -> list[str]:
    """The commands of a page's console blocks, in order, continued lines joined."""
    found = []
    for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
        if fence["kind"] == "console":
            joined = re.sub(r"\\\n(?:> )?\s*", "", fence["body"])
            found += [line[2:].split("  #")[0].strip() for line in joined.splitlines() if line.startswith("$ ")]
    return found


def run_page(
    name: str, folder: Path, environment: dict[str, str], timeout_s: float, changed: tuple[str, str] = ("", "")
) -> Ran:
    """Run a page's commands in one shell: variables stay, a service that is started is ended with the page.

    Args:
        name: The page, one of `PAGES`.
        folder: Where.
        environment: The variables of the shell.
        timeout_s: Longest time for all of them, s.
        changed: What stands otherwise here than on the page, and how.
    """
    todo = [
        command.replace(*changed) if changed[0] else command
        for command in commands(PAGES[name])
        if ELSEWHERE.get(command, name) == name and not command.startswith(BENCH)
    ]
    script = [_SHELL]
    for number, command in enumerate(todo):
        script.append(f"echo {number} >page-step")
        if command.startswith("gridpace serve "):
            script.append(f"serve {command}")
        elif _ASKS.match(command):  # what is asked for may not be there yet: the first draft takes some time
            script.append(f"SECONDS=0; until {command} 2>/dev/null; do [ $SECONDS -lt {_PATIENCE_S} ]; sleep 1; done")
        else:
            script.append(command)
    (folder / "page.sh").write_text("\n".join(script) + "\n", encoding="utf-8")
    with (folder / "page.log").open("wb") as log:
        done = subprocess.run(
            ["bash", "page.sh"], cwd=folder, env=environment, stdout=log, stderr=log, timeout=timeout_s, check=False
        )
    reached = int((folder / "page-step").read_text()) if todo else 0
    told = (folder / "page.log").read_text(encoding="utf-8", errors="replace")
    return Ran(todo[reached] if todo else "", done.returncode, told[-4000:])


def beside(program_folder: Path) -> str:
    """A PATH on which an environment's programs stand before the system's."""
    return f"{program_folder}{os.pathsep}{os.environ['PATH']}"
