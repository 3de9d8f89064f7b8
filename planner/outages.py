"""A week in which something has failed: its blocks carry what is left of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import ConfigError
from planner.idle_power import idle_powered
from power.blocks import Derating
from thermal.plant import cooling, w_max_kw
from thermal.units_out import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from planner.week import Block, Week
    from power.outage import Outage


def derated(week: Week, outages: Sequence[Outage]) -> Week:
    """Return a week whose blocks carry what outages leave of them in the slots that lie in them throughout.

    A slot in which an outage begins counts as it was planned: what is drawn in its part before the outage was drawn.

    Args:
        week: All inputs.
        outages: What failed; those outside the week change nothing.

    Raises:
        ConfigError: One is of a block that the week does not have, or of more CDUs than its block has.
    """
    known = {block.name for block in week.blocks}
    for outage in outages:
        if outage.block not in known:
            raise ConfigError(
                f"outage {outage.name!r} is of block {outage.block!r}; {week.site!r} has {', '.join(sorted(known))}",
                fix="name one of its blocks",
            )
    blocks = tuple(_block(week, block, [one for one in outages if one.block == block.name]) for block in week.blocks)
    changed = any(now is not was for now, was in zip(blocks, week.blocks, strict=True))
    return replace(week, blocks=blocks) if changed else week


def left_kw(week: Week, block: Block, outage: Outage) -> npt.NDArray[np.float64]:
    """Return what an outage leaves a block to draw in each slot, IT and cooling, kW, shape (T,).

    Args:
        week: All inputs.
        block: The block.
        outage: What failed.

    Raises:
        ConfigError: More CDUs are out than the block has.
    """
    if outage.capacity_kw is not None:
        return np.full(week.grid.n_slots, outage.capacity_kw)
    loop = block.plant.loop
    count = 0 if loop is None else loop.cdu.count
    if outage.cdus_out is None or outage.cdus_out > count:
        raise ConfigError(
            f"outage {outage.name!r} has {outage.cdus_out} CDUs of block {block.name!r} out, which has {count}",
            fix="say by capacity_kw what is left of the block",
        )
    here = week.here(block).signals
    running = ALL._replace(cdu=1.0 - outage.cdus_out / count)
    it_kw = w_max_kw(block.plant, here.dry_bulb_c, here.wet_bulb_c, running=running)
    return np.asarray(it_kw + cooling(block.plant, it_kw, here.dry_bulb_c, here.wet_bulb_c).cooling_kw)


def _block(week: Week, block: Block, outages: Iterable[Outage]) -> Block:
    deratings = [derating for outage in outages for derating in _deratings(week, block, outage)]
    if not deratings:
        return block
    power = replace(block.power, deratings=(*block.power.deratings, *deratings))
    less = replace(block, power=power)
    powered = block.idle_powered & idle_powered(week.pools, less, week.grid, week.here(block).signals)
    powered.setflags(write=False)
    return replace(less, idle_powered=powered)


def _deratings(week: Week, block: Block, outage: Outage) -> Iterator[Derating]:
    left, slot = left_kw(week, block, outage), week.grid.slot
    for start, kw in zip(week.grid.starts, left.tolist(), strict=True):
        if start >= outage.start and (outage.end is None or start < outage.end):
            yield Derating(start, start + slot, kw, outage.cause)
