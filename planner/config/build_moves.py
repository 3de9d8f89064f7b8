"""From what a site file says of sizes and migration to the options of a run and the ways between its pools."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

from planner.config.build import run_options
from planner.moves import Migration, Way

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner.config import model
    from planner.config.geography_tables import LinkTable
    from planner.config.move_tables import MigrationTable
    from planner.pool import Pool
    from planner.run import PoolOption, Run

GB_PER_TB = 1000.0


def with_sizes(run: Run, table: model.RunTable, pools: Mapping[str, Pool]) -> Run:
    """Return a run with an option more for every pool and size that it may have.

    Args:
        run: The run with its own count of GPUs.
        table: What the file says of it.
        pools: The pools as its operating points see them.
    """
    useful_share = 1.0 if run.goodput is None else run.goodput.factor_share
    more: list[PoolOption] = []
    for size in table.sizes:
        for option in run_options(table.model_copy(update={"gpus": size.gpus}), pools, useful_share):
            per_gpu = option.tokens_per_gpu_s * size.throughput_share * run.gpus / size.gpus
            more.append(replace(option, gpus=size.gpus, tokens_per_gpu_s=per_gpu))
    return replace(run, options=(*run.options, *more), running_gpus=table.running_gpus or 0)


def with_migration(
    run: Run,
    table: MigrationTable | None,
    pools: Mapping[str, Pool],
    site_of_block: Mapping[str, str],
    links: Iterable[LinkTable],
) -> Run:
    """Return a run with the ways between its pools; pools of sites that no link joins have none.

    Args:
        run: The run with its options.
        table: What the file says of its migration, or None where it keeps its pool.
        pools: Pools by name.
        site_of_block: Name of the site of each block.
        links: Links between sites.
    """
    if table is None:
        return run
    names = dict.fromkeys(option.pool for option in run.options)
    names |= {name: None for name in (run.running_in, table.lies_in) if name is not None}
    site_of = {name: site_of_block[pools[name].block] for name in names}
    by_ends = {frozenset(link.between): link for link in links}
    ways = []
    for origin, target in permutations(names, 2):
        ends = frozenset((site_of[origin], site_of[target]))
        if len(ends) == 1:
            ways.append(_way(table, origin, target, table.rate_gb_per_s, table.energy_kwh_per_tb, table.cost_per_tb))
        elif ends in by_ends:
            link = by_ends[ends]
            ways.append(_way(table, origin, target, link.rate_gb_per_s, link.energy_kwh_per_tb, link.cost_per_tb))
    return replace(run, migration=Migration(table.size_tb, tuple(ways), table.lies_in))


def _way(
    table: MigrationTable, origin: str, target: str, rate_gb_per_s: float | None, kwh_per_tb: float, cost_per_tb: float
) -> Way:
    travel_s = 0.0 if rate_gb_per_s is None else table.size_tb * GB_PER_TB / rate_gb_per_s
    return Way(origin, target, table.settle_s + travel_s, table.size_tb * kwh_per_tb, table.size_tb * cost_per_tb)
