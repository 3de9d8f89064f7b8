"""Where the cooling curve is convex, how a plant derates, and what both cost to compute, beside the reference."""

from __future__ import annotations

import sys
import time

import numpy as np

from tests.bench.machine import describe, table
from tests.plants import warm_water_with_pad
from thermal.envelope import fit_branches, fit_envelope
from thermal.plant import CoolingPlant, cooling, dry_cooler, tower_chiller, w_max_kw
from thermal.secants import fit_secants
from thermal.units_out import ALL

RATED_KW = 20_000.0
REFERENCE_FROM_KW = 2_000.0
# the reference plant: 85 % of the heat in liquid, flows that follow the load to 0.3, cooler 7 K over 30 C air
REFERENCE = {
    "liquid_heat_share": 0.85,
    "rack_pump_flow_floor": 0.3,
    "facility_pump_flow_floor": 0.3,
    "chiller_count": 1,
    "dx_capacity_share": 5.0,
}
DRY = {"cooler_approach_k": 7.0, "cooler_fan_w_per_kw": 25.0, "pad_effectiveness": 0.75, "pad_from_c": 28.0}
CONVEXITY = (  # name, maker, changes, hull gap and errors with 3, 5 and 8 segments of the reference, kW
    ("dry cooler, no chiller", dry_cooler, DRY, (1.5, 16.9, 5.9, 2.2)),
    ("wet tower, no chiller", tower_chiller, {"chiller_capacity_share": 0.0}, (0.4, 12.0, 3.8, 1.5)),
    ("chiller, fans first (dry)", dry_cooler, DRY | {"chiller_capacity_share": 0.6}, (403.0, 208.0, 204.0, 202.0)),
    (
        "chiller, co-optimised (dry)",
        dry_cooler,
        DRY | {"chiller_capacity_share": 0.6, "sequence": "optimal"},
        (33.6, 38.7, 19.2, 17.9),
    ),
    (
        "the same with two chillers of half the size",
        dry_cooler,
        DRY | {"chiller_capacity_share": 0.6, "sequence": "optimal", "chiller_count": 2},
        None,
    ),
)
AMBIENTS = ((-10, -11), (0, -2), (10, 7), (20, 15), (25, 18), (30, 21), (35, 24), (40, 26), (44, 28))
SUPPLIES_C = (25.0, 30.0, 35.0, 40.0, 45.0)
YEAR_S, WEEK_S = 2.0, 1.5  # goals
HOT = ((25, 18), (35, 24), (40, 26), (45, 28), (50, 29))
DERATING = (  # rack supply limit, coolers out of 8, W_max of the reference in MW
    (32.0, 0, (12.1, 8.4, 3.5, 0.0, 0.0)),
    (40.0, 0, (20.0, 20.0, 19.0, 13.7, 9.5)),
    (40.0, 1, (20.0, 20.0, 16.4, 11.7, 8.1)),
)


def main(arguments: list[str]) -> None:
    """Print the tables; takes no options."""
    if arguments:
        sys.exit(f"thermal takes no options, not {arguments}")
    print(describe(), end="\n\n")
    print("Largest hull gap and fit error at 9 ambients and 5 supplies, kW of a 20 MW plant; (reference):\n")
    head = ["case", "hull gap from 2 MW", "from 0", "3 segments", "5", "8", "two branches, 5"]
    print(table(head, [_convexity(*case) for case in CONVEXITY]))
    print(
        "\nThe reference looks at 2 to 20 MW and shifts its segments half-way between over- and under-estimate; the "
        "plan's segments start at 0 and never lie below the curve,\nso their error is twice as large or more; where "
        "a chiller starts they carry the height of its step. The reference caps the chiller's COP at 14, these plants "
        "its lift at 15 K.\n"
    )
    print("W_max in MW at dry bulb / wet bulb, 40 C to the racks unless said otherwise; (reference):\n")
    head = ["rack supply", *(f"{dry} / {wet} C" for dry, wet in HOT)]
    print(table(head, [_derating(*case) for case in DERATING]))
    print()
    print(table(["what", "s"], _speed()))


def _convexity(name: str, make: object, changes: dict[str, object], reference: tuple[float, ...] | None) -> list[str]:
    dry, wet = np.array(AMBIENTS, dtype=float).T
    found = []
    for segments in (3, 5, 8):
        fits = [fit_envelope(_plant(make, supply_c, changes), dry, wet, segments) for supply_c in SUPPLIES_C]
        found.append(max(fit.fit_error_kw.max() for fit in fits))
    gap = max(fit.hull_gap_kw.max() for fit in fits)
    upper_gap = max(_gap_above(_plant(make, supply_c, changes), dry, wet) for supply_c in SUPPLIES_C)
    branches = max(
        fit_branches(_plant(make, supply_c, changes), dry, wet, 5).fit_error_kw.max() for supply_c in SUPPLIES_C
    )
    shown = [f"{ours:.1f}" for ours in (upper_gap, *found)]
    if reference is not None:
        shown = [f"{ours} ({theirs:g})" for ours, theirs in zip(shown, reference, strict=True)]
    first, *errors = shown
    return [name, first, f"{gap:.1f}", *errors, f"{branches:.1f}"]


def _gap_above(plant: CoolingPlant, dry: np.ndarray, wet: np.ndarray) -> float:
    """Return the largest hull gap over the loads that the reference looks at, kW."""
    w_max = w_max_kw(plant, dry, wet)
    some = w_max > REFERENCE_FROM_KW + 1_000.0
    grid = np.linspace(REFERENCE_FROM_KW, w_max[some], 361).T
    curve = cooling(plant, grid, dry[some, None], wet[some, None]).cooling_kw
    return float(fit_secants(grid, curve, 5, 4).hull_gap.max())


def _plant(make: object, supply_c: float, changes: dict[str, object]) -> CoolingPlant:
    assert callable(make)
    return make(RATED_KW, supply_setpoint_c=supply_c, supply_limit_c=supply_c, **(REFERENCE | changes))


def _derating(limit_c: float, out: int, reference: tuple[float, ...]) -> list[str]:
    dry, wet = np.array(HOT, dtype=float).T
    running = ALL._replace(rejection=1.0 - out / 8.0)
    found = w_max_kw(_plant(dry_cooler, limit_c, DRY), dry, wet, running=running) / 1000.0
    name = f"{limit_c:g} C" + (f", {out} of 8 coolers out" if out else "")
    return [name, *(f"{ours:.1f} ({theirs:g})" for ours, theirs in zip(found, reference, strict=True))]


def _speed() -> list[list[str]]:
    dry = 15.0 + 12.0 * np.sin(np.arange(8760) / 1394.0) + 8.0 * np.sin(np.arange(8760) / 3.82)
    loads = np.linspace(0.05, 1.0, 20) * RATED_KW
    plants = {
        "warm water with pad": warm_water_with_pad(RATED_KW),
        "tower and trim chiller": tower_chiller(RATED_KW),
        "tower and trim chiller, co-optimised": tower_chiller(RATED_KW, sequence="optimal"),
    }
    rows = []
    for name, plant in plants.items():
        start = time.perf_counter()
        cooling(plant, loads, dry[:, None], dry[:, None] - 6.0)
        rows.append([f"{name}: 8,760 hours x 20 loads", f"{time.perf_counter() - start:.2f} (at most {YEAR_S:g})"])
        start = time.perf_counter()
        fit_envelope(plant, dry[:168], dry[:168] - 6.0)
        rows.append([f"{name}: a week's envelopes", f"{time.perf_counter() - start:.2f} (at most {WEEK_S:g})"])
    return rows
