"""Limits of grid events as a text that a calendar carries: who answers an event writes it, who judges reads it."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from power.events import ImportLimit

if TYPE_CHECKING:
    from collections.abc import Iterable


class BadLimitsError(ValueError):
    """A text is no list of limits; the message says what is wrong with it."""


def as_text(limits: Iterable[ImportLimit]) -> str:
    """Return limits as JSON, the same text for the same limits.

    Args:
        limits: Most import over stretches of time, kW.
    """
    told = [
        {
            "event": limit.event,
            "block": limit.block,
            "start": limit.start.astimezone(UTC).isoformat(),
            "end": limit.end.astimezone(UTC).isoformat(),
            "limit_kw": limit.limit_kw,
        }
        for limit in limits
    ]
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def from_text(text: str) -> tuple[ImportLimit, ...]:
    """Return the limits that `as_text` wrote.

    Args:
        text: The text.

    Raises:
        BadLimitsError: It is none of that form.
    """
    try:
        told = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadLimitsError(f"it is no JSON: {error}") from None
    if not isinstance(told, list):
        raise BadLimitsError("it is no list")
    return tuple(_limit(one, f"limit {i + 1}") for i, one in enumerate(told))


def _limit(told: Any, name: str) -> ImportLimit:
    if not isinstance(told, dict) or set(told) != {"event", "block", "start", "end", "limit_kw"}:
        raise BadLimitsError(f"{name} must have event, block, start, end and limit_kw, and nothing else")
    event, block, limit_kw = told["event"], told["block"], told["limit_kw"]
    if not isinstance(event, str) or not isinstance(block, str | None):
        raise BadLimitsError(f"{name}: event is a name, and block a name or null")
    if isinstance(limit_kw, bool) or not isinstance(limit_kw, int | float) or not math.isfinite(limit_kw):
        raise BadLimitsError(f"{name}: limit_kw is {limit_kw!r}, no number of kW")
    start, end = _instant(told["start"], name), _instant(told["end"], name)
    if end <= start:
        raise BadLimitsError(f"{name} ends at {told['end']}, not after its start {told['start']}")
    return ImportLimit(start, end, float(limit_kw), block, event)


def _instant(text: Any, name: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise BadLimitsError(f"{name}: {text!r} is no instant") from None
    if instant.tzinfo is None:
        raise BadLimitsError(f"{name}: {text!r} has no offset")
    return instant.astimezone(UTC)
