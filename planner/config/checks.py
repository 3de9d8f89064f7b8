"""What the tables of a site file must be to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from planner.config.block_checks import check_blocks
from planner.config.build_objective import check_objective
from planner.config.draft import Draft, Placed
from planner.config.faults import did_you_mean
from planner.config.geography_checks import check_geography
from planner.config.goodput_checks import check_goodput
from planner.config.legs import check_legs
from planner.config.move_checks import check_moves
from planner.config.pool_checks import check_gpus, check_pools
from planner.config.power_checks import check_power
from planner.config.precedence_checks import check_precedence
from planner.config.run_checks import check_runs
from planner.config.slip_checks import check_slips
from planner.config.source_checks import check_sources
from planner.config.span_checks import check_spans
from planner.config.supply_checks import check_supply
from planner.errors import ConfigError
from planner.timegrid import iso_week, month_grid, zone

if TYPE_CHECKING:
    from power.gpu import GpuType


def check(draft: Draft, catalogue: Mapping[str, GpuType], folder: Path) -> tuple[str, ...]:
    """Note every fault between tables.

    Args:
        draft: The tables that could be read.
        catalogue: Bundled GPU types by name.
        folder: Folder of the site file.

    Returns:
        Sentences about what is allowed but looks wrong.
    """
    tz = _timezone(draft)
    slot_minutes = _slot_minutes(draft)
    _check_week(draft, tz)
    named = (
        ("block", draft.blocks),
        ("pool", draft.pools),
        ("span", draft.spans),
        ("run", draft.runs),
        ("contract", draft.contracts),
        ("ppa", draft.ppas),
    )
    for kind, placed in named:
        _check_unique(kind, placed)
    check_blocks(draft, tz, slot_minutes)
    check_power(draft, tz)
    check_slips(draft)
    check_supply(draft, tz)
    check_objective(draft)
    gpus = check_gpus(draft, catalogue)
    pools = check_pools(draft, gpus, tz)
    pools |= check_spans(draft, pools)
    warnings = check_runs(draft, pools, gpus, tz, slot_minutes)
    check_goodput(draft)
    check_legs(draft, tz)
    check_precedence(draft)
    warnings += check_moves(draft, pools)
    return warnings + check_sources(draft, folder) + check_geography(draft, folder)


def _timezone(draft: Draft) -> ZoneInfo:
    """Return the site's time zone; UTC stands in for one that is not known, so that the other checks can go on."""
    place = draft.single.get("site")
    if place is not None:
        try:
            return zone(place.table.timezone)
        except ConfigError as error:
            place.fault(("timezone",), error.what, did_you_mean(place.table.timezone, sorted(available_timezones())))
    return zone("UTC")


def _slot_minutes(draft: Draft) -> int | None:
    horizon = draft.single.get("horizon")
    return horizon.table.slot_minutes if horizon is not None and horizon.sound("slot_minutes") else None


def _check_week(draft: Draft, tz: ZoneInfo) -> None:
    horizon = draft.single.get("horizon")
    if horizon is not None and horizon.table.week is not None:
        try:
            iso_week(horizon.table.week, tz, horizon.table.slot_minutes)
        except ConfigError as error:
            horizon.fault(("week",), error.what, error.fix)
    if horizon is not None and horizon.table.month is not None:
        if horizon.table.week is not None:
            horizon.fault(("month",), "week and month are both given", "name one of them")
        try:
            month_grid(horizon.table.month, tz, horizon.table.slot_minutes)
        except ConfigError as error:
            horizon.fault(("month",), error.what, error.fix)


def _check_unique(kind: str, placed: Iterable[Placed[Any]]) -> None:
    seen: dict[str, Placed[Any]] = {}
    for one in placed:
        if not one.sound("name"):
            continue
        first = seen.setdefault(one.table.name, one)
        if first is not one:
            one.fault(
                ("name",), f"{one.table.name!r} is the name of an earlier {kind}", f"give each {kind} its own name"
            )
