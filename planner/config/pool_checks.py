"""What GPU types and pools must be to blocks and to each other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from planner.config import build, model
from planner.config.block_checks import UNIT_SLIP
from planner.config.draft import Draft, Placed
from planner.config.faults import did_you_mean
from planner.config.moments import Moments

if TYPE_CHECKING:
    from planner.pool import Pool
    from power.gpu import GpuType

SHARES_ERROR = 1e-6


def check_gpus(draft: Draft, catalogue: Mapping[str, GpuType]) -> dict[str, GpuType]:
    """Note the faults of the file's own GPU types and return all sound types by name."""
    gpus = dict(catalogue)
    for name, placed in draft.gpus.items():
        if not placed.wrong and _sound_gpu(placed):
            gpus[name] = build.gpu_type(name, placed.table)
    return gpus


def _sound_gpu(placed: Placed[model.GpuTable]) -> bool:
    before = len(placed.faults.found)
    points = placed.table.points
    if not points:
        placed.fault(("points",), "neither points nor a sweep are given", "add points = [...], or sweep = ...")
        return False
    for i, (lower, upper) in enumerate(pairwise(points), start=1):
        if upper.gpu_power_limit_w <= lower.gpu_power_limit_w:
            placed.fault(
                ("points", i, "gpu_power_limit_w"),
                f"{upper.gpu_power_limit_w:g} W does not rise above {lower.gpu_power_limit_w:g} W before it",
                "sort the points by rising limit",
            )
    for i, point in enumerate(points):
        if point.it_w_per_gpu <= placed.table.idle_w_per_gpu:
            placed.fault(
                ("points", i, "it_w_per_gpu"),
                f"{point.it_w_per_gpu:g} W is not above idle_w_per_gpu {placed.table.idle_w_per_gpu:g} W",
                "give IT power per GPU in training with its share of the node",
            )
    if points[-1].relative_throughput != 1.0:
        placed.fault(
            ("points", len(points) - 1, "relative_throughput"),
            f"{points[-1].relative_throughput:g} at the highest limit; throughput is relative to that point",
            "divide all by the throughput at the highest limit, so that the last is 1.0",
        )
    return len(placed.faults.found) == before


def check_pools(draft: Draft, gpus: Mapping[str, GpuType], tz: ZoneInfo) -> dict[str, Pool]:
    """Note the faults of each pool and return the sound pools by name."""
    moments = Moments(tz)
    blocks = {placed.table.name: placed for placed in draft.blocks}
    known_blocks = draft.names("block")
    known_gpus = {*gpus, *draft.gpu_names()}
    sound: dict[str, Pool] = {}
    for placed in draft.pools:
        before = len(placed.faults.found)
        pool = placed.table
        if pool.block not in known_blocks:
            placed.fault(
                ("block",), f"there is no block {pool.block!r}", did_you_mean(pool.block, sorted(known_blocks))
            )
        _check_split(placed, known_blocks)
        if pool.gpu not in known_gpus:
            placed.fault(("gpu",), f"GPU type {pool.gpu!r} is not known", did_you_mean(pool.gpu, sorted(known_gpus)))
        _check_service(placed, moments)
        if len(placed.faults.found) > before or pool.gpu not in gpus or not placed.sound("count", "commissioning"):
            continue
        made = build.pool(pool, gpus, tz)
        for name, share in made.shares:
            if name in blocks and blocks[name].sound("capacity_kw"):
                _check_power(placed, made, share, blocks[name].table)
        sound[pool.name] = made
    return sound


def _check_split(placed: Placed[model.PoolTable], known_blocks: set[str]) -> None:
    pool = placed.table
    if not pool.split:
        return
    names = [part.block for part in pool.split]
    for i, name in enumerate(names):
        if name not in known_blocks:
            placed.fault(("split", i, "block"), f"there is no block {name!r}", did_you_mean(name, sorted(known_blocks)))
        elif name in names[:i]:
            placed.fault(("split", i, "block"), f"block {name!r} stands twice in split", "name each block once")
    if names[0] != pool.block:
        placed.fault(
            ("split", 0, "block"),
            f"the first part is in {names[0]!r}, but block is {pool.block!r}",
            f"put the part in {pool.block!r} first",
        )
    total = sum(part.share for part in pool.split)
    if abs(total - 1.0) > SHARES_ERROR:
        placed.fault(("split",), f"the shares add up to {total:g}", "give shares that add up to 1")


def _check_service(placed: Placed[model.PoolTable], moments: Moments) -> None:
    pool = placed.table
    if (pool.count is None) == (not pool.commissioning):
        both = (
            "both count and commissioning are given"
            if pool.commissioning
            else "neither count nor commissioning is given"
        )
        placed.fault(("count",), both, "give count = N, or commissioning = [{ since = ..., count = N }]")
    if pool.in_service_from is not None and pool.commissioning:
        placed.fault(("in_service_from",), "stands beside commissioning, which has its own dates", "leave it out")
    moments.utc(placed, ("in_service_from",), pool.in_service_from)
    mend = "sort the steps by rising time; count is the total from then on"
    moments.rising(placed, ("commissioning",), [step.since for step in pool.commissioning], mend)
    mend = "sort the steps by rising time; share is that of all GPUs in service from then on"
    moments.rising(placed, ("availability",), [step.since for step in pool.availability], mend)


def _check_power(placed: Placed[model.PoolTable], pool: Pool, share: float, block: model.BlockTable) -> None:
    full_kw = share * build.most_gpus(pool) * max(p.it_w_per_gpu for p in pool.gpu.points) / 1000.0
    if full_kw >= UNIT_SLIP * block.capacity_kw:
        placed.fault(
            ("count",) if placed.table.count is not None else ("commissioning",),
            f"{build.most_gpus(pool)} GPUs draw {full_kw:,.0f} kW at full power, "
            f"but block {block.name!r} has a capacity of {block.capacity_kw:,.0f} kW",
            "write capacity_kw in kW (1 MW = 1000), or correct the count of GPUs",
        )
