"""The aggregate program as a PyPSA network: a task on standard input, the answer on standard output.

GPUs flow as power does: a gang's shares leave its own bus, take GPUs from their pool's and power from their block's,
and fill a store of work. What PyPSA has no component for is added to its model: cooling, lateness, a billed peak.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pypsa
import xarray as xr
from timed_reply import Solve, reply, solver


def build(task: dict[str, Any]) -> Solve:
    """Return what solves the program."""
    n = pypsa.Network()
    slots = pd.RangeIndex(task["n_slots"], name="snapshot")
    n.set_snapshots(slots, default_snapshot_weightings=task["slot_h"])
    add_blocks(n, task)
    add_batteries(n, task)
    add_gangs(n, task)
    m = n.optimize.create_model(include_objective_constant=False)
    cost = [add_lateness(m, task), *(add_peak(m, task, i, r) for i, r in enumerate(task["registers"]))]
    add_cooling(m, task)
    m.objective = m.objective + sum(cost[1:], cost[0])
    return solver(m.to_highspy())


def profile(n: pypsa.Network, parts: list[dict[str, Any]], key: str, names: list[str]) -> pd.DataFrame:
    """Return one column per part."""
    return pd.DataFrame(np.array([part[key] for part in parts]).T, index=n.snapshots, columns=names)


def add_blocks(n: pypsa.Network, task: dict[str, Any]) -> None:
    """Add import, solar, idle power and cooling of all blocks; IT power has a bus of its own."""
    blocks, h = task["blocks"], task["slot_h"]
    names = [b["name"] for b in blocks]
    it = [f"it {name}" for name in names]
    n.add("Bus", [*names, *it])
    price = pd.DataFrame({f"grid {name}": np.array(task["energy_price"]) / h for name in names}, index=n.snapshots)
    most = profile(n, blocks, "import", list(price))
    n.add("Generator", list(price), bus=names, p_nom=1.0, p_max_pu=most, marginal_cost=price)
    sunny = [b for b in blocks if b["solar"]]
    solar = [f"solar {b['name']}" for b in sunny]
    if sunny:
        power = profile(n, sunny, "solar", solar)
        n.add("Generator", solar, bus=[b["name"] for b in sunny], p_nom=1.0, p_max_pu=power)
    room = most.max().to_numpy() + [max(b["solar"] or [0.0]) for b in blocks]
    n.add("Generator", [f"cooling {name}" for name in names], bus=names, sign=-1.0, p_nom=room)
    n.add("Load", it, bus=it, p_set=profile(n, blocks, "idle", it))
    n.add(
        "Link",
        it,
        bus0=names,
        bus1=it,
        p_nom=1.0,
        p_min_pu=profile(n, blocks, "idle", it),
        p_max_pu=profile(n, blocks, "it_most", it),
        marginal_cost=profile(n, blocks, "water_price", it) / h,
    )


def add_batteries(n: pypsa.Network, task: dict[str, Any]) -> None:
    """Add each battery as a store behind a link in and a link out."""
    h = task["slot_h"]
    for block in task["blocks"]:
        one, name = block["battery"], block["name"]
        if not one:
            continue
        low, high = (pd.Series(one[key], index=n.snapshots) for key in ("least", "most"))
        low.iloc[-1], high.iloc[-1] = one["last"]
        n.add("Bus", f"battery {name}")
        n.add(
            "Store",
            f"battery {name}",
            bus=f"battery {name}",
            e_nom=one["energy"],
            e_initial=one["first"] * one["energy"],
            e_min_pu=low,
            e_max_pu=high,
            standing_loss=1.0 - one["kept"] ** (1.0 / h),
        )
        n.add(
            "Link",
            f"charge {name}",
            bus0=name,
            bus1=f"battery {name}",
            p_nom=one["charge"],
            efficiency=one["charge_efficiency"],
        )
        n.add(
            "Link",
            f"discharge {name}",
            bus0=f"battery {name}",
            bus1=name,
            p_nom=one["discharge"] / one["discharge_efficiency"],
            efficiency=one["discharge_efficiency"],
            marginal_cost=one["wear_price"] / h * one["discharge_efficiency"],
        )


def add_gangs(n: pypsa.Network, task: dict[str, Any]) -> None:
    """Add pools, gangs, and a link per gang, option and operating point; its power is GPUs."""
    gangs = [g["name"] for g in task["gangs"]]
    pools = [p["name"] for p in task["pools"]]
    work, service = [f"work {g}" for g in gangs], [f"gpus {p}" for p in pools]
    n.add("Bus", [*gangs, *work, *service])
    n.add("Generator", gangs, bus=gangs, p_nom=[g["gpus"] for g in task["gangs"]])
    n.add("Generator", service, bus=service, p_nom=1.0, p_max_pu=profile(n, task["pools"], "gpus", service))
    n.add("Store", work, bus=work, e_nom=[g["most"] for g in task["gangs"]])
    rows, is_open = [], []
    for g in task["gangs"]:
        for option in g["options"]:
            mask = np.zeros(task["n_slots"])
            mask[option["open"]] = 1.0
            for k, rate in enumerate(option["rate"]):
                added = option["added"][k]
                if min(added) != max(added):
                    raise ValueError("power per GPU moves with the slot, which this network does not show")
                to = f"work {g['name']}", f"it {option['block']}", f"gpus {option['pool']}"
                rows.append((f"{g['name']} {option['pool']} {k}", g["name"], *to, rate, -added[0], g["gpus"]))
                is_open.append(mask)
    table = pd.DataFrame(rows, columns=["link", "gang", "work", "it", "pool", "rate", "added", "gpus"]).set_index(
        "link"
    )
    n.add(
        "Link",
        table.index,
        bus0=table.gang,
        bus1=table.work,
        bus2=table.it,
        bus3=table.pool,
        efficiency=table.rate,
        efficiency2=table.added,
        efficiency3=-1.0,
        p_nom=table.gpus,
        p_max_pu=pd.DataFrame(np.array(is_open).T, index=n.snapshots, columns=table.index),
    )


def add_lateness(m: Any, task: dict[str, Any]) -> Any:
    """Return what work costs that is missing at a mark; add its rows."""
    asked = [(f"work {g['name']}", int(mark) - 1, due, g["price"]) for g in task["gangs"] for mark, due in g["marks"]]
    of = {"due": np.arange(len(asked))}
    store, slot, due, price = (xr.DataArray(list(one), of) for one in zip(*asked, strict=True))
    short = m.add_variables(lower=0.0, coords=[of["due"]], dims=["due"], name="short")
    m.add_constraints(m["Store-e"].sel(name=store, snapshot=slot) + short >= due, name="due")
    return (short * price).sum()


def add_peak(m: Any, task: dict[str, Any], place: int, register: dict[str, Any]) -> Any:
    """Return what the highest mean import costs; add its rows."""
    rise = m.add_variables(lower=register["least"], name=f"rise-{place}")
    interval = np.array(register["interval"])
    slots = np.flatnonzero(interval >= 0)
    _, group, counts = np.unique(interval[slots], return_inverse=True, return_counts=True)
    of = {"snapshot": slots}
    grid = m["Generator-p"].sel(name=[f"grid {b['name']}" for b in task["blocks"]], snapshot=slots).sum("name")
    mean = (grid * xr.DataArray(1.0 / counts[group], of)).groupby(xr.DataArray(group, of, name="mean")).sum()
    m.add_constraints(mean - rise <= 0.0, name=f"peak-{place}")
    return register["price"] * rise


def add_cooling(m: Any, task: dict[str, Any]) -> None:
    """Hold cooling above its segments."""
    where = [(b["name"], *segment) for b in task["blocks"] for segment in b["segments"]]
    of = {"segment": np.arange(len(where))}
    block, slot, slope, intercept = zip(*where, strict=True)
    cooling, it = (xr.DataArray([f"{what} {name}" for name in block], of) for what in ("cooling", "it"))
    slot, slope, intercept = (xr.DataArray(list(one), of) for one in (slot, slope, intercept))
    m.add_constraints(
        m["Generator-p"].sel(name=cooling, snapshot=slot) - slope * m["Link-p"].sel(name=it, snapshot=slot)
        >= intercept,
        name="segments",
    )


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    given = json.load(sys.stdin)
    reply("PyPSA", ("pypsa", "linopy", "highspy", "pandas", "numpy"), lambda: build(given))
