"""A hot week planned twice, with a constant share of cooling and with the plant's curves; the judge replays both."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from planner.config import load_site
from planner.gather import block_of_week, gather
from planner.optimize import PlanOptions
from planner.week import Week
from tests.bench.machine import describe, table
from tests.hot_week import cooling_share, planned
from thermal.plant import CoolingPlant, dry_cooler, tower_chiller

SITE = Path(__file__).resolve().parents[2] / "data/sites/block-20mw.toml"
HOTTEST_C = 42.0
SWING = 1.5  # of the demo week's, about its mean: heat waves have hot days more than hot nights
WET_PER_DRY = 0.5  # kelvins of wet bulb per kelvin of dry bulb that the week is made warmer by
NOW = datetime(2024, 5, 1, tzinfo=UTC)


def hot_week(plant: CoolingPlant) -> Week:
    """Return the demo week of the 20 MW site, made hot, with another plant."""
    site = load_site(SITE)
    week = gather(site, now=NOW)
    mild = week.signals
    wider = mild.dry_bulb_c.mean() + SWING * (mild.dry_bulb_c - mild.dry_bulb_c.mean())
    dry_c = wider + HOTTEST_C - wider.max()
    wet_c = np.minimum(mild.wet_bulb_c + WET_PER_DRY * (dry_c - mild.dry_bulb_c), dry_c)
    signals = replace(mild, dry_bulb_c=dry_c, wet_bulb_c=wet_c)
    blocks = tuple(block_of_week(site, replace(b, plant=plant), week.grid, signals) for b in site.blocks)
    return replace(week, signals=signals, blocks=blocks)


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="thermal_week")
    parser.add_argument("--time-limit-s", type=float, default=45.0)
    options = PlanOptions(time_limit_s=parser.parse_args(arguments).time_limit_s)
    rated_kw = load_site(SITE).blocks[0].plant.rated_it_kw
    rows = []
    for name, plant in {
        "dry coolers": dry_cooler(rated_kw),
        "dry coolers, chillers of 40 %": dry_cooler(rated_kw, chiller_capacity_share=0.4),
        "the same, both at their best": dry_cooler(rated_kw, chiller_capacity_share=0.4, sequence="optimal"),
        "towers and trim chillers": tower_chiller(rated_kw),
    }.items():
        week = hot_week(plant)
        for constant_share in (True, False):
            found = planned(week, options, constant_share=constant_share)
            (fit,) = found.plan.cooling
            (block,) = found.evaluation.blocks
            share = 1.0 + cooling_share(week.blocks[0])
            rows.append(
                [
                    name,
                    f"constant PUE of {share:.3f}" if constant_share else "the plant's curves",
                    f"{found.hours_over:g}",
                    f"{max(0.0, float((block.it_kw - block.w_max_kw).max())):,.0f}",
                    f"{found.program_kwh / 1000:,.1f}",
                    f"{found.replay_kwh / 1000:,.1f}",
                    f"{found.off_pct:+.2f}",
                    "" if constant_share else f"{fit.rough_h:g} / {fit.binary_h:g}",
                    "" if constant_share else f"{fit.hull_gap_kw:.0f} / {fit.fit_error_kw:.0f}",
                    f"{found.plan.build_s + found.plan.solve_s:.1f}",
                    f"{100 * found.plan.mip_gap:.2f}",
                    f"{found.evaluation.deadlines - found.evaluation.deadlines_missed} of {found.evaluation.deadlines}",
                ]
            )
    print(describe(), end="\n\n")
    print(f"The 20 MW site's demo week with dry bulbs of up to {HOTTEST_C:g} C; the judge replays the full physics.\n")
    print(
        table(
            [
                "plant", "planned with", "hours over the thermal limit", "at worst, kW", "cooling planned, MWh",
                "replayed, MWh", "off, %", "not convex / with a binary, h", "hull gap / fit error, kW",
                "build + solve, s", "gap, %", "deadlines kept",
            ],
            rows,
        )
    )  # fmt: skip
