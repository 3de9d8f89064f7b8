"""Plan the example and reference sites from the command line, each in its own process: time, gap, memory, verdict."""

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

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ("colossus-first-months", "colossus", "fairwater", "cortex")
TARGETS = {"lab-8gpu": (1.0, 10.0), "block-20mw": (1.0, 45.0), "superfactory": (3.0, 120.0)}
TARGETS |= dict.fromkeys(REFERENCE, (2.0, 90.0))
"""Site -> certified gap wanted, %, and longest time to it, s."""


def plan(site: str, out: Path) -> list[str]:
    """Plan one site; return its row."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "planner.cli", "plan", ROOT / f"data/sites/{site}.toml", "--json", "--out", out],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    said = json.loads(process.stdout.read())
    _, _, used = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    gap, limit_s = TARGETS[site]
    report_mb = Path(said["files"]["report"]).stat().st_size / 1e6
    return [
        site,
        str(len(said["runs"])),
        f"{said['build_s'] + said['solve_s']:.1f} (at most {limit_s:.0f})",
        f"{100 * said['mip_gap']:.2f} (at most {gap:.0f})",
        said["status"],
        f"{wall_s:.1f}",
        f"{used.ru_maxrss / 2**20:.2f}",
        str(said["violations"]),
        f"{said['deadlines_kept']} of {said['deadlines']}",
        f"{said['saved']['carbon_pct']:.1f} / {said['saved']['cost_pct']:.1f}",
        f"{report_mb:.1f}",
    ]


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="sites")
    parser.add_argument("--only", choices=TARGETS, action="append")
    asked = parser.parse_args(arguments)
    print(describe(), end="\n\n")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        rows = [plan(site, Path(folder) / site) for site in asked.only or TARGETS]
    print(
        table(
            [
                "site", "gangs", "build + solve, s", "certified gap, %", "status", "whole command, s",
                "peak memory, GiB", "violations", "deadlines kept", "carbon / cost saved against asap, %", "report, MB",
            ],
            rows,
        )
    )  # fmt: skip
