"""Deferrable loads planned by EMHASS: a task on standard input, the answer on standard output."""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import emhass
import numpy as np
import pandas as pd
from emhass.optimization import Optimization
from timed_reply import quiet_until_told

MOST_W = 1e9  # no limit of the connection is asked for


def settings(task: dict[str, Any]) -> dict[str, Any]:
    """Return EMHASS's own defaults with what the task asks for."""
    loads = task["loads"]
    given = json.loads((Path(emhass.__file__).parent / "data/config_defaults.json").read_text(encoding="utf-8"))
    return given | {
        "costfun": "cost",
        "optimization_time_step": pd.Timedelta(hours=1),
        "delta_forecast_daily": pd.Timedelta(hours=len(task["base_w"])),
        "time_zone": "UTC",
        "num_threads": 1,
        "lp_solver": "Highs",
        "lp_solver_mip_rel_gap": 0.0,
        "maximum_power_from_grid": MOST_W,
        "number_of_deferrable_loads": len(loads),
        "nominal_power_of_deferrable_loads": [load["power_w"] for load in loads],
        "minimum_power_of_deferrable_loads": [0.0] * len(loads),
        "cost_forecast_per_deferrable_load": [None] * len(loads),
        "is_electric_load": [True] * len(loads),
        "operating_hours_of_each_deferrable_load": [load["timesteps"] for load in loads],
        "start_timesteps_of_each_deferrable_load": [load["first"] for load in loads],
        "end_timesteps_of_each_deferrable_load": [load["after"] for load in loads],
        "treat_deferrable_load_as_semi_cont": [True] * len(loads),
        "set_deferrable_load_single_constant": [False] * len(loads),
        "set_deferrable_startup_penalty": [0.0] * len(loads),
        "deferrable_load_max_cost": [0.0] * len(loads),
        "set_deferrable_max_startups": [load["most_starts"] for load in loads],
        "def_minimum_on_time": [load["least_on"] for load in loads],
        "def_minimum_off_time": [0] * len(loads),
    }


def planned(task: dict[str, Any]) -> tuple[float, float, float]:
    """Return money of the plan, and what it took: s and s of processor time."""
    given = settings(task)
    log = logging.getLogger("emhass")
    index = pd.date_range(task["start"], periods=len(task["base_w"]), freq="1h")
    price, base_w = np.array(task["price_per_kwh"]), np.array(task["base_w"])
    wall, cpu = time.perf_counter(), time.process_time()
    planner = Optimization(given, given, given, "price", "sold", "cost", {}, log, num_timesteps=len(index))
    found = planner.perform_optimization(
        pd.DataFrame({"price": price, "sold": 0.0}, index),
        np.zeros(len(index)),
        base_w,
        price,
        np.zeros(len(index)),
    )
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    if planner.optim_status != "Optimal":
        raise RuntimeError(f"EMHASS ends with {planner.optim_status}")
    power_w = found[[f"P_deferrable{k}" for k in range(len(task["loads"]))]].to_numpy().sum(axis=1)
    return float(price @ (base_w + power_w)) / 1000.0, wall_s, cpu_s


if __name__ == "__main__":
    tell = quiet_until_told()
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    asked = json.load(sys.stdin)
    answers = [planned(asked) for _ in range(asked["rounds"])]
    packages = ("emhass", "cvxpy", "highspy", "numpy")
    tell(
        {
            "peer": "EMHASS",
            "versions": {name: version(name) for name in packages},
            "objective": answers[0][0],
            "wall_s": [wall_s for _, wall_s, _ in answers],
            "cpu_s": [cpu_s for _, _, cpu_s in answers],
        }
    )
