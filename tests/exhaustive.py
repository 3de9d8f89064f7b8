"""The optimum of a small week over every on/off pattern of every gang, with what cannot win ruled out by proof.

`tests.enumeration` tries every combination of patterns; four gangs over twelve slots have too many. Prices for IT power
and for GPUs part the gangs from each other: the least cost of one pattern at those prices, summed over the gangs, plus
the least cost of blocks that sell IT power and of pools that sell GPUs at them, is never above the cost of the patterns
together, whatever the prices are. Combinations are tried by rising sum until it passes the best cost found.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import highspy
import numpy as np
from scipy import sparse

from tests.enumeration import _add_block, _add_peaks, _add_run, _cost, _gpus_fit, _Program, patterns

SAME = 1e-9  # two costs as close as this are one


@dataclass(frozen=True)
class _Prices:
    """Money per kW of IT power for each block, and per GPU for each pool, in each slot; and the bound's fixed part."""

    it: dict[str, np.ndarray]
    gpu: dict[str, np.ndarray]
    base: float


def exhaustive_cost(week):
    """Return the least money over all patterns of all gangs; the week has no contract and no month-to-date peak."""
    assert not week.contracts
    assert not any(register.owed_kw for register in week.demand_registers)
    prices = _prices(week)
    kinds = [sorted(_kinds(week, run, prices), key=lambda kind: kind[0]) for run in week.runs]
    best = math.inf
    for bound, chosen in _by_sum(kinds):
        if prices.base + bound >= best - SAME * max(1.0, abs(best)):
            break
        if _gpus_fit(week, chosen):
            best = min(best, _cost(week, chosen, best))
    return best


def _kinds(week, run, prices):
    """Every pattern of a gang with its least cost at the prices; those that no power makes possible are left out."""
    found = []
    for name, on in patterns(week, run):
        program, terms = _Program(), _nothing(week)
        _add_run(week, program, run, name, on, terms)
        for block, slots in terms.items():
            for t, slot in enumerate(slots):
                for column, kw in slot:
                    program.cost[column] += prices.it[block][t] * kw
        gpus = 0.0 if name is None else run.gpus * float(prices.gpu[name] @ np.array(on))
        cost = _answer(program).cost
        if cost is not None:
            found.append((cost + gpus, (name, on)))
    return found


def _by_sum(kinds):
    """Yield (sum, one pattern per gang) by rising sum."""
    if not all(kinds):
        return
    first = (0,) * len(kinds)
    waiting, seen = [(sum(kind[0][0] for kind in kinds), first)], {first}
    while waiting:
        total, places = heapq.heappop(waiting)
        yield total, tuple(kind[place][1] for kind, place in zip(kinds, places, strict=True))
        for r, place in enumerate(places):
            after = (*places[:r], place + 1, *places[r + 1 :])
            if place + 1 < len(kinds[r]) and after not in seen:
                seen.add(after)
                heapq.heappush(waiting, (total + kinds[r][place + 1][0] - kinds[r][place][0], after))


def _prices(week):
    """The prices at which divisible gangs, without starts and spells, would share the site."""
    program, terms = _Program(), _nothing(week)
    used = {pool.name: _slots(week) for pool in week.pools}
    for run in week.runs:
        _add_divisible(week, program, run, terms, used)
    gpu_rows, it_rows = {}, {}
    for pool in week.pools:
        gpu_rows[pool.name] = len(program.rows["le"][0])
        for columns, gpus in zip(used[pool.name], pool.gpus_in_service(week.grid), strict=True):
            program.row("le", columns, float(gpus))
    sold = {block.name: _slots(week) for block in week.blocks}
    for block in week.blocks:
        it_rows[block.name] = len(program.rows["eq"][0])
        for t, slot in enumerate(terms[block.name]):
            column = program.column()
            program.row("eq", [(column, 1.0)] + [(c, -kw) for c, kw in slot], 0.0)
            sold[block.name][t].append((column, 1.0))
    _add_site(week, program, sold)
    answer = _answer(program)
    T = week.grid.n_slots
    it = {name: answer.eq[row : row + T] for name, row in it_rows.items()}
    gpu = {name: np.maximum(-answer.le[row : row + T], 0.0) for name, row in gpu_rows.items()}
    return _Prices(it, gpu, _site_at(week, it, gpu))


def _site_at(week, it, gpu):
    """Least cost of blocks that sell IT power, and of pools that sell their GPUs, at the prices."""
    program, sold = _Program(), {block.name: _slots(week) for block in week.blocks}
    for block in week.blocks:
        for t in range(week.grid.n_slots):
            sold[block.name][t].append((program.column(-float(it[block.name][t])), 1.0))
    _add_site(week, program, sold)
    gpus = sum(float(gpu[pool.name] @ pool.gpus_in_service(week.grid)) for pool in week.pools)
    return _answer(program).cost - gpus


def _add_site(week, program, it_terms):
    """Add blocks and the billed peak, as `tests.enumeration` does for given patterns."""
    imports = [_add_block(week, program, b, it_terms[b.name], week.idle_kw(b)) for b in week.blocks]
    _add_peaks(week, program, imports)


def _add_divisible(week, program, run, it_terms, used):
    """Add a gang of which any share may run in any slot: no plan does better at the same prices."""
    T, h = week.grid.n_slots, week.grid.slot_h
    best_rate = max(o.tokens_per_gpu_s for o in run.options)
    first = math.ceil(week.grid.position(run.earliest_start) - 1e-9)
    made = [[] for _ in range(T)]
    for t in range(first, T):
        every = []
        for option in run.options:
            pool = week.pool(option.pool)
            for point in option.points:
                share = program.column()
                every.append((share, 1.0))
                used[pool.name][t].append((share, float(run.gpus)))
                made[t].append((share, option.tokens_per_gpu_s / best_rate * point.relative_throughput * h))
                for block, part in pool.shares:
                    idle_w = pool.gpu.idle_w_per_gpu if week.block(block).idle_powered[t] else 0.0
                    it_terms[block][t].append((share, part * run.gpus * (point.it_w_per_gpu - idle_w) / 1000))
        program.row("le", every, 1.0)
    price = week.prices.lateness_per_gpu_h * run.lateness_weight * run.gpus
    for _, deadline, tokens in week.due_tokens(run):
        mark = week.grid.position(deadline)
        done = [(c, -v * min(1.0, max(0.0, mark - t))) for t, slot in enumerate(made) for c, v in slot]
        program.row("le", [*done, (program.column(price), -1.0)], -tokens / (3600.0 * run.gpus * best_rate))


def _slots(week):
    return [[] for _ in range(week.grid.n_slots)]


def _nothing(week):
    return {block.name: _slots(week) for block in week.blocks}


@dataclass(frozen=True)
class _Answer:
    """The least cost of a linear program, or None where it has none, and the worth of one more on each row's right."""

    cost: float | None
    le: np.ndarray
    eq: np.ndarray


def _answer(program):
    """Solve a linear program; thousands of small ones are asked for, so it goes straight to the solver."""
    (le, le_rhs), (eq, eq_rhs) = program.rows["le"], program.rows["eq"]
    terms = [*le, *eq]
    columns = np.array([c for row in terms for c, _ in row], dtype=np.int32)
    values = np.array([v for row in terms for _, v in row])
    starts = np.cumsum([0, *(len(row) for row in terms)])[:-1].astype(np.int32)
    lower, upper = (
        np.array([b if b is not None else np.inf for b in side]) for side in zip(*program.bounds, strict=True)
    )
    highs = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1)):
        assert highs.setOptionValue(option, value) == highspy.HighsStatus.kOk
    highs.addVars(len(lower), lower, upper)
    highs.changeColsCost(len(lower), np.arange(len(lower), dtype=np.int32), np.array(program.cost, dtype=np.float64))
    rows = np.array([*le_rhs, *eq_rhs], dtype=np.float64)
    least = np.concatenate([np.full(len(le), -np.inf), rows[len(le) :]])
    # a column named twice in a row counts twice
    a = sparse.csr_array((values, columns, np.append(starts, len(values))), shape=(len(terms), len(lower)))
    a.sum_duplicates()
    highs.addRows(len(terms), least, rows, a.nnz, a.indptr[:-1].astype(np.int32), a.indices.astype(np.int32), a.data)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return _Answer(None, np.zeros(len(le)), np.zeros(len(eq)))
    dual = np.array(highs.getSolution().row_dual)
    return _Answer(highs.getInfo().objective_function_value, dual[: len(le)], dual[len(le) :])
