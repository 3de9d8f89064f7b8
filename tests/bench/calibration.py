"""Hidden settings recovered, and the public points of Summit and Frontier beside the plant before and after the fit."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests import published_plants as public
from tests.bench.machine import describe, table
from tests.conftest import NO_SHARED_DATA, SHARED_DATA
from tests.drawn_plants import CASES, DRAWN_WITHIN, drawing
from thermal.calibrate import Calibration, Score, calibrate, check_balance, scores
from thermal.calibrate.balance import EnergyBalanceError
from thermal.calibrate.calibration import held_out
from thermal.calibrate.score import PARTS
from thermal.plant import cooling

ASKED_SETTING_PCT, ASKED_CV_RMSE_PCT, ASKED_NMBE_PCT = 5.0, 2.7, 2.5


class Found(NamedTuple):
    """What one drawing came to.

    Args:
        hidden: The settings that were drawn.
        calibration: What was found.
        truth: Score of the plant as it is on the days not fitted, the driving sensors' true errors known.
        took_s: Time of the fit.
    """

    hidden: Mapping[str, float]
    calibration: Calibration
    truth: Score
    took_s: float

    @property
    def before(self) -> Score:
        """Score of the site's own values on the days not fitted."""
        assert self.calibration.held_out is not None
        return parts_of(self.calibration.held_out.before)

    @property
    def after(self) -> Score:
        """Score of the fitted values on the days not fitted."""
        assert self.calibration.held_out is not None
        return parts_of(self.calibration.held_out.after)

    @property
    def errors_pct(self) -> dict[str, float]:
        """Error of each setting, %."""
        return {
            e.known.setting: 100.0 * (e.value / self.hidden[e.known.setting] - 1.0) for e in self.calibration.estimates
        }

    @property
    def within_pct(self) -> dict[str, float]:
        """Half the 95 % interval of each setting over its value, %."""
        return {e.known.setting: 100.0 * e.within / e.value for e in self.calibration.estimates}


def main(arguments: list[str]) -> None:
    """Print the tables; --seeds N draws each plant N times, --minutes M has a reading every M minutes."""
    parser = argparse.ArgumentParser(prog="calibration")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--minutes", type=int, default=5)
    asked = parser.parse_args(arguments)
    print(describe(), end="\n\n")
    _print_recovery({kind: _drawn(kind, asked.seeds, asked.minutes) for kind in CASES}, asked.minutes)
    _print_summit()
    _print_frontier(SHARED_DATA)


def parts_of(found: tuple[Score, ...]) -> Score:
    """Return the score of the sum of metered pumps, fans and compressors."""
    return next(s for s in found if s.signal == PARTS)


def _drawn(kind: str, seeds: int, minutes: int) -> list[Found]:
    found = []
    for seed in range(1, seeds + 1):
        drawn = drawing(CASES[kind], seed, minutes)
        began = time.perf_counter()
        calibration = calibrate(drawn.site, drawn.telemetry)
        took_s = time.perf_counter() - began
        not_fitted = drawn.telemetry.at(held_out(drawn.telemetry.days))
        truth = parts_of(scores(drawn.truth, not_fitted, sensor_errors=drawn.wear))
        found.append(Found(drawn.hidden, calibration, truth, took_s))
    return found


def _print_recovery(found: dict[str, list[Found]], minutes: int) -> None:
    seeds = len(next(iter(found.values())))
    print(
        f"28 days of readings every {minutes} min, 21 fitted, 7 held out; {seeds} drawings of hidden settings (within\n"
        f"{100 * DRAWN_WITHIN:g} %), instruments' errors (within their classes), noise, load and weather:\n"
    )
    rows = []
    for kind, drawn in found.items():
        for name, about in CASES[kind].hidden.items():
            errors, within = ([getattr(f, what)[name] for f in drawn] for what in ("errors_pct", "within_pct"))
            inside = sum(abs(e) <= w for e, w in zip(errors, within, strict=True))
            told = sum(e.told for f in drawn for e in f.calibration.estimates if e.known.setting == name)
            worst = f"{max(errors, key=abs):+.1f} %"
            rows.append([kind, name, f"{about:g}", worst, f"{max(within):.1f} %", f"{inside}", f"{told}"])
    head = ["plant", "hidden setting", "about", "largest error", "widest +-", f"within it, of {seeds}", "identified"]
    print(table(head, rows), end="\n\n")
    print("Sum of metered pumps, fans and compressors by the hour, on days not fitted (CV-RMSE):\n")
    head = ["plant", "before, median", "fitted, median", "fitted, worst", "true plant, worst", "noise alone, worst"]
    rows = []
    for kind, drawn in found.items():
        fitted, true, noise = (
            [s.cv_rmse_pct for s in (f.after for f in drawn)],
            [f.truth.cv_rmse_pct for f in drawn],
            [f.after.floor_pct for f in drawn],
        )
        median = [f"{np.median(values):.2f} %" for values in ([f.before.cv_rmse_pct for f in drawn], fitted)]
        worst = [f"{max(values):.2f} %" for values in (fitted, true, noise)]
        rows.append([kind, *median, *worst, f"{max(f.took_s for f in drawn):.1f}"])
    print(table([*head, "longest s"], rows), end="\n\n")
    _print_asked([f for drawn in found.values() for f in drawn])


def _print_asked(found: list[Found]) -> None:
    worst_setting = max((e for f in found for e in f.errors_pct.values()), key=abs)
    claimed = max(
        (f.errors_pct[e.known.setting] for f in found for e in f.calibration.estimates if e.told), key=abs, default=0.0
    )
    inside = [abs(e) <= f.within_pct[name] for f in found for name, e in f.errors_pct.items()]
    cv, nmbe = max(f.after.cv_rmse_pct for f in found), max((f.after.nmbe_pct for f in found), key=abs)
    true_cv, true_nmbe = max(f.truth.cv_rmse_pct for f in found), max((f.truth.nmbe_pct for f in found), key=abs)
    rows = [
        ["hidden settings", f"within {ASKED_SETTING_PCT:g} %", f"{worst_setting:+.1f} %", "-"],
        ["those that it claims to identify", f"within {ASKED_SETTING_PCT:g} %", f"{claimed:+.1f} %", "-"],
        ["truths inside the 95 % intervals", "95 %", f"{100 * np.mean(inside):.0f} % of {len(inside)}", "-"],
        ["CV-RMSE on days not fitted", f"< {ASKED_CV_RMSE_PCT:g} %", f"{cv:.2f} %", f"{true_cv:.2f} %"],
        ["NMBE on days not fitted", f"within {ASKED_NMBE_PCT:g} %", f"{nmbe:+.2f} %", f"{true_nmbe:+.2f} %"],
    ]
    print(table(["worst of all drawings", "asked", "measured", "the true plant's own"], rows), end="\n\n")


def _print_summit() -> None:
    print("Summit, 2020-01-31, chillers only. The point as it stands is refused:\n")
    try:
        check_balance(public.summit(), public.summit_readings(), public.NO_TOWERS)
    except EnergyBalanceError as error:
        print(f"  {error}\n")
    rows = []
    for name, reading in (("power meters", public.summit_by_power), ("flow and temperatures", public.summit_by_heat)):
        told, found = reading()
        it_kw = float(told["it_power_kw"][0])
        for when, plant in (("uncalibrated", public.summit()), ("fitted", found.plant)):
            state = public.summit_state(plant, told)
            assert plant.loop is not None
            rows.append(
                [
                    name,
                    when,
                    f"{it_kw:,.0f}",
                    f"{plant.loop.facility_rise_k:.1f}",
                    f"{plant.loop.chiller.min_lift_k:.1f}",
                    f"{1.0 + float(state.cooling_kw[0]) / it_kw - public.SUMMIT_PUE:+.4f}",
                    f"{float(state.facility_supply_temp_c[0]) - public.SUMMIT_SUPPLY_C:+.2f}",
                    f"{float(state.return_temp_c[0]) - public.SUMMIT_RETURN_C:+.2f}",
                    f"{float(state.chiller_heat_kw[0] / state.chiller_kw[0]):.2f}",
                ]
            )
    head = [
        "believed",
        "plant",
        "IT kW",
        "facility_rise_k",
        "chiller_min_lift_k",
        f"PUE - {public.SUMMIT_PUE}",
        "supply error K",
        "return error K",
        f"chiller COP (published {public.SUMMIT_CHILLER_COP:.2f}, not fitted)",
    ]
    print(table(head, rows), end="\n\n")


def _print_frontier(folder: Path) -> None:
    print("Frontier, 2024-04-07, towers only; the wet bulb is in deg C (2.9 to 13.2 cannot be K):\n")
    if not folder.is_dir():
        print(f"  left out: {NO_SHARED_DATA}\n")
        return
    day = public.frontier_day(folder)
    rows = []
    for when, plant in (
        ("affinity laws", public.frontier(public.FOLLOWING_FLOOR)),
        ("ready plant's floor", public.frontier(0.9)),
        ("fitted", public.frontier_fitted(day)),
    ):
        state = cooling(plant, day.it_kw, day.dry_bulb_c, day.wet_bulb_c)
        assert plant.loop is not None
        rows.append(
            [
                when,
                f"{plant.loop.facility_pump.flow_floor:.3f}",
                f"{public.day_pue(plant, day):.4f}",
                f"{public.day_pue(plant, day) - public.FRONTIER_PUE:+.4f}",
                f"{float(state.rack_pump_kw.mean()):.0f}",
                f"{float((state.pump_kw - state.rack_pump_kw).mean()):.0f}",
                f"{float((state.cooling_kw - state.pump_kw).mean()):.0f}",
            ]
        )
    head = [
        "plant",
        "flow floor",
        "PUE of the day",
        f"less {public.FRONTIER_PUE} (of a year)",
        f"rack pumps kW (published {public.FRONTIER_CDU_PUMP_KW:.0f}, not fitted)",
        "facility pumps kW",
        "fans and room kW",
    ]
    print(table(head, rows))
