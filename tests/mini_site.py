"""A site of one node that is planned in seconds, and the command as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ISSUED = "2024-05-12T18:00:00Z"
MINI = """
[site]
name = "Werk Süd"
timezone = "Europe/Berlin"
latitude = 51.0
longitude = 10.0
zone = "demo-central"
currency = "EUR"

[horizon]
week = "2024-W20"

[prices]
carbon_per_t = 80
lateness_per_gpu_h = 2.5

[tariff]
adder_per_kwh = 0.02

[sources.carbon]
provider = "demo"

[sources.price]
provider = "demo"

[sources.weather]
provider = "demo"

[[block]]
name = "hall"
capacity_kw = 20

[block.cooling]
kind = "room_air"
rated_it_kw = 18

[[pool]]
name = "node"
block = "hall"
gpu = "H100-SXM"
count = 8

[[run]]
name = "=1+1 <script>"
gpus = 8
tokens_per_gpu_s = 8000
stages = [{ name = "train", tokens = 8.0e9, deadline = 2024-05-17T18:00:00 }]
checkpoint_s = 60
reload_s = 120
min_run_h = 4
min_pause_h = 4
max_pauses = 4
on_off_grid_h = 4
"""


def gridpace(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "planner.cli", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GRIDPACE_CACHE": str(cwd / "cache"), **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
