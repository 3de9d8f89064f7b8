"""Where GPUs without a job stay powered: not where capacity or cooling of a slot could not carry all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.pool import idle_it_kw
from planner.week import firm_kw
from thermal.plant import cooling
from thermal.reserve import carried_it_kw

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.config.site import SiteBlock
    from planner.pool import Pool
    from planner.timegrid import TimeGrid
    from planner.week import Block, Signals


def idle_powered(
    pools: Sequence[Pool], block: Block | SiteBlock, grid: TimeGrid, signals: Signals
) -> npt.NDArray[np.bool_]:
    """Return per slot whether the GPUs of a block that have no job stay powered, read-only, shape (T,).

    Args:
        pools: Pools of all blocks.
        block: The block.
        grid: The slots.
        signals: The weather.
    """
    idle_kw = idle_it_kw(pools, block.power.name, grid)
    cooling_kw = cooling(block.plant, idle_kw, signals.dry_bulb_c, signals.wet_bulb_c).cooling_kw
    room_kw = firm_kw(block.power, block.generators, grid)
    carried_kw = carried_it_kw(block.plant, block.reserve, signals.dry_bulb_c, signals.wet_bulb_c)
    powered = np.asarray((idle_kw + cooling_kw <= room_kw) & (idle_kw <= carried_kw))
    powered.setflags(write=False)
    return powered
