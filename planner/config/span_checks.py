"""What spans must be to the pools that they span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.config import build
from planner.config.faults import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.config import model
    from planner.config.draft import Draft, Placed
    from planner.pool import Pool


def check_spans(draft: Draft, pools: Mapping[str, Pool]) -> dict[str, Pool]:
    """Note the faults of each span and return the sound ones as pools, by name.

    Args:
        draft: The tables that could be read.
        pools: The sound pools by name.
    """
    known = sorted(draft.names("pool"))
    found: dict[str, Pool] = {}
    for placed in draft.spans:
        before = len(placed.faults.found)
        if placed.table.name in known:
            placed.fault(("name",), f"{placed.table.name!r} is the name of a pool", "give the span its own name")
        _check_pools(placed, known, pools)
        _check_sites(draft, placed, pools)
        sound = len(placed.faults.found) == before and placed.sound("pools", "throughput_share")
        if sound and all(name in pools for name in placed.table.pools):
            found[placed.table.name] = build.span(placed.table, pools)
    return found


def _check_sites(draft: Draft, placed: Placed[model.SpanTable], pools: Mapping[str, Pool]) -> None:
    here = draft.single["site"].table.name if "site" in draft.single else ""
    site_of = {block.table.name: block.table.site or here for block in draft.blocks}
    parts = [pools[name] for name in placed.table.pools if name in pools]
    sites = sorted({site_of[block] for part in parts for block, _ in part.shares if block in site_of})
    if len(sites) > 1:
        placed.fault(("pools",), f"stand at {' and '.join(sites)}; a fabric is at one site", "span pools of one site")


def _check_pools(placed: Placed[model.SpanTable], known: list[str], pools: Mapping[str, Pool]) -> None:
    names = placed.table.pools
    for i, name in enumerate(names):
        if name not in known:
            placed.fault(("pools", i), f"there is no pool {name!r}", did_you_mean(name, known))
        elif name in names[:i]:
            placed.fault(("pools", i), f"pool {name!r} stands twice", "name each pool once")
    types = sorted({pools[name].gpu.name for name in names if name in pools})
    if len(types) > 1:
        placed.fault(("pools",), f"have {' and '.join(types)}; a gang is of one GPU type", "span pools of one type")
