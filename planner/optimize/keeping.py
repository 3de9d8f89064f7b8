"""Whether promises can be kept at all, whatever that costs, and which few of them cannot be kept together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import GridpaceError
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.solver import Highs
from planner.stagger import longest_moves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.week import Week

NODES, SECONDS = 200, 3.0  # of a question; one that takes more is left open
MOST_PROMISES = 40  # beyond which no smallest conflict is looked for


@dataclass(frozen=True, order=True)
class Promise:
    """A stage of a run that is due in the horizon, by names."""

    run: str
    stage: str


def promises_of(week: Week) -> tuple[Promise, ...]:
    """Return all promises of a week, in the week's order."""
    return tuple(Promise(run.name, stage) for run in week.runs for stage, _, tokens in week.due_tokens(run) if tokens)


def can_keep(week: Week, promises: Sequence[Promise]) -> bool | None:
    """Return whether some plan keeps promises, whatever it costs; None where a short search leaves that open.

    Args:
        week: All inputs.
        promises: Those to keep; others may be missed.
    """
    try:
        program = build(longest_moves(week))
    except (GridpaceError, ValueError):
        return False
    matrix, index = from_pulp(program.problem)
    upper, wanted = matrix.upper.copy(), set(promises)
    for gang in program.gangs:
        for due in gang.due:
            if Promise(gang.run.name, due.stage) in wanted and due.short:
                upper[index.many([column for _, column in due.short])] = 0.0
    asked = replace(matrix, cost=np.zeros_like(matrix.cost), upper=upper)
    relaxed = Highs(asked, whole=False).run(SECONDS)
    if relaxed.status != "optimal":
        return False if relaxed.status == "infeasible" else None
    answer = Highs(asked, whole=True, mip_max_nodes=NODES, mip_max_improving_sols=1).run(SECONDS)
    if answer.values is not None:
        return True
    return False if answer.status == "infeasible" else None


def conflict(week: Week, kept: Sequence[Promise], missed: Promise) -> tuple[Promise, ...]:
    """Return few promises that cannot all be kept: without any one of them the others could be, as far as is known.

    Args:
        week: All inputs.
        kept: Promises that the plan keeps.
        missed: One that it does not.

    Returns:
        The promises, `missed` last; none where all can be kept together, or where that is not known.
    """
    clash = list(kept)
    if len(clash) > MOST_PROMISES or can_keep(week, [*clash, missed]) is not False:
        return ()
    for promise in kept:
        rest = [one for one in clash if one != promise]
        if can_keep(week, [*rest, missed]) is False:
            clash = rest
    return (*clash, missed)
