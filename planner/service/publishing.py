"""Publishing in two steps: a calendar is a draft first, and in force once a person or the policy approves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import select

from planner.calendar_id import content_id
from planner.errors import ConfigError
from planner.evaluate import carbon_per_it_kwh
from planner.kept_series import series_json
from planner.ledger.decisions import APPROVED, decide, draft, in_force, standing
from planner.ledger.issued import issued_file, issued_files, issued_input, keep_issued
from planner.ledger.tables import SlotCarbon
from planner.timegrid import iso
from trainer_hooks.calendar import HEADER_FILE, parse_calendar, parse_run, seal

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from planner.ledger import Ledger
    from planner.outcome import Outcome
    from trainer_hooks.contract import Calendar, RunCalendar

POLICY = "policy"
REPORT = "report"
"""Name under which a calendar's report is kept beside what it was made from."""
SUMMARY = "summary"
"""The same for its figures as JSON."""
MADE_FROM = ("site", "progress")
"""Names of the inputs that are not series: the site file, and where runs were to stand as the week begins."""


@dataclass(frozen=True)
class Made:
    """A calendar that was made.

    Args:
        outcome: The week, its calendar and the judge's figures.
        inputs: What it was made from, and what was told of it: name -> content.
        why: Why it was made.
    """

    outcome: Outcome
    inputs: Mapping[str, bytes]
    why: str


def put_forward(ledger: Ledger, made: Made, *, by: str, at: datetime) -> bool:
    """Enter a calendar, its files, inputs and carbon accounts as a draft, in one transaction.

    Args:
        ledger: The database.
        made: The calendar.
        by: By whom.
        at: When, UTC.

    Returns:
        Whether it is new.
    """
    outcome = made.outcome
    calendar = outcome.calendar
    rates = carbon_per_it_kwh(outcome.week, outcome.week.signals, outcome.evaluation.blocks).tolist()
    _, files = seal(calendar, outcome.runs)
    with ledger.writing() as session:
        ledger.enter_plan(session, calendar, outcome.runs, rates, outcome.carbon)
        keep_issued(session, calendar.calendar_id, files, {"series": series_json(outcome.week)} | dict(made.inputs))
        return draft(session, calendar.calendar_id, by=by, why=made.why, at=at)


def objections(outcome: Outcome) -> tuple[str, ...]:
    """Return what keeps the policy from approving a calendar by itself, in sentences; a person may see it otherwise.

    Args:
        outcome: The week, its calendar and the judge's figures.
    """
    told = [f"A promise is broken: {violation.sentence}" for violation in outcome.evaluation.violations]
    told += [f"It does not keep: {short.sentence}" for short in outcome.calendar.shortfalls]
    return tuple(told)


def roll_back(ledger: Ledger, calendar_id: str, *, by: str, why: str, at: datetime) -> str:
    """Put a calendar in force again that was approved once, issued anew under an id of its own.

    It is issued anew, because nodes that check signatures take no calendar that is older than the one they follow.

    Args:
        ledger: The database.
        calendar_id: The calendar to go back to.
        by: By whom.
        why: Why.
        at: When, UTC.

    Returns:
        Id of the calendar that is in force now; the same where it is in force already.

    Raises:
        ConfigError: There is no such calendar, it was never approved, or is over.
    """
    with ledger.writing() as session:
        stands = standing(session, calendar_id)
        if stands is None or stands.state != APPROVED or stands.valid_until <= at:
            raise ConfigError(
                f"calendar {calendar_id[:80]!r} cannot be put in force again",
                why="it is not there, was never approved, or is over",
                fix="name one of the site's list that is approved and not over",
            )
        if in_force(session, stands.site, max(at, stands.valid_from)) == calendar_id:
            return calendar_id
        before, runs = stored_calendar(session, calendar_id)
        calendar, issued = _anew(before, runs, at)
        _, files = seal(calendar, issued)
        rates = session.scalars(
            select(SlotCarbon.kg_per_it_kwh).where(SlotCarbon.calendar_id == calendar_id).order_by(SlotCarbon.start)
        ).all()
        ledger.enter_plan(session, calendar, issued, rates, None)
        keep_issued(session, calendar.calendar_id, files, inputs_of(session, calendar_id))
        told = f"back to calendar {calendar_id}: {why}"
        draft(session, calendar.calendar_id, by=by, why=told, at=at)
        decide(session, calendar.calendar_id, APPROVED, by=by, why=told, at=at)
        return calendar.calendar_id


def inputs_of(session: Session, calendar_id: str) -> dict[str, bytes]:
    """Return what a calendar was made from: name -> content; what was told of it is left out."""
    kept = {name: issued_input(session, calendar_id, name) for name in (*MADE_FROM, "series")}
    return {name: found.content for name, found in kept.items() if found is not None}


def stored_calendar(session: Session, calendar_id: str) -> tuple[Calendar, list[RunCalendar]]:
    """Return a calendar as it was issued.

    Raises:
        ConfigError: Its files are not in the ledger.
    """
    header = stored_header(session, calendar_id)
    files = issued_files(session, calendar_id)
    return header, [parse_run(files[entry.file], f"{calendar_id}/{entry.file}") for entry in header.runs]


def stored_header(session: Session, calendar_id: str) -> Calendar:
    """Return the header of a calendar as it was issued.

    Raises:
        ConfigError: Its files are not in the ledger.
    """
    found = issued_file(session, calendar_id, HEADER_FILE)
    if found is None:
        raise ConfigError(
            f"the files of calendar {calendar_id[:80]!r} are not in the ledger",
            why="it was published by `gridpace plan`, which keeps them in a folder",
            fix="name a calendar that the service made",
        )
    return parse_calendar(found.content, f"{calendar_id}/{HEADER_FILE}")


def _anew(before: Calendar, runs: Sequence[RunCalendar], at: datetime) -> tuple[Calendar, list[RunCalendar]]:
    issued_at = at.replace(microsecond=0)
    header = replace(
        before,
        calendar_id="0",
        issued_at=issued_at,
        inputs={**before.inputs, "rollback": {"to": before.calendar_id}},
        runs=(),
        notes=(*before.notes, f"Put in force again on {iso(issued_at)}, as calendar {before.calendar_id} had it."),
    )
    renewed = [replace(run, calendar_id="0", issued_at=issued_at) for run in runs]
    name = content_id(header, renewed)
    return replace(header, calendar_id=name), [replace(run, calendar_id=name) for run in renewed]
