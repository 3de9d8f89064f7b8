"""From what events ask for to what holds for one site: limits in kW, and other prices or carbon."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import DECIMALS
from planner.errors import ConfigError
from planner.outlook import series_digest
from planner.timegrid import iso
from power.events import Asked, ImportLimit, in_force, put_off, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.week import Week
    from power.events import Ask, GridEvent
    from power.flexibility import DemandResponse

_FIELD = {Asked.PRICE: "price_per_kwh", Asked.GHG: "ci_gco2_per_kwh"}


def asked_of(week: Week, events: Sequence[GridEvent], agreed: DemandResponse, now: datetime) -> tuple[Ask, ...]:
    """Return what events ask of a site from now on, with one answer at each instant.

    Args:
        week: All inputs.
        events: The events.
        agreed: What the site has agreed to do.
        now: The instant of decision, UTC.

    Raises:
        ConfigError: An event is for somebody else, is over, lies outside the calendar, or has prices in another
            currency.
    """
    asks: list[Ask] = []
    for event in events:
        subjects = _subjects(week, event, agreed)
        mine = put_off(event, week.site)
        if event.currency is not None and event.currency != week.prices.currency:
            raise ConfigError(
                f"event {event.name!r} has prices in {event.currency}; the site's money is {week.prices.currency}",
                fix="ask the sender for prices in the site's currency",
            )
        there = within(mine.asks, max(now, week.grid.start), week.grid.end)
        if not there:
            raise _elsewhere(week, mine, now)
        asks += [replace(ask, block=block) for ask in there for block in subjects]
    found = in_force(asks)
    for ask in found:
        if ask.block is not None and ask.kind in _FIELD:
            raise ConfigError(
                f"event {ask.event!r} has a {ask.kind.value} for block {ask.block!r} alone",
                why="price and carbon are those of the site",
                fix="address it to the site",
            )
    return found


def _subjects(week: Week, event: GridEvent, agreed: DemandResponse) -> tuple[str | None, ...]:
    """Return whom an event is for: the whole site (None), or some of its blocks."""
    own = {week.site, *agreed.targets}
    if not event.targets or own & set(event.targets):
        return (None,)
    blocks = tuple(block.name for block in week.blocks if block.name in event.targets)
    if blocks:
        return blocks
    named = ", ".join(repr(target[:60]) for target in event.targets[:5])
    raise ConfigError(
        f"event {event.name!r} is for {named}, not for site {week.site!r} nor one of its blocks",
        fix="give the event to the site that it names, or list the name under targets in [demand_response]",
    )


def _elsewhere(week: Week, event: GridEvent, now: datetime) -> ConfigError:
    first = min(ask.start for ask in event.asks)
    ends = [ask.end for ask in event.asks if ask.end is not None]
    last = max(ends, default=None) if len(ends) == len(event.asks) else None
    told = f"from {iso(first)} to {'an open end' if last is None else iso(last)}"
    if last is not None and last <= now:
        return ConfigError(
            f"event {event.name!r}, {told}, is over at {iso(now)}",
            fix="nothing can be done about what is past; --at names another instant of decision",
        )
    return ConfigError(
        f"event {event.name!r}, {told}, is not in the calendar, which covers {iso(week.grid.start)} to "
        f"{iso(week.grid.end)}",
        fix="plan the week that holds the event, or name its folder by --out",
    )


def import_limits(
    week: Week, asks: Iterable[Ask], agreed: DemandResponse, baseline_kw: dict[str | None, npt.NDArray[np.float64]]
) -> tuple[ImportLimit, ...]:
    """Return the most that may be imported when.

    A setpoint is met from above: a site is never made to waste power so as to reach one.

    Args:
        week: All inputs.
        asks: What is asked for, cut to the calendar.
        agreed: What the site has agreed to do.
        baseline_kw: Block, or None for the site -> import without the event per slot, kW, shape (T,).

    Raises:
        ConfigError: A SIMPLE level or an emergency for which the site file agrees on nothing.
    """
    found: list[ImportLimit] = []
    for ask in asks:
        assert ask.end is not None
        if ask.kind in {Asked.IMPORT_LIMIT, Asked.SETPOINT}:
            found.append(ImportLimit(ask.start, ask.end, ask.value, ask.block, ask.event))
        elif ask.kind in {Asked.SIMPLE, Asked.EMERGENCY} and ask.value > 0.0:
            share = _shed_share(ask, agreed)
            found += _shed(week, ask, share, baseline_kw[ask.block])
    return tuple(sorted(found, key=lambda limit: (limit.start, limit.block or "", limit.limit_kw)))


def _shed_share(ask: Ask, agreed: DemandResponse) -> float:
    if ask.kind is Asked.EMERGENCY:
        share, key = agreed.emergency_shed_share, "emergency_shed_share"
    else:
        shares, key = agreed.simple_shed_share, "simple_shed_share"
        share = None if shares is None else shares[int(ask.value) - 1]
    if share is None:
        level = f" level {ask.value:g}" if ask.kind is Asked.SIMPLE else ""
        raise ConfigError(
            f"event {ask.event!r} is a {ask.kind.value}{level}, and the site file does not say what that asks for",
            fix=f"set {key} in [demand_response] to what is agreed with the grid operator",
        )
    return share


def _shed(week: Week, ask: Ask, share: float, baseline_kw: npt.NDArray[np.float64]) -> list[ImportLimit]:
    assert ask.end is not None
    found: list[ImportLimit] = []
    for slot, start in enumerate(week.grid.starts):
        first, after = max(ask.start, start), min(ask.end, start + week.grid.slot)
        if first >= after:
            continue
        limit_kw = float(np.round((1.0 - share) * baseline_kw[slot], DECIMALS))
        if found and found[-1].limit_kw == limit_kw:
            found[-1] = replace(found[-1], end=after)
        else:
            found.append(ImportLimit(first, after, limit_kw, ask.block, ask.event))
    return found


def with_signals(week: Week, asks: Sequence[Ask]) -> tuple[Week, npt.NDArray[np.bool_]]:
    """Return the week with the prices and the carbon that events name, and the slots in which they do.

    A slot that is in the event in part takes the mean over its time.

    Args:
        week: All inputs.
        asks: What is asked for, cut to the calendar.
    """
    changed = np.zeros(week.grid.n_slots, dtype=np.bool_)
    for kind, name in _FIELD.items():
        mine = [ask for ask in asks if ask.kind is kind]
        if not mine:
            continue
        values = getattr(week.signals, name).copy()
        for ask in mine:
            assert ask.end is not None
            edges = np.arange(week.grid.n_slots)
            first, after = week.grid.position(ask.start), week.grid.position(ask.end)
            share = np.clip(np.minimum(after, edges + 1) - np.maximum(first, edges), 0.0, 1.0)
            values += share * (ask.value - getattr(week.signals, name))
            changed |= share > 0.0
        names = " and ".join(dict.fromkeys(ask.event for ask in mine))
        provenance = tuple(
            replace(p, source=f"{p.source}, event {names}", sha256=series_digest(values)) if p.signal == name else p
            for p in week.provenance
        )
        week = replace(week, signals=replace(week.signals, **{name: values}), provenance=provenance)
    return week, changed


def digest(asks: Sequence[Ask], limits: Sequence[ImportLimit]) -> str:
    """Return the SHA-256 of what is asked for, hexadecimal."""
    told = [
        *(f"{a.kind.value} {iso(a.start)} {a.end and iso(a.end)} {a.value!r} {a.block} {a.event}" for a in asks),
        *(f"{m.limit_kw!r} {iso(m.start)} {iso(m.end)} {m.block}" for m in limits),
    ]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()
