"""The paths of new users, each with a wheel alone in an empty environment: machine time, and lines to be typed."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests import newcomers
from tests.bench.machine import describe, table
from tests.wheels import build_wheel, empty_environment

ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> None:
    """Print a table for each path."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench newcomers", description=__doc__)
    parser.parse_args(arguments)
    print(describe())
    paths = (
        ("a first plan of one's own week in Great Britain", ROOT, newcomers.plan_of_their_own),
        ("a training made aware of its calendar", ROOT / "trainer_hooks", newcomers.training_made_aware),
    )
    for title, source, walk in paths:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            wheel = build_wheel(source, folder / "dist")
            begun_s = time.monotonic()
            programs = empty_environment(folder / "environment", wheel).parent
            rows = [["an environment, and the wheel with what it needs", "", f"{time.monotonic() - begun_s:.1f}", ""]]
            steps = walk(folder / "desk", programs)
        rows += [
            [f"`{step.told}`", str(step.lines), f"{step.wall_s:.1f}", f"{step.processor_s:.1f}"]
            if step.wall_s
            else [step.told, str(step.lines), "", ""]
            for step in steps
        ]
        wall_s, processor_s = sum(step.wall_s for step in steps), sum(step.processor_s for step in steps)
        typed = str(sum(step.lines for step in steps))
        rows.append(["after the installation", typed, f"{wall_s:.1f}", f"{processor_s:.1f}"])
        print(f"\n{table([title, 'lines typed', 'wall, s', 'processor, s'], rows)}")
