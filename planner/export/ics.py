"""The run calendar as an iCalendar file (RFC 5545): one event per spell, in site time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import icalendar

from planner.carbon_budget import budget_missed
from planner.export import wording
from planner.export.spells import Spell, spells
from planner.export.vtimezone import vtimezone
from planner.timegrid import iso, zone

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from trainer_hooks.contract import Calendar, RunCalendar

_YEAR = timedelta(days=366)


def calendar_ics(calendar: Calendar, runs: Sequence[RunCalendar]) -> bytes:
    """Return the plan as an iCalendar file.

    An event is known by site, run, week and its place in the row of the run's spells, so that importing a newer plan
    of the same week moves the events instead of doubling them.

    Args:
        calendar: The header.
        runs: The windows of every run.
    """
    tz = zone(calendar.timezone)
    page = icalendar.Calendar()
    page.add("prodid", f"-//gridpace//gridpace {_version()}//EN")
    page.add("version", "2.0")
    page.add("calscale", "GREGORIAN")
    page.add("method", "PUBLISH")
    page.add("x-wr-calname", icalendar.vText(f"gridpace {calendar.site}"))
    page.add("x-wr-timezone", icalendar.vText(calendar.timezone))
    page.add("x-wr-caldesc", icalendar.vText("\n".join((f"Run calendar {calendar.calendar_id}", *_warnings(calendar)))))
    if not _is_utc(tz):
        # Some readers take the first rule for all that lies before it: a year more on both sides harms nobody.
        page.add_component(vtimezone(tz, calendar.valid_from - _YEAR, calendar.valid_until + _YEAR))
    for run in runs:
        for spell in spells(run):
            page.add_component(_event(calendar, spell, tz))
    return bytes(page.to_ical())


def _event(calendar: Calendar, spell: Spell, tz: ZoneInfo) -> icalendar.Event:
    first = spell.windows[0]
    event = icalendar.Event()
    event.add("uid", _uid(calendar, spell))
    event.add("dtstamp", calendar.issued_at.astimezone(UTC))
    event.add("last-modified", calendar.issued_at.astimezone(UTC))
    event.add("sequence", int(calendar.issued_at.timestamp()) // 60)
    event.add("dtstart", _in_zone(spell.start, tz))
    event.add("dtend", _in_zone(spell.end, tz))
    event.add("summary", f"{spell.run} ({wording.count(first.gpus)} GPUs)")
    if first.block is not None and first.pool is not None:
        event.add("location", f"block {first.block}, pool {first.pool}")
    event.add("description", "\n".join(_description(calendar, spell, tz)))
    event.add("categories", ["gridpace", "training run"])
    event.add("transp", "TRANSPARENT")
    event.add("status", "CONFIRMED")
    return event


def _in_zone(t: datetime, tz: ZoneInfo) -> datetime:
    there = t.astimezone(UTC if _is_utc(tz) else tz)
    # A local time that exists twice can only be told in UTC: the file has no sign for "the second one".
    return t.astimezone(UTC) if there.fold else there


def _is_utc(tz: ZoneInfo) -> bool:
    # UTC has no rules to carry; its own form (a trailing Z) is read alike everywhere.
    return tz.key.removeprefix("Etc/") in {"UTC", "UCT", "Universal", "Zulu"}


def _uid(calendar: Calendar, spell: Spell) -> str:
    identity = "\n".join((calendar.site, iso(calendar.valid_from), spell.run, str(spell.number)))
    return f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}@gridpace"


def _description(calendar: Calendar, spell: Spell, tz: ZoneInfo) -> list[str]:
    lines = [spell.windows[0].why] if spell.windows[0].why else []
    if spell.limits_w is not None:
        low, high = spell.limits_w
        span = f"{low:.0f} W" if round(low) == round(high) else f"{low:.0f} to {high:.0f} W"
        lines.append(f"Power limit per GPU: {span}")
    lines.append(
        f"Expected: {wording.tokens(spell.tokens)} tokens, {wording.energy(spell.energy_kwh)} of IT energy, "
        f"{wording.carbon(spell.carbon_kg)}"
    )
    if spell.saves_at_end:
        lines.append("A checkpoint is saved before the end.")
    if spell.resumes_at is not None:
        lines.append(f"Paused afterwards until {wording.local(spell.resumes_at, tz)}.")
    lines += _warnings(calendar)
    lines.append(f"Run calendar {calendar.calendar_id}")
    return lines


def _warnings(calendar: Calendar) -> tuple[str, ...]:
    unkept = (*(short.sentence for short in calendar.shortfalls), *budget_missed(calendar))
    return (*calendar.notes, *(f"Not kept: {sentence}" for sentence in unkept))


def _version() -> str:
    try:
        return version("gridpace")
    except PackageNotFoundError:
        return "from source"
