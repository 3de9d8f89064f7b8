"""What is told of an explained plan: on the command line, as JSON, in the report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from planner.errors import ConfigError
from planner.explain_command import asked_about
from planner.export.explain_view import document, lines
from planner.export.report import report_html
from planner.optimize.choices import Unfit
from planner.optimize.explain import Asked, explain
from planner.pipeline import judged
from tests.explained import OPTIONS, explained
from tests.weeks import FULL_POWER, make_block, make_pool, make_run, tiny_week
from thermal.plant import room_air
from trainer_hooks.contract import Window


@pytest.fixture(scope="module")
def short():
    """Two gangs that want the same GPUs, in a block that is too small for either at full power."""
    runs = tuple(make_run(name, 256, 3.0, 6.0, points=FULL_POWER) for name in ("one", "two <b>"))
    block = make_block(capacity_kw=400.0, n_slots=6, plant=room_air(1000.0))
    price = [0.05, 0.06, 0.07, 0.08, 0.09, 0.10]
    week = tiny_week(n_slots=6, blocks=(block,), pools=(make_pool(gpus=256),), runs=runs, price_per_kwh=price)
    tight = tuple(replace(r, stages=(replace(r.stages[0], tokens=r.stages[0].tokens * 1.2),)) for r in runs)
    return explained(replace(week, runs=tight))


def told(found, asked=None, options=OPTIONS):
    return explain(found.week, found.calendar, found.runs, asked=asked or Asked(), options=options)


def test_all_is_told_in_words_and_as_json(short):
    explanation = told(short)
    text = "\n".join(lines(explanation, short.week))
    for part in (
        "a supply 1 K warmer in block 'hall'",
        "256 GPUs more in pool 'a1'",
        "A kWh more of load in block 'hall' costs least at",
        "What holds it back:",
        "it could be kept, but not together with",
        "would do.",
    ):
        assert part in text
    data = json.loads(json.dumps(document(explanation, short.week), allow_nan=False))
    assert data["currency"] == "EUR"
    assert [why["run"] for why in data["why"]] == ["one", "two <b>"]
    assert data["plan"]["total"] == pytest.approx(short.plan.objective)
    assert all(one["mends"] for one in data["unkept"])
    for change in data["changes"]:
        worth = change["worth"]
        assert worth is None or worth["total"] == pytest.approx(
            worth["paid"] + worth["lateness"] + worth["carbon_kg"] * 0.08
        )


def test_one_run_one_block_or_one_hour_is_told_alone(short):
    run = told(short, Asked("run", "one"), None)
    assert [why.run for why in run.why] == ["one"]
    assert {change.subject for change in run.changes} <= {("run", "one")}
    assert run.mended is None
    block = told(short, Asked("block", "hall"), None)
    assert block.why == ()
    assert {change.subject[0] for change in block.changes} == {"block", "pool"}
    hour = told(short, Asked("hour", slot=3), None)
    assert (hour.why, hour.changes) == ((), ())
    assert [price.slot for price in hour.load] == [3]
    assert lines(hour, short.week)


def test_the_report_tells_the_same_and_escapes_names(short):
    outcome = judged(short.week, short.calendar, short.runs)
    assert "Why the plan is as it is" not in report_html(outcome).decode()
    explanation = told(short)
    page = report_html(replace(outcome, explanation=explanation)).decode()
    assert "Why the plan is as it is" in page
    assert "two &lt;b&gt;" in page
    assert "two <b>" not in page.split("Why the plan is as it is")[1].split("</section>")[0]


def test_an_hour_is_read_in_site_time():
    week = tiny_week()  # in Berlin, from midnight UTC on
    assert asked_about(week, None, {}) == Asked()
    assert asked_about(week, "r1", {}) == Asked("run", "r1")
    assert asked_about(week, "hall", {}) == Asked("block", "hall")
    assert asked_about(week, "2024-05-13T04:30", {}) == Asked("hour", slot=2)
    assert asked_about(week, "2024-05-13T02:30:00Z", {}) == Asked("hour", slot=2)


def test_a_run_with_legs_is_known_by_its_own_name(short):
    legs = {"whole": ("done", "one", "two <b>"), "past": ("gone",)}
    asked = asked_about(short.week, "whole", legs)
    assert asked == Asked("run", "whole", legs=("one", "two <b>"))
    found = told(short, asked, None)
    assert [why.run for why in found.why] == ["one", "two <b>"]
    assert document(found, short.week)["asked"] == {"kind": "run", "name": "whole"}
    assert asked_about(short.week, "one", legs) == Asked("run", "one")
    with pytest.raises(ConfigError, match="'past' is no run") as caught:
        asked_about(short.week, "past", legs)
    assert "name one of 'whole', 'one', 'two <b>', 'hall'" in caught.value.fix


@pytest.mark.parametrize("word", ["nobody", "2024-05-14T00:00:00Z"])
def test_what_is_not_there_is_refused_with_what_is(word):
    with pytest.raises(ConfigError, match=r"no run, no block|outside the week"):
        asked_about(tiny_week(), word, {})


def test_a_calendar_that_no_plan_makes_is_refused(short):
    run = short.runs[0]
    window = next(w for w in run.windows if w.state == "run")
    held = replace(window, state="hold", gpu_power_limit_w=None, tokens=0.0)
    for windows, words in (
        (tuple(held if w is window else w for w in run.windows), "holds its GPUs"),
        (_halved(run.windows, window), "inside a cell"),
    ):
        with pytest.raises(Unfit, match=words):
            explain(
                _two_cells(short.week),
                short.calendar,
                [replace(run, windows=windows), *short.runs[1:]],
                asked=Asked(),
                options=None,
            )


def _two_cells(week):
    """The week with on/off grids of two hours."""
    return replace(week, runs=tuple(replace(run, on_off_grid_h=2.0) for run in week.runs))


def _halved(windows, window) -> tuple[Window, ...]:
    """The windows with the one that runs cut to its first hour."""
    first = replace(window, start=windows[0].start, end=windows[0].start + (windows[-1].end - windows[0].start) / 6)
    return (first,)
