"""From a site and its sources to the frozen inputs of one week."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from planner.config.other_site import first_alone
from planner.config.uncertainty_table import UncertaintyTable
from planner.errors import ConfigError, GapInSeries
from planner.gather_sites import gather_others, other_sites
from planner.idle_power import idle_powered
from planner.margins import with_margins
from planner.outlook import FIELDS, FLAT_PRICE, gather_signals
from planner.precedence import of_week
from planner.price_slips import check_price_units
from planner.stochastic.of_bands import Asked, looked_at
from planner.timegrid import TimeGrid, coming_week, horizon_grid, iso, to_utc, zone
from planner.week import Block, Signals, Week

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.config.site import Site, SiteBlock
    from planner.outlook import Gathered
    from planner.run import Run
    from planner.sources.cache import ResponseCache


def gather(
    site: Site,
    *,
    week: str | None = None,
    now: datetime,
    issued_at: datetime | None = None,
    offline: bool = False,
    cache: ResponseCache | None = None,
    kept: Gathered | None = None,
) -> Week:
    """Return all inputs of one week's plan.

    Args:
        site: The site.
        week: ISO week such as "2024-W20", or month such as "2024-05"; where None, the site file's, else the coming
            week.
        now: The present instant; decides which week is the coming one and how old an answer is.
        issued_at: When the plan counts as made; `now` where None.
        offline: Whether to keep off the network and serve from the cache alone.
        cache: Answers of providers on the network kept from earlier.
        kept: What was gathered for this week before; the sources are then not asked, unless the site file now asks for
            other slots, another basis, another flat price or sunshine or wind that nobody asked for then.

    Raises:
        ConfigError: The week's name is none, a run is overdue, no run has work left, or prices are per MWh.
        DataUnavailable: A series cannot be had.
    """
    tz = zone(site.place.timezone)
    asked = week or site.horizon.month or site.horizon.week or coming_week(now, tz)
    grid = horizon_grid(asked, tz, site.horizon.slot_minutes)
    gathered = kept
    if gathered is None or not _fits(gathered, first_alone(site), grid):
        gathered = gather_signals(first_alone(site), grid, now=now, offline=offline, cache=cache)
    others = gather_others(
        site,
        grid,
        now=now,
        offline=offline,
        cache=cache,
        kept={} if kept is None else kept.others,
        fits=lambda had, there: _fits(had, there, grid),
    )
    signals = {"": gathered.signals, **{name: one.signals for name, one in others.items()}}
    elsewhere = tuple(label for one in others.values() for label in one.labels)
    _check_outputs(site, grid)
    check_price_units(site, gathered.signals.price_per_kwh)
    runs, complete = runs_of_week(site, grid)
    found = Week(
        site=site.name,
        timezone=site.place.timezone,
        grid=grid,
        issued_at=to_utc(issued_at or now).replace(microsecond=0),
        signals=gathered.signals,
        provenance=gathered.provenance,
        blocks=tuple(block_of_week(site, block, grid, signals[block.site]) for block in site.blocks),
        pools=site.pools,
        runs=runs,
        tariff=site.tariff,
        contracts=site.contracts,
        ppas=site.ppas,
        prices=site.prices,
        objective=site.objective,
        others=other_sites(site, others),
        zone=site.place.zone if site.others else "",
        labels=tuple(dict.fromkeys(gathered.labels + elsewhere + site.warnings + site.declared + complete)),
        accounting=None if site.others else site.accounting,
        bands=gathered.bands,
    )
    unsure = site.plan.uncertainty or UncertaintyTable()
    return looked_at(found, Asked(unsure.scenarios, unsure.cvar_alpha, unsure.cvar_weight, unsure.w_max_quantile))


def _check_outputs(site: Site, grid: TimeGrid) -> None:
    for ppa in site.ppas:
        known = ppa.output_kw
        if known is not None and not known.covers(grid.start, grid.end):
            raise GapInSeries(
                f"the output of the farm of agreement {ppa.name!r} in {known.source} covers {iso(known.start)} to "
                f"{iso(known.end)}, but the week is {iso(grid.start)} to {iso(grid.end)}",
                fix="give every hour of the week one row, or describe the farm by its turbines or modules",
            )


def _fits(kept: Gathered, site: Site, grid: TimeGrid) -> bool:
    price, flat = kept.signals.price_per_kwh, site.flat_price_per_kwh
    was_flat = any(entry.source == FLAT_PRICE for entry in kept.provenance)
    return (
        len(price) == grid.n_slots
        and kept.signals.ci_basis == site.carbon.basis
        and was_flat == (flat is not None)
        and (flat is None or bool((price == flat).all()))
        and (not site.has_solar or any(entry.signal == FIELDS["ghi"] for entry in kept.provenance))
        and (not site.has_wind or kept.signals.wind_speed_m_per_s is not None)
    )


def runs_of_week(site: Site, grid: TimeGrid) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """Return the site's runs as a week sees them, and sentences about those left out.

    Stages that were due before the week and are made are taken off; a run whose stages are all made is left out.

    Args:
        site: The site.
        grid: The slots.

    Raises:
        ConfigError: Runs are overdue as the week starts (all are named), more GPUs are said to be running than a pool
            has, or no run has work left.
    """
    runs: list[Run] = []
    told: list[str] = []
    overdue: list[str] = []
    for run in site.runs:
        past = [stage for stage in run.stages if stage.deadline <= grid.start]
        due = sum(stage.tokens for stage in past)
        if run.tokens_done >= sum(stage.tokens for stage in run.stages):
            told.append(f"Run {run.name!r} has made all its tokens and is left out.")
        elif run.tokens_done < due:
            overdue.append(f"{run.name!r} lacks {due - run.tokens_done:.3g} tokens due by {iso(past[-1].deadline)}")
        elif run.earliest_start >= grid.end:
            told.append(f"Run {run.name!r} may not start before {iso(run.earliest_start)} and is left out.")
        else:
            runs.append(
                with_margins(
                    replace(
                        run,
                        stages=run.stages[len(past) :],
                        tokens_done=run.tokens_done - due,
                        earliest_start=max(run.earliest_start, grid.start),
                    ),
                    grid,
                )
            )
    in_time, waiting = of_week(runs, site.runs)
    told += waiting
    if overdue:
        raise ConfigError(
            f"{site.file}: runs are overdue as the week starts on {iso(grid.start)}: {'; '.join(overdue)}",
            fix="set tokens_done to what they have made, move their deadlines, or plan an earlier week",
        )
    _check_running(site, in_time, grid)
    if not in_time:
        raise ConfigError(
            f"{site.file}: no run has work left in the week from {iso(grid.start)}", fix="add a run to the site file"
        )
    return in_time, tuple(told)


def _check_running(site: Site, runs: Sequence[Run], grid: TimeGrid) -> None:
    pools = {pool.name: pool for pool in site.pools}
    for pool in site.pools:
        running = sum(
            pools[run.running_in].draws(run.running_gpus or run.gpus).get(pool.name, 0)
            for run in runs
            if run.running_in
        )
        in_service = int(pool.gpus_in_service(grid)[0])
        if running > in_service:
            raise ConfigError(
                f"{site.file}: runs of {running} GPUs are running in pool {pool.name!r} as the week starts on "
                f"{iso(grid.start)}, which has {in_service} in service then",
                fix="set running_in only where the run is running as the week starts",
            )


def block_of_week(site: Site, block: SiteBlock, grid: TimeGrid, signals: Signals) -> Block:
    """Return a site's block as a week sees it.

    Args:
        site: The site.
        block: The block.
        grid: The slots.
        signals: The week's weather decides where idle GPUs stay powered.
    """
    return Block(
        block.power,
        block.plant,
        block.solar,
        block.battery,
        idle_powered(site.pools, block, grid, signals),
        block.reserve,
        None if block.heat is None else block.heat.over(grid, zone(site.place.timezone)),
        wind=block.wind,
        generators=block.generators,
        export=block.export,
        site=block.site,
    )
