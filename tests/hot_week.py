"""A week planned as if cooling were a constant share of IT power, for comparison with one that knows its plant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from unittest import mock

import numpy as np

from planner.evaluate import Evaluation, evaluate
from planner.optimize import PlanOptions, plan
from planner.optimize.limits import block_limits
from planner.publish import to_calendar
from planner.schedule import Plan
from planner.week import Block, Week
from thermal.plant import cooling

MILD_C = (20.0, 14.0)  # dry and wet bulb at which a data sheet states the PUE
USUAL_LOAD = 0.8  # of rated IT power


@dataclass(frozen=True)
class Planned:
    """A plan, and what the judge finds on the full physics."""

    plan: Plan
    evaluation: Evaluation

    @property
    def hours_over(self) -> float:
        """Hours in which a block's mean IT power is more than its cooling carries."""
        over = [np.count_nonzero(b.it_kw > b.w_max_kw * (1.0 + 1e-6) + 1e-3) for b in self.evaluation.blocks]
        return float(sum(over)) * self.evaluation.slot_h

    @property
    def replay_kwh(self) -> float:
        """Cooling energy of the replay."""
        return float(sum(b.cooling_kw.sum() for b in self.evaluation.blocks)) * self.evaluation.slot_h

    @property
    def program_kwh(self) -> float:
        """Cooling energy of the program."""
        return sum(fit.energy_kwh for fit in self.plan.cooling)

    @property
    def off_pct(self) -> float:
        """How far the program's cooling energy is above that of the replay, %."""
        return 100.0 * (self.program_kwh / self.replay_kwh - 1.0)


def cooling_share(block: Block) -> float:
    """The cooling power over IT power that a data sheet would state: in mild weather at the usual load."""
    it_kw = USUAL_LOAD * block.plant.rated_it_kw
    return float(cooling(block.plant, it_kw, *MILD_C).cooling_kw) / it_kw


def constant_share_limits(week: Week, block: Block):
    """A block's limits for a planner that takes cooling for a constant share of IT power and knows no thermal limit."""
    known, share = block_limits(week, block), cooling_share(block)
    slope, none = np.full_like(known.curves.slope, share), np.zeros_like(known.curves.slope)
    curves = replace(
        known.curves,
        slope=slope,
        intercept_kw=none,
        upper_slope=slope,
        upper_intercept_kw=none,
        split_kw=np.full(len(slope), np.inf),
    )
    most_kw = np.minimum(block.plant.rated_it_kw, known.capacity_kw / (1.0 + share)) * (1.0 - 2e-6)
    envelope = replace(known.envelope, slope=slope, intercept_kw=none, w_max_kw=np.full(len(slope), np.inf))
    return replace(known, it_max_kw=np.where(known.it_max_kw > 0.0, most_kw, 0.0), envelope=envelope, curves=curves)


def planned(week: Week, options: PlanOptions, *, constant_share: bool) -> Planned:
    """Plan a week, with the plant's curves or with a constant share, and judge it on the full physics."""
    if constant_share:
        with mock.patch("planner.optimize.model.block_limits", constant_share_limits):
            found = plan(week, options)
    else:
        found = plan(week, options)
    calendar, runs = to_calendar(week, found.schedule, status=found.status, certified_gap=found.mip_gap)
    return Planned(found, evaluate(calendar, runs, week))
