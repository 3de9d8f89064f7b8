"""What metering 8 GPUs costs a training: the hooks beside ZeusMonitor and CodeCarbon, on the twin of NVML."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.sources.cache import default_folder
from tests.bench.machine import describe, table
from tests.bench.peers.environment import EnvironmentFailedError, ask, make
from tests.conftest import ROOT
from tests.nvml_twin import Twin, TwinUnavailable, nvml_twin

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "overhead_peers.txt"
OWN = HERE / "peers/own_meter.py"
PEERS = (HERE / "peers/zeus_meter.py", HERE / "peers/codecarbon_meter.py")
STEPS, WINDOWS, LONGEST_S = 200_000, 2_000, 20.0
COUNTS_AS_EQUAL = 0.02


@dataclass(frozen=True)
class Cost:
    """What one meter costs.

    Attributes:
        peer: Its name.
        versions: Package -> version.
        started_s: Import and start, s.
        windows_s: Windows that begin and end at once, s.
        steps_s: What it does in a training step, s.
        power_w: Power of all boards that it finds over one second, W.
    """

    peer: str
    versions: Mapping[str, str]
    started_s: float
    windows_s: list[float]
    steps_s: list[float]
    power_w: float


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="overhead")
    parser.add_argument("--env", type=Path, default=default_folder() / "overhead-peers", help="folder of the peers")
    options = parser.parse_args(arguments)
    try:
        python = make(options.env, REQUIREMENTS)
        with tempfile.TemporaryDirectory() as folder, nvml_twin(Path(folder)) as twin:
            costs, true_w = _costs(python, twin, Path(folder))
    except (EnvironmentFailedError, TwinUnavailable) as error:
        sys.exit(f"no comparison with ZeusMonitor and CodeCarbon: {error}")
    print(describe(), end="\n\n")
    print(
        "8 boards of the twin at work. The twin answers at once; a driver takes longer, for each call that it gets. "
        "The hooks count a step and measure once in each record; a peer measures each step as a window of its own. "
        f"Up to {STEPS:,} steps and {WINDOWS:,} windows each, or as many as {LONGEST_S:g} s allow.\n"
    )
    print(table(["what", *(_title(cost) for cost in costs)], _rows(costs, true_w)))
    apart = [cost.peer for cost in costs if abs(cost.power_w / true_w - 1.0) > COUNTS_AS_EQUAL]
    if apart:
        sys.exit(f"{', '.join(apart)} did not find the power that the boards took")


def _costs(python: Path, twin: Twin, folder: Path) -> tuple[list[Cost], float]:
    """Ask each meter on the same boards; returns their costs and the boards' true power, W."""
    for board in twin.boards:
        board.load = 1.0
    # CodeCarbon looks for GPUs only where a program of this name is found and ends well.
    tool = folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n", encoding="ascii")
    tool.chmod(0o755)
    environment = {
        **os.environ,
        **twin.environment(),
        "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}",
    }
    task = json.dumps({"steps": STEPS, "windows": WINDOWS, "longest_s": LONGEST_S})
    own = ask(Path(sys.executable), OWN, task, environment | {"PYTHONPATH": str(ROOT)})
    answers = [own, *(ask(python, script, task, environment) for script in PEERS)]
    return [Cost(**json.loads(answer.splitlines()[-1])) for answer in answers], sum(b.power_w for b in twin.boards)


def _title(cost: Cost) -> str:
    return f"{cost.peer} {' '.join(v for name, v in cost.versions.items() if name != 'nvidia-ml-py')}".strip()


def _rows(costs: list[Cost], true_w: float) -> list[list[str]]:
    def us(seconds: float) -> str:
        return f"{1e6 * seconds:,.1f} us"

    def p99(seconds: list[float]) -> float:
        return statistics.quantiles(seconds, n=100)[98]

    return [
        ["a training step, median", *(us(statistics.median(cost.steps_s)) for cost in costs)],
        ["a training step, 99th percentile", *(us(p99(cost.steps_s)) for cost in costs)],
        ["steps timed", *(f"{len(cost.steps_s):,}" for cost in costs)],
        ["a window of all boards, median", *(us(statistics.median(cost.windows_s)) for cost in costs)],
        ["a window of all boards, 99th percentile", *(us(p99(cost.windows_s)) for cost in costs)],
        ["windows timed", *(f"{len(cost.windows_s):,}" for cost in costs)],
        ["import and start", *(f"{cost.started_s:.2f} s" for cost in costs)],
        [f"power found, of {true_w:,.0f} W", *(f"{cost.power_w:,.0f} W" for cost in costs)],
    ]
