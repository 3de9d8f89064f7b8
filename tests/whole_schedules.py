"""Programs of drawn weeks, with all that whole schedules are made of."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from planner.optimize.cuts import HullCuts, packings
from planner.optimize.matrix import ColumnIndex, Matrix, from_pulp
from planner.optimize.model import Program, build
from planner.optimize.places import Places, locate
from planner.optimize.relaxation import Relaxation
from planner.optimize.solver import Answer
from planner.optimize.whole_schedules import WholeSchedules, whole_schedules
from planner.stagger import longest_moves

ROUNDS = 12
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Drawn:
    """A week's program, its relaxation with hull cuts, and its whole schedules."""

    program: Program
    matrix: Matrix
    index: ColumnIndex
    places: Places
    root: Answer
    schedules: WholeSchedules | None

    @property
    def deadline(self):
        return time.monotonic() + PATIENCE_S


def drawn(week):
    """Return the program of a week."""
    program = build(longest_moves(week))
    matrix, index = from_pulp(program.problem)
    places = locate(program, index)
    hulls = [HullCuts(packing) for packing in packings(program.week, places)]
    relaxation = Relaxation(matrix, hulls, np.arange(matrix.n_columns))
    root = relaxation.solve(time.monotonic() + PATIENCE_S, ROUNDS)
    schedules = whole_schedules(program, matrix, index, places, relaxation, root, PATIENCE_S)
    return Drawn(program, matrix, index, places, root, schedules)
