"""Weeks whose programs have every family of rows and columns: of one site with all supply, and of two sites."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from planner.config import site_from_text
from planner.gather import gather
from planner.week import Week

SITE = """
[site]
name = "everything"
timezone = "Europe/Berlin"
latitude = 51.0
longitude = 10.0
zone = "demo-sunbelt"
currency = "USD"

[horizon]
slot_minutes = 60
week = "2024-W20"

[prices]
carbon_per_t = 80
lateness_per_gpu_h = 2.5
water_per_m3 = 3

[objective]
carbon_budget_t = 2

[[block]]
name = "A"
capacity_kw = 400
ramp_kw_per_min = 20
cooling = { kind = "tower_chiller", rated_it_kw = 330, store_volume_m3 = 20, heat_pump_capacity_share = 0.2 }
[block.solar]
peak_kw = 200
[block.battery]
energy_kwh = 160
charge_kw = 80
discharge_kw = 80
wear_cost_per_kwh = 0.02
reserve_min = 2
grid_charging = false
final_rule = "free"
final_worth_per_kwh = 0.05
[block.wind]
rated_kw = 100
hub_height_m = 100
[[block.generator]]
name = "sets"
units = 2
unit_kw = 60
min_load_share = 0.4
min_up_h = 3
min_down_h = 3
initial_units = 1
initial_h = 1
start_cost = 3
fuel_cost_per_kwh = 0.1
direct_gco2_per_kwh = 500
lifecycle_gco2_per_kwh = 560
max_unit_h = 60
[block.export]
limit_kw = 120
price_share = 1.0
[block.heat]
price_per_kwh = 0.03
demand_kw = 60

[[block]]
name = "B"
capacity_kw = 400
cooling = { kind = "dry_cooler", rated_it_kw = 340, chiller_capacity_share = 0.6, supply_setpoint_c = 24 }

[[pool]]
name = "P"
block = "A"
gpu = "H100-SXM"
count = 160

[[pool]]
name = "Q"
block = "B"
gpu = "H100-SXM"
count = 160
"""
ONE_SITE = """
[tariff]
demand_charge_per_kw_month = 9

[[contract]]
name = "C"
kw = 50
price_per_kwh = 0.05
profile = "base"
min_take_share = 0.8
offered = true
all_or_none = true

[[ppa]]
name = "F"
kind = "as_produced"
strike_per_kwh = 0.05
sale_share = 0.9
share = 0.5
solar = { peak_kw = 200 }

[[ppa]]
name = "G"
kind = "as_produced"
settlement = "difference"
strike_per_kwh = 0.05
share = 0.5
solar = { peak_kw = 200 }

[[run]]
name = "R"
gpus = 128
tokens_per_gpu_s = 1000
min_run_h = 8
min_pause_h = 8
on_off_grid_h = 4
max_pauses = 2
stages = [{ name = "all", tokens = 1.8e10, deadline = 2024-05-16T18:00:00 }]

[[run]]
name = "S"
gpus = 64
tokens_per_gpu_s = 1000
pools = ["P"]
after = [{ run = "R", lag_h = 1 }]
on_off_grid_h = 4
stages = [{ name = "all", tokens = 4e9, deadline = 2024-05-18T12:00:00 }]

[[run]]
name = "M"
gpus = 64
tokens_per_gpu_s = 1000
min_run_h = 4
min_pause_h = 8
on_off_grid_h = 4
sizes = [{ gpus = 32, throughput_share = 0.55 }]
stages = [{ name = "all", tokens = 4e9, deadline = 2024-05-18T12:00:00 }]
[run.migration]
size_tb = 2
rate_gb_per_s = 5

[[run]]
name = "N"
gpus = 32
tokens_per_gpu_s = 1000
on_off_grid_h = 8
sizes = [{ gpus = 16, throughput_share = 0.55 }]
stages = [{ name = "all", tokens = 2e9, deadline = 2024-05-18T12:00:00 }]
"""
TWO_SITES = """
[[other_site]]
name = "north"
timezone = "Europe/London"
latitude = 55.0
longitude = -3.0
zone = "demo-north-sea"
currency = "GBP"
exchange_rate = 1.17

[[link]]
between = ["everything", "north"]
rate_gb_per_s = 2.5
energy_kwh_per_tb = 6
cost_per_tb = 4

[[run]]
name = "R"
gpus = 64
tokens_per_gpu_s = 1000
data = { site = "everything", size_tb = 10 }
min_run_h = 8
min_pause_h = 8
on_off_grid_h = 4
max_pauses = 2
stages = [{ name = "all", tokens = 1.8e10, deadline = 2024-05-16T18:00:00 }]

"""
NOW = datetime(2024, 5, 12, 18, tzinfo=UTC)


def weeks_of_every_feature() -> tuple[Week, Week]:
    """The weeks of both sites, with a night in which import is paid for."""
    elsewhere = SITE.replace('name = "B"\n', 'name = "B"\nsite = "north"\n')
    return _week(SITE + ONE_SITE), _week(elsewhere + TWO_SITES)


def _week(text: str) -> Week:
    week = gather(site_from_text(text, Path("site.toml")), now=NOW, offline=True)
    prices = np.array(week.signals.price_per_kwh)
    prices[2:5] = -0.3
    prices.setflags(write=False)
    return replace(week, signals=replace(week.signals, price_per_kwh=prices))
