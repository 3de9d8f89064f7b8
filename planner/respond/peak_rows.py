"""How high the site's import may get in an answer, month by month and peak by peak as they are billed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.respond.question import Question
    from planner.respond.rows import Rows, Terms
    from planner.respond.site_rows import BlockColumns

MARGIN = 2e-6
"""Of every power limit: covers the solver's tolerance and limits rounded to a milliwatt."""


def add_peak_rows(rows: Rows, question: Question, blocks: Sequence[BlockColumns], touched: Sequence[int]) -> None:
    """Let what is made up afterwards raise no month's highest import, and price all that raises a billed peak.

    Args:
        rows: The program.
        question: The event and the calendar.
        blocks: Columns of the blocks.
        touched: Pieces with columns, by rising time.
    """
    week, pieces = question.week, question.pieces
    month = week.grid.local_months(week.tz)
    stated_kw = np.sum([np.array(plan.import_kw) for plan in question.plans.values()], axis=0)
    counted_kw = pieces.slot_mean(np.sum([b.planned_kw for b in blocks], axis=0))
    batteries = {t for b in blocks if b.battery is not None for t in b.battery.slots}
    here = sorted({int(pieces.slot[p]) for p in touched} | batteries)
    terms = {t: _slot_terms(question, blocks, t) for t in here}
    for t in here:
        if 3600.0 * week.grid.slot_h * (t + 1) > question.span.begin_s:
            _hold_mean(rows, terms, counted_kw, [t], float(stated_kw[month == month[t]].max()))
    for register in week.demand_registers:
        most_kw, rise = max(register.peak_kw(stated_kw), register.least_kw), rows.column(upper=np.inf)
        rows.priced(rise, register.charge_per_kw)
        for i in sorted({int(register.interval[t]) for t in here} - {-1}):
            _hold_mean(
                rows, terms, counted_kw, np.flatnonzero(register.interval == i).tolist(), most_kw, [(rise, -1.0)]
            )


def _hold_mean(
    rows: Rows,
    terms: Mapping[int, tuple[Terms, float]],
    counted_kw: npt.NDArray[np.float64],
    slots: Sequence[int],
    most_kw: float,
    beyond: Terms | None = None,
) -> None:
    """Hold the mean import over some slots to a height, or to what it is anyhow; `beyond` may take it further."""
    columns = [(c, kw / len(slots)) for t in slots if t in terms for c, kw in terms[t][0]]
    fixed_kw = sum(terms[t][1] if t in terms else float(counted_kw[t]) for t in slots) / len(slots)
    if columns:
        upper_kw = max(most_kw, float(counted_kw[slots].mean())) * (1.0 + MARGIN)
        rows.row([*columns, *(beyond or [])], upper=upper_kw - fixed_kw)


def _slot_terms(question: Question, blocks: Sequence[BlockColumns], slot: int) -> tuple[Terms, float]:
    """Return the site's mean import in a slot: columns with kW each, and what no column changes, kW."""
    pieces = question.pieces
    share = pieces.length_s / (60.0 * question.week.grid.slot_minutes)
    terms: Terms = []
    fixed_kw = 0.0
    for block in blocks:
        flows = block.flows
        for p in np.flatnonzero(pieces.slot == slot).tolist():
            if p in block.it:
                terms += [(block.it[p], float(share[p])), (block.cooling[p], float(share[p]))]
            else:
                fixed_kw += float((block.planned_kw[p] - flows.taken_kw[slot]) * share[p])
        fixed_kw += float(flows.taken_kw[slot])
        if block.battery is not None and slot in block.battery.slots:
            at = block.battery.slots.index(slot)
            terms += [(block.battery.charge[at], 1.0), (block.battery.discharge[at], -1.0)]
            fixed_kw -= float(flows.charge_kw[slot] - flows.discharge_kw[slot])
        if slot in block.unused:
            terms.append((block.unused[slot], 1.0))
    return terms, fixed_kw
