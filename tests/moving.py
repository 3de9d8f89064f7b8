"""Weeks of runs that move, and the optimum of a tiny one by trying every place in every slot.

Written from docs/formulation.md alone: it shares no code with the program that it checks, only the physics.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from planner.moves import Migration, Way
from planner.run import PoolOption
from tests.enumeration import _add_block, _add_peaks, _add_run, _add_work, _least_money, _Program, patterns
from tests.weeks import random_week


def ways(*pools, time_s=0.0, energy_kwh=0.0, cost=0.0):
    """The same way between any two pools."""
    return tuple(Way(a, b, time_s, energy_kwh, cost) for a, b in itertools.permutations(pools, 2))


def with_sizes(run, shares):
    """The run with further sizes: GPUs -> throughput over that of its own count."""
    more = [
        replace(o, gpus=gpus, tokens_per_gpu_s=o.tokens_per_gpu_s * share * run.gpus / gpus)
        for o in run.options
        for gpus, share in shares.items()
    ]
    return replace(run, options=(*run.options, *more))


def moving_week(seed, n_slots=4, *, n_runs=1, migrates=True, sizes=True):
    """A drawn week of two pools whose first run may move between them, or change its size, or both."""
    rng = np.random.default_rng([77, seed])
    week = random_week(seed, n_runs=n_runs, n_slots=n_slots, n_pools=2, negative_prices=seed % 3 == 0)
    run = week.runs[0]
    first = run.options[0]
    run = replace(
        run,
        options=tuple(
            PoolOption(p.name, first.tokens_per_gpu_s * rng.uniform(0.8, 1.0), first.points) for p in week.pools
        ),
        max_pauses=int(rng.integers(0, 4)),
        min_run_h=float(rng.choice([1.0, 2.0])),
        min_pause_h=float(rng.choice([1.0, 2.0])),
    )
    if sizes:
        run = with_sizes(run, {run.gpus // 2: float(rng.uniform(0.5, 0.7))})
    if migrates:
        names = [pool.name for pool in week.pools]
        time_s, kwh, cost = rng.uniform(0.0, 1800.0), rng.uniform(0.0, 50.0), rng.choice([0.0, 3.0, 30.0])
        lies_in = None if seed % 2 else names[seed // 2 % 2]
        some = ways(*names, time_s=float(time_s), energy_kwh=float(kwh), cost=float(cost))
        run = replace(run, migration=Migration(1.0, some if seed % 5 else some[:1], lies_in))
    return replace(week, runs=(run, *week.runs[1:]))


def best_moving_cost(week):
    """The least money over all places that the first run may have in every slot, and all patterns of the others."""
    first, *others = week.runs
    best = math.inf
    for places in _places(week, first):
        for chosen in itertools.product(*(patterns(week, run) for run in others)):
            if _fits(week, places, list(zip(others, chosen, strict=True))):
                best = min(best, _cost(week, places, list(zip(others, chosen, strict=True)), best))
    return best


def _places(week, run):
    """Every sequence of option places, None for off, that the run's own rules allow."""
    T, h = week.grid.n_slots, week.grid.slot_h
    needs = max(_full_h(week, run, o) for o in run.options) + run.reload_s / 3600
    min_run = max(1, min(math.ceil(run.min_run_h / h - 1e-9), math.ceil(needs / h - 1e-9)))
    min_pause = max(1, math.ceil(run.min_pause_h / h - 1e-9))
    first = math.ceil(week.grid.position(run.earliest_start) - 1e-9)
    for places in itertools.product((None, *range(len(run.options))), repeat=T):
        if any(k is not None and (t < first or not _room(week, run, k, t)) for t, k in enumerate(places)):
            continue
        stays = _stays(places)
        if any(b - a < min_run and b < T for a, b, _ in stays) or len(stays) - 1 > run.max_pauses:
            continue
        gaps = [c - b for (_, b, _), (c, _, _) in itertools.pairwise(stays)]
        if any(0 < gap < min_pause for gap in gaps):
            continue
        names = [run.options[k].pool for _, _, k in stays]
        if run.migration is None and len(set(names)) > 1:
            continue
        if run.migration is not None and _paths(run, names) is None:
            continue
        yield places


def _paths(run, names):
    """What lies between the pools, one entry per stay; None where something does not."""
    found, lies = [], run.running_in or run.migration.lies_in
    for name in names:
        way = next((w for w in run.migration.ways if (w.origin, w.target) == (lies, name)), None)
        if way is None and lies not in {None, name}:
            return None
        found.append(way)
        lies = name
    return found


def _stays(places):
    found, t = [], 0
    for k, group in itertools.groupby(places):
        length = len(list(group))
        if k is not None:
            found.append((t, t + length, k))
        t += length
    return found


def _gpus(run, k):
    return run.options[k].gpus or run.gpus


def _room(week, run, k, t):
    return week.pool(run.options[k].pool).gpus_in_service(week.grid)[t] >= _gpus(run, k)


def _full_h(week, run, option):
    top = max(p.relative_throughput for p in option.points)
    return week.work_tokens(run) / ((option.gpus or run.gpus) * option.tokens_per_gpu_s * top * 3600)


def _fits(week, places, others):
    run = week.runs[0]
    for pool in week.pools:
        used = np.array(
            [0 if k is None or run.options[k].pool != pool.name else _gpus(run, k) for k in places], dtype=float
        )
        for other, (name, on) in others:
            used += other.gpus * np.array(on) * (name == pool.name)
        if (used > pool.gpus_in_service(week.grid)).any():
            return False
    return True


def _cost(week, places, others, known):
    T = week.grid.n_slots
    program = _Program()
    it_terms = {b.name: [[] for _ in range(T)] for b in week.blocks}
    fixed = _add_moving(week, program, week.runs[0], places, it_terms)
    for run, (name, on) in others:
        _add_run(week, program, run, name, on, it_terms)
    imports = [_add_block(week, program, b, it_terms[b.name], week.idle_kw(b)) for b in week.blocks]
    _add_peaks(week, program, imports)
    owed = sum(register.charge_per_kw * register.owed_kw for register in week.demand_registers)
    return program.solve(known + owed - fixed) - owed + fixed


def _add_moving(week, program, run, places, it_terms):
    """Add the run's power and lateness; return the money of its moves."""
    T, h = week.grid.n_slots, week.grid.slot_h
    own = max(o.tokens_per_gpu_s for o in run.options if not o.gpus)
    per_h, paid = 3600.0 * run.gpus * own, _least_money(week) < 0.0
    made, stays = [], _stays(places)
    for t, k in enumerate(places):
        if k is None:
            continue
        option = run.options[k]
        pool, rate = week.pool(option.pool), _gpus(run, k) * option.tokens_per_gpu_s / (run.gpus * own)
        for share, point in program.between(option.points, whole=paid[t]):
            for block, part in pool.shares:
                idle_w = pool.gpu.idle_w_per_gpu if week.block(block).idle_powered[t] else 0.0
                it_terms[block][t].append((share, part * _gpus(run, k) * (point.it_w_per_gpu - idle_w) / 1000))
            made.append((float(t), share, rate * point.relative_throughput * h))
    between = [None] * len(stays)
    if run.migration is not None:
        between = _paths(run, [run.options[k].pool for _, _, k in stays])
    money = 0.0
    for (a, b, k), way in zip(stays, between, strict=True):
        option = run.options[k]
        top = max(p.relative_throughput for p in option.points)
        rate = _gpus(run, k) * option.tokens_per_gpu_s / (run.gpus * own)
        goes_on = a == 0 and run.running_in == option.pool and _gpus(run, k) == (run.running_gpus or run.gpus)
        lost_s = 0.0 if goes_on else run.reload_s + (way.time_s if way else 0.0)
        made.append((float(a), None, -rate * top * lost_s / 3600))
        if b < T:
            made.append((b - run.checkpoint_s / 3600 / h, None, -rate * top * run.checkpoint_s / 3600))
        if way is not None:
            kg = way.energy_kwh * float(week.signals.ci_gco2_per_kwh[a]) / 1000
            money += way.cost + kg * week.prices.carbon_per_t / 1000
    _add_work(week, program, run, made, per_h, _landing_h(week, run, own))
    return money


def _landing_h(week, run, own):
    """How far over its work the run may land, h of work of its own count of GPUs: a cell at its lowest power."""
    least = [
        min(p.relative_throughput for p in option.points) * _gpus(run, k) * option.tokens_per_gpu_s
        for k, option in enumerate(run.options)
    ]
    return week.grid.slot_h * max(least) / (run.gpus * own) if week.work_tokens(run) > 0 else 0.0
