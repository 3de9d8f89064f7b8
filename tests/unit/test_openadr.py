"""OpenADR events: what is read, what is named, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import ConfigError
from planner.sources.openadr import LIMIT_BYTES, duration, events_from, read_events
from power.events import LAST_PRIORITY, Asked

NOW = datetime(2024, 5, 14, 12, tzinfo=UTC)


def period(start: str = "2024-05-14T16:00:00Z", length: str = "PT1H", **more) -> dict:
    return {"start": start, "duration": length, **more}


def interval(number: int = 0, kind: str = "IMPORT_CAPACITY_LIMIT", value: object = 90000, **more) -> dict:
    return {"id": number, "payloads": [{"type": kind, "values": [value]}], **more}


def message(*intervals: dict, **changes) -> dict:
    given = {"programID": "44", "eventName": "cut", "intervalPeriod": period(), "intervals": list(intervals)}
    return {key: value for key, value in (given | changes).items() if value is not None}


def read(document: object) -> tuple:
    return events_from(json.dumps(document).encode(), "event.json", NOW)


def test_one_limit_for_one_hour():
    (event,) = read(message(interval()))
    (ask,) = event.asks
    assert (ask.kind, ask.value, ask.event) == (Asked.IMPORT_LIMIT, 90000.0, "cut")
    assert (ask.start, ask.end) == (datetime(2024, 5, 14, 16, tzinfo=UTC), datetime(2024, 5, 14, 17, tzinfo=UTC))
    assert (event.priority, event.targets, event.program) == (LAST_PRIORITY, (), "44")
    assert event.notes == ("Event 'cut' names no unit for IMPORT_CAPACITY_LIMIT: read as kW.",)


def test_intervals_follow_each_other_unless_they_say_when():
    (event,) = read(
        message(
            interval(0),
            interval(1, value=80000),
            interval(2, value=70000, intervalPeriod=period("2024-05-14T22:30:00+02:00", "PT15M")),
            interval(3, value=60000, intervalPeriod={"duration": "PT2H"}),
        )
    )
    hours = [(a.start.hour + a.start.minute / 60, a.end.hour + a.end.minute / 60) for a in event.asks]
    assert hours == [(16, 17), (17, 18), (20.5, 20.75), (20.75, 22.75)]


def test_every_kind_has_its_value():
    payloads = [
        {"type": "IMPORT_CAPACITY_LIMIT", "values": [1]},
        {"type": "DISPATCH_SETPOINT", "values": [2]},
        {"type": "PRICE", "values": [-0.03]},
        {"type": "GHG", "values": [4]},
        {"type": "SIMPLE", "values": [3]},
        {"type": "ALERT_GRID_EMERGENCY", "values": ["reserves are short"]},
    ]
    (event,) = read(message({"id": 0, "payloads": payloads}))
    assert {a.kind: a.value for a in event.asks} == dict(zip(Asked, (1, 2, -0.03, 4, 3, 1), strict=True))


def test_descriptors_say_units_and_currency():
    descriptors = [
        {"payloadType": "IMPORT_CAPACITY_LIMIT", "units": "KW"},
        {"payloadType": "PRICE", "units": "KWH", "currency": "EUR"},
        {"payloadType": "EXPORT_PRICE", "units": "ANY"},
    ]
    (event,) = read(message(interval(), payloadDescriptors=descriptors))
    assert (event.currency, event.notes) == ("EUR", ())


@pytest.mark.parametrize("open_end", ["P9999Y", "PT-1S", "-PT1S", "-1"])
def test_an_end_may_be_open(open_end):
    (event,) = read(message(interval(), intervalPeriod=period(length=open_end)))
    assert event.asks[0].end is None


@pytest.mark.parametrize("start", ["0001-01-01", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00"])
def test_a_start_may_be_now(start):
    (event,) = read(message(interval(), intervalPeriod=period(start)))
    assert event.asks[0].start == NOW


def test_a_list_of_events_is_read_and_both_forms_of_targets():
    first = message(interval(), targets=["site-a", "block-1"], priority=2)
    second = message(interval(), eventName=None, id="7", targets=[{"type": "VEN_NAME", "values": ["site-b"]}])
    found = read([first, second])
    assert [(e.name, e.targets, e.priority) for e in found] == [
        ("cut", ("site-a", "block-1"), 2),
        ("7", ("site-b",), LAST_PRIORITY),
    ]


def test_what_is_not_acted_upon_is_named():
    both = {"id": 0, "payloads": [{"type": "SIMPLE", "values": [1]}, {"type": "ALERT_FLEX_ALERT", "values": ["x"]}]}
    (event,) = read(message(both, colour="blue"))
    assert event.notes == (
        "Event 'cut': ALERT_FLEX_ALERT is not acted upon.",
        "Event 'cut': keys colour are not known and left aside.",
    )


def test_a_start_that_may_be_put_off():
    (event,) = read(message(interval(), intervalPeriod=period(randomizeStart="PT5M")))
    assert event.randomize == timedelta(minutes=5)
    (still,) = read(message(interval(), intervalPeriod=period(randomizeStart="PT0S")))
    assert still.randomize == timedelta(0)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (message(interval(value="90000")), "a number"),
        (message(interval(value=None)), "a number"),
        (message(interval(value=-1)), "not possible for IMPORT_CAPACITY_LIMIT"),
        (message(interval(value=1e12)), "not possible"),
        (message(interval(kind="SIMPLE", value=4)), "level 4 is not one of 0 to 3"),
        (message(interval(kind="SIMPLE", value=1.5)), "level 1.5"),
        (message(interval(kind="ALERT_GRID_EMERGENCY", value=5)), "must be a string"),
        (message(interval(kind="LOAD_CONTROL")), "LOAD_CONTROL"),
        (message(), "is empty"),
        (message({"id": 0, "payloads": []}), "none of its payload types"),
        (message({"id": 0, "payloads": [{"type": "PRICE", "values": [1, 2]}]}), "2 values"),
        (message(interval(), intervalPeriod=None), "neither the interval nor the event"),
        (message(interval(), intervalPeriod={"start": "2024-05-14T16:00:00Z"}), "end of the event"),
        (message(interval(), intervalPeriod={"duration": "PT1H"}), "nothing says when"),
        (message(interval(), intervalPeriod=period("2024-05-14T16:00:00")), "with its offset"),
        (message(interval(), intervalPeriod=period("2024-05-99T16:00:00Z")), "must be a time"),
        (message(interval(), intervalPeriod=period("9999-12-31T23:59:59Z")), "not in the years"),
        (message(interval(), intervalPeriod=period(length="P1M")), "no fixed length"),
        (message(interval(), intervalPeriod=period(length="P1Y")), "no fixed length"),
        (message(interval(), intervalPeriod=period(length="1 hour")), "no ISO 8601 duration"),
        (message(interval(), intervalPeriod=period(length="PT")), "no ISO 8601 duration"),
        (message(interval(), intervalPeriod=period(length="P")), "no ISO 8601 duration"),
        (message(interval(), intervalPeriod=period(length="PT0S")), "no time at all"),
        (message(interval(), intervalPeriod=period(length="P99999D")), "no plan reaches"),
        (message(interval(), intervalPeriod=period(randomizeStart="P9999Y")), "without end"),
        (message(interval(), interval(1), intervalPeriod=period(length="P9999Y")), "has no end"),
        (message(interval(), duration="P1D"), "by which its intervals repeat"),
        (message(interval(), objectType="REPORT"), "is no EVENT"),
        (message(interval(), programID=None), "programID"),
        (message(interval(), priority=-1), "whole number from 0"),
        (message(interval(), priority=True), "whole number from 0"),
        (message(interval(), targets="site"), "must be a list"),
        (message(interval(), targets=[5]), "must be a string"),
        (
            message(interval(), payloadDescriptors=[{"payloadType": "IMPORT_CAPACITY_LIMIT", "units": "MW"}]),
            "'MW' is not read for IMPORT_CAPACITY_LIMIT; KW is",
        ),
        (message(interval(kind="PRICE"), payloadDescriptors=[{"payloadType": "PRICE", "units": "MWH"}]), "KWH is"),
        (message(*[interval(i) for i in range(2001)]), "more than the 2000"),
        ([], "holds no event"),
        ([5], "must be an object"),
        ({"intervals": 5, "programID": "x"}, "must be a list"),
    ],
)
def test_what_is_not_understood_is_refused_by_key(document, words):
    with pytest.raises(ConfigError, match=words) as caught:
        read(document)
    assert "event.json" in caught.value.what
    assert caught.value.fix


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"\xff\xfe", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000, b"{}", b'"event"', b"[}"],
)
def test_what_is_no_event_at_all_is_refused(content):
    with pytest.raises(ConfigError):
        events_from(content, "event.json", NOW)


def test_a_file_that_is_too_large_or_absent_is_refused(tmp_path):
    big = tmp_path / "big.json"
    big.write_bytes(b" " * (LIMIT_BYTES + 1))
    with pytest.raises(ConfigError, match="larger than the limit"):
        read_events(big, NOW)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_events(tmp_path / "none.json", NOW)


@pytest.mark.parametrize(
    ("text", "hours"), [("PT3H", 3), ("P1D", 24), ("P1W", 168), ("PT90M", 1.5), ("P1DT2H30M36S", 26.51), ("PT0S", 0)]
)
def test_durations(text, hours):
    assert duration(text) == timedelta(hours=hours)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["programID", "intervals", "intervalPeriod", "priority", "targets", "payloadDescriptors"]), JSON)
def test_any_value_in_any_place_is_read_or_refused(key, value):
    try:
        found = read(message(interval(), **{key: value}) | {key: value})
    except ConfigError:
        return
    assert found[0].asks
