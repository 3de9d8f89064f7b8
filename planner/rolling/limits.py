"""Limits of import that a calendar in force promised to grid events, as rows of a plan that goes on from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.matrix import Row, from_pulp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.optimize.matrix import Matrix
    from planner.optimize.model import Program
    from power.events import ImportLimit


def with_limits(program: Program, matrix: Matrix, limits: Sequence[ImportLimit], slot: int) -> Matrix:
    """Return the program held to limits of import in every slot that has time in common with one.

    Args:
        program: The program.
        matrix: The same as arrays.
        limits: What was promised.
        slot: First slot that may still be planned: those before it have passed.
    """
    if not limits:
        return matrix
    _, index = from_pulp(program.problem)
    grid, rows = program.week.grid, []
    for limit in limits:
        first, after = np.floor(grid.position(limit.start)), np.ceil(grid.position(limit.end))
        blocks = [block for block in program.blocks if limit.block in {None, block.limits.block.name}]
        for t in range(max(slot, int(first)), min(grid.n_slots, int(after))):
            columns = index.many([block.grid[t] for block in blocks])
            rows.append(Row(f"event_{t}", columns, np.ones(len(columns)), limit.limit_kw / program.power_kw))
    return matrix.with_rows(rows)
