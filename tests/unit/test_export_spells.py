from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.export.charts.frame import TimeAxis, chart_text, shorten
from planner.export.charts.runs import runs_figure
from planner.export.slots import run_power_kw
from planner.export.spells import spells
from planner.timegrid import TimeGrid
from tests.outcomes import sample_outcome
from tests.published import START, off, on, run

GRID = TimeGrid(START, 60, 24)


def test_windows_that_meet_are_one_spell():
    windows = (off(0, 1), on(1, 3, 700.0), on(3, 5, 500.0, checkpoint="after"), off(5, 8), on(8, 24))
    first, second = spells(run("r", windows))
    assert (first.start, first.end) == (windows[1].start, windows[2].end)
    assert (first.number, second.number) == (1, 2)
    assert first.resumes_at == second.start
    assert second.resumes_at is None
    assert (first.limits_w, first.tokens, first.energy_kwh, first.carbon_kg) == ((500.0, 700.0), 4e6, 40.0, 8.0)
    assert first.saves_at_end
    assert not second.saves_at_end


def test_a_hold_ends_a_spell_and_a_run_that_never_runs_has_none():
    hold = replace(on(2, 4), state="hold", tokens=0.0)
    assert len(spells(run("r", (on(0, 2), hold, on(4, 24))))) == 2
    assert spells(run("r", (off(0, 24),))) == ()


def test_a_spell_without_a_limit_tells_none():
    (spell,) = spells(run("r", (on(0, 24, None),)))
    assert spell.limits_w is None


def test_power_of_windows_off_the_slot_edges():
    # 10 kW from 0.5 h to 2.25 h.
    power_kw = run_power_kw(run("r", (off(0, 0.5), on(0.5, 2.25), off(2.25, 24))), GRID)
    assert power_kw[:4] == pytest.approx([5.0, 10.0, 2.5, 0.0])


@given(st.lists(st.integers(1, 24 * 3600 - 1).map(lambda second: second / 3600), min_size=1, max_size=8, unique=True))
def test_no_energy_is_lost_between_windows_and_slots(cuts):
    edges = [0.0, *sorted(cuts), 24.0]
    windows = tuple(on(a, b, energy_kwh=float(i + 1)) for i, (a, b) in enumerate(pairwise(edges)))
    power_kw = run_power_kw(run("r", windows), GRID)
    assert power_kw.sum() * GRID.slot_h == pytest.approx(sum(w.energy_kwh for w in windows))
    assert (power_kw >= 0).all()


def test_holds_are_drawn_apart_from_training():
    outcome = sample_outcome(kept=True)
    first = outcome.runs[0]
    position = next(i for i, w in enumerate(first.windows) if w.state == "run")
    held = replace(first.windows[position], state="hold", tokens=0.0)
    runs = (
        replace(first, windows=(*first.windows[:position], held, *first.windows[position + 1 :])),
        *outcome.runs[1:],
    )
    week = outcome.week
    time = TimeAxis(week.grid.starts, week.grid.end, week.tz)
    trains, holds, *_ = runs_figure(week, outcome.calendar, runs, time)["data"]
    before = runs_figure(week, outcome.calendar, outcome.runs, time)["data"][0]
    assert len(holds["x"]) == 1
    assert holds["showlegend"]
    assert len(trains["x"]) == len(before["x"]) - 1


def test_shades_rise_with_the_limit():
    outcome = sample_outcome(kept=True)
    week = outcome.week
    bars = runs_figure(week, outcome.calendar, outcome.runs, TimeAxis(week.grid.starts, week.grid.end, week.tz))[
        "data"
    ][0]
    windows = [w for r in outcome.runs for w in r.windows if w.state == "run"]
    shade = {w.gpu_power_limit_w: c for w, c in zip(windows, bars["marker"]["color"], strict=True)}
    light = {limit: np.mean([int(v) for v in colour[4:-1].split(",")]) for limit, colour in shade.items()}
    assert light[500.0] > light[700.0]


def test_texts_of_figures():
    assert chart_text("<b>&") == "&lt;b&gt;&amp;"
    assert shorten("a" * 18) == "a" * 18
    assert shorten("a" * 19) == "a" * 17 + "…"
