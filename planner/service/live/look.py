"""Everything that the page shows at one time, read in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from sqlalchemy import func, select

from planner.ledger.alarms import open_alarms
from planner.ledger.decisions import DRAFTED, in_force, newest_decision, standing, standings
from planner.ledger.hours import hours
from planner.ledger.issued import issued_input
from planner.ledger.jobs import lease_end, lease_name
from planner.ledger.service_tables import AlarmRow, TelemetryHour
from planner.service.live.draft_summary import draft_summary
from planner.service.live.hours import Measured, from_row
from planner.service.publishing import SUMMARY, stored_calendar
from planner.service.words import calendar_changes
from planner.timegrid import iso

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from planner.ledger.decisions import Standing
    from trainer_hooks.contract import Calendar, RunCalendar


_LATE = timedelta(minutes=2)


@dataclass(frozen=True)
class Open:
    """An open alarm.

    Args:
        severity: "amber" or "red".
        subject: What it is about.
        sentence: What is the matter.
        action: What to do.
        owner: Who does it.
        since: When it was raised, UTC.
    """

    severity: str
    subject: str
    sentence: str
    action: str
    owner: str
    since: datetime


@dataclass(frozen=True)
class Draft:
    """A calendar that waits for a decision.

    Args:
        standing: How it stands.
        changes: What it changes against the calendar in force at its begin, in sentences; none where it is the first
            of its week.
        summary: What it comes to, in sentences; none where nothing is kept of that.
    """

    standing: Standing
    changes: tuple[str, ...]
    summary: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """What is shown.

    Args:
        site: Name of the site.
        now: The present time, UTC.
        calendar: Header of the calendar in force; None where there is none.
        runs: The windows of its runs.
        measured: Run -> what telemetry reports of each hour of the calendar.
        alarms: Open alarms, red ones first.
        drafts: Calendars that wait for a decision.
        timezone: The site's time zone, as its newest calendar says; UTC before there is one.
    """

    site: str
    now: datetime
    calendar: Calendar | None
    runs: tuple[RunCalendar, ...]
    measured: Mapping[str, Sequence[Measured]]
    alarms: tuple[Open, ...]
    drafts: tuple[Draft, ...]
    timezone: str = "UTC"

    @property
    def tz(self) -> ZoneInfo:
        """The site's time zone."""
        return ZoneInfo(self.timezone if self.calendar is None else self.calendar.timezone)


def look(session: Session, site: str, now: datetime) -> Look:
    """Return what is to be shown of a site now.

    Args:
        session: An open session.
        site: The site.
        now: The present time, UTC.
    """
    calendar_id = in_force(session, site, now)
    header: Calendar | None = None
    runs: tuple[RunCalendar, ...] = ()
    measured: Mapping[str, Sequence[Measured]] = {}
    if calendar_id is not None:
        header, listed = stored_calendar(session, calendar_id)
        runs = tuple(listed)
        measured = _measured(session, header, [run.run for run in runs])
    drafts = _drafts(session, site, now)
    alarms = (*_standing_still(session, site, now), *_alarms(open_alarms(session, site)))
    return Look(site, now, header, runs, measured, alarms, drafts, _timezone(session, site))


def mark(session: Session, site: str, now: datetime) -> str:
    """Return a text that is another one as soon as the page would show something new.

    Args:
        session: An open session.
        site: The site.
        now: The present time, UTC.
    """
    decided = newest_decision(session, site)
    alarms = session.execute(
        select(func.max(AlarmRow.number), func.count(AlarmRow.closed_at), func.max(AlarmRow.last_at)).where(
            AlarmRow.site == site
        )
    ).one()
    told = session.scalar(select(func.max(TelemetryHour.until_s)))
    still = bool(_standing_still(session, site, now))
    return f"{in_force(session, site, now)} {decided} {tuple(alarms)} {told} {still} {now:%H}"


def _measured(session: Session, header: Calendar, runs: Sequence[str]) -> Mapping[str, Sequence[Measured]]:
    """Return the hours of each run, those under earlier calendars of the same time too."""
    found: dict[str, dict[datetime, Measured]] = {run: {} for run in runs}
    for row in hours(session, int(header.valid_from.timestamp()), int(header.valid_until.timestamp())):
        if row.run in found:
            one = from_row(row.hour_s, row.until_s, row.energy_j, row.useful_tokens, row.carbon_kg)
            known = found[row.run].get(one.start)
            if known is not None:
                one = Measured(one.start, max(one.until, known.until), one.sums + known.sums)
            found[row.run][one.start] = one
    return {run: tuple(by_hour[start] for start in sorted(by_hour)) for run, by_hour in found.items()}


def _standing_still(session: Session, site: str, now: datetime) -> tuple[Open, ...]:
    """Return what no alarm in the ledger can tell: that nobody can write to it, or that nobody works jobs off."""
    until = lease_end(session, lease_name(site))
    if until is None or now - until < _LATE:
        return ()
    told = f"No job has been worked off since {iso(until)}: every instance that does so has ended or cannot write."
    return (
        Open("red", "jobs", told, "see the service's log, and whether the ledger's disk is full", "operator", until),
    )


def _timezone(session: Session, site: str) -> str:
    newest = standings(session, site, most=1)
    return stored_calendar(session, newest[0].calendar_id)[0].timezone if newest else "UTC"


def _alarms(rows: Sequence[AlarmRow]) -> tuple[Open, ...]:
    return tuple(Open(r.severity, r.subject, r.sentence, r.action, r.owner, r.opened_at) for r in rows)


def _drafts(session: Session, site: str, now: datetime) -> tuple[Draft, ...]:
    found = []
    for one in standings(session, site):
        if one.state != DRAFTED or one.valid_until <= now:
            continue
        other = in_force(session, site, max(now, one.valid_from))
        before = None if other is None else standing(session, other)
        told: tuple[str, ...] = ()
        if before is not None and before.valid_from < one.valid_until and one.valid_from < before.valid_until:
            was = stored_calendar(session, before.calendar_id)
            told = calendar_changes(was, stored_calendar(session, one.calendar_id))
        kept = issued_input(session, one.calendar_id, SUMMARY)
        found.append(Draft(one, told, () if kept is None else draft_summary(kept.content)))
    return tuple(found)
