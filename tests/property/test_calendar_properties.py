"""Whatever is written is read back equal; whatever is read raises nothing but CalendarError."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.run_calendars import second, two_hours, window
from trainer_hooks.calendar import CalendarError, run_file, seal
from trainer_hooks.codec import calendar_from, run_document, run_from
from trainer_hooks.directive import directive, planned
from trainer_hooks.rules import check_calendar, check_run
from trainer_hooks.strictjson import dump_object, number_text, parse_object

HEADER, (RUN,) = two_hours("a")
WHOLE = seal(HEADER, [RUN])[1]
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80)


@st.composite
def cut_runs(draw):
    """Two hours cut into windows at whole microseconds, with any legal content."""
    cuts = sorted(draw(st.sets(st.integers(1, 7_199_999_999), max_size=12)))
    edges_s = [0, *(cut / 1e6 for cut in cuts), 7200]
    windows = []
    for start_s, end_s in itertools.pairwise(edges_s):
        state = draw(st.sampled_from(["run", "hold", "off"]))
        checkpoint = draw(st.sampled_from(["none", "after" if state == "run" else "before"]))
        limit_w = draw(st.none() | st.floats(1, 2000))
        tokens = draw(st.floats(0, 1e15))
        cell = window(start_s, end_s, state, limit_w=limit_w, checkpoint=checkpoint, tokens=tokens)
        windows.append(replace(cell, why=draw(st.text(st.characters(codec="utf-8"), max_size=20))))
    return replace(RUN, run=draw(names), windows=tuple(windows))


def _rounded(run):
    return replace(
        run,
        windows=tuple(
            replace(
                cell,
                tokens=number_text(cell.tokens),
                gpu_power_limit_w=None if cell.gpu_power_limit_w is None else number_text(cell.gpu_power_limit_w),
            )
            for cell in run.windows
        ),
    )


@given(cut_runs())
def test_write_then_read_gives_the_same_run_and_the_same_bytes(run):
    check_run(run, "run")
    content = dump_object(run_document(run))
    found = run_from(parse_object(content, "run.json"))
    check_run(found, "run.json")
    assert found == _rounded(run)
    assert dump_object(run_document(found)) == content


@given(st.lists(names, min_size=2, max_size=2, unique=True))
def test_file_names_are_plain_distinct_and_short(pair):
    files = [run_file(name) for name in pair]
    assert files[0] != files[1]
    for file in files:
        folder, _, name = file.partition("/")
        assert folder == "runs"
        assert "/" not in name
        assert name not in {".", ".."}
        assert len(name.encode()) <= 255
        assert name.isascii()
        assert name.isprintable()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def _read_anything(content):
    for decode, check in ((run_from, check_run), (calendar_from, check_calendar)):
        told = ("what", "why", "fix")
        try:
            check(decode(parse_object(content, "file")), "file")
        except CalendarError as error:
            told = (error.what, error.why, error.fix)
        assert all(told)


@given(st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_give_a_calendar_or_a_calendar_error(content):
    _read_anything(content)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(WHOLE)), st.data(), json_values)
def test_any_one_value_replaced_gives_a_calendar_or_a_calendar_error(file, data, value):
    document = json.loads(WHOLE[file])
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], (dict, list)) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = value
    _read_anything(json.dumps(document).encode())


@given(cut_runs(), st.floats(-100, 7300), st.floats(0, 1000))
def test_what_is_asked_holds_until_it_says(run, at_s, lead_s):
    now = second(at_s)
    asked = directive(run, now, lead_s)
    inside = run.valid_from <= now < run.valid_until
    assert (asked.state != "safe") == inside
    if asked.until is None:
        assert now >= run.valid_until
        return
    assert asked.until > now
    halfway = now + (asked.until - now) / 2
    assert directive(run, halfway, lead_s).state == asked.state
    # Without a lead, what is asked is what the window says.
    plain = directive(run, now, 0.0)
    assert plain.state == (run.window_at(now).state if inside else "safe")


@given(cut_runs(), st.floats(-100, 7300), st.floats(-100, 7300))
def test_planned_parts_add_up(run, one_s, two_s):
    start, end = second(min(one_s, two_s)), second(max(one_s, two_s))
    parts = [planned(run, frozenset({state}), start, end) for state in ("run", "hold", "off")]
    covered_s = max(
        (min(end, run.valid_until) - max(start, run.valid_from)) / timedelta(seconds=1),
        0.0,
    )
    assert sum(part.matching_s for part in parts) == pytest.approx(covered_s, abs=1e-6)
    assert {part.covered_s for part in parts} == {parts[0].covered_s}
    assert parts[0].tokens <= sum(cell.tokens for cell in run.windows) * (1 + 1e-9)
