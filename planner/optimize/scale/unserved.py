"""Why a site cannot serve its load: named row by row, as in a week of few runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.errors import Infeasible
from planner.optimize.conflicts import PROBE_S, infeasible
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.solver import Highs

if TYPE_CHECKING:
    from planner.week import Week


def unserved(week: Week) -> Infeasible:
    """Return the error for a week whose blocks find no balance with the gangs placed.

    Args:
        week: All inputs. What its blocks cannot keep with every run off is told row by row.
    """
    program = build(replace(week, runs=()))
    matrix, _ = from_pulp(program.problem)
    if Highs(matrix, whole=False).run(PROBE_S).status == "infeasible":
        return infeasible(program, matrix)
    blocks = ", ".join(repr(block.name) for block in week.blocks if block.battery is not None)
    row = f"block {blocks}: the battery cannot follow the load of the gangs placed, though it can with every run off"
    return Infeasible(
        row,
        "gangs are placed by prices first, and what they leave the battery is not enough",
        "lower the battery's reserve or what it must hold at the end, or plan fewer runs by the whole program",
        conflicts=(row,),
    )
