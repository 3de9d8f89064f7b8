"""A week's aggregate program as plain numbers: what our own path and every peer build it from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planner.optimize.curves import highest_segments
from planner.optimize.limits import block_limits, energy_worth
from planner.optimize.scale.classes import EVERY_RUN, classes
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.site import power_unit_kw
from tests.many_gangs import many_gangs

if TYPE_CHECKING:
    from planner.optimize.limits import BlockLimits
    from planner.optimize.scale.classes import LikeRuns
    from planner.optimize.scale.crowd import Crowd
    from planner.week import Week

CASES = {"30x168": (30, 168, 60, 2), "100x672": (100, 672, 15, 4)}
"""Gangs, slots, minutes of a slot, pools."""
SEED = 1


def crowd_of(n_runs: int, n_slots: int, slot_minutes: int, n_pools: int) -> Crowd:
    """Return the gangs of a case, whose pools lie in one block each."""
    week = many_gangs(SEED, n_runs=n_runs, n_slots=n_slots, slot_minutes=slot_minutes, n_pools=n_pools)
    return crowd(week, [block_limits(week, block) for block in week.blocks])


def fluid_task(gangs: Crowd) -> dict[str, Any]:
    """Return the program of gangs that flow in shares, every one by itself, as JSON values.

    Powers are in units of `unit_kw`, money in as many units of currency, and GPUs counted one by one.

    Raises:
        ValueError: The week has a part that the peers are not asked about.
    """
    week, unit_kw = gangs.week, power_unit_kw(gangs.week)
    _only_what_is_asked(week)
    return {
        "slot_h": week.grid.slot_h,
        "n_slots": week.grid.n_slots,
        "unit_kw": unit_kw,
        "energy_price": (energy_worth(week) * week.grid.slot_h).tolist(),
        "blocks": [_block(week, one, unit_kw) for one in gangs.limits],
        "registers": [
            {"price": r.charge_per_kw, "least": r.least_kw / unit_kw, "interval": r.interval.tolist()}
            for r in week.demand_registers
        ],
        "pools": [{"name": pool.name, "gpus": gangs.in_service[p].tolist()} for p, pool in enumerate(week.pools)],
        "gangs": [_gang(gangs, one, f"gang-{i}", unit_kw) for i, one in enumerate(classes(gangs, EVERY_RUN))],
    }


def _only_what_is_asked(week: Week) -> None:
    beyond = {
        "contracts": week.contracts,
        "a pool in two blocks": [pool for pool in week.pools if len(tuple(pool.shares)) > 1],
        "generators, wind or a ramp limit": [
            b for b in week.blocks if b.generators or b.wind or b.power.rise_step_kw or b.power.fall_step_kw
        ],
        "a peak owed already": [r for r in week.demand_registers if r.owed_kw],
        "import that is paid for": energy_worth(week).min() < 0.0,
    }
    for what, there in beyond.items():
        if there:
            raise ValueError(f"the week has {what}, which the peers are not asked about")


def _block(week: Week, limits: BlockLimits, unit_kw: float) -> dict[str, Any]:
    low, high = limits.idle_kw / unit_kw, limits.it_max_kw / unit_kw
    segments = []
    for t in range(week.grid.n_slots):
        pair = limits.envelope.slope[t], limits.envelope.intercept_kw[t] / unit_kw
        segments.extend((t, float(s), float(i)) for s, i in highest_segments(*pair, float(low[t]), float(high[t])))
    water = limits.envelope.water_l_per_kwh / 1000.0 * week.prices.water_per_m3 * week.grid.slot_h
    store = limits.block.battery
    return {
        "name": limits.block.name,
        "import": (limits.import_kw / unit_kw).tolist(),
        "solar": (limits.solar_kw / unit_kw).tolist() if limits.solar_kw.any() else None,
        "idle": low.tolist(),
        "it_most": high.tolist(),
        "water_price": np.broadcast_to(water, week.grid.n_slots).tolist(),
        "segments": segments,
        "battery": store
        and {
            "energy": store.energy_kwh / unit_kw,
            "charge": store.charge_kw / unit_kw,
            "discharge": store.discharge_kw / unit_kw,
            "charge_efficiency": store.charge_efficiency,
            "discharge_efficiency": store.discharge_efficiency,
            "kept": store.kept_share(week.grid.slot_h),
            "wear_price": store.wear_cost_per_kwh * week.grid.slot_h,
            "least": store.min_share,
            "most": store.max_share,
            "first": store.initial_share,
            "last": [kwh / store.energy_kwh for kwh in store.final_kwh],
        },
    }


def _gang(gangs: Crowd, one: LikeRuns, name: str, unit_kw: float) -> dict[str, Any]:
    marks = [
        (float(one.marks[i, j]), float(one.work[i]))
        for i in np.flatnonzero(one.work > 0)
        for j in np.flatnonzero(np.isfinite(one.marks[i]))
    ]
    return {
        "name": name,
        "gpus": one.gpus,
        "price": one.price / unit_kw,  # per GPU-hour, in units of money
        "most": one.most,
        "marks": marks,
        "options": [_option(gangs, option, unit_kw) for option in one.options],
    }


def _option(gangs: Crowd, option: Any, unit_kw: float) -> dict[str, Any]:
    table = gangs.tables[option.table]
    pool = gangs.week.pools[table.pool]
    ((block, _),) = tuple(pool.shares)
    b = [one.name for one in gangs.week.blocks].index(block)
    added = gangs.added_kw[option.table, : len(table.throughput), b] / unit_kw
    return {
        "pool": pool.name,
        "block": block,
        "rate": (option.rate * table.throughput).tolist(),
        "added": added.tolist(),  # per GPU: points by slots
        "open": np.flatnonzero(option.is_open).tolist(),
    }
