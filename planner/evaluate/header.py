"""Whether the files belong to each other and to the inputs they are judged by."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING

from planner.calendar_id import content_id
from planner.evaluate.record import Violation
from planner.timegrid import iso
from trainer_hooks.calendar import run_file
from trainer_hooks.codec import run_document
from trainer_hooks.strictjson import dump_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.week import Week
    from trainer_hooks.calendar import Calendar, RunCalendar

_OF_BOTH = ("calendar_id", "issued_at", "valid_from", "valid_until", "site")


def check_header(calendar: Calendar, runs: Sequence[RunCalendar], week: Week) -> list[Violation]:
    """Return what does not fit between header, runs' files and the week."""
    found: list[Violation] = []
    grid = week.grid
    for key, value, wanted in (
        ("valid_from", calendar.valid_from, grid.start),
        ("valid_until", calendar.valid_until, grid.end),
        ("issued_at", calendar.issued_at, week.issued_at),
        ("slot_minutes", calendar.slot_minutes, grid.slot_minutes),
        ("n_slots", calendar.n_slots, grid.n_slots),
        ("site", calendar.site, week.site),
        ("timezone", calendar.timezone, week.timezone),
    ):
        if value != wanted:
            found.append(_unequal("header", f"header key {key}", value, wanted, "the site's inputs say"))
    for run in runs:
        for key in _OF_BOTH:
            value, wanted = getattr(run, key), getattr(calendar, key)
            if value != wanted:
                found.append(_unequal("header", f"run {run.run} key {key}", value, wanted, "the header says"))
    made_from = calendar.inputs.get("week", {}).get("sha256", "")
    if made_from != week.sha256:
        found.append(_unequal("inputs", "week", made_from[:16], week.sha256[:16], "the inputs it is judged by have"))
    named = content_id(calendar, runs)
    if calendar.calendar_id != named:
        found.append(_unequal("calendar-id", "calendar_id", calendar.calendar_id, named, "the content has the digest"))
    return found + _check_entries(calendar, runs)


def check_names(calendar: Calendar, runs: Sequence[RunCalendar], week: Week) -> list[Violation]:
    """Return which runs and blocks the calendar adds, leaves out or holds twice."""
    return [
        *_check_names("run", [r.run for r in runs], [r.name for r in week.runs]),
        *_check_names("block", [b.block for b in calendar.blocks], [b.name for b in week.blocks]),
    ]


def _check_names(noun: str, named: list[str], known: list[str]) -> Iterator[Violation]:
    for name in sorted(set(named) - set(known)):
        yield Violation(f"{noun}-unknown", name, None, name, "the site's names", "", f"the site has no {noun} {name}")
    for name in sorted(set(known) - set(named)):
        sentence = f"the calendar says nothing about {noun} {name}"
        yield Violation(f"{noun}-missing", name, None, "nothing", f"a plan for every {noun}", "", sentence)
    for name in sorted({n for n in named if named.count(n) > 1}):
        sentence = f"{noun} {name} stands in the calendar {named.count(name)} times"
        yield Violation(f"{noun}-twice", name, None, named.count(name), 1, "plans", sentence)


def _check_entries(calendar: Calendar, runs: Sequence[RunCalendar]) -> list[Violation]:
    if not calendar.runs:
        return []
    found: list[Violation] = []
    given = {run.run: run for run in runs}
    for entry in calendar.runs:
        if entry.run not in given:
            found.append(
                Violation("run-missing", entry.run, None, "none", "a file", "", f"run {entry.run} has no windows")
            )
            continue
        digest = hashlib.sha256(dump_object(run_document(given[entry.run]))).hexdigest()
        if (entry.file, entry.sha256) != (run_file(entry.run), digest):
            found.append(_unequal("hash", f"run {entry.run}", digest[:16], entry.sha256[:16], "the header says"))
    return found


def _unequal(kind: str, subject: str, value: object, wanted: object, whose: str) -> Violation:
    is_, must = _text(value), _text(wanted)
    return Violation(kind, subject, None, is_, must, "", f"{subject} is {is_}, but {whose} {must}")


def _text(value: object) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)
