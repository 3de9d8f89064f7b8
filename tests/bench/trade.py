"""`gridpace explain` of a whole site and `gridpace frontier` with twelve points: wall and processor seconds."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.machine import describe, table
from tests.conftest import ROOT

SITES = ("lab-8gpu", "week-ahead")
ISSUED = "2024-05-12T18:00:00Z"
HEADS = ("site", "command", "wall s", "processor s", "what came of it")


def run(arguments: list[str], folder: Path) -> tuple[float, float, str]:
    """Wall and processor seconds of a command with its processes, and what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRIDPACE_CACHE": str(folder / "cache")}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "planner.cli", *arguments], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"gridpace {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - started, spent_s, done.stdout


def main(arguments: list[str]) -> None:
    """Print the table."""
    options = argparse.ArgumentParser(prog="tests.bench trade")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--sites", nargs="*", default=SITES)
    asked = options.parse_args(arguments)
    print(describe())
    rows = []
    for name in asked.sites:
        with tempfile.TemporaryDirectory() as given:
            folder, site = Path(given), str(ROOT / "data" / "sites" / f"{name}.toml")
            beside = ["--offline", "--json"]
            run(["plan", site, "--issued-at", ISSUED, "--out", "plan", *beside], folder)
            wall_s, spent_s, said = run(
                ["explain", "plan", "--site", site, "--no-mends", "--jobs", str(asked.jobs), *beside], folder
            )
            told = json.loads(said)
            came = f"{len(told['changes'])} changes, {len(told['why'])} runs"
            rows.append([name, f"explain --no-mends --jobs {asked.jobs}", f"{wall_s:.1f}", f"{spent_s:.1f}", came])
            wall_s, spent_s, said = run(
                ["frontier", site, "--issued-at", ISSUED, "--jobs", str(asked.jobs), *beside], folder
            )
            told = json.loads(said)
            came = f"{told['on_front']} on the front of {len(told['points'])} plans"
            rows.append([name, f"frontier --jobs {asked.jobs}", f"{wall_s:.1f}", f"{spent_s:.1f}", came])
    print(table(list(HEADS), rows))
