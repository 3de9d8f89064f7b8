"""How far each run should be by the end of each window, and what the site should hold: the aggregate program's word."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.classes import Fineness
from planner.optimize.scale.fluid import Fluid
from planner.optimize.solver import seconds_left

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.fluid import Prices

EACH_RUN = Fineness(0.0, 1, 1.0)
"""Every run by itself, hour by hour."""


@dataclass(frozen=True)
class Pace:
    """The aggregate program of a whole horizon.

    Args:
        prices: Its prices and flows.
        size: Its columns and rows.
        tokens: (run, slot) -> tokens that the run has made from the start of the horizon by that slot.
    """

    prices: Prices
    size: tuple[int, int]
    tokens: Mapping[tuple[str, int], float]


def pace(crowd: Crowd, slots: Sequence[int], seconds: float) -> Pace | None:
    """Return the pace of a horizon, or None if it was not found in time.

    Args:
        crowd: All gangs of the horizon.
        slots: Ends of windows, rising.
        seconds: Time limit, s.
    """
    fluid = Fluid(crowd, EACH_RUN, slots)
    until = time.monotonic() + seconds
    # the interior point method ends without an answer now and then, and then at once
    prices = fluid.solve(seconds, interior=True) or fluid.solve(seconds_left(until))
    if prices is None:
        return None
    tokens: dict[tuple[str, int], float] = {}
    for one, done in zip(fluid.classes, prices.done, strict=True):
        (run,) = one.runs
        # a class owes its work with what starts and stops lose: its share of that is the same share of the tokens
        due = sorted(zip(one.work.tolist(), crowd.dues.work_h[run].tolist(), strict=True))
        owed, made_h = ([0.0, *column] for column in zip(*due, strict=True))
        per_h = 3600.0 * crowd.week.runs[run].fastest_tokens_per_s
        for slot, gpu_h in zip(slots, done, strict=True):
            tokens[crowd.week.runs[run].name, slot] = per_h * float(np.interp(gpu_h, owed, made_h))
    return Pace(prices, fluid.size, tokens)
