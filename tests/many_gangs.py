"""Sites with many gangs, drawn from a seed: one hall and one pool after another, some seven tenths full."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from planner.pool import Pool
from planner.precedence import After
from planner.run import PoolOption, Run, Stage
from planner.week import Block, Week
from power.tariff import Tariff
from tests.weeks import POINTS, at, battery, make_block, make_pool, make_run, solar, tiny_week

SIZES = (8, 16, 32, 64, 128, 256)
SIZE_CHANCES = (0.22, 0.24, 0.22, 0.16, 0.1, 0.06)


def many_gangs(
    seed: int,
    *,
    n_runs: int,
    n_slots: int = 168,
    slot_minutes: int = 60,
    n_pools: int = 4,
    fill: float = 0.7,
    ramp_kw_per_min: float | None = None,
    two_stages: float = 0.2,
) -> Week:
    """A site whose gangs want `fill` of the GPU-hours; solar and a battery in every other hall, a demand charge.

    Starts and stops cost time, spells and pauses have a shortest length, three runs in ten may choose between two
    pools, and prices and carbon move over the day.
    """
    rng = np.random.default_rng(seed)
    hours = n_slots * slot_minutes / 60
    step = np.arange(n_slots) * slot_minutes / 60
    sizes = rng.choice(SIZES, n_runs, p=SIZE_CHANCES)
    first = np.floor(rng.uniform(0.0, 0.4, n_runs) * hours) * (rng.random(n_runs) < 0.5)
    last = np.minimum(hours, np.ceil(first + rng.uniform(0.4, 1.0, n_runs) * hours))
    last[rng.random(n_runs) < 0.4] = hours
    work_h = (last - first) * rng.uniform(0.35, 0.75, n_runs)
    home = rng.integers(0, n_pools, n_runs)
    runs: list[Run] = []
    wanted = np.zeros(n_pools)
    for i in range(n_runs):
        wanted[home[i]] += float(sizes[i]) * work_h[i]
        pools = [f"a{home[i] + 1}"]
        if n_pools > 1 and rng.random() < 0.3:
            pools.append(f"a{(home[i] + 1) % n_pools + 1}")
        run = make_run(
            f"r{i + 1}",
            int(sizes[i]),
            float(work_h[i]),
            float(last[i]),
            tokens_per_gpu_s=float(rng.integers(300, 3000)),
            pools=tuple(pools),
            earliest_h=float(first[i]),
            priority=int(rng.integers(1, 6)),
            checkpoint_s=180.0,
            reload_s=600.0,
            min_run_h=4.0,
            min_pause_h=2.0,
            max_pauses=20,
            on_off_grid_h=1.0,
        )
        if rng.random() < two_stages:
            whole = run.stages[0]
            half = Stage("warm-up", whole.tokens * 0.3, at(float(np.round((first[i] + last[i]) / 2))))
            run = replace(run, stages=(half, replace(whole, tokens=whole.tokens * 0.7)))
        runs.append(run)
    gpus = [int(max(sizes.max(), np.ceil(w / hours / fill))) for w in wanted]
    blocks: list[Block] = []
    for p in range(n_pools):
        most_kw = gpus[p] * POINTS[-1].it_w_per_gpu / 1000.0
        blocks.append(
            make_block(
                f"hall-{p + 1}",
                most_kw * rng.uniform(1.0, 1.15),
                n_slots=n_slots,
                solar=solar(0.2 * most_kw) if p % 2 == 0 else None,
                battery=battery(0.4 * most_kw, 0.1 * most_kw) if p % 2 else None,
                ramp_kw_per_min=ramp_kw_per_min,
            )
        )
    return tiny_week(
        n_slots=n_slots,
        slot_minutes=slot_minutes,
        price_per_kwh=0.07 + 0.035 * np.sin(2 * np.pi * (step - 8) / 24) + rng.normal(0, 0.006, n_slots),
        ci_gco2_per_kwh=np.clip(350 - 150 * np.sin(2 * np.pi * (step - 6) / 24) + rng.normal(0, 15, n_slots), 20, 800),
        dry_bulb_c=15 + 8 * np.sin(2 * np.pi * (step - 9) / 24),
        wet_bulb_c=11 + 5 * np.sin(2 * np.pi * (step - 9) / 24),
        ghi_w_per_m2=np.clip(800 * np.sin(2 * np.pi * (step - 6) / 24), 0, None),
        blocks=tuple(blocks),
        pools=tuple(make_pool(f"a{p + 1}", gpus[p], f"hall-{p + 1}") for p in range(n_pools)),
        runs=tuple(runs),
        tariff=Tariff(demand_charge_per_kw_month=2.0),
    )


def waiting_gangs(seed: int, *, n_runs: int, n_slots: int = 168) -> Week:
    """Two halls where half of the later runs wait for an early one, and every fifth run may span both halls.

    What waits has work for three fifths of the time between the deadline of what it waits for and its own.
    """
    week = many_gangs(seed, n_runs=n_runs, n_slots=n_slots, n_pools=2)
    rng = np.random.default_rng(seed)
    both = Pool(
        "both", "hall-1", week.pools[0].gpu, "all", (), (("hall-1", 0.5), ("hall-2", 0.5)), (("a1", 0.5), ("a2", 0.5)),
        0.9,
    )  # fmt: skip
    runs: list[Run] = []
    for i, given in enumerate(sorted(week.runs, key=lambda one: one.stages[-1].deadline)):
        run, last, option = given, given.stages[-1], given.options[0]
        if i > n_runs // 3 and rng.random() < 0.5:
            first = runs[int(rng.integers(n_runs // 3))]
            room = last.deadline - max(first.stages[0].deadline, run.earliest_start)
            work_h = last.tokens / (run.gpus * 3600.0 * option.tokens_per_gpu_s)
            if room > timedelta(hours=6):
                tokens = last.tokens * min(1.0, 0.6 * (room / timedelta(hours=1)) / work_h)
                after = After(first.name, first.stages[0].name, float(rng.choice([0.0, 1.0])))
                run = replace(run, stages=(replace(last, tokens=tokens),), after=(after,))
        if i % 5 == 0:
            wide = PoolOption("both", 0.9 * option.tokens_per_gpu_s, option.points)
            run = replace(run, options=(*run.options, wide))
        runs.append(run)
    return replace(week, pools=(*week.pools, both), runs=tuple(runs))
