"""What a calendar says it promised to grid events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import ConfigError
from power.event_limits import BadLimitsError, from_text

if TYPE_CHECKING:
    from power.events import ImportLimit
    from trainer_hooks.contract import Calendar


def promised_limits(calendar: Calendar) -> tuple[ImportLimit, ...]:
    """Return the limits that a calendar was made to keep; none where no event was answered.

    Args:
        calendar: The header.

    Raises:
        ConfigError: It names limits that cannot be read.
    """
    text = calendar.inputs.get("event", {}).get("limits")
    if text is None:
        return ()
    try:
        return from_text(text)
    except BadLimitsError as error:
        raise ConfigError(
            f"the limits of events in calendar {calendar.calendar_id} cannot be read: {error}",
            fix="take the calendar as `gridpace respond` wrote it, or answer the event again",
        ) from None
