"""The optimum of a tiny week by trying every on/off pattern, each with a program of its own.

The program is linear; where import is paid for, whole columns keep it from burning power that no machine burns: cooling
lies on its curve, a battery has one direction, and a gang mixes neighbouring points only.

Written from docs/formulation.md alone: it shares no code with the program that it checks, only the physics.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp

from planner.optimize.curves import SEGMENTS
from planner.run import Run
from planner.week import Week
from thermal.envelope import fit_envelope

MARGIN = 1.0 - 2e-6  # the formulation's margin on power limits
_CURVES = {}  # the same for all patterns of a week


def patterns(week: Week, run: Run) -> list[tuple[str | None, tuple[int, ...]]]:
    """Every (pool, on/off per slot) that the run's own rules allow; its cells are single slots."""
    T, slot_h = week.grid.n_slots, week.grid.slot_h
    assert run.on_off_grid_h == slot_h
    found: list[tuple[str | None, tuple[int, ...]]] = [(None, (0,) * T)]
    needs = max(_full_h(week, run, o) for o in run.options) + run.reload_s / 3600
    min_run = max(1, min(math.ceil(run.min_run_h / slot_h - 1e-9), math.ceil(needs / slot_h - 1e-9)))
    min_pause = max(1, math.ceil(run.min_pause_h / slot_h - 1e-9))
    first = math.ceil(week.grid.position(run.earliest_start) - 1e-9)
    for option in run.options:
        service = [
            (week.pool(name).gpus_in_service(week.grid), count)
            for name, count in _drawn(week.pool(option.pool), run.gpus).items()
        ]
        closed = [t < first or any(gpus[t] < count for gpus, count in service) for t in range(T)]
        for on in itertools.product((0, 1), repeat=T):
            spells = _spells(on)
            if not spells or any(o and c for o, c in zip(on, closed, strict=True)):
                continue
            goes_on = run.running_in == option.pool
            long_enough = all(b - a >= min_run or b == T or (a == 0 and goes_on) for a, b in spells)
            rested = all(c - b >= min_pause for (_, b), (c, _) in itertools.pairwise(spells))
            if long_enough and rested and len(spells) - 1 <= run.max_pauses:
                found.append((option.pool, on))
    return found


def best_cost(week: Week) -> float:
    """The least money over all patterns."""
    late = [{p: _least_lateness(week, run, *p) for p in patterns(week, run)} for run in week.runs]
    least = [(sum(of[p] for of, p in zip(late, chosen, strict=True)), chosen) for chosen in itertools.product(*late)]
    # energy that is paid for can only lower the cost by this much
    paid = sum(float(np.minimum(_least_money(week), 0.0) @ week.capacity_kw(b)) * week.grid.slot_h for b in week.blocks)
    best = math.inf
    for lateness, chosen in sorted(least, key=lambda one: one[0]):
        if lateness + paid >= best:
            break
        if _gpus_fit(week, chosen):
            best = min(best, _cost(week, chosen, best))
    return best


def _money_per_kwh(week):
    carbon = week.signals.ci_gco2_per_kwh / 1e6 * week.prices.carbon_per_t
    return week.rates().total_per_kwh + carbon


def _least_money(week):
    """Money per kWh of import, covered by a contract or not."""
    money = _money_per_kwh(week)
    return np.minimum(money, money - week.rates().energy_per_kwh) if week.contracts else money


def _least_lateness(week, run, name, on):
    """Money of lateness with the pattern at full power, whatever that costs."""
    program = _Program()
    anywhere = {b.name: [[] for _ in range(week.grid.n_slots)] for b in week.blocks}
    _add_run(week, program, run, name, on, anywhere)
    return program.least()


def _full_h(week, run, option):
    return week.work_tokens(run) / (
        run.gpus * option.tokens_per_gpu_s * max(p.relative_throughput for p in option.points) * 3600
    )


def _spells(on):
    edges = np.flatnonzero(np.diff([0, *on, 0]))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _gpus_fit(week, chosen):
    for pool in week.pools:
        used = np.zeros(week.grid.n_slots)
        for run, (name, on) in zip(week.runs, chosen, strict=True):
            if name is not None:
                used += _drawn(week.pool(name), run.gpus).get(pool.name, 0) * np.array(on)
        if (used > pool.gpus_in_service(week.grid)).any():
            return False
    return True


def _drawn(pool, gpus):
    """GPUs of a gang in each pool: of a pool that spans others whole ones by its shares, then by the largest rests."""
    if not pool.spans:
        return {pool.name: gpus}
    rests = [(-(share * gpus - math.floor(share * gpus + 1e-9)), i) for i, (_, share) in enumerate(pool.spans)]
    found = {name: math.floor(share * gpus + 1e-9) for name, share in pool.spans}
    for _, i in sorted(rests)[: gpus - sum(found.values())]:
        found[pool.spans[i][0]] += 1
    return found


class _Program:
    def __init__(self):
        self.cost, self.bounds, self.whole, self.rows = [], [], [], {"le": ([], []), "eq": ([], [])}

    def copy(self):
        other = _Program()
        other.cost, other.bounds, other.whole = list(self.cost), list(self.bounds), list(self.whole)
        other.rows = {kind: (list(terms), list(rhs)) for kind, (terms, rhs) in self.rows.items()}
        return other

    def column(self, cost=0.0, low=0.0, high=None, *, whole=False):
        self.cost.append(cost)
        self.bounds.append((low, high))
        self.whole.append(whole)
        return len(self.cost) - 1

    def row(self, kind, terms, rhs):
        self.rows[kind][0].append(terms)
        self.rows[kind][1].append(rhs)

    def least(self):
        """The least money with whole columns taken as any."""
        a_le, b_le, a_eq, b_eq = self._dense()
        answer = linprog(self.cost, a_le, b_le, a_eq, b_eq, self.bounds, method="highs")
        return answer.fun if answer.status == 0 else math.inf

    def solve(self, known=math.inf):
        """The least money, or as good as `known` where it cannot be less."""
        least = self.least()
        if not any(self.whole) or least >= known:
            return least
        a_le, b_le, a_eq, b_eq = self._dense()
        low, high = (np.array([one[i] for one in self.bounds], dtype=float) for i in (0, 1))
        answer = milp(
            self.cost,
            integrality=self.whole,
            bounds=(low, np.where(np.isnan(high), np.inf, high)),
            constraints=[LinearConstraint(a_le, -np.inf, b_le), LinearConstraint(a_eq, b_eq, b_eq)],
            options={"mip_rel_gap": 0.0},
        )
        return answer.fun if answer.status == 0 else math.inf

    def _dense(self):
        found = []
        for terms, rhs in self.rows.values():
            a = np.zeros((len(terms), len(self.cost)))
            for i, row in enumerate(terms):
                for column, value in row:
                    a[i, column] += value
            found += [a, np.array(rhs)] if terms else [None, None]
        return found

    def between(self, values, *, whole):
        """Shares of values that are one together; with whole columns, of two neighbours only."""
        shares = [self.column() for _ in values]
        self.row("eq", [(s, 1.0) for s in shares], 1.0)
        if whole and len(values) > 2:
            pairs = [self.column(0.0, 0.0, 1.0, whole=True) for _ in values[1:]]
            self.row("eq", [(p, 1.0) for p in pairs], 1.0)
            for k, s in enumerate(shares):
                self.row("le", [(s, 1.0)] + [(p, -1.0) for p in pairs[max(0, k - 1) : k + 1]], 0.0)
        return list(zip(shares, values, strict=True))


def _cost(week, chosen, known=math.inf):
    """Money of the best power for one pattern, or as good as `known` where it cannot be less."""
    T = week.grid.n_slots
    program = _Program()
    it_terms = {b.name: [[] for _ in range(T)] for b in week.blocks}
    it_fixed = {b.name: week.idle_kw(b) for b in week.blocks}
    work = {
        run.name: _add_run(week, program, run, name, on, it_terms)
        for run, (name, on) in zip(week.runs, chosen, strict=True)
    }
    for run, (_, on) in zip(week.runs, chosen, strict=True):
        _add_waits(week, program, run, on, work)
    imports = [_add_block(week, program, block, it_terms[block.name], it_fixed[block.name]) for block in week.blocks]
    _add_peaks(week, program, imports)
    owed = sum(register.charge_per_kw * register.owed_kw for register in week.demand_registers)
    whole = [c.name for c in week.contracts if c.offered and c.all_or_none]
    return min(
        _with_contracts(week, program, imports, dict(zip(whole, bought, strict=True))).solve(known + owed) - owed
        for bought in itertools.product((0.0, 1.0), repeat=len(whole))
    )


def _add_peaks(week, program, imports):
    """Every register's highest mean import, and what it costs."""
    for register in week.demand_registers:
        billed = program.column(register.charge_per_kw, register.least_kw)
        for interval in np.unique(register.interval[register.interval >= 0]):
            slots = np.flatnonzero(register.interval == interval)
            mean = [(i[t], 1.0 / len(slots)) for i in imports for t in slots]
            program.row("le", [*mean, (billed, -1.0)], 0.0)


def _with_contracts(week, program, imports, bought):
    """The program with the takes of all contracts; offers that are all or none are bought as said."""
    program, h = program.copy(), week.grid.slot_h
    covered = [[] for _ in range(week.grid.n_slots)]
    for contract in week.contracts:
        volume = week.contract_kw(contract)
        share = bought.get(contract.name, 1.0)
        divided = contract.offered and not contract.all_or_none
        part = program.column(0.0, 0.0 if divided else share, share)
        paid = program.column(contract.price_per_kwh, 0.0)
        program.row("le", [(part, contract.min_take_share * float(volume.sum()) * h), (paid, -1.0)], 0.0)
        takes = [program.column(-float(p) * h) for p in week.rates().energy_per_kwh]
        program.row("le", [(take, h) for take in takes] + [(paid, -1.0)], 0.0)
        for t, take in enumerate(takes):
            program.row("le", [(take, 1.0), (part, -float(volume[t]))], 0.0)
            covered[t].append((take, 1.0))
    for t, takes in enumerate(covered):
        program.row("le", takes + [(i[t], -1.0) for i in imports], 0.0)
    return program


def _add_run(week, program, run, name, on, it_terms):
    T, h = week.grid.n_slots, week.grid.slot_h
    best_rate = max(o.tokens_per_gpu_s for o in run.options)
    per_h = 3600.0 * run.gpus * best_rate
    made = []  # (position from which it counts, column or None, work per slot or loss, whether pro rata)
    paid = _least_money(week) < 0.0
    if name is not None:
        option = next(o for o in run.options if o.pool == name)
        pool = week.pool(name)
        rate = option.tokens_per_gpu_s / best_rate
        top = max(p.relative_throughput for p in option.points)
        for t in np.flatnonzero(on):
            for share, point in program.between(option.points, whole=paid[t]):
                for block, part in pool.shares:
                    idle_w = pool.gpu.idle_w_per_gpu if week.block(block).idle_powered[t] else 0.0
                    added_kw = part * run.gpus * (point.it_w_per_gpu - idle_w) / 1000
                    it_terms[block][t].append((share, added_kw))
                made.append((float(t), share, rate * point.relative_throughput * h))
        for a, b in _spells(on):
            if not (a == 0 and run.running_in == name):
                made.append((float(a), None, -rate * top * run.reload_s / 3600))
            if b < T:
                made.append((b - run.checkpoint_s / 3600 / h, None, -rate * top * run.checkpoint_s / 3600))

    return _add_work(week, program, run, made, per_h, _landing_h(week, run))


def _add_work(week, program, run, made, per_h, landing_h):
    """Lateness at every mark, and no more work than there is; returns the work done by an instant.

    `made` tells (position from which it counts, column or None, work per slot or loss).
    """

    def work_by(mark):
        terms = [(c, v * min(1.0, max(0.0, mark - since))) for since, c, v in made if c is not None]
        return terms, sum(v for since, c, v in made if c is None and since < mark)

    price = week.prices.lateness_per_gpu_h * run.lateness_weight * run.gpus
    for _, deadline, tokens in week.due_tokens(run):
        mark = week.grid.position(deadline)
        while mark <= week.grid.n_slots + 1e-9:
            if mark > 1e-9:
                terms, fixed = work_by(mark)
                short = program.column(price)
                program.row("le", [(c, -v) for c, v in terms] + [(short, -1.0)], fixed - tokens / per_h)
            mark += 24.0 / week.grid.slot_h
    terms, fixed = work_by(float(week.grid.n_slots))
    program.row("le", terms, week.work_tokens(run) / per_h + landing_h - fixed)
    return work_by


def _add_waits(week, program, run, on, work):
    """In every slot in which a run is on, what it waits for was done by its lag before."""
    for after in run.after:
        first = week.run(after.run)
        names = [stage.name for stage in first.stages]
        needed = sum(s.tokens for s in first.stages[: names.index(after.stage) + 1]) - first.tokens_done
        need_h = needed / (3600.0 * first.gpus * max(o.tokens_per_gpu_s for o in first.options))
        for t in np.flatnonzero(on) if needed > 0.0 else ():
            terms, fixed = work[after.run](t - after.lag_h / week.grid.slot_h)
            program.row("le", [(c, -v) for c, v in terms], fixed - need_h)


def _landing_h(week, run):
    """How far over its work a run may land, h of work."""
    best_rate, h = max(o.tokens_per_gpu_s for o in run.options), week.grid.slot_h
    work = week.work_tokens(run) / (3600.0 * run.gpus * best_rate)
    needs = max(_full_h(week, run, o) for o in run.options) + run.reload_s / 3600
    min_run = max(1, min(math.ceil(run.min_run_h / h - 1e-9), math.ceil(needs / h - 1e-9)))
    over = [0.0]
    for option in run.options:
        rate = option.tokens_per_gpu_s / best_rate
        ends = [rate * p.relative_throughput * h for p in option.points]
        lost = rate * max(p.relative_throughput for p in option.points) * run.reload_s / 3600
        cells = max(math.ceil((work + lost) / max(ends) - 1e-9), min_run)
        over.append(min(cells * min(ends) - lost - work, *ends))
    return max(over) if work > 0 else 0.0


def cooling_curve(week, block):
    """The cooling segments of a block, between all its GPUs idle and all at their highest point."""
    named = week.sha256, block.name
    if named not in _CURVES:
        _CURVES[named] = _fitted(week, block)
    return _CURVES[named]


def _fitted(week, block):
    most = np.zeros(week.grid.n_slots)
    for pool in week.pools:
        used = [
            p.it_w_per_gpu
            for r in week.runs
            for o in r.options
            if pool.name in _drawn(week.pool(o.pool), r.gpus)
            for p in o.points
        ]
        most_w = max([pool.gpu.idle_w_per_gpu, *used])
        most += pool.share_in(block.name) * pool.gpus_in_service(week.grid) * most_w / 1000
    signals = week.signals
    return fit_envelope(block.plant, signals.dry_bulb_c, signals.wet_bulb_c, SEGMENTS, (week.idle_kw(block), most))


def _corners(envelope, t, low_kw, high_kw):
    """(IT power, cooling) where the curve of a slot bends, and at its ends."""
    slope, intercept = envelope.slope[t], envelope.intercept_kw[t]
    at = [low_kw, high_kw]
    for a, b in itertools.combinations(range(len(slope)), 2):
        if slope[a] != slope[b]:
            meet = (intercept[b] - intercept[a]) / (slope[a] - slope[b])
            highest = float(np.max(slope * meet + intercept))
            if low_kw < meet < high_kw and slope[a] * meet + intercept[a] >= highest - 1e-9 * abs(highest):
                at.append(float(meet))
    return [(kw, float(np.max(slope * kw + intercept))) for kw in sorted(at)]


def _add_block(week, program, block, it_terms, idle_kw):
    T, h = week.grid.n_slots, week.grid.slot_h
    capacity, solar_kw = week.capacity_kw(block), week.solar_kw(block)
    envelope = cooling_curve(week, block)
    money = _money_per_kwh(week) * h
    water = envelope.water_l_per_kwh / 1000 * week.prices.water_per_m3 * h
    imports, its, before = [], [], None
    store, paid = block.battery, _least_money(week) < 0.0
    for t in range(T):
        it = program.column(water[t], 0.0, envelope.w_max_kw[t] * MARGIN)
        cooling = program.column()
        grid = program.column(money[t], 0.0, capacity[t])
        sun = program.column(0.0, 0.0, solar_kw[t])
        program.row("eq", [(it, 1.0)] + [(c, -v) for c, v in it_terms[t]], idle_kw[t])
        for slope, intercept in zip(envelope.slope[t], envelope.intercept_kw[t], strict=True):
            program.row("le", [(it, slope), (cooling, -1.0)], -intercept)
            program.row("le", [(it, 1.0 + slope)], (capacity[t] - intercept) * MARGIN)
        if paid[t]:
            shares = program.between(_corners(envelope, t, idle_kw[t], envelope.w_max_kw[t]), whole=True)
            for column, place in ((it, 0), (cooling, 1)):
                program.row("eq", [(column, 1.0)] + [(s, -corner[place]) for s, corner in shares], 0.0)
        balance = [(grid, 1.0), (sun, 1.0), (it, -1.0), (cooling, -1.0)]
        if store is not None:
            charge = program.column(0.0, 0.0, store.charge_kw)
            discharge = program.column(store.wear_cost_per_kwh * h, 0.0, store.discharge_kw)
            least = max(store.min_share, store.final_share) if t == T - 1 else store.min_share
            stored = program.column(0.0, least * store.energy_kwh, store.max_share * store.energy_kwh)
            balance += [(charge, -1.0), (discharge, 1.0)]
            if paid[t]:
                charging = program.column(0.0, 0.0, 1.0, whole=True)
                program.row("le", [(charge, 1.0), (charging, -store.charge_kw)], 0.0)
                program.row("le", [(discharge, 1.0), (charging, store.discharge_kw)], store.discharge_kw)
            state = [(stored, 1.0), (charge, -h * store.charge_efficiency), (discharge, h / store.discharge_efficiency)]
            start = store.initial_share * store.energy_kwh if before is None else 0.0
            program.row("eq", state + ([(before, -1.0)] if before is not None else []), start)
            before = stored
        program.row("eq", balance, 0.0)
        imports.append(grid)
        its.append(it)
    for sign, step in ((1.0, block.power.fall_step_kw), (-1.0, block.power.rise_step_kw)):
        if step is not None:
            for a, b in itertools.pairwise(its):
                program.row("le", [(a, sign), (b, -sign)], step * MARGIN)
    return imports
