"""What placed gangs come to: what the site does for them, what is late, and what goals say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import LATENESS
from planner.optimize.scale.goals import goals_money
from planner.optimize.scale.lateness import late_gpu_h, lateness_money
from planner.optimize.scale.unserved import unserved

if TYPE_CHECKING:
    from planner.optimize.scale.assign import Assignment
    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.dispatching import Dispatched, Dispatcher
    from planner.optimize.scale.ground import Placed


@dataclass(frozen=True)
class Standing:
    """A plan as it stands.

    Args:
        places: Place of every run.
        dispatched: What the site does for it.
        lateness: Price of missing work, money.
        goals: What goals beside the site's prices count, money.
        measures: Measure -> what the plan comes to in it.
    """

    places: tuple[Placed | None, ...]
    dispatched: Dispatched
    lateness: float
    goals: float
    measures: dict[str, float]

    @property
    def money(self) -> float:
        """Objective, money."""
        return self.dispatched.money + self.lateness + self.goals


def standing(crew: Crowd, dispatcher: Dispatcher, ground: Assignment) -> Standing:
    """Return what placed gangs come to.

    Raises:
        Infeasible: The site does not carry them.
    """
    found = dispatcher.dispatch(ground.ground.it_kw, np.inf)
    if found is None:
        raise unserved(crew.week)
    measures = found.measures | {LATENESS: late_gpu_h(crew, ground.places)}
    lateness = lateness_money(crew, ground.places)
    return Standing(tuple(ground.places), found, lateness, goals_money(crew.week, measures), measures)
