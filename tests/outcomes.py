"""A planned week for tests of what people are given: decided by simple rules, judged by the judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.evaluate import evaluate
from planner.outcome import Counterfactual, Outcome, Savings
from planner.publish import to_calendar
from planner.run import Run, Stage
from planner.schedule import BlockSchedule, RunSchedule, Schedule, Shortfall
from planner.slots import run_slots
from planner.week import Provenance, Week
from tests.weeks import START, battery, make_block, make_pool, make_run, solar, tiny_week

HOSTILE = "<script>alert('run')</script>"
FORMULA = "=1+1"
LONG = "a-very-long-name-of-a-run-that-no-table-likes/λ-2024"


def full_week(names: tuple[str, ...] = (HOSTILE, FORMULA, LONG, "vision", "speech", "code"), **changes) -> Week:
    """A week of 168 h with two halls, a battery, solar, and one run per name."""
    hour = np.arange(168)
    day = np.sin(2 * np.pi * (hour - 9) / 24)
    runs = tuple(
        make_run(
            name,
            128 if i % 2 else 64,
            40.0,
            150.0 - 6 * i,
            pools=("a1",) if i % 2 else ("b1",),
            earliest_h=float(4 * i),
            checkpoint_s=300.0,
            reload_s=600.0,
            max_pauses=20,
        )
        for i, name in enumerate(names)
    )
    given = {
        "n_slots": 168,
        "price_per_kwh": 0.06 + 0.05 * day - 0.02 * (hour % 24 == 13),
        "ci_gco2_per_kwh": 260.0 - 110.0 * np.cos(2 * np.pi * (hour - 3) / 24) + 40 * np.sin(hour / 30),
        "dry_bulb_c": 16 + 7 * day,
        "ghi_w_per_m2": np.clip(820 * day, 0, None),
        "blocks": (
            make_block("hall-a", 700.0, n_slots=168, solar=solar(200.0), battery=battery(400.0, 100.0)),
            make_block("hall-b", 300.0, n_slots=168),
        ),
        "pools": (make_pool("a1", 512, "hall-a"), make_pool("b1", 256, "hall-b")),
        "runs": runs,
    }
    week = tiny_week(**(given | changes))
    return replace(
        week,
        site="sample",
        labels=("Synthetic data: made up for a test, no measurement.",),
        provenance=tuple(
            Provenance(name, "made up", unit, "", "none", START, (("synthetic", 168),), f"{i:064x}")
            for i, (name, unit) in enumerate(
                (("ci_gco2_per_kwh", "g/kWh"), ("price_per_kwh", "EUR/kWh"), ("dry_bulb_c", "degC"))
            )
        ),
    )


def schedule(week: Week) -> Schedule:
    """Run in the cleaner half of the hours, in whole blocks of six, at two limits."""
    ci = week.signals.ci_gco2_per_kwh
    blocks_of_six = ci[: 6 * (len(ci) // 6)].reshape(-1, 6).mean(axis=1)
    clean = np.repeat(blocks_of_six < np.quantile(blocks_of_six, 0.6), 6)
    clean = np.pad(clean, (0, len(ci) - len(clean)))
    decided = []
    for run in week.runs:
        option = run.options[0]
        first = int(week.grid.position(run.earliest_start))
        on = clean & (np.arange(week.grid.n_slots) >= first)
        limit = np.where(on, np.where(ci < np.median(ci), 700.0, 500.0), 0.0)
        decided.append(RunSchedule(run.name, option.pool, limit, why="mean 190 g/kWh while it runs, the week's is 260"))
    supply = []
    for block in week.blocks:
        zero = np.zeros(week.grid.n_slots)
        charge = np.where(np.arange(week.grid.n_slots) % 24 == 12, 80.0, 0.0) if block.battery else zero
        discharge = np.where(np.arange(week.grid.n_slots) % 24 == 19, 70.0, 0.0) if block.battery else zero
        flows = {"heat_sold_kw_th": zero + 25.0} if block.heat else {}
        if block.has_tank:
            hour = np.arange(week.grid.n_slots) % 24
            flows |= {"fill_kw_th": np.where(hour == 2, 15.0, 0.0), "draw_kw_th": np.where(hour == 14, 12.0, 0.0)}
        supply.append(BlockSchedule(block.name, np.minimum(week.solar_kw(block), 30.0), charge, discharge, **flows))
    return Schedule(tuple(decided), tuple(supply))


def sample_outcome(week: Week | None = None, *, kept: bool = False) -> Outcome:
    """An outcome with both counterfactuals, and unless `kept` a promise that is not kept."""
    week = week or full_week()
    decided = schedule(week)
    week = replace(week, runs=tuple(_asked_for(week, run) for run in decided.runs))
    run = week.runs[1]
    missing = 0.25 * run.stages[0].tokens
    if not kept:
        late = replace(run, stages=(replace(run.stages[0], tokens=run.stages[0].tokens + missing),))
        week = replace(week, runs=(week.runs[0], late, *week.runs[2:]))
    sentence = f"{run.name}: {missing / 1e9:.1f} B tokens are missing at the end of the week; pool a1 is full"
    short = Shortfall(run.name, "train", week.grid.end, missing, 17.5, None, sentence)
    calendar, runs = to_calendar(
        week,
        decided,
        status="optimal",
        certified_gap=0.0084,
        shortfalls=() if kept else (short,),
        options={"gap_target": 0.01},
    )
    found = evaluate(calendar, runs, week)
    worse = replace(found, carbon_kg=found.carbon_kg * 1.2, energy_kwh=found.energy_kwh * 1.01)
    return Outcome(
        week,
        calendar,
        runs,
        found,
        (
            Counterfactual("asap", worse, Savings(16.7, 3.2, 1.0)),
            Counterfactual("steady", worse, None, "steady cannot make 2 B tokens of vision by the week's end"),
        ),
    )


def _asked_for(week: Week, decided: RunSchedule) -> Run:
    """The run, asked for exactly what the decisions make; the first has an early stage of its own."""
    run = week.run(decided.run)
    made = run_slots(week, decided).tokens
    if run is not week.runs[0]:
        return replace(run, stages=(Stage("train", float(made.sum()), week.grid.end),))
    half = len(made) // 2
    early = Stage("pretrain", float(made[:half].sum()), week.grid.starts[half + 6])
    return replace(run, stages=(early, Stage("train", float(made[half:].sum()), week.grid.end)))
