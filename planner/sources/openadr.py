"""OpenADR 3.1 events as JSON, read strictly: what is not understood is refused or named, never guessed."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.timegrid import YEARS, iso
from power.events import LAST_PRIORITY, SIMPLE_LEVELS, Ask, Asked, GridEvent
from trainer_hooks.errors import CalendarError
from trainer_hooks.strictjson import parse_object, read_bytes

if TYPE_CHECKING:
    from trainer_hooks.strictjson import Node

LIMIT_BYTES = 1024 * 1024
MOST_INTERVALS = 2000
MOST_VALUE = 1e9
_FIX = "ask the sender for an event as OpenADR 3.1 describes it (docs/demand-response.md says what is read)"

_DURATION = re.compile(
    r"P(?:(?P<weeks>\d{1,4})W)?(?:(?P<days>\d{1,5})D)?"
    r"(?:T(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,7})M)?(?:(?P<seconds>\d{1,8})S)?)?",
    re.ASCII,
)
_CALENDAR_UNITS = re.compile(r"P\d+(Y|M)", re.ASCII)
_OPEN = frozenset({"P9999Y", "PT-1S", "-PT1S", "-1"})
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)
_NOW = re.compile(r"0001-01-01(T00:00:00(\.0+)?(Z|\+00:00)?)?", re.ASCII)

_UNITS = {
    Asked.IMPORT_LIMIT: frozenset({"KW"}),
    Asked.SETPOINT: frozenset({"KW"}),
    Asked.PRICE: frozenset({"KWH"}),
    Asked.GHG: frozenset({"GHG"}),
    Asked.SIMPLE: frozenset[str](),
    Asked.EMERGENCY: frozenset[str](),
}
_MEANING = {
    Asked.IMPORT_LIMIT: "kW",
    Asked.SETPOINT: "kW",
    Asked.PRICE: "money per kWh",
    Asked.GHG: "gCO2e/kWh",
}
_EVENT_KEYS = frozenset(
    {
        "id",
        "createdDateTime",
        "modificationDateTime",
        "objectType",
        "programID",
        "eventName",
        "priority",
        "targets",
        "reportDescriptors",
        "payloadDescriptors",
        "intervalPeriod",
        "intervals",
    }
)


def read_events(path: Path, now: datetime) -> tuple[GridEvent, ...]:
    """Return the events of a file: one event object, or a list of them as a server answers.

    Args:
        path: The file.
        now: Present instant, UTC: the start of an event that starts "now".

    Raises:
        ConfigError: The file cannot be read, is no JSON, or holds something that is not understood; it names the key.
    """
    try:
        return events_from(read_bytes(path, LIMIT_BYTES), str(path), now)
    except CalendarError as error:
        raise ConfigError(error.what, error.why, _FIX) from error


def events_from(content: bytes, file: str, now: datetime) -> tuple[GridEvent, ...]:
    """Return the events of a file's bytes; arguments and errors as for `read_events`.

    Args:
        content: The bytes.
        file: Name used in errors.
        now: Present instant, UTC.
    """
    listed = content.lstrip()[:1] == b"["
    try:
        if not listed:
            return (_event(parse_object(content, file), now),)
        nodes = parse_object(b'{"events":' + content + b"}", file).list("events")
        if not nodes:
            raise ConfigError(f"{file} holds no event", "the list is empty", _FIX)
        return tuple(_event(node.expect_object(), now) for node in nodes)
    except CalendarError as error:
        raise ConfigError(error.what, error.why, _FIX) from error


def duration(text: str) -> timedelta | None:
    """Return an ISO 8601 duration, or None where it says that there is no end (P9999Y, or minus one).

    Raises:
        ValueError: It is no duration, or one in months or years, which have no fixed length.
    """
    if text in _OPEN:
        return None
    if _CALENDAR_UNITS.match(text):
        raise ValueError("is in months or years, which have no fixed length")
    match = _DURATION.fullmatch(text)
    if match is None or text.endswith("T") or not any(match.groups()):
        raise ValueError("is no ISO 8601 duration such as PT3H, PT45M or P1D")
    return timedelta(**{unit: int(count) for unit, count in match.groupdict().items() if count is not None})


def _event(node: Node, now: datetime) -> GridEvent:
    kind = node.child("objectType")
    if kind.value is not None and kind.as_text() != "EVENT":
        raise kind.fault(f"{kind.as_text()[:40]!r} is no EVENT.")
    event_id = _optional_text(node, "id") or ""
    program = node.text("programID")
    name = _optional_text(node, "eventName") or event_id or program
    _duration_repeats(node)
    priority = _priority(node.child("priority"))
    currency, units = _descriptors(node)
    default = node.child("intervalPeriod")
    randomize = timedelta(0)
    if default.value is not None:
        randomize = _randomize(default.expect_object())
    asks, notes = _asks(node, name, priority, now)
    notes += tuple(_assumed(kind, name) for kind in sorted({a.kind for a in asks} - units) if kind in _MEANING)
    unknown = sorted(set(node.value) - _EVENT_KEYS)
    if unknown:
        notes += (f"Event {name!r}: keys {', '.join(key[:40] for key in unknown[:8])} are not known and left aside.",)
    return GridEvent(name, event_id, program, priority, _targets(node), currency, randomize, asks, notes)


def _duration_repeats(node: Node) -> None:
    repeats = node.child("duration")
    if repeats.value is not None:
        raise repeats.fault("a duration of the event itself, by which its intervals repeat, is not read.")


def _assumed(kind: Asked, name: str) -> str:
    return f"Event {name!r} names no unit for {kind.value}: read as {_MEANING[kind]}."


def _optional_text(node: Node, key: str) -> str | None:
    child = node.child(key)
    return None if child.value is None else child.as_text()


def _priority(node: Node) -> int:
    if node.value is None:
        return LAST_PRIORITY
    if isinstance(node.value, bool) or not isinstance(node.value, int) or not 0 <= node.value < LAST_PRIORITY:
        raise node.fault(f"it must be a whole number from 0 (first) to {LAST_PRIORITY - 1}.")
    return node.value


def _targets(node: Node) -> tuple[str, ...]:
    """Return the targets: texts as in 3.1, or {type, values} as in 3.0."""
    if node.child("targets").value is None:
        return ()
    found: list[str] = []
    for target in node.list("targets"):
        if isinstance(target.value, dict):
            found += [value.as_text() for value in target.list("values")]
        else:
            found.append(target.as_text())
    return tuple(found)


def _descriptors(node: Node) -> tuple[str | None, set[Asked]]:
    """Return the currency of prices, and the kinds whose unit is stated."""
    currency, stated = None, set[Asked]()
    if node.child("payloadDescriptors").value is None:
        return None, stated
    for one in node.list("payloadDescriptors"):
        descriptor = one.expect_object()
        kind = _kind(descriptor.text("payloadType"))
        if kind is None:
            continue
        unit = _optional_text(descriptor, "units")
        if unit is not None:
            if unit not in _UNITS[kind]:
                wanted = " or ".join(sorted(_UNITS[kind])) or "no unit"
                raise descriptor.child("units").fault(f"{unit[:40]!r} is not read for {kind.value}; {wanted} is.")
            stated.add(kind)
        if kind is Asked.PRICE:
            currency = _optional_text(descriptor, "currency")
    return currency, stated


def _kind(text: str) -> Asked | None:
    return next((kind for kind in Asked if kind.value == text), None)


def _asks(node: Node, name: str, priority: int, now: datetime) -> tuple[tuple[Ask, ...], tuple[str, ...]]:
    intervals = [one.expect_object() for one in node.list("intervals")]
    if not intervals:
        raise node.child("intervals").fault("it is empty.")
    if len(intervals) > MOST_INTERVALS:
        raise node.child("intervals").fault(f"{len(intervals)} intervals are more than the {MOST_INTERVALS} read.")
    default = node.child("intervalPeriod")
    following: datetime | None = None
    found: list[Ask] = []
    aside: set[str] = set()
    for position, interval in enumerate(intervals):
        start, end = _span(
            interval.child("intervalPeriod"), default, following, now, after_open=position > 0 and following is None
        )
        following = end
        payloads = [one.expect_object() for one in interval.list("payloads")]
        for payload in payloads:
            kind = _kind(payload.text("type"))
            if kind is None:
                aside.add(payload.text("type")[:60])
                continue
            found.append(Ask(kind, start, end, _value(kind, payload), name, priority))
    if not found:
        known = ", ".join(kind.value for kind in Asked)
        raise node.child("intervals").fault(
            f"none of its payload types ({', '.join(sorted(aside)) or 'none'}) is one that is read: {known}."
        )
    notes = (f"Event {name!r}: {', '.join(sorted(aside))} is not acted upon.",) if aside else ()
    return tuple(sorted(found, key=lambda a: a.start)), notes


def _span(
    own: Node, default: Node, following: datetime | None, now: datetime, *, after_open: bool
) -> tuple[datetime, datetime | None]:
    """Return when an interval holds: its own period, else the event's, each interval after the one before it."""
    periods = [node.expect_object() for node in (own, default) if node.value is not None]
    if not periods:
        raise own.fault("neither the interval nor the event says when it holds.")
    lasting = next((p for p in periods if p.child("duration").value is not None), None)
    if lasting is None:
        raise periods[0].child("duration").fault("it is missing, and with it the end of the event.")
    length = _length(lasting.child("duration"))
    if own.value is not None and own.child("start").value is not None:
        start = _instant(own.child("start"), now)
    elif after_open:
        raise own.fault("it follows an interval that has no end.")
    elif following is not None:
        start = following
    else:
        start = _instant(periods[-1].child("start"), now)
    try:
        end = None if length is None else start + length
    except OverflowError:
        raise lasting.child("duration").fault("it ends beyond any calendar.") from None
    if end is not None and end.year not in YEARS:
        raise lasting.child("duration").fault(f"it ends on {iso(end)}, which no plan reaches.")
    return start, end


def _length(node: Node) -> timedelta | None:
    text = node.as_text()
    try:
        length = duration(text)
    except ValueError as error:
        raise node.fault(f"{text[:40]!r} {error}.") from None
    except OverflowError:
        raise node.fault(f"{text[:40]!r} is longer than any calendar.") from None
    if length is not None and length <= timedelta(0):
        raise node.fault(f"{text[:40]!r} is no time at all.")
    return length


def _randomize(period: Node) -> timedelta:
    node = period.child("randomizeStart")
    if node.value is None or node.as_text() in {"PT0S", "P0D", "PT0M", "PT0H"}:
        return timedelta(0)
    length = _length(node)
    if length is None:
        raise node.fault("a start cannot be put off without end.")
    return length


def _instant(node: Node, now: datetime) -> datetime:
    if node.value is None:
        raise node.fault("it is missing: nothing says when the event starts.")
    text = node.as_text()
    if _NOW.fullmatch(text):
        return now
    try:
        if _INSTANT.fullmatch(text) is None:
            raise ValueError  # noqa: TRY301 - one message for both ways to be wrong
        found = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise node.fault(f"{text[:40]!r} must be a time such as 2024-05-13T16:00:00Z, with its offset.") from None
    if found.year not in YEARS:
        raise node.fault(f"{text[:40]!r} is not in the years {YEARS[0]} to {YEARS[-1]}.")
    return found


def _value(kind: Asked, payload: Node) -> float:
    values = payload.list("values")
    if len(values) != 1:
        raise payload.child("values").fault(f"it holds {len(values)} values; {kind.value} has one.")
    if kind is Asked.EMERGENCY:
        values[0].as_text()
        return 1.0
    number = values[0].as_number()
    if kind is Asked.SIMPLE and number not in set(range(SIMPLE_LEVELS + 1)):
        raise values[0].fault(f"level {number:g} is not one of 0 to {SIMPLE_LEVELS}.")
    if abs(number) > MOST_VALUE or (number < 0.0 and kind is not Asked.PRICE):
        raise values[0].fault(f"{number:g} {_MEANING.get(kind, '')} is not possible for {kind.value}.")
    return number
