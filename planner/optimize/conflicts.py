"""Why physics leaves no plan: the fewest and smallest breaches that would, named row by row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from planner.errors import Infeasible
from planner.optimize.solver import Highs

if TYPE_CHECKING:
    from planner.optimize.matrix import Matrix
    from planner.optimize.model import Program

PROBE_S = 20.0
BREACH = 1e-6
SHOWN = 5
ROW = re.compile(
    r"(?P<kind>ramp_up|ramp_down|stored|balance|reserve_before|reserve|own_charge)_(?P<block>.+?)_(?P<slot>\d+)(?:_row)?$"
)
COOLING = re.compile(r"(?P<kind>cooling)_(?P<block>.+)_(?P<slot>\d+)(?:_lower|_upper)?_\d+$")


def infeasible(program: Program, matrix: Matrix) -> Infeasible:
    """Return the error for a program without a solution, from an elastic copy in which every row may break at a price.

    Args:
        program: The program.
        matrix: The same as arrays.
    """
    answer = Highs(_elastic(matrix), whole=False).run(PROBE_S)
    breaches: list[tuple[int, float]] = []
    if answer.values is not None:
        slack = answer.values[matrix.n_columns :].reshape(2, matrix.n_rows)
        size = slack.max(axis=0)
        breaches = [(int(i), float(size[i])) for i in np.argsort(-size, kind="stable") if size[i] > BREACH]
    sentences = tuple(_sentence(program, matrix.row_names[i], amount) for i, amount in breaches[:SHOWN])
    if not sentences:
        return Infeasible(
            "no plan was found in the time given",
            "each limit can be kept on its own, but no way was found to switch gangs so that all are",
            "raise the time limit, or the ramp limit of the block whose idle power changes",
        )
    more = f" and {len(breaches) - SHOWN} more rows" if len(breaches) > SHOWN else ""
    return Infeasible(
        sentences[0] + more,
        "no plan keeps these physical limits, even with every run off",
        "raise the limit named, or lower what asks for it (idle power, battery state at the end)",
        conflicts=sentences,
    )


def _elastic(matrix: Matrix) -> Matrix:
    rows = sparse.identity(matrix.n_rows, format="csr")
    over = np.where(np.isfinite(matrix.row_upper), np.inf, 0.0)
    under = np.where(np.isfinite(matrix.row_lower), np.inf, 0.0)
    zeros, ones = np.zeros(2 * matrix.n_rows), np.ones(2 * matrix.n_rows)
    return replace(
        matrix,
        cost=np.append(0.0 * matrix.cost, ones),
        lower=np.append(matrix.lower, zeros),
        upper=np.concatenate([matrix.upper, over, under]),
        whole=np.append(matrix.whole, zeros.astype(bool)),
        a=sparse.csr_array(sparse.hstack([matrix.a, -rows, rows], format="csr")),
    )


def _sentence(program: Program, row: str, amount: float) -> str:
    own = _of_generators(program, row, amount)
    if own is not None:
        return own
    match = ROW.match(row) or COOLING.match(row)
    if match is None:
        return f"row {row} breaks by {amount:.4g}"
    slot, kw = int(match["slot"]), amount * program.power_kw
    when = _when(program, slot)
    limits = next(b.limits for b in program.blocks if b.limits.label == match["block"])
    power, store = limits.block.power, limits.block.battery
    step_kw = power.rise_step_kw if match["kind"] == "ramp_up" else power.fall_step_kw
    here = f"block {limits.block.name!r}, {when}"
    if match["kind"].startswith("ramp") and step_kw is not None:
        jump = abs(limits.idle_kw[slot] - limits.idle_kw[slot - 1])
        return (
            f"{here}: idle IT power moves by {jump:,.1f} kW, {kw:,.1f} kW more than the ramp step of {step_kw:,.1f} kW"
        )
    if match["kind"] == "stored" and store is not None:
        final_kwh, _ = store.final_kwh
        return f"{here}: the battery lacks {kw:,.1f} kWh on its way to the {final_kwh:,.1f} kWh wanted at the end"
    if match["kind"].startswith("reserve"):
        return f"{here}: the battery lacks {kw:,.1f} kWh of the reserve for the block's load"
    return f"{here}: {kw:,.1f} kW are missing to serve idle GPUs, cooling and the battery"


def _of_generators(program: Program, row: str, amount: float) -> str | None:
    """Return what a row of generators says in plain words, or None where it is another row."""
    for block in program.blocks:
        for i, group in enumerate(block.own.generators):
            here, its = f"block {block.limits.block.name!r}", f"generators {group.generator.name!r}"
            if row == f"permit_{block.limits.label}_{i}":
                hours = amount * program.week.grid.slot_h
                return f"{here}, {its}: {hours:,.1f} h of running are missing in their permit"
            slot = row.removeprefix(f"still_up_{block.limits.label}_{i}_")
            if slot != row and slot.isdecimal():
                return (
                    f"{here}, {_when(program, int(slot))}, {its}: {amount:,.2f} of the units that must still run "
                    "(min_up_h) are more than the block can take power from"
                )
    return None


def _when(program: Program, slot: int) -> str:
    return program.week.grid.starts[slot].astimezone(program.week.tz).strftime("%Y-%m-%d %H:%M %Z")
