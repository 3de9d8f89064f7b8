"""What holds for blocks and site in each piece that an answer may touch: power, cooling, ramps, battery, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.limits import energy_worth
from planner.respond.course import RUN, gang_kw
from planner.respond.peak_rows import MARGIN, add_peak_rows
from planner.respond.ramp_rows import add_ramp_rows
from planner.respond.site_load import block_load, flows_of, plant_kw
from thermal.reserve import carried_it_kw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.respond.question import Question
    from planner.respond.rows import Rows, Terms
    from planner.respond.run_columns import RunColumns
    from planner.respond.site_load import Flows
    from planner.week import Block

SEGMENTS = 8
RECOVERY_H = 24.0
"""A battery is back where the calendar in force had it this long after the event."""


@dataclass(frozen=True)
class BatteryColumns:
    """A battery's slots in which it may differ.

    Args:
        slots: The slots.
        charge: Columns of AC charging, kW.
        discharge: Columns of AC discharging, kW.
    """

    slots: tuple[int, ...]
    charge: tuple[int, ...]
    discharge: tuple[int, ...]


@dataclass(frozen=True)
class BlockColumns:
    """A block's columns.

    Args:
        block: The block.
        it: Piece -> column of IT power, kW.
        cooling: Piece -> column of cooling power, kW.
        unused: Slot -> column of planned solar power that is not used, kW.
        battery: Its battery's columns, or None.
        flows: Battery and sources in the calendar in force.
        planned_kw: Import in the calendar in force as the program counts it, kW, shape (P,).
    """

    block: Block
    it: Mapping[int, int]
    cooling: Mapping[int, int]
    unused: Mapping[int, int]
    battery: BatteryColumns | None
    flows: Flows
    planned_kw: npt.NDArray[np.float64]


@dataclass(frozen=True)
class SiteColumns:
    """The site's columns.

    Args:
        blocks: By block, in the week's order.
        over: Column of how far the worst instant is above a limit, kW.
    """

    blocks: tuple[BlockColumns, ...]
    over: int


@dataclass(frozen=True)
class CoolingLines:
    """A block's cooling power over its IT power as the program counts it: the highest line, and a lift by piece.

    Args:
        slope: kW per kW, shape (T, S).
        intercept_kw: kW, shape (T, S).
        lift_kw: What is added in each piece so that the count is exact where the answer lies, kW, shape (P,).
    """

    slope: npt.NDArray[np.float64]
    intercept_kw: npt.NDArray[np.float64]
    lift_kw: npt.NDArray[np.float64]

    def counted_kw(self, it_kw: npt.NDArray[np.float64], slot: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the cooling power without any lift for IT power in given slots, kW, shape (N,)."""
        return np.asarray((self.slope[slot] * it_kw[:, None] + self.intercept_kw[slot]).max(axis=1))

    def under(self, it_kw: float, slot: int) -> tuple[float, float]:
        """Return slope and intercept, kW, of the line that counts at an IT power: elsewhere it is below the others."""
        at = int(np.argmax(self.slope[slot] * it_kw + self.intercept_kw[slot]))
        return float(self.slope[slot, at]), float(self.intercept_kw[slot, at])


def add_site(
    rows: Rows, question: Question, runs: Sequence[RunColumns], lines: Mapping[str, CoolingLines], over_cost: float
) -> SiteColumns:
    """Add the columns and rows of blocks and site.

    Args:
        rows: The program.
        question: The event and the calendar.
        runs: Columns of the runs.
        lines: Block -> its cooling power as the program counts it.
        over_cost: Cost of a kW above a limit.
    """
    touched = sorted({m.piece for r in runs for m in (*r.changed, *r.raised, *r.added)})
    blocks = tuple(
        _add_block(rows, question, block, runs, touched, lines[block.name]) for block in question.week.blocks
    )
    over = rows.column(upper=np.inf, cost=over_cost)
    _limit_rows(rows, question, blocks, over)
    add_peak_rows(rows, question, blocks, touched)
    return SiteColumns(blocks, over)


def _add_block(
    rows: Rows,
    question: Question,
    block: Block,
    runs: Sequence[RunColumns],
    touched: Sequence[int],
    lines: CoolingLines,
) -> BlockColumns:
    week, pieces, plan = question.week, question.pieces, question.plans[block.name]
    flows = flows_of(plan)
    load = block_load(week, block, plan, flows, question.courses, pieces)
    gangs = _gang_terms(question, block, runs)
    fixed_kw = load.it_kw - _decided_kw(question, block, runs)
    room_kw = week.capacity_kw(block)[pieces.slot] * (1.0 - MARGIN)
    dry_c, wet_c = week.signals.dry_bulb_c, week.signals.wet_bulb_c
    most_kw = carried_it_kw(block.plant, block.reserve, dry_c, wet_c, tank_kw=load.cold.tank_kw)
    most_kw = np.maximum(np.where(week.plant_powered(block), most_kw, 0.0)[pieces.slot] * (1.0 - MARGIN), load.it_kw)
    counted_kw = load.it_kw + lines.counted_kw(load.it_kw, pieces.slot) + lines.lift_kw
    it, drawn = {}, {}
    for p in touched:
        t = pieces.slot[p]
        it[p], drawn[p] = rows.column(upper=float(most_kw[p])), rows.column(upper=np.inf)
        rows.row([(it[p], 1.0), *((c, -kw) for c, kw in gangs.get(p, []))], float(fixed_kw[p]), float(fixed_kw[p]))
        for s, i in zip(lines.slope[t], lines.intercept_kw[t], strict=True):
            rows.row([(drawn[p], 1.0), (it[p], -float(s))], lower=float(i + lines.lift_kw[p]))
        rows.row([(it[p], 1.0), (drawn[p], 1.0)], upper=max(float(room_kw[p]), float(counted_kw[p])))
    battery = _add_battery(rows, question, block, flows)
    unused = {}
    if block.solar is not None:
        for t in sorted({int(pieces.slot[p]) for p in touched}):
            if flows.solar_kw[t] > 0.0:
                unused[t] = rows.column(upper=float(flows.solar_kw[t]))
    found = BlockColumns(block, it, drawn, unused, battery, flows, counted_kw + flows.taken_kw[pieces.slot])
    _import_rows(rows, question, found, lines, load.it_kw, touched)
    add_ramp_rows(rows, question, block, it, load.it_kw)
    worth, hours, planned = energy_worth(week), pieces.length_s / 3600.0, 0.0
    for p in touched:
        if pieces.start_s[p] >= question.span.end_s or question.priced[pieces.slot[p]]:
            per_kw = float(worth[pieces.slot[p]] * hours[p])
            for column in (it[p], drawn[p]):
                rows.priced(column, per_kw)
            planned += per_kw * float(counted_kw[p])
    # with what was planned taken off, the objective is what the event costs, and its gap a share of that
    rows.column(1.0, 1.0, cost=-planned)
    return found


def _gang_terms(question: Question, block: Block, runs: Sequence[RunColumns]) -> dict[int, Terms]:
    """Return piece -> columns with the IT power that they add to a block, kW."""
    week, powered = question.week, block.idle_powered[question.pieces.slot]
    found: dict[int, Terms] = {}
    for run in runs:
        option = run.course.option
        share = 0.0 if option is None else week.pool(option.pool).share_in(block.name)
        if option is None or not share:
            continue
        idle_w = week.pool(option.pool).gpu.idle_w_per_gpu
        gpus_k = run.course.run.gpus * share / 1000.0
        for mix in (*run.changed, *run.raised, *run.added):
            saved_w = idle_w if powered[mix.piece] else 0.0
            terms = [(c, gpus_k * float(w - saved_w)) for c, w in zip(mix.columns, mix.it_w_per_gpu, strict=True)]
            if mix.piece in run.waits:
                held_w = week.pool(option.pool).gpu.hold_w_per_gpu
                terms.append((run.waits[mix.piece], gpus_k * (held_w - saved_w)))
            found.setdefault(mix.piece, []).extend(terms)
    return found


def _decided_kw(question: Question, block: Block, runs: Sequence[RunColumns]) -> npt.NDArray[np.float64]:
    """Return what the gangs with columns add in the calendar in force, in the pieces of those columns, kW."""
    week, powered = question.week, block.idle_powered[question.pieces.slot]
    kw = np.zeros(len(question.pieces.slot))
    for run in runs:
        course = run.course
        share = 0.0 if course.option is None else week.pool(course.option.pool).share_in(block.name)
        if course.option is None or not share:
            continue
        here = np.array([m.piece for m in (*run.changed, *run.raised)], dtype=np.int64)
        if not here.size:
            continue
        assert (course.state[here] == RUN).all()
        idle_kw = course.run.gpus * week.pool(course.option.pool).gpu.idle_w_per_gpu / 1000.0
        kw[here] += share * (gang_kw(week, course)[here] - np.where(powered[here], idle_kw, 0.0))
    return kw


def cooling_lines(question: Question, block: Block) -> CoolingLines:
    """Return straight lines per slot, the highest of which stands for the plant's curve; nothing is lifted yet."""
    week, plan = question.week, question.plans[block.name]
    n = week.grid.n_slots
    low_kw = np.minimum(week.idle_kw(block), np.array(plan.it_kw))
    high_kw = np.maximum(low_kw + 1.0, np.maximum(np.array(plan.it_kw).max(), low_kw) * 1.05)
    loads_kw = low_kw[:, None] + (high_kw - low_kw)[:, None] * np.linspace(0.0, 1.0, SEGMENTS + 1)
    slots = np.repeat(np.arange(n), SEGMENTS + 1)
    drawn_kw = plant_kw(week, block, plan, loads_kw.ravel(), slots).reshape(loads_kw.shape)
    slope = np.diff(drawn_kw, axis=1) / np.diff(loads_kw, axis=1)
    # sorted slopes make the curve convex with the same ends; the lift brings it back above every point
    slope = np.sort(slope, axis=1)
    heights = np.concatenate([drawn_kw[:, :1], drawn_kw[:, :1] + np.cumsum(slope * np.diff(loads_kw), axis=1)], axis=1)
    lift_kw = np.maximum(drawn_kw - heights, 0.0).max(axis=1)
    intercept = heights[:, :-1] - slope * loads_kw[:, :-1] + lift_kw[:, None]
    return CoolingLines(slope, intercept, np.zeros(len(question.pieces.slot)))


def _import_terms(question: Question, block: BlockColumns, piece: int) -> tuple[Terms, float]:
    """Return a block's import in a piece: columns with kW each, and what no column changes, kW."""
    slot = int(question.pieces.slot[piece])
    flows = block.flows
    terms: Terms = [(block.it[piece], 1.0), (block.cooling[piece], 1.0)]
    fixed_kw = float(flows.taken_kw[slot])
    if block.battery is not None and slot in block.battery.slots:
        at = block.battery.slots.index(slot)
        terms += [(block.battery.charge[at], 1.0), (block.battery.discharge[at], -1.0)]
        fixed_kw -= float(flows.charge_kw[slot] - flows.discharge_kw[slot])
    if slot in block.unused:
        terms.append((block.unused[slot], 1.0))
    return terms, fixed_kw


def _import_rows(
    rows: Rows,
    question: Question,
    block: BlockColumns,
    lines: CoolingLines,
    planned_it_kw: npt.NDArray[np.float64],
    touched: Sequence[int],
) -> None:
    room_kw = question.week.import_limit_kw(block.block)[question.pieces.slot] * (1.0 - MARGIN)
    planned_kw = block.planned_kw
    battery_slots = set() if block.battery is None else set(block.battery.slots)
    for p in touched:
        terms, fixed_kw = _import_terms(question, block, p)
        low, high = min(0.0, float(planned_kw[p])), max(float(room_kw[p]), float(planned_kw[p]))
        rows.row(terms, upper=high - fixed_kw)
        # below, one line of the cooling: what a battery gives cannot go into cooling that nothing needs
        slope, intercept_kw = lines.under(planned_it_kw[p], int(question.pieces.slot[p]))
        others = [(c, kw + slope if c == block.it[p] else kw) for c, kw in terms if c != block.cooling[p]]
        rows.row(others, lower=low - fixed_kw - intercept_kw - float(lines.lift_kw[p]))
    # where no run changes, a battery that differs still keeps the import between zero and the block's capacity
    for p in np.flatnonzero(np.isin(question.pieces.slot, list(battery_slots))).tolist():
        if int(p) in block.it:
            continue
        slot, flows = int(question.pieces.slot[p]), block.flows
        assert block.battery is not None
        at = block.battery.slots.index(slot)
        base_kw = float(planned_kw[p] - flows.charge_kw[slot] + flows.discharge_kw[slot])
        low, high = min(0.0, float(planned_kw[p])), max(float(room_kw[p]), float(planned_kw[p]))
        rows.row([(block.battery.charge[at], 1.0), (block.battery.discharge[at], -1.0)], low - base_kw, high - base_kw)


def _add_battery(rows: Rows, question: Question, block: Block, flows: Flows) -> BatteryColumns | None:
    """Let a battery differ from the next whole slot until some time after the event; then it is where it was.

    One that carries a reserve, may not charge from the grid, or is paid for charging keeps to the calendar.
    """
    week, battery = question.week, block.battery
    if battery is None or battery.reserve_min or not battery.grid_charging or not question.limits:
        return None
    slot_s, n = 60.0 * week.grid.slot_minutes, week.grid.n_slots
    first = int(np.ceil(question.now_s / slot_s))
    after = min(n, int(np.ceil((question.span.until_s + 3600.0 * RECOVERY_H) / slot_s)))
    worth = energy_worth(week)
    if first >= after or (worth[first:after] < 0.0).any():
        return None
    states = np.array(question.plans[block.name].battery_kwh)
    before_kwh = battery.initial_share * battery.energy_kwh if first == 0 else float(states[first - 1])
    low, high = battery.min_share * battery.energy_kwh, battery.max_share * battery.energy_kwh
    h, kept = week.grid.slot_h, battery.kept_share(week.grid.slot_h)
    charge, discharge = [], []
    state: int | None = None
    planned_cost = 0.0
    for t in range(first, after):
        charge.append(rows.column(upper=battery.charge_kw, cost=float(worth[t]) * h))
        discharge.append(
            rows.column(upper=battery.discharge_kw, cost=(battery.wear_cost_per_kwh - float(worth[t])) * h)
        )
        planned_cost += h * float(worth[t]) * float(flows.charge_kw[t] - flows.discharge_kw[t])
        planned_cost += h * battery.wear_cost_per_kwh * float(flows.discharge_kw[t])
        end = float(states[t])
        last = t == after - 1
        kwh = rows.column(end if last else min(low, end), end if last else max(high, end))
        flow: Terms = [
            (kwh, 1.0),
            (charge[-1], -battery.charge_efficiency * h),
            (discharge[-1], h / battery.discharge_efficiency),
        ]
        if state is None:
            rows.row(flow, kept * before_kwh, kept * before_kwh)
        else:
            rows.row([*flow, (state, -kept)], 0.0, 0.0)
        # no more through the inverter than it carries one way: both at once never help where energy has a price
        share = 1.0 / battery.charge_kw, 1.0 / battery.discharge_kw
        planned = float(flows.charge_kw[t] * share[0] + flows.discharge_kw[t] * share[1])
        rows.row([(charge[-1], share[0]), (discharge[-1], share[1])], upper=max(1.0, planned))
        state = kwh
    rows.column(1.0, 1.0, cost=-planned_cost)
    return BatteryColumns(tuple(range(first, after)), tuple(charge), tuple(discharge))


def _limit_rows(rows: Rows, question: Question, blocks: Sequence[BlockColumns], over: int) -> None:
    pieces = question.pieces
    for limit in question.limits:
        concerned = [b for b in blocks if limit.block in {None, b.block.name}]
        for p in np.flatnonzero(pieces.inside(*question.seconds(limit))):
            terms: Terms = [(over, -1.0)]
            fixed_kw = 0.0
            for block in concerned:
                if int(p) in block.it:
                    more, kw = _import_terms(question, block, int(p))
                    terms += more
                    fixed_kw += kw
                else:
                    fixed_kw += float(block.planned_kw[p])
            rows.row(terms, upper=limit.limit_kw * (1.0 - MARGIN) - fixed_kw)
