"""A site-month of quarter hours from its site file to its calendar: the clocks change in it, its last week is paced."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from tests.mini_site import ROOT
from tests.own_series import own_sources

pytestmark = pytest.mark.deep

RUN = """
[[run]]
name = "{name}"
gpus = {gpus}
tokens_per_gpu_s = 900
stages = [{{ name = "train", tokens = {tokens:.6g}, deadline = {deadline} }}]
checkpoint_s = 120
reload_s = 300
min_run_h = 4
min_pause_h = 2
max_pauses = 20
"""
# name, GPUs, days of work at full power, deadline in site time
RUNS = (
    ("long", 256, 24.0, "2024-03-31T18:00:00"),
    ("early", 128, 6.0, "2024-03-12T00:00:00"),
    ("next-month", 64, 18.0, "2024-04-10T00:00:00"),
)
SITE = """
[site]
name = "monthly"
timezone = "Europe/Berlin"
latitude = 51.0
longitude = 10.0
zone = "DE-LU"
currency = "EUR"
[horizon]
slot_minutes = 15
on_off_grid_h = 1
[plan]
gap_target = 0.03
time_limit_s = 900
windows_h = 96
[prices]
carbon_per_t = 80
lateness_per_gpu_h = 2.5
[tariff]
demand_charge_per_kw_month = 6
[[block]]
name = "hall"
capacity_kw = 600
cooling = { kind = "dry_cooler", rated_it_kw = 520 }
[block.battery]
energy_kwh = 400
charge_kw = 150
discharge_kw = 150
charge_efficiency = 0.95
discharge_efficiency = 0.95
wear_cost_per_kwh = 0.02
[[pool]]
name = "a"
block = "hall"
gpu = "H100-SXM"
count = 384
"""


def series() -> str:
    """Hours from February on, whose days and weeks differ in price and carbon."""
    rows, start = ["time,carbon,price,dry,wet"], datetime(2024, 2, 1, tzinfo=UTC)
    for h in range(62 * 24):
        day, dry = math.sin(2 * math.pi * (h - 7) / 24), 8 + 6 * math.sin(2 * math.pi * (h - 9) / 24)
        ci, price = 350 - 120 * day - 90 * math.sin(2 * math.pi * h / 216), 80 + 35 * day + 20 * math.sin(h / 27)
        rows.append(f"{start + timedelta(hours=h):%Y-%m-%dT%H:%M:%SZ},{ci:.2f},{price:.2f},{dry:.2f},{dry - 2:.2f}")
    return "\n".join(rows) + "\n"


def test_a_month_is_planned_from_its_site_file(tmp_path):
    (tmp_path / "series.csv").write_text(series(), encoding="utf-8")
    runs = [RUN.format(name=n, gpus=g, tokens=g * 900 * 86400 * d, deadline=at) for n, g, d, at in RUNS]
    (tmp_path / "month.toml").write_text(SITE + own_sources("series.csv") + "".join(runs), encoding="utf-8")
    command = [
        sys.executable, "-m", "planner.cli", "plan", "month.toml", "--month", "2024-03", "--json", "--issued-at",
        "2024-02-29T18:00:00Z", "--offline",
    ]  # fmt: skip
    # minutes, which is more than the other commands of these tests are given
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=1800,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["week"], told["violations"]) == ("2024-03", 0)
    rows = (tmp_path / "out" / "monthly" / "2024-03" / "blocks.csv").read_text(encoding="utf-8").splitlines()
    # the clocks go forward on the last day: an hour of 31 days is not there
    assert len(rows) - 1 == 31 * 96 - 4
    assert told["deadlines_kept"] == told["deadlines"]
    assert 0.0 < told["mip_gap"] < 0.06
    assert (tmp_path / "out" / "monthly" / "2024-03" / "calendars" / "current").is_file()
    assert "planning window 2 of" in done.stderr
    # 24 of 31 days are wanted of it at full power: it runs in every window
    windows = (tmp_path / "out" / "monthly" / "2024-03" / "plan.csv").read_text(encoding="utf-8").splitlines()
    days = {line.split(",")[3][:10] for line in windows[1:] if ",long,run," in line}
    assert len(days) >= 20
