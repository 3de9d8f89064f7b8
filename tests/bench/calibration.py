"""Hidden settings recovered, and the public points of Summit and Frontier beside the plant before and after the fit."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from tests.bench.machine import describe, table
from tests.conftest import NO_SHARED_DATA, SHARED_DATA
from tests.plant_telemetry import made_up
from tests.published_plants import (
    FOLLOWING_FLOOR,
    FRONTIER_CDU_PUMP_KW,
    FRONTIER_PUE,
    NO_TOWERS,
    SUMMIT_CHILLER_COP,
    SUMMIT_PUE,
    SUMMIT_RETURN_C,
    SUMMIT_SUPPLY_C,
    day_pue,
    frontier,
    frontier_day,
    frontier_fitted,
    summit,
    summit_by_heat,
    summit_by_power,
    summit_readings,
    summit_state,
)
from tests.unit.test_calibrate import CASES, LEAKAGE_PCT_PER_K, RATED_KW
from thermal.calibrate import calibrate, check_balance
from thermal.calibrate.balance import EnergyBalanceError
from thermal.calibrate.score import PARTS
from thermal.plant import cooling, room_air


def main(arguments: list[str]) -> None:
    """Print the tables; --seeds N makes N sets of telemetry of each plant."""
    parser = argparse.ArgumentParser(prog="calibration")
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args(arguments).seeds
    print(describe(), end="\n\n")
    _print_recovery(seeds)
    _print_summit()
    _print_frontier(SHARED_DATA)


def _print_recovery(seeds: int) -> None:
    print(f"28 days of hourly telemetry, 21 fitted, 7 held out; {seeds} drawings of noise, load and weather:\n")
    settings, fits = [], []
    for kind, (factory, hidden, known, warmest_c) in CASES.items():
        leaks = 0.0 if factory is room_air else LEAKAGE_PCT_PER_K
        truth = hidden | ({"chip_leakage_pct_per_k": leaks} if leaks else {})
        errors: dict[str, list[float]] = {name: [] for name in truth}
        spreads: dict[str, list[float]] = {name: [] for name in truth}
        before, after, took_s = [], [], []
        for seed in range(1, seeds + 1):
            made = factory(RATED_KW, **hidden, **known)
            telemetry = made_up(made, seed=seed, warmest_c=warmest_c, leakage_pct_per_k=leaks)
            began = time.perf_counter()
            found = calibrate(factory(RATED_KW, **known), telemetry)
            took_s.append(time.perf_counter() - began)
            for e in found.estimates:
                errors[e.known.setting].append(100.0 * (e.value / truth[e.known.setting] - 1.0))
                spreads[e.known.setting].append(100.0 * e.deviation / e.value)
            assert found.held_out is not None
            before.append(next(s for s in found.held_out.before if s.signal == PARTS))
            after.append(next(s for s in found.held_out.after if s.signal == PARTS))
        for name, value in truth.items():
            worst = max(errors[name], key=abs)
            settings.append([kind, name, f"{value:g}", f"{worst:+.1f} %", f"{np.mean(spreads[name]):.1f} %"])
        fits.append(
            [
                kind,
                f"{np.median([s.cv_rmse_pct for s in before]):.0f} %",
                f"{np.median([s.cv_rmse_pct for s in after]):.2f} %",
                f"{max(s.cv_rmse_pct for s in after):.2f} %",
                f"{max((s.nmbe_pct for s in after), key=abs):+.2f} %",
                f"{max(took_s):.1f}",
            ]
        )
    print(table(["plant", "hidden setting", "value", "largest error", "stated std. dev."], settings), end="\n\n")
    head = ["plant", "median CV-RMSE before", "median CV-RMSE fitted", "worst CV-RMSE", "worst NMBE", "longest s"]
    print("Sum of metered pumps, fans and compressors on days not fitted:\n")
    print(table(head, fits), end="\n\n")
    print(
        "The worst drawings have an hour within a sensor's error of a threshold: a chiller that starts, an economiser\n"
        "that closes. No fit says which side such an hour is on.\n"
    )


def _print_summit() -> None:
    print("Summit, 2020-01-31, chillers only. The point as it stands is refused:\n")
    try:
        check_balance(summit(), summit_readings(), NO_TOWERS)
    except EnergyBalanceError as error:
        print(f"  {error}\n")
    rows = []
    for name, reading in (("power meters", summit_by_power), ("flow and temperatures", summit_by_heat)):
        told, found = reading()
        it_kw = float(told["it_power_kw"][0])
        for when, plant in (("uncalibrated", summit()), ("fitted", found.plant)):
            state = summit_state(plant, told)
            assert plant.loop is not None
            rows.append(
                [
                    name,
                    when,
                    f"{it_kw:,.0f}",
                    f"{plant.loop.facility_rise_k:.1f}",
                    f"{plant.loop.chiller.min_lift_k:.1f}",
                    f"{1.0 + float(state.cooling_kw[0]) / it_kw - SUMMIT_PUE:+.4f}",
                    f"{float(state.facility_supply_temp_c[0]) - SUMMIT_SUPPLY_C:+.2f}",
                    f"{float(state.return_temp_c[0]) - SUMMIT_RETURN_C:+.2f}",
                    f"{float(state.chiller_heat_kw[0] / state.chiller_kw[0]):.2f}",
                ]
            )
    head = [
        "believed",
        "plant",
        "IT kW",
        "facility_rise_k",
        "chiller_min_lift_k",
        f"PUE - {SUMMIT_PUE}",
        "supply error K",
        "return error K",
        f"chiller COP (published {SUMMIT_CHILLER_COP:.2f}, not fitted)",
    ]
    print(table(head, rows), end="\n\n")


def _print_frontier(folder: Path) -> None:
    print("Frontier, 2024-04-07, towers only; the wet bulb is in deg C (2.9 to 13.2 cannot be K):\n")
    if not folder.is_dir():
        print(f"  left out: {NO_SHARED_DATA}\n")
        return
    day = frontier_day(folder)
    rows = []
    for when, plant in (
        ("affinity laws", frontier(FOLLOWING_FLOOR)),
        ("ready plant's floor", frontier(0.9)),
        ("fitted", frontier_fitted(day)),
    ):
        state = cooling(plant, day.it_kw, day.dry_bulb_c, day.wet_bulb_c)
        assert plant.loop is not None
        rows.append(
            [
                when,
                f"{plant.loop.facility_pump.flow_floor:.3f}",
                f"{day_pue(plant, day):.4f}",
                f"{day_pue(plant, day) - FRONTIER_PUE:+.4f}",
                f"{float(state.rack_pump_kw.mean()):.0f}",
                f"{float((state.pump_kw - state.rack_pump_kw).mean()):.0f}",
                f"{float((state.cooling_kw - state.pump_kw).mean()):.0f}",
            ]
        )
    head = [
        "plant",
        "flow floor",
        "PUE of the day",
        f"less {FRONTIER_PUE} (of a year)",
        f"rack pumps kW (published {FRONTIER_CDU_PUMP_KW:.0f}, not fitted)",
        "facility pumps kW",
        "fans and room kW",
    ]
    print(table(head, rows))
