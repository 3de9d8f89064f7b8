"""Places of runs in a plan that is known: its starts, stops and pools, with powers that fit what is due now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.powers import powered
from planner.optimize.scale.responses import slot_prices

if TYPE_CHECKING:
    from planner.optimize.choices import Choices
    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.fluid import Prices
    from planner.optimize.scale.ground import Placed


def known_places(crowd: Crowd, choices: Choices, prices: Prices) -> list[Placed | None]:
    """Return the place of every run in a plan, None where it does not run or its cells cannot make its work.

    Args:
        crowd: All gangs.
        choices: Where and when runs are on; runs that it does not name have no place.
        prices: Prices by which their powers are chosen.
    """
    price = slot_prices(crowd, prices.it, prices.gpu)
    found: list[Placed | None] = [None] * len(crowd.week.runs)
    for rank in crowd.ranks:
        first = rank.edges[:-1]
        for row, run in enumerate(rank.run.tolist()):
            one = crowd.week.runs[run]
            choice = choices.runs.get(one.name)
            if choice is None or choice.pool != one.options[int(rank.option[row])].pool:
                continue
            on = np.logical_and.reduceat(choice.on, first) & rank.is_open[row]
            if on.any():
                part = rank.only(np.array([row]))
                found[run] = powered(crowd, None, part, on, price[int(rank.table[row])])
    return found
