"""What sizes and migration must be to the rest of a run: a scaling curve that GPUs can have, pools that ways join."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from planner.config import build
from planner.config.faults import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.config import model
    from planner.config.draft import Draft, Placed
    from planner.pool import Pool

HAIR = 1e-9
TRAVEL = ("rate_gb_per_s", "energy_kwh_per_tb", "cost_per_tb")


def check_moves(draft: Draft, pools: Mapping[str, Pool]) -> tuple[str, ...]:
    """Note every fault of sizes and migration tables; return what is allowed but looks wrong.

    Args:
        draft: The tables that could be read.
        pools: The sound pools by name.
    """
    told: list[str] = []
    for placed in draft.runs:
        if placed.sound("gpus", "sizes", "running_gpus"):
            _check_sizes(placed, pools)
        if placed.table.migration is not None and placed.sound("migration", "running_in"):
            told += _check_migration(draft, placed, pools)
    return tuple(told)


def _check_sizes(placed: Placed[model.RunTable], pools: Mapping[str, Pool]) -> None:
    run = placed.table
    counts = [run.gpus]
    for i, size in enumerate(run.sizes):
        if size.gpus in counts:
            which = "the run's own count" if size.gpus == run.gpus else "an earlier size"
            placed.fault(("sizes", i, "gpus"), f"{size.gpus} GPUs are {which}", "give each count once")
        counts.append(size.gpus)
    if run.running_gpus is not None and run.running_gpus not in counts:
        placed.fault(
            ("running_gpus",), f"{run.running_gpus} GPUs are none of its counts {sorted(counts)}", "take one of these"
        )
    if run.running_gpus is not None and run.running_in is None:
        placed.fault(("running_gpus",), "stands without running_in", "say in which pool it is running")
    if len(set(counts)) == len(counts):
        _check_curve(placed)
        _check_room(placed, pools)


def _check_curve(placed: Placed[model.RunTable]) -> None:
    """Note a size at which GPUs add nothing, or more each than those before them."""
    run = placed.table
    measured = [(size.gpus, size.throughput_share, i) for i, size in enumerate(run.sizes)]
    points = sorted([(0, 0.0, -1), (run.gpus, 1.0, -1), *measured])
    steeper = float("inf")
    for (low, low_share, before), (high, share, at) in pairwise(points):
        slope = (share - low_share) / (high - low)
        i = max(at, before)
        if slope <= 0.0:
            placed.fault(
                ("sizes", i, "throughput_share"),
                f"{high} GPUs have {share:g} of the throughput of {run.gpus}, no more than the {low_share:g} of {low}",
                "measure it again, or leave this count out: more GPUs must do more",
            )
        elif slope > steeper * (1.0 + HAIR):
            placed.fault(
                ("sizes", i, "throughput_share"),
                f"from {low} to {high} GPUs the throughput rises from {low_share:g} to {share:g} of that of {run.gpus}"
                f", {slope / steeper:.3g} times as much per GPU as before",
                "measure it again: each GPU more adds no more than those before it",
            )
        steeper = slope


def _check_room(placed: Placed[model.RunTable], pools: Mapping[str, Pool]) -> None:
    run = placed.table
    names = list(pools) if run.pools is None else [name for name in run.pools if name in pools]
    most = max((build.most_gpus(pools[name], pools) for name in names), default=0)
    for i, size in enumerate(run.sizes):
        if names and size.gpus > most:
            placed.fault(
                ("sizes", i, "gpus"),
                f"{size.gpus} GPUs fit no pool; the largest that the run may use has {most}",
                f"lower it to {most}, or allow a larger pool",
            )


def _check_migration(draft: Draft, placed: Placed[model.RunTable], pools: Mapping[str, Pool]) -> list[str]:
    run = placed.table
    table = run.migration
    assert table is not None
    known = sorted(draft.names("pool") | draft.names("span"))
    if table.lies_in is not None and table.lies_in not in known:
        placed.fault(
            ("migration", "lies_in"), f"there is no pool {table.lies_in!r}", did_you_mean(table.lies_in, known)
        )
        return []
    if table.lies_in is not None and run.running_in is not None:
        placed.fault(
            ("migration", "lies_in"),
            f"stands beside running_in = {run.running_in!r}, where its state lies then",
            "leave one of them out",
        )
    for key in TRAVEL:
        if table.size_tb == 0.0 and key in table.model_fields_set:
            placed.fault(
                ("migration", key), "stands without size_tb: nothing goes", "say how much goes, or leave it out"
            )
    if table.rate_gb_per_s is None:
        for key in TRAVEL[1:]:
            if table.size_tb > 0.0 and key in table.model_fields_set:
                placed.fault(
                    ("migration", key), "stands without rate_gb_per_s: the pools share a store", "add the rate"
                )
    fitting = [name for name in (run.pools or known) if name in pools]
    fitting = [name for name in fitting if build.most_gpus(pools[name], pools) >= min(_counts(run))]
    if len(fitting) == len(run.pools or known) and len(fitting) < 2:
        placed.fault(
            ("migration",), f"the run fits one pool only, {fitting[0]!r}", "allow it another pool, or leave this out"
        )
    return _apart(draft, placed, fitting)


def _counts(run: model.RunTable) -> list[int]:
    return [run.gpus, *(size.gpus for size in run.sizes)]


def _apart(draft: Draft, placed: Placed[model.RunTable], names: list[str]) -> list[str]:
    """Return what is said of sites between which a run cannot move for want of a link."""
    own = draft.single["site"].table.name if "site" in draft.single else ""
    site_of_block = {block.table.name: block.table.site or own for block in draft.blocks}
    sites = sorted({site_of_block.get(pool.table.block, own) for pool in draft.pools if pool.table.name in names})
    linked = {frozenset(link.table.between) for link in draft.links}
    return [
        f"run {placed.table.name!r}: no link lies between {a!r} and {b!r}, so that it does not move between them."
        for i, a in enumerate(sites)
        for b in sites[i + 1 :]
        if frozenset((a, b)) not in linked
    ]
