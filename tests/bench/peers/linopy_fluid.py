"""The aggregate program in linopy: a task on standard input, the answer on standard output."""

from __future__ import annotations

import json
import sys
from typing import Any

import linopy
import numpy as np
import xarray as xr
from timed_reply import Solve, reply, solver

Names = list[str]


def build(task: dict[str, Any]) -> Solve:
    """Return what solves the program."""
    m = linopy.Model()
    blocks = {"block": [b["name"] for b in task["blocks"]], "slot": np.arange(task["n_slots"])}
    grid = m.add_variables(0.0, values(task["blocks"], "import", blocks), name="grid")
    it = m.add_variables(values(task["blocks"], "idle", blocks), values(task["blocks"], "it_most", blocks), name="it")
    cooling = m.add_variables(lower=0.0, coords=[blocks["block"], blocks["slot"]], dims=["block", "slot"], name="cool")
    energy_price = xr.DataArray(task["energy_price"], {"slot": blocks["slot"]})
    cost = [(grid * energy_price).sum(), (it * values(task["blocks"], "water_price", blocks)).sum()]
    add_cooling(m, task, it, cooling)
    balance = grid - it - cooling
    sunny = [b for b in task["blocks"] if b["solar"]]
    if sunny:
        coords = {"block": [b["name"] for b in sunny], "slot": blocks["slot"]}
        solar = m.add_variables(0.0, values(sunny, "solar", coords), name="solar")
        balance += solar.reindex(block=blocks["block"]).fillna(0.0)
    stored = [b for b in task["blocks"] if b["battery"]]
    if stored:
        power, wear = add_batteries(m, task, stored)
        balance += power.reindex(block=blocks["block"]).fillna(0.0)
        cost.append(wear)
    m.add_constraints(balance == 0.0, name="balance")
    cost += [add_peak(m, i, register, grid) for i, register in enumerate(task["registers"])]
    cost.append(add_gangs(m, task, it))
    m.add_objective(sum(cost[1:], cost[0]))
    return solver(m.to_highspy())


def values(parts: list[dict[str, Any]], key: str, coords: dict[str, Any]) -> xr.DataArray:
    """Return one row per part."""
    return xr.DataArray(np.array([part[key] for part in parts]), coords)


def add_cooling(m: linopy.Model, task: dict[str, Any], it: linopy.Variable, cooling: linopy.Variable) -> None:
    """Hold cooling above its segments."""
    where = [(b["name"], *segment) for b in task["blocks"] for segment in b["segments"]]
    of = {"segment": np.arange(len(where))}
    block, slot, slope, intercept = (xr.DataArray(list(one), of) for one in zip(*where, strict=True))
    m.add_constraints(
        cooling.sel(block=block, slot=slot) - slope * it.sel(block=block, slot=slot) >= intercept, name="segments"
    )


def add_batteries(
    m: linopy.Model, task: dict[str, Any], stored: list[dict[str, Any]]
) -> tuple[linopy.LinearExpression, linopy.LinearExpression]:
    """Return what batteries add to their blocks' balance, and what their wear costs."""
    T, h = task["n_slots"], task["slot_h"]
    names, slots = [b["name"] for b in stored], np.arange(T)
    one = {name: xr.DataArray([b["battery"][name] for b in stored], {"block": names}) for name in (
        "energy", "charge", "discharge", "charge_efficiency", "discharge_efficiency", "kept", "wear_price", "least",
        "most", "first",
    )}  # fmt: skip
    last = np.array([b["battery"]["last"] for b in stored])
    ends = {"block": names, "slot": slots}
    low, high = (np.repeat(one[name].values[:, None], T, axis=1) for name in ("least", "most"))
    low[:, -1], high[:, -1] = last[:, 0], last[:, 1]
    level = m.add_variables(xr.DataArray(low, ends) * one["energy"], xr.DataArray(high, ends) * one["energy"], name="e")
    every = xr.ones_like(xr.DataArray(low, ends))
    charge = m.add_variables(0.0, every * one["charge"], name="charge")
    discharge = m.add_variables(0.0, every * one["discharge"], name="discharge")
    change = charge * (h * one["charge_efficiency"]) - discharge * (h / one["discharge_efficiency"])
    first, later = slots[:1], slots[1:]
    m.add_constraints(
        level.sel(slot=first) - change.sel(slot=first) == one["kept"] * one["first"] * one["energy"], name="first"
    )
    before = level.sel(slot=slots[:-1]).assign_coords(slot=later)
    m.add_constraints(level.sel(slot=later) - before * one["kept"] - change.sel(slot=later) == 0.0, name="state")
    return discharge - charge, (discharge * one["wear_price"]).sum()


def add_peak(m: linopy.Model, place: int, register: dict[str, Any], grid: linopy.Variable) -> linopy.LinearExpression:
    """Return what the highest mean import costs."""
    rise = m.add_variables(lower=register["least"], name=f"rise-{place}")
    interval = np.array(register["interval"])
    slots = np.flatnonzero(interval >= 0)
    _, group, counts = np.unique(interval[slots], return_inverse=True, return_counts=True)
    share = xr.DataArray(1.0 / counts[group], {"slot": slots})
    mean = (grid.sel(slot=slots).sum("block") * share).groupby(xr.DataArray(group, {"slot": slots}, name="mean")).sum()
    m.add_constraints(mean - rise <= 0.0, name=f"peak-{place}")
    return register["price"] * rise


def add_gangs(m: linopy.Model, task: dict[str, Any], it: linopy.Variable) -> linopy.LinearExpression:
    """Add gangs that flow in shares; return what their lateness costs."""
    h, T, gangs = task["slot_h"], task["n_slots"], task["gangs"]
    pools, blocks = [p["name"] for p in task["pools"]], [b["name"] for b in task["blocks"]]
    # one row of cells per gang, option and slot in which it is open, at every operating point
    kinds = [(g, option) for g, gang in enumerate(gangs) for option in gang["options"]]
    points = len(kinds[0][1]["rate"])
    slot = np.concatenate([option["open"] for _, option in kinds]).astype(int)
    length = [len(option["open"]) for _, option in kinds]
    gang = np.repeat([g for g, _ in kinds], length)
    pool = np.repeat([pools.index(option["pool"]) for _, option in kinds], length)
    block = np.repeat([blocks.index(option["block"]) for _, option in kinds], length)
    rate = np.repeat(np.array([option["rate"] for _, option in kinds]), length, axis=0)
    added = np.concatenate([np.array(option["added"])[:, option["open"]].T for _, option in kinds])
    of = {"cell": np.arange(len(slot)), "point": np.arange(points)}
    x = m.add_variables(lower=0.0, coords=[of["cell"], of["point"]], dims=["cell", "point"], name="x")

    def gathered(expression: linopy.LinearExpression, key: np.ndarray) -> linopy.LinearExpression:
        return expression.groupby(xr.DataArray(key, {"cell": of["cell"]}, name="at")).sum()

    used = x.sum("point")
    size = xr.DataArray([g["gpus"] for g in gangs], {"gang": np.arange(len(gangs))})
    shares = np.unique(gang * T + slot)
    m.add_constraints(
        gathered(used, gang * T + slot) <= xr.DataArray(size.values[shares // T], {"at": shares}), name="shares"
    )
    places = np.unique(pool * T + slot)
    service = np.array([p["gpus"] for p in task["pools"]]).ravel()
    m.add_constraints(gathered(used, pool * T + slot) <= xr.DataArray(service[places], {"at": places}), name="gpus")
    every = np.arange(len(blocks) * T)
    load = gathered((x * xr.DataArray(added, of)).sum("point"), block * T + slot).reindex(at=every).fillna(0.0)
    where = (
        xr.DataArray(np.repeat(blocks, T), {"at": every}),
        xr.DataArray(np.tile(np.arange(T), len(blocks)), {"at": every}),
    )
    whole = it.sel(block=where[0], slot=where[1])
    idle = np.array([b["idle"] for b in task["blocks"]]).ravel()
    m.add_constraints(whole - load == xr.DataArray(idle, {"at": every}), name="it power")

    # work done by each mark, one row after another
    marks = [sorted({*(mark for mark, _ in g["marks"]), float(T)}) for g in gangs]
    begin = np.cumsum([0, *map(len, marks)])
    step = np.array([begin[g] + np.searchsorted(marks[g], t, side="right") for g, t in zip(gang, slot, strict=True)])
    done = m.add_variables(coords=[np.arange(begin[-1])], dims=["at"], name="done")
    steps = np.arange(begin[-1])
    made = gathered((x * xr.DataArray(rate * h, of)).sum("point"), step).reindex(at=steps).fillna(0.0)
    later = np.setdiff1d(steps, begin[:-1])
    before = done.sel(at=later - 1).assign_coords(at=later)
    m.add_constraints(done.sel(at=later) - before - made.sel(at=later) == 0.0, name="made")
    m.add_constraints(done.sel(at=begin[:-1]) - made.sel(at=begin[:-1]) == 0.0, name="made first")
    m.add_constraints(
        done.sel(at=begin[1:] - 1) <= xr.DataArray([g["most"] for g in gangs], {"at": begin[1:] - 1}), name="most"
    )
    asked = [
        (int(begin[g] + marks[g].index(mark)), work, one["price"])
        for g, one in enumerate(gangs)
        for mark, work in one["marks"]
    ]
    due = {"due": np.arange(len(asked))}
    at, work, price = (xr.DataArray(list(one), due) for one in zip(*asked, strict=True))
    short = m.add_variables(lower=0.0, coords=[due["due"]], dims=["due"], name="short")
    m.add_constraints(done.sel(at=at) + short >= work, name="due")
    return (short * price).sum()


if __name__ == "__main__":
    given = json.load(sys.stdin)
    reply("linopy", ("linopy", "highspy", "xarray", "numpy"), lambda: build(given))
