"""Calendars as they were issued, and what they were made from: whole files, never changed."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from planner.errors import ConfigError
from planner.ledger.inserting import insert_into
from planner.ledger.service_tables import CalendarFile, PlanInput

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


@dataclass(frozen=True)
class StoredFile:
    """A file as it was issued.

    Args:
        content: Its bytes.
        sha256: Their digest, hexadecimal.
    """

    content: bytes
    sha256: str


def keep_issued(session: Session, calendar_id: str, files: Mapping[str, bytes], inputs: Mapping[str, bytes]) -> None:
    """Keep the files of a calendar whose plan is in the ledger; those that are there already stay.

    Args:
        session: An open transaction that writes.
        calendar_id: The calendar.
        files: Path inside the calendar's folder -> content.
        inputs: Name of an input, such as "site" -> content.

    Raises:
        ConfigError: Another file stands there under one of the names.
    """
    for table, key, contents in ((CalendarFile, "path", files), (PlanInput, "name", inputs)):
        for name, content in contents.items():
            digest = hashlib.sha256(content).hexdigest()
            row = {"calendar_id": calendar_id, key: name, "sha256": digest, "packed": zlib.compress(content)}
            session.execute(insert_into(session, table).values(row).on_conflict_do_nothing())
            kept = session.scalar(select(table.sha256).filter_by(**{"calendar_id": calendar_id, key: name}))
            if kept != digest:
                raise ConfigError(
                    f"calendar {calendar_id} has another {name!r} in the ledger already",
                    why="what was issued never changes",
                    fix="give the new calendar an id of its own",
                )


def issued_file(session: Session, calendar_id: str, path: str) -> StoredFile | None:
    """Return a file of a calendar by its path inside the calendar's folder, or None where there is none."""
    row = session.get(CalendarFile, (calendar_id, path))
    return None if row is None else StoredFile(zlib.decompress(row.packed), row.sha256)


def issued_files(session: Session, calendar_id: str) -> dict[str, bytes]:
    """Return all files of a calendar: path inside its folder -> content; empty where there is none."""
    rows = session.scalars(select(CalendarFile).where(CalendarFile.calendar_id == calendar_id))
    return {row.path: zlib.decompress(row.packed) for row in rows}


def has_input(session: Session, calendar_id: str, name: str) -> bool:
    """Return whether something is kept beside a calendar by that name."""
    kept = select(PlanInput.name).where(PlanInput.calendar_id == calendar_id, PlanInput.name == name)
    return session.scalar(kept) is not None


def issued_input(session: Session, calendar_id: str, name: str) -> StoredFile | None:
    """Return what a calendar was made from by its name, or None where it is not kept."""
    row = session.get(PlanInput, (calendar_id, name))
    return None if row is None else StoredFile(zlib.decompress(row.packed), row.sha256)
