"""One week planned day by day: each plan goes on from the one before, by what is known on its day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.rolling.in_force import InForce
from planner.rolling.replan import replan
from planner.stochastic.plan import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize import PlanOptions
    from planner.schedule import Plan
    from planner.uncertainty import Uncertainty
    from planner.week import Block, Signals, Week

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Manner:
    """How plans go on.

    Args:
        frozen_h: Hours in which starts, stops and pools stay as announced, h.
        change_cost_per_gpu_h: What a GPU-hour turned on or off against what was announced costs, money.
    """

    frozen_h: float
    change_cost_per_gpu_h: float


@dataclass(frozen=True)
class Rolled:
    """A week that was planned day by day.

    Args:
        week: The week as its last plan knew it: in each slot the signals by which that slot was planned last.
        plan: The last plan; its schedule holds all that was done.
        changed_gpu_h: GPU-hours that all plans together turned on, off or over against what was announced before.
        gap: Largest certified gap of any of them.
        thawed: Plans that could not keep what was ordered.
    """

    week: Week
    plan: Plan
    changed_gpu_h: float
    gap: float
    thawed: int


def rolled(days: Sequence[Week], manner: Manner, options: PlanOptions) -> Rolled:
    """Return a week planned day by day.

    Args:
        days: The same week as it is known at each of its days' starts; what lies before is not looked at.
        manner: How plans go on.
        options: Gap target and time limit of each plan.

    Raises:
        Infeasible: Physics leaves no plan.
    """
    now = days[0]
    found = plan(now, options)
    changed_gpu_h, gap, thawed = 0.0, found.mip_gap, 0
    for fresh in days[1:]:
        slot = round(fresh.grid.position(fresh.issued_at))
        frozen = min(fresh.grid.n_slots, slot + round(manner.frozen_h / fresh.grid.slot_h))
        now = known_until(now, fresh, slot)
        again = replan(now, InForce(found.schedule, slot, frozen, manner.change_cost_per_gpu_h), options)
        found = again.found
        changed_gpu_h, gap = changed_gpu_h + again.changed_gpu_h, max(gap, found.mip_gap)
        thawed += bool(again.note)
    return Rolled(now, found, changed_gpu_h, gap, thawed)


def known_until(before: Week, fresh: Week, slot: int) -> Week:
    """Return a week that before a slot holds what an earlier plan knew, and from it on what is known now.

    What was done by an earlier forecast was possible by that forecast: by weather that then came hotter it may not be.

    Args:
        before: The week by which the slots before were planned.
        fresh: The week as it is known now.
        slot: First slot that may still be planned.
    """
    signals = _signals(before.signals, fresh.signals, slot)
    return replace(
        fresh,
        signals=signals,
        blocks=tuple(_block(a, b, slot) for a, b in zip(before.blocks, fresh.blocks, strict=True)),
        uncertainty=None if fresh.uncertainty is None else _uncertainty(signals, fresh.uncertainty, slot),
    )


def _signals(before: Signals, fresh: Signals, slot: int) -> Signals:
    wind = before.wind_speed_m_per_s, fresh.wind_speed_m_per_s
    return replace(
        fresh,
        ci_gco2_per_kwh=_joined(before.ci_gco2_per_kwh, fresh.ci_gco2_per_kwh, slot),
        price_per_kwh=_joined(before.price_per_kwh, fresh.price_per_kwh, slot),
        dry_bulb_c=_joined(before.dry_bulb_c, fresh.dry_bulb_c, slot),
        wet_bulb_c=_joined(before.wet_bulb_c, fresh.wet_bulb_c, slot),
        ghi_w_per_m2=_joined(before.ghi_w_per_m2, fresh.ghi_w_per_m2, slot),
        wind_speed_m_per_s=None if wind[0] is None or wind[1] is None else _joined(wind[0], wind[1], slot),
    )


def _joined(before: Floats, fresh: Floats, slot: int) -> Floats:
    return np.concatenate([before[:slot], fresh[slot:]])


def _block(before: Block, fresh: Block, slot: int) -> Block:
    powered = np.concatenate([before.idle_powered[:slot], fresh.idle_powered[slot:]])
    powered.setflags(write=False)
    return replace(fresh, idle_powered=powered)


def _uncertainty(signals: Signals, fresh: Uncertainty, slot: int) -> Uncertainty:
    """Return what is not known, of which nothing lies before the slot."""
    heat = fresh.heat
    if heat is not None:
        heat = replace(
            heat,
            dry_bulb_c=_joined(signals.dry_bulb_c, heat.dry_bulb_c, slot),
            wet_bulb_c=_joined(signals.wet_bulb_c, heat.wet_bulb_c, slot),
        )
    paths = tuple(replace(one, signals=_signals(signals, one.signals, slot)) for one in fresh.scenarios)
    return replace(fresh, scenarios=paths, heat=heat)
