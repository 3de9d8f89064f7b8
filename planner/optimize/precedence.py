"""Rows of runs that wait for a stage of another: on only where that stage is done and its lag is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pulp

from planner.optimize.gangs import made
from planner.precedence import needed_tokens, waits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.facts import RunFacts
    from planner.optimize.gangs import Gang
    from planner.precedence import After
    from planner.week import Week

DONE_SHARE = 1e-5  # of the tokens up to the stage: less is the solver's tolerance


def add_precedence(prob: pulp.LpProblem, week: Week, gangs: Sequence[Gang]) -> None:
    """Add the rows of all runs that wait for others.

    The work that the first run has done by a cell of the waiting run, less the lag, is at least that of the stage
    wherever the waiting run is on.

    Args:
        prob: The program.
        week: The week.
        gangs: Columns of all runs, in the week's order.
    """
    by_name = {gang.run.name: gang for gang in gangs}
    for i, gang in enumerate(gangs):
        for j, after in enumerate(waits(week, gang.run)):
            _add(prob, week, gang, by_name[after.run], after, f"{i}_{gang.run.name}_{j}")


def _add(prob: pulp.LpProblem, week: Week, gang: Gang, first: Gang, after: After, label: str) -> None:
    slot_h = week.grid.slot_h
    need_h = needed_tokens(week, after) / first.tokens_per_work_h
    before = 0.0
    reached: pulp.LpVariable | None = None
    for cell in sorted({c for option in gang.options for c in option.on}):
        on = [option.on[cell] for option in gang.options if cell in option.on]
        # an open cell lies behind the lag: what is needed takes its time
        mark = float(gang.cells.edges[cell]) - after.lag_h / slot_h
        terms = [(v, -w) for option in first.options for v, w in made(first, option, before, mark, slot_h)]
        so_far = prob.add_variable(f"reached_{label}_{cell}")
        earlier = [] if reached is None else [(reached, -1.0)]
        prob += pulp.LpAffineExpression([(so_far, 1.0), *earlier, *terms]) == 0, f"reach_{label}_{cell}"
        prob += pulp.LpAffineExpression([(so_far, 1.0), *((y, -need_h) for y in on)]) >= 0, f"after_{label}_{cell}"
        before, reached = mark, so_far


def held_back(week: Week, facts: Sequence[RunFacts], place: int) -> tuple[npt.NDArray[np.bool_], str] | None:
    """Return in which slots a run of a plan waits for others, shape (T,), and for which stages; None if it does not.

    Args:
        week: All inputs.
        facts: Facts of all runs, in the week's order.
        place: Place of the run in the week.
    """
    held, stages = np.zeros(week.grid.n_slots, dtype=bool), []
    by_name = {fact.gang.run.name: fact for fact in facts}
    for after in waits(week, facts[place].gang.run):
        done = by_name[after.run].tokens >= needed_tokens(week, after) * (1.0 - DONE_SHARE)
        slots = int(done.argmax()) + 1 if done.any() else week.grid.n_slots
        held[: int(np.ceil(slots + after.lag_h / week.grid.slot_h))] = True
        stages.append(str(after))
    return (held, " and ".join(stages)) if stages else None
