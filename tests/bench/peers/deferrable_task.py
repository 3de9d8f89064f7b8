"""A small plan that EMHASS can state too: gangs as deferrable loads, each alone in its block, in one weather.

A deferrable load has one power. Ours has a cooling curve, operating points and gangs that share GPUs, so each gang here
has one operating point, a block and a pool of its own, and the weather stands still: its block then draws one power
when it runs and another when it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planner.optimize.limits import block_limits
from planner.week import Prices
from tests.weeks import FULL_POWER, make_block, make_pool, make_run, tiny_week

if TYPE_CHECKING:
    from planner.week import Week

HOURS = 48
GANGS = ((64, 9, 0, 30), (128, 14, 6, 48), (256, 20, 0, 48), (512, 11, 12, 40), (64, 30, 0, 48), (256, 7, 20, 44))
"""GPUs, hours of work, first hour, hour by which it is done."""
LEAST_ON_H = 3
MOST_PAUSES = 2
SEED = 7


def deferrable_week() -> Week:
    """Return the week."""
    rng = np.random.default_rng(SEED)
    hour = np.arange(HOURS)
    price = 0.08 + 0.04 * np.sin(2 * np.pi * (hour - 8) / 24) + rng.normal(0.0, 0.01, HOURS)
    runs = tuple(
        make_run(
            f"gang-{i}",
            gpus,
            float(work_h),
            float(last),
            pools=(f"pool-{i}",),
            points=FULL_POWER,
            earliest_h=float(first),
            min_run_h=float(LEAST_ON_H),
            max_pauses=MOST_PAUSES,
        )
        for i, (gpus, work_h, first, last) in enumerate(GANGS)
    )
    return tiny_week(
        n_slots=HOURS,
        price_per_kwh=price,
        blocks=tuple(make_block(f"block-{i}", 1.6 * gpus, n_slots=HOURS) for i, (gpus, *_) in enumerate(GANGS)),
        pools=tuple(make_pool(f"pool-{i}", gpus, f"block-{i}") for i, (gpus, *_) in enumerate(GANGS)),
        runs=runs,
        prices=Prices("EUR", carbon_per_t=0.0, water_per_m3=0.0, lateness_per_gpu_h=50.0),
    )


def deferrable_task(week: Week) -> dict[str, Any]:
    """Return the week as deferrable loads: powers in W, times in slots."""
    loads, base_w = [], np.zeros(week.grid.n_slots)
    for run, block in zip(week.runs, week.blocks, strict=True):
        limits = block_limits(week, block)
        pool = week.pools[week.blocks.index(block)]
        on_kw = limits.idle_kw + limits.added_kw(run.gpus, FULL_POWER[0].it_w_per_gpu, pool.gpu.idle_w_per_gpu)
        idle_w, on_w = (1000.0 * (kw + limits.curves.cooling_kw(kw)) for kw in (limits.idle_kw, on_kw))
        base_w += idle_w
        (stage,) = run.stages
        loads.append(
            {
                "power_w": float((on_w - idle_w)[0]),
                "timesteps": round(week.work_tokens(run) / (3600.0 * run.fastest_tokens_per_s)),
                "first": round(week.grid.position(run.earliest_start)),
                "after": round(week.grid.position(stage.deadline)),
                "least_on": round(run.min_run_h),
                "most_starts": run.max_pauses + 1,
            }
        )
    return {
        "start": week.grid.start.isoformat(),
        "price_per_kwh": week.signals.price_per_kwh.tolist(),
        "base_w": base_w.tolist(),
        "loads": loads,
    }
