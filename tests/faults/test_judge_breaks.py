"""A valid calendar is broken in many ways; the judge names each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.schedule import Schedule
from tests.judged import N_SLOTS, decide, judged, kept, kinds, limits, power, published, renamed, site
from tests.weeks import at
from trainer_hooks.calendar import Calendar, RunCalendar, Shortfall, Window, seal

Broken = tuple[Calendar, list[RunCalendar]]


def test_the_unbroken_calendar_is_clean():
    found = judged(site(), kept())
    assert found.violations == ()
    assert found.clean
    assert found.deadlines_missed == 0


def hours(**changes: float) -> np.ndarray:
    found = np.zeros(N_SLOTS)
    for hour, value in changes.items():
        found[int(hour.removeprefix("h"))] = value
    return found


# Broken decisions: what is stated about them is true, so that nothing but the decision itself is wrong.
DECISIONS: dict[str, tuple[Callable[[Schedule], Schedule], set[str]]] = {
    "starts an hour early": (
        lambda s: decide(s, "big", gpu_power_limit_w=limits(a=(0, 4, 600.0), b=(8, 14, 600.0))),
        {"earliest-start"},
    ),
    "runs before its GPUs are in service": (
        lambda s: decide(s, "late", gpu_power_limit_w=limits(a=(4, 12, 350.0))),
        {"gpus"},
    ),
    "overheats the loop": (
        lambda s: decide(s, "late", gpu_power_limit_w=limits(a=(7, 12, 500.0))),
        {"cooling-limit"},
    ),
    "takes more than the block may": (
        lambda s: decide(s, "long", gpu_power_limit_w=limits(a=(0, 24, 350.0), b=(4, 5, 700.0))),
        {"capacity", "import-capacity", "cooling-limit"},
    ),
    "charges on top of the highest load": (
        lambda s: power(s, "hall-a", charge_kw=hours(h4=40.0), discharge_kw=hours(h20=36.0)),
        {"import-capacity"},
    ),
    "stops two gangs at once": (
        lambda s: decide(s, "long", gpu_power_limit_w=limits(a=(0, 14, 500.0), b=(15, 24, 500.0))),
        {"ramp"},
    ),
    "stops for too short": (
        lambda s: decide(s, "big", gpu_power_limit_w=limits(a=(2, 6, 700.0), b=(7, 13, 500.0))),
        {"min-pause"},
    ),
    "starts for too short": (
        lambda s: decide(s, "big", gpu_power_limit_w=limits(a=(2, 3, 700.0), b=(8, 18, 600.0))),
        {"min-run"},
    ),
    "pauses too often": (
        lambda s: decide(s, "big", gpu_power_limit_w=limits(a=(2, 6, 700.0), b=(8, 11, 700.0), c=(13, 16, 700.0))),
        {"max-pauses"},
    ),
    "does too little": (
        lambda s: decide(s, "late", gpu_power_limit_w=limits(a=(7, 10, 350.0))),
        {"deadline"},
    ),
    "does too much": (
        lambda s: decide(s, "late", gpu_power_limit_w=limits(a=(7, 24, 350.0))),
        {"too-many-tokens"},
    ),
    "charges faster than the battery can": (
        lambda s: power(s, "hall-a", charge_kw=hours(h0=70.0), discharge_kw=hours(h20=60.0)),
        {"battery-power"},
    ),
    "discharges a battery that is not there": (
        lambda s: power(s, "hall-b", discharge_kw=hours(h8=20.0)),
        {"battery-power"},
    ),
    "empties the battery": (
        lambda s: power(s, "hall-a", charge_kw=hours(h6=60.0, h7=60.0), discharge_kw=hours(h1=60.0, h2=40.0)),
        {"battery-state"},
    ),
    "hands over an empty battery": (
        lambda s: power(s, "hall-a", charge_kw=hours(), discharge_kw=hours(h20=36.0)),
        {"battery-final"},
    ),
    "charges and discharges at once": (
        lambda s: power(s, "hall-a", charge_kw=hours(h0=40.0), discharge_kw=hours(h0=36.0)),
        {"battery-both"},
    ),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_broken_decision_is_named(name):
    change, expected = DECISIONS[name]
    found = judged(site(), change(kept()))
    assert kinds(found) == expected
    for violation in found.violations:
        assert all(word in violation.sentence for word in violation.subject.split())
        assert violation.unit in violation.sentence


def window(runs: list[RunCalendar], run: str, i: int, **changes) -> list[RunCalendar]:
    """The runs with one window of one of them changed."""

    def changed(of: RunCalendar) -> RunCalendar:
        return replace(of, windows=(*of.windows[:i], replace(of.windows[i], **changes), *of.windows[i + 1 :]))

    return [changed(r) if r.run == run else r for r in runs]


def every_window(runs: list[RunCalendar], run: str, **changes) -> list[RunCalendar]:
    """The runs with all running windows of one of them changed."""

    def changed(w: Window) -> Window:
        return replace(w, **changes) if w.state == "run" else w

    return [replace(r, windows=tuple(changed(w) for w in r.windows)) if r.run == run else r for r in runs]


def block(calendar: Calendar, i: int, **changes) -> Calendar:
    """The header with one block's plan changed."""
    blocks = list(calendar.blocks)
    blocks[i] = replace(blocks[i], **changes)
    return replace(calendar, blocks=tuple(blocks))


def up(series: tuple[float, ...], slot: int, by: float) -> tuple[float, ...]:
    """The series with one slot raised."""
    return (*series[:slot], series[slot] + by, *series[slot + 1 :])


def without_slot(c: Calendar, r: list[RunCalendar]) -> Broken:
    return replace(c, n_slots=N_SLOTS - 1), r


def short(run: str, stage: str, tokens: float) -> tuple[Shortfall, ...]:
    return (Shortfall(run, stage, at(20), tokens, 1.0, "it falls short"),)


# Broken files: the decisions may be fine, but what is written is not; the id always fits the content.
FILES: dict[str, tuple[Callable[[Calendar, list[RunCalendar]], Broken], set[str]]] = {
    "a gap between windows": (lambda c, r: (c, window(r, "big", 0, end=at(1))), {"windows"}),
    "windows that overlap": (lambda c, r: (c, window(r, "big", 0, end=at(3))), {"windows"}),
    "windows that end early": (
        lambda c, r: (c, [replace(x, windows=x.windows[:-1]) if x.run == "big" else x for x in r]),
        {"windows"},
    ),
    "a run that nobody knows": (lambda c, r: (c, [*r, replace(r[0], run="ghost")]), {"run-unknown"}),
    "a run twice": (lambda c, r: (c, [*r, r[0]]), {"run-twice"}),
    "a run left out": (
        lambda c, r: (c, r[:1] + r[2:]),
        {"run-missing", "windows", "deadline", "stated-it", "stated-cooling", "stated-facility", "stated-import"}
        | {"carbon"},
    ),
    "a block left out": (
        lambda c, r: (replace(c, blocks=c.blocks[:1]), r),
        {"block-missing", "stated-it", "stated-cooling", "stated-facility", "stated-import"},
    ),
    "a block that nobody knows": (
        lambda c, r: (replace(c, blocks=(*c.blocks, replace(c.blocks[0], block="attic"))), r),
        {"block-unknown"},
    ),
    "a pool that the run may not use": (
        lambda c, r: (c, every_window(r, "long", pool="a2")),
        {"pool", "tokens", "deadline"},
    ),
    "a pool that nobody knows": (
        lambda c, r: (c, every_window(r, "late", pool="z9")),
        {"pool", "tokens", "deadline", "stated-it", "stated-cooling", "stated-facility", "stated-import"}
        | {"energy", "carbon"},
    ),
    "the wrong block for the pool": (lambda c, r: (c, every_window(r, "long", block="hall-b")), {"block"}),
    "a part of the gang": (
        lambda c, r: (c, every_window(r, "big", gpus=255)),
        {"gang", "tokens", "deadline", "stated-it", "stated-facility", "stated-import", "energy", "carbon"},
    ),
    "part of a gang held idle": (
        lambda c, r: (c, window(r, "big", 2, state="hold", pool="a1", block="hall-a", gpus=100)),
        {"gang"},
    ),
    "two pools on two islands": (lambda c, r: (c, window(r, "big", 1, pool="a2")), {"one-pool", "island"}),
    "a limit above the measured points": (lambda c, r: (c, window(r, "big", 1, gpu_power_limit_w=750.0)), {"limit"}),
    "a limit below the measured points": (
        lambda c, r: (c, every_window(r, "long", gpu_power_limit_w=300.0)),
        {"limit"},
    ),
    "no limit": (lambda c, r: (c, window(r, "big", 1, gpu_power_limit_w=None)), {"limit"}),
    "no checkpoint before a pause": (lambda c, r: (c, window(r, "big", 1, checkpoint="none")), {"checkpoint"}),
    "no checkpoint before the end": (lambda c, r: (c, window(r, "late", 1, checkpoint="none")), {"checkpoint"}),
    "too many tokens stated": (lambda c, r: (c, window(r, "big", 1, tokens=r[0].windows[1].tokens * 1.01)), {"tokens"}),
    "too little energy stated": (
        lambda c, r: (c, window(r, "big", 1, energy_kwh=r[0].windows[1].energy_kwh * 0.99)),
        {"energy"},
    ),
    "too little carbon stated": (
        lambda c, r: (c, window(r, "big", 1, kgco2e=r[0].windows[1].kgco2e * 0.99)),
        {"carbon"},
    ),
    "too little IT power stated": (
        lambda c, r: (block(c, 0, it_kw=up(c.blocks[0].it_kw, 3, -1.0)), r),
        {"stated-it", "balance"},
    ),
    "too little cooling stated": (
        lambda c, r: (block(c, 0, cooling_kw=up(c.blocks[0].cooling_kw, 3, -1.0)), r),
        {"stated-cooling", "balance"},
    ),
    "too little facility power stated": (
        lambda c, r: (block(c, 0, facility_kw=up(c.blocks[0].facility_kw, 3, -1.0)), r),
        {"stated-facility"},
    ),
    "too little import stated": (
        lambda c, r: (block(c, 0, import_kw=up(c.blocks[0].import_kw, 3, -1.0)), r),
        {"stated-import", "balance"},
    ),
    "a fuller battery stated": (
        lambda c, r: (block(c, 0, battery_kwh=up(c.blocks[0].battery_kwh, 3, 1.0)), r),
        {"stated-battery"},
    ),
    "sun at night": (
        lambda c, r: (
            block(c, 0, solar_kw=up(c.blocks[0].solar_kw, 1, 5.0), import_kw=up(c.blocks[0].import_kw, 1, -5.0)),
            r,
        ),
        {"solar", "carbon"},
    ),
    "energy sent to the grid": (
        lambda c, r: (
            block(
                c,
                1,
                discharge_kw=up(c.blocks[1].discharge_kw, 20, 60.0),
                import_kw=up(c.blocks[1].import_kw, 20, -60.0),
            ),
            r,
        ),
        {"export", "battery-power", "carbon"},
    ),
    "a supply warmer than the racks may get": (
        lambda c, r: (block(c, 0, supply_setpoint_c=up(c.blocks[0].supply_setpoint_c, 3, 5.5)), r),
        {"setpoint", "stated-cooling"},
    ),
    "a shortfall of no such stage": (
        lambda c, r: (replace(c, shortfalls=short("big", "encore", 1.0)), r),
        {"shortfall"},
    ),
    "a shortfall that is none": (lambda c, r: (replace(c, shortfalls=short("big", "train", 1e9)), r), {"shortfall"}),
    "another validity": (lambda c, r: (replace(c, valid_until=at(23)), r), {"header"}),
    "another count of slots": (without_slot, {"header"}),
    "another site": (
        lambda c, r: (replace(c, site="elsewhere"), [replace(x, site="elsewhere") for x in r]),
        {"header"},
    ),
    "a run of another calendar": (
        lambda c, r: (c, [replace(x, issued_at=at(-13)) if x.run == "big" else x for x in r]),
        {"header"},
    ),
    "other inputs": (
        lambda c, r: (replace(c, inputs={**c.inputs, "week": {"sha256": "0" * 64}}), r),
        {"inputs"},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_is_named(name):
    week = site()
    change, expected = FILES[name]
    found = evaluate(*renamed(*change(*published(week, kept()))), week)
    assert expected <= kinds(found), [v.sentence for v in found.violations]
    consequences = {"tokens", "energy", "carbon", "deadline", "stated-it", "stated-cooling", "stated-facility"}
    assert kinds(found) - expected <= consequences | {"stated-import", "ramp"}, [v.sentence for v in found.violations]


def test_content_under_another_id_is_named():
    week = site()
    calendar, runs = published(week, kept())
    found = evaluate(calendar, window(runs, "big", 1, why="for another reason"), week)
    assert kinds(found) == {"calendar-id"}


def test_a_file_that_is_not_the_one_in_the_header_is_named():
    week = site()
    calendar, runs = published(week, kept())
    sealed, _ = seal(calendar, runs)
    assert evaluate(sealed, runs, week).clean
    other = window(runs, "big", 1, why="for another reason")
    assert kinds(evaluate(sealed, other, week)) == {"hash", "calendar-id"}
    assert "run-missing" in kinds(evaluate(sealed, runs[1:], week))


def test_a_missed_deadline_that_the_calendar_names_truly_is_no_broken_promise():
    week = site()
    calendar, runs = published(week, decide(kept(), "late", gpu_power_limit_w=limits(a=(7, 10, 350.0))))
    missing = evaluate(calendar, runs, week)
    stage = missing.runs[1].stages[0]
    named = replace(calendar, shortfalls=short("late", "train", stage.due_tokens - stage.tokens))
    found = evaluate(*renamed(named, runs), week)
    assert found.violations == ()
    assert found.deadlines_missed == 1
    assert found.runs[1].stages[0].announced
    assert "and the calendar does not say so" in missing.violations[0].sentence
    understated = replace(calendar, shortfalls=short("late", "train", 0.9 * (stage.due_tokens - stage.tokens)))
    assert kinds(evaluate(*renamed(understated, runs), week)) == {"shortfall"}


def test_a_shortfall_inside_a_slot_may_be_off_by_the_seconds_of_reload_and_checkpoint():
    week = site()
    late = replace(week.runs[1], stages=(replace(week.runs[1].stages[0], deadline=at(7.5)),))
    week = replace(week, runs=(week.runs[0], late, week.runs[2]))
    calendar, runs = published(week, kept())
    # by half past the first hour of running, 1,200 s after the reload at 0.7 of full speed
    missing = 128e3 * (3 * 3600 - 0.7 * 1200)

    def verdict(tokens: float) -> set[str]:
        return kinds(evaluate(*renamed(replace(calendar, shortfalls=short("late", "train", tokens)), runs), week))

    assert verdict(missing) == set()
    assert verdict(missing + 128e3 * 850) == set()
    assert verdict(missing - 128e3 * 1050) == {"shortfall"}
