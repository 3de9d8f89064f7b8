"""What holds for every schedule: the publisher and the judge agree, baselines obey physics, figures add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.baseline import asap, steady
from planner.evaluate import evaluate
from planner.publish import to_calendar
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from tests.judged import renamed
from tests.weeks import random_week
from trainer_hooks.calendar import Window

# What the decisions themselves can break; all else would be a fault of what is stated about them.
DECIDED = {
    "gpus", "capacity", "import-capacity", "cooling-limit", "ramp", "earliest-start", "min-run", "min-pause",
    "max-pauses", "too-many-tokens", "deadline", "battery-state", "battery-final", "battery-both", "battery-power",
}  # fmt: skip
SEEDS = st.integers(0, 10_000)


def drawn(seed: int):
    """A week and decisions that need not make sense, some of which end inside a slot."""
    rng = np.random.default_rng(seed)
    week = random_week(seed, n_runs=int(rng.integers(1, 5)), n_slots=12, slot_minutes=int(rng.choice([15, 30, 60])))
    week = replace(
        week, runs=tuple(replace(r, running_in=r.options[0].pool if rng.random() < 0.3 else None) for r in week.runs)
    )
    runs = []
    for run in week.runs:
        watts = np.repeat(rng.choice([0.0, 350.0, 432.1234567, 500.0, 700.0], 4), 3)
        on = np.flatnonzero(watts)
        ends = None
        if len(on) and rng.random() < 0.5:
            ends = week.grid.starts[on[-1]] + week.grid.slot * round(float(rng.uniform(0.1, 0.9)), 3)
        runs.append(RunSchedule(run.name, run.options[0].pool if len(on) else None, watts, ends, "drawn"))
    blocks = tuple(
        BlockSchedule(
            block.name,
            rng.uniform(0, 1) * week.solar_kw(block),
            np.where(rng.random(12) < 0.2, 20.0, 0.0) * (block.battery is not None),
            np.where(rng.random(12) < 0.2, 20.0, 0.0) * (block.battery is not None),
        )
        for block in week.blocks
    )
    return week, Schedule(tuple(runs), blocks)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_what_is_published_is_what_the_judge_replays(seed):
    week, decided = drawn(seed)
    calendar, runs = to_calendar(week, decided, status="drawn", certified_gap=None)
    found = evaluate(calendar, runs, week)
    assert {v.kind for v in found.violations} <= DECIDED, [v.sentence for v in found.violations]
    idle_kwh = sum(float(week.idle_kw(b).sum()) for b in week.blocks) * week.grid.slot_h
    held_kwh = sum(
        r.hours * week.run(r.run).gpus * week.pool(r.pool).gpu.idle_w_per_gpu / 1000 for r in found.runs if r.pool
    )
    assert found.it_energy_kwh == pytest.approx(sum(r.energy_kwh for r in found.runs) + idle_kwh - held_kwh)
    assert found.energy_kwh >= found.it_energy_kwh
    charged = sum(float((b.charge_kw - b.discharge_kw).sum()) for b in found.blocks) * week.grid.slot_h
    assert found.import_kwh + found.solar_kwh == pytest.approx(found.energy_kwh + charged)
    if not any(v.kind == "gpus" for v in found.violations):
        assert sum(r.carbon_kg for r in found.runs) <= found.carbon_kg * (1 + 1e-9)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_windows_cut_in_two_change_no_figure(seed):
    week, decided = drawn(seed)
    calendar, runs = to_calendar(week, decided, status="drawn", certified_gap=None)
    whole = evaluate(calendar, runs, week)
    rng = np.random.default_rng(seed)

    def cut(window):
        middle = window.start + (window.end - window.start) * round(float(rng.uniform(0.1, 0.9)), 3)
        first = replace(window, end=middle, checkpoint="none" if window.checkpoint == "after" else window.checkpoint)
        return first, replace(window, start=middle)

    halves = [replace(r, windows=tuple(part for w in r.windows for part in cut(w))) for r in runs]
    found = evaluate(calendar, halves, week)
    for one, two in zip(whole.runs, found.runs, strict=True):
        assert two.tokens == pytest.approx(one.tokens, rel=1e-9)
        assert two.energy_kwh == pytest.approx(one.energy_kwh, rel=1e-9)
        assert two.carbon_kg == pytest.approx(one.carbon_kg, rel=1e-9)
        assert two.pauses == one.pauses
    assert found.cost == pytest.approx(whole.cost, rel=1e-9)
    stated = {"tokens", "energy", "carbon", "calendar-id"}
    assert {v.kind for v in found.violations} - stated == {v.kind for v in whole.violations} - stated


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_no_windows_however_wrong_stop_the_judge(seed):
    week, decided = drawn(seed)
    calendar, runs = to_calendar(week, decided, status="drawn", certified_gap=None)
    rng = np.random.default_rng(seed)

    def wrong(_):
        first, length = rng.uniform(-5, 15), rng.uniform(0.01, 8)
        limit = rng.choice([0.001, 300.0, 480.0, 9000.0])
        return Window(
            start=week.grid.start + week.grid.slot * round(float(first), 3),
            end=week.grid.start + week.grid.slot * round(float(first + length), 3),
            state=rng.choice(["run", "hold", "off"]),
            pool=rng.choice(["a1", "z9", None]),
            block=rng.choice(["hall-1", "attic"]),
            gpus=int(rng.integers(0, 1000)),
            gpu_power_limit_w=rng.choice([limit, None]),
            checkpoint=rng.choice(["none", "before", "after"]),
            tokens=float(rng.uniform(0, 1e9)),
            energy_kwh=float(rng.uniform(0, 1e3)),
            kgco2e=float(rng.uniform(0, 1e3)),
            why="drawn",
        )

    spoilt = [replace(r, windows=tuple(map(wrong, range(int(rng.integers(0, 6)))))) for r in runs]
    found = evaluate(*renamed(calendar, spoilt), week)
    assert "windows" in {v.kind for v in found.violations}
    assert np.isfinite([found.cost, found.carbon_kg, found.energy_kwh, found.tokens]).all()


@given(SEEDS, st.sampled_from([asap, steady]), st.sampled_from([1.0, 0.6]))
@settings(max_examples=12, deadline=None)
def test_baselines_obey_physics_and_make_the_tokens_they_say(seed, baseline, share):
    week = random_week(seed, n_runs=3, n_slots=16, slot_minutes=60 if seed % 2 else 15, n_pools=1 + seed % 2)
    asked = {run.name: share * week.work_tokens(run) for run in week.runs}
    result = baseline(week, asked)
    calendar, runs = to_calendar(week, result.schedule, status="baseline", certified_gap=None)
    found = evaluate(calendar, runs, week)
    assert {v.kind for v in found.violations} <= {"deadline"}, [v.sentence for v in found.violations]
    for run in found.runs:
        made = asked[run.run] - result.tokens_missing.get(run.run, 0.0)
        assert run.tokens == pytest.approx(made, rel=1e-6, abs=1e-3)
