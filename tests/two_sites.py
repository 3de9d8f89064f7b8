"""Small weeks of two sites, and each of the two as a week of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.geography import OtherSite, Transfer
from planner.week import Week
from power.tariff import Tariff
from tests.weeks import FULL_POWER, make_block, make_pool, make_run, tiny_week

N_SLOTS = 6
NORTH = "north"


def two_sites(
    *,
    n_slots: int = N_SLOTS,
    south: dict | None = None,
    north: dict | None = None,
    north_adder_per_kwh: float = 0.0,
    runs=None,
    points=FULL_POWER,
    gpus: int = 256,
    **changes,
) -> Week:
    """A hall and a pool at each of two sites; `south` and `north` are their signals, as `tiny_week` takes them."""
    week = tiny_week(
        n_slots=n_slots,
        blocks=(make_block("hall-s", 400.0, n_slots=n_slots), make_block("hall-n", 400.0, n_slots=n_slots)),
        pools=(make_pool("s1", gpus, "hall-s", points=points), make_pool("n1", gpus, "hall-n", points=points)),
        runs=runs or (make_run(work_h=2.0, deadline_h=float(n_slots), pools=("s1", "n1"), points=points),),
        **(south or {}),
        **changes,
    )
    there = tiny_week(n_slots=n_slots, **(north or {}))
    other = OtherSite(NORTH, "UTC", "zone-n", there.signals, Tariff(adder_per_kwh=north_adder_per_kwh), ())
    blocks = (week.blocks[0], replace(week.blocks[1], site=NORTH))
    return replace(week, blocks=blocks, others=(other,), zone="zone-s")


def with_transfers(week: Week, run: str, *transfers: Transfer) -> Week:
    """The week with what a run's data needs to reach its pool in the north."""
    runs = [
        replace(r, options=tuple(replace(o, transfers=transfers if o.pool == "n1" else ()) for o in r.options))
        if r.name == run
        else r
        for r in week.runs
    ]
    return replace(week, runs=tuple(runs))


def one_of(week: Week, place: int, runs) -> Week:
    """One of both sites as a plain week with those runs: 0 the south, 1 the north. No geography is left in it."""
    block = replace(week.blocks[place], site="")
    pool = week.pools[place]
    own = tuple(
        replace(r, options=tuple(replace(o, transfers=()) for o in r.options if o.pool == pool.name)) for r in runs
    )
    signals, tariff = (week.signals, week.tariff) if place == 0 else (week.others[0].signals, week.others[0].tariff)
    return replace(week, blocks=(block,), pools=(pool,), runs=own, signals=signals, tariff=tariff, others=(), zone="")


def random_two_sites(seed: int) -> Week:
    """Two runs for two sites with their own carbon, prices and weather; the data of one lies in the south."""
    rng = np.random.default_rng(seed)

    def signals() -> dict:
        return {
            "price_per_kwh": rng.uniform(0.01, 0.3, N_SLOTS),
            "ci_gco2_per_kwh": rng.uniform(20.0, 700.0, N_SLOTS),
            "dry_bulb_c": rng.uniform(0.0, 34.0, N_SLOTS),
            "wet_bulb_c": np.full(N_SLOTS, -2.0),
        }

    runs = tuple(
        make_run(
            f"r{i}",
            int(rng.choice([128, 256])),
            float(rng.uniform(1.0, 3.0)),
            float(rng.integers(3, N_SLOTS + 1)),
            pools=("s1", "n1"),
            points=FULL_POWER,
            reload_s=float(rng.choice([0.0, 600.0])),
            min_run_h=float(rng.choice([1.0, 2.0])),
        )
        for i in range(2)
    )
    week = two_sites(south=signals(), north=signals(), north_adder_per_kwh=float(rng.uniform(0.0, 0.05)), runs=runs)
    hours = float(rng.uniform(0.2, 3.0))
    moved = Transfer("tiny", NORTH, 40.0, hours, float(rng.uniform(0.0, 300.0)), float(rng.uniform(0.0, 40.0)))
    return with_transfers(week, "r1", moved)
