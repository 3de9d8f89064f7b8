"""Whether an answer has the agreed shape, and the one error where it has not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from planner.errors import SchemaChanged

_SHOWN = 120
_YEARS = range(1970, 2242)  # a stamp outside is none, and sums of times beyond it overflow


def changed(subject: str, how: str) -> SchemaChanged:
    """Return the error of an answer that has another shape.

    Args:
        subject: Source, signal and zone.
        how: What is wrong, with the first bad row.
    """
    return SchemaChanged(
        f"{subject}: the answer has not the agreed shape",
        why=how,
        fix="look for a newer gridpace, and use another source or data in a file meanwhile",
    )


def entries(payload: Any, key: str, subject: str) -> list[dict[str, Any]]:
    """Return the list of tables under a key of an answer.

    Raises:
        SchemaChanged: There is no such list, or something else is in it.
    """
    found = payload.get(key) if isinstance(payload, dict) else None
    if not isinstance(found, list):
        raise changed(subject, f"it has no list {key!r}: {str(payload)[:_SHOWN]}")
    for i, entry in enumerate(found):
        if not isinstance(entry, dict):
            raise changed(subject, f"row {i + 1} of {key!r} is no table: {str(entry)[:_SHOWN]}")
    return found


def cell(entry: dict[str, Any], key: str, subject: str) -> Any:
    """Return what stands under a key of a row.

    Raises:
        SchemaChanged: The row has no such key.
    """
    if key not in entry:
        raise changed(subject, f"a row has no {key!r}: {str(entry)[:_SHOWN]}")
    return entry[key]


def agreed(found: object, wanted: object, what: str, subject: str) -> None:
    """Check that an answer says of itself what was asked for.

    Raises:
        SchemaChanged: It says something else.
    """
    if found != wanted:
        raise changed(subject, f"its {what} is {found!r}, asked was {wanted!r}")


def instant(text: Any, subject: str) -> datetime:
    """Return a stamp that carries its offset, in UTC.

    Raises:
        SchemaChanged: It is no such stamp.
    """
    try:
        stamp = datetime.fromisoformat(text)
        if stamp.tzinfo is not None and stamp.year in _YEARS:
            return stamp.astimezone(UTC)
    except (TypeError, ValueError):
        pass
    raise changed(subject, f"time {text!r} is no ISO 8601 stamp with an offset")
