"""A site, a sweep and telemetry whose tokens per joule are known by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trainer_hooks.telemetry import Record, record_line

SAVED_AT = datetime(2024, 5, 20, 8, tzinfo=UTC)
BEGAN = datetime(2024, 5, 13, 6, tzinfo=UTC)
SITE = """
[site]
name = "works"
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

[goodput]
storage_gb_per_s = 10

[[block]]
name = "hall"
capacity_kw = 40

[block.cooling]
kind = "room_air"
rated_it_kw = 36

[[pool]]
name = "node"
block = "hall"
gpu = "H100-SXM"
count = 16
driver = "550.90"

[[run]] # the one that is measured
name = "chat-8b"
gpus = 8
tokens_per_gpu_s = 8000
earliest_start = 2024-05-13T06:00:00
power_limits_w = [500, 600, 700]
checkpoint_s = 60
reload_s = 120
goodput = { failures_per_gpu_day = 5e-4, checkpoint_every_s = 1800, parameters = 8e9 }
stages = [
  { name = "train", tokens = 8.0e9, deadline = 2024-05-15T06:00:00 },
  { name = "align", tokens = 1.0e9, deadline = 2024-05-15T18:00:00 },
]
"""
USER = """
[[run]]
name = "next-8b"
gpus = 8
earliest_start = 2024-05-16T00:00:00
recipe = "chat-8b.json"
priority = 3
"""
SWEEP = {
    "schema": "gridpace.sweep/1",
    "gpu": "H100-SXM",
    "points": [
        {"gpu_power_limit_w": 500, "gpu_draw_w": [490.0, 490.0], "tokens_per_gpu_s": [7350.0, 7350.0]},
        {"gpu_power_limit_w": 600, "gpu_draw_w": [580.0], "tokens_per_gpu_s": [8120.0]},
        {"gpu_power_limit_w": 700, "gpu_draw_w": [660.0], "tokens_per_gpu_s": [8580.0]},
    ],
}
RECORD = Record(
    run="chat-8b",
    calendar_id=None,
    writer="a",
    sequence=0,
    t_start=BEGAN,
    t_end=BEGAN + timedelta(hours=1),
    state="run",
    tokens=200_000_000,
    useful_tokens=200_000_000,
    position_tokens=200_000_000,
    energy_j=16_000_000.0,
    energy_error_j=800_000.0,
    energy_source="counter",
    gpus=8,
    gpu_power_limit_w=600.0,
    enforced_limit_w=600.0,
    adherence=None,
)
# an hour at 500 W, in which a rollback took 20 million tokens back; then a hold that trains nothing
RECORDS = (
    RECORD,
    replace(
        RECORD,
        sequence=1,
        t_start=BEGAN + timedelta(hours=1),
        t_end=BEGAN + timedelta(hours=2),
        useful_tokens=180_000_000,
        energy_j=12_000_000.0,
        energy_error_j=600_000.0,
        gpu_power_limit_w=500.0,
    ),
    replace(
        RECORD,
        sequence=2,
        t_start=BEGAN + timedelta(hours=2),
        t_end=BEGAN + timedelta(hours=3),
        state="hold",
        tokens=0,
        useful_tokens=0,
        energy_j=2_000_000.0,
        energy_error_j=100_000.0,
        gpu_power_limit_w=500.0,
    ),
)


def write_all(folder: Path, records: tuple[Record, ...] = RECORDS) -> Path:
    """Write the site, the sweep and the telemetry into a folder; returns the site file."""
    (folder / "sweep.json").write_text(json.dumps(SWEEP), encoding="utf-8")
    (folder / "telemetry").mkdir(exist_ok=True)
    (folder / "telemetry" / "a.jsonl").write_bytes(b"".join(record_line(one) for one in records))
    site = folder / "site.toml"
    site.write_text(SITE, encoding="utf-8")
    return site
