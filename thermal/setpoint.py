"""The supply temperature of an hour, chosen before the plan: a request, the building's controls keep authority."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thermal.chain import free_supply_c, loop_state
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.loop import LiquidLoop
    from thermal.outdoors import Outdoors

CHOICE_LOAD = 0.8  # IT power over rated at which setpoints are compared: a busy training week
STEP_K = 1.0  # between the setpoints compared; building controls take no finer request


def held_supply_c(loop: LiquidLoop, air: Outdoors) -> npt.NDArray[np.float64]:
    """Return the rack supply that the controls hold at all loads, deg C.

    Without chillers, a setpoint that full fans cannot reach at rated power would have them at full speed over a span of
    loads, for nothing below the limit, and their power over load would not be convex: the setpoint follows the weather,
    up to the limit.

    Args:
        loop: The loop.
        air: The outdoor air, shape (...).

    Returns:
        deg C, shape (...).
    """
    base_c = np.full_like(air.dry_c, loop.supply_setpoint_c)
    if loop.setpoint_rule == "chosen":
        base_c = _cheapest_c(loop, air)
    if loop.has_chiller:
        return base_c
    reachable_c = free_supply_c(loop, np.ones_like(air.dry_c), air, ALL)
    return np.clip(reachable_c, base_c, loop.supply_limit_c)


def leakage_share(loop: LiquidLoop, supply_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the part of IT power that chips warmer than at the design setpoint take, below 0 for cooler ones.

    Args:
        loop: The loop.
        supply_c: Rack supply, deg C, shape (...); at one load and flow, cases move with it kelvin for kelvin.

    Returns:
        Over IT power, shape (...).
    """
    return np.asarray(loop.chip_leakage_pct_per_k / 100.0 * (supply_c - loop.supply_setpoint_c))


def _cheapest_c(loop: LiquidLoop, air: Outdoors) -> npt.NDArray[np.float64]:
    """Return the setpoint between least and limit with the least power of cooling and leakage, shape of the air."""
    least_c = min(loop.supply_least_c, loop.supply_setpoint_c)
    count = max(1, round((loop.supply_limit_c - least_c) / STEP_K))
    candidates_c = np.linspace(least_c, loop.supply_limit_c, count + 1)
    wide = type(air)(*(v[..., None] for v in air))
    load = np.array(CHOICE_LOAD)
    state = loop_state(loop, load, wide, candidates_c, ALL, np.zeros(()))
    pumps = state.rack_pump + state.facility_pump
    leaked = CHOICE_LOAD / loop.liquid_heat_share * leakage_share(loop, state.supply_c)
    cost = state.fan + pumps + state.compressor + leaked
    # candidates that nothing can hold are no choice; the warmest always is one
    held = state.supply_c <= candidates_c + 1e-6
    held[..., -1] = True
    return np.asarray(candidates_c[np.argmin(np.where(held, cost, np.inf), axis=-1)])
