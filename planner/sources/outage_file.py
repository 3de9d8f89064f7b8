"""What the people of the halls send when a block or a part of its cooling fails, read strictly."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.timegrid import YEARS
from power.outage import Outage
from trainer_hooks.errors import CalendarError
from trainer_hooks.strictjson import parse_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.strictjson import Node

_KEYS = frozenset({"id", "block", "cause", "start", "end", "capacity_kw", "cdus_out", "modificationDateTime"})
_LONGEST_TEXT = 200
_MOST_KW = 1e9
_FIX = "write it as docs/outages.md shows: id, block, cause, start, end, and capacity_kw or cdus_out"


def outage_from(
    content: bytes, file: str, now: datetime, began: Callable[[str], datetime | None] = lambda _: None
) -> Outage:
    """Return the outage of a document.

    Args:
        content: One JSON object.
        file: Name used in errors.
        now: Present instant, UTC: the start of an outage that names none.
        began: Returns the start of the first word of an outage, UTC, or None where there was none: that of later word
            that names none.

    Raises:
        ConfigError: A key is missing, unknown or out of reach; it names the key.
    """
    try:
        return _outage(parse_object(content, file), now, began)
    except CalendarError as error:
        raise ConfigError(error.what, error.why, _FIX) from error


def _outage(node: Node, now: datetime, began: Callable[[str], datetime | None]) -> Outage:
    for key in sorted(set(node.value) - _KEYS):
        raise node.child(key[:40]).fault("there is no such key.")
    given = [key for key in ("capacity_kw", "cdus_out") if node.child(key).value is not None]
    if len(given) != 1:
        raise node.child("capacity_kw").fault(
            f"{' and '.join(given) or 'neither it nor cdus_out'} is given; one of the two says what is left."
        )
    name = _text(node, "id")
    start = (began(name) or now) if node.child("start").value is None else _instant(node.child("start"))
    end = None if node.child("end").value is None else _instant(node.child("end"))
    if end is not None and end < start:
        raise node.child("end").fault("it is before the start.")
    return Outage(
        name=name,
        block=_text(node, "block"),
        start=start,
        end=end,
        cause=_text(node, "cause"),
        capacity_kw=_capacity_kw(node) if given == ["capacity_kw"] else None,
        cdus_out=_count(node) if given == ["cdus_out"] else None,
    )


def _text(node: Node, key: str) -> str:
    found = node.text(key)
    if not found.strip() or len(found) > _LONGEST_TEXT or not found.isprintable():
        raise node.child(key).fault(f"it has to be 1 to {_LONGEST_TEXT} characters in one line.")
    return found


def _instant(node: Node) -> datetime:
    try:
        found = datetime.fromisoformat(node.as_text())
        if found.tzinfo is None:
            raise ValueError  # noqa: TRY301 - one message for every way to be wrong
        found = found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise node.fault("it must be a time such as 2024-05-13T16:00:00Z, with its offset.") from None
    if found.year not in YEARS:
        raise node.fault(f"it is not in the years {YEARS[0]} to {YEARS[-1]}.")
    return found


def _capacity_kw(node: Node) -> float:
    found = node.number("capacity_kw")
    if not 0.0 <= found <= _MOST_KW:
        raise node.child("capacity_kw").fault(f"{found:g} kW is not within 0 to {_MOST_KW:g} kW.")
    return found


def _count(node: Node) -> int:
    found = node.integer("cdus_out")
    if not 1 <= found <= 10_000:
        raise node.child("cdus_out").fault(f"{found} is not within 1 to 10000.")
    return found
