"""Week-ahead forecasts of carbon intensity and price on the real traces, beside what their reference scored.

Test year 2024, daily origins, 168 h ahead; fits see what lies before them alone. Every seventh day a week of
`data/sites/week-ahead.toml` is planned on each forecast and on what came, and judged on what came. Weather as it would
have been issued is not kept anywhere: it is the archive plus a synthetic error that grows with lead, as in the
reference.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.backtest_plans import plan_both, planned
from planner.backtest_pool import in_processes
from planner.config import site_from_text
from planner.export.backtest_plans import PLAN_HEADS, plan_rows, plans_statement
from planner.forecast.backtest import HORIZON_H, Scored, backtest
from planner.forecast.history import History
from planner.forecast.issued import MODELS, issue
from planner.forecast.lead_error import STATEMENT
from planner.forecast.zone import forecast_zone
from tests.bench.machine import describe, table
from tests.forecasts import scored

if TYPE_CHECKING:
    from planner.config import Site

TRACES = Path(__file__).resolve().parents[3] / "shared" / "data" / "grid"
SITE = Path(__file__).resolve().parents[2] / "data/sites/week-ahead.toml"
ZONES = {"DE-LU": "DE-LU", "CISO": "US-CAL-CISO", "ERCOT": "US-TEX-ERCO", "PJM": "US-MIDA-PJM", "GB": "GB"}
REFERENCE = {"DE-LU": (25.8, 65), "CISO": (15.8, 44), "ERCOT": (16.4, 56), "PJM": (5.0, 62), "GB": (32.9, 66)}
"""Zone -> MAPE in % and share of the saving by the best 3 of 7 days in % of the reference's trees with weather."""
MAPE_SLACK, SHARE_SLACK, COVER = 0.5, 3, (77.0, 83.0)
CURRENCY = {"DE-LU": "EUR", "GB": "GBP"}
"""Of a zone's prices; those of all others are in US dollars."""
DEMOS = {"EUR": "demo-central", "GBP": "demo-north-sea", "USD": "demo-sunbelt"}
"""Demo zone that a site file in this currency may name; no plan here takes anything from it."""
EVERY_DAYS = 7
LONGEST_S = 300
"""Of a zone's whole backtest on two cores, with its plans."""
FIRST, LAST = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 24, tzinfo=UTC)


def trace(zone: str) -> History:
    """Return the trace of a zone."""
    rows = pd.read_csv(TRACES / f"{ZONES[zone]}_2021-2024_hourly.csv.gz")
    signals = {
        "carbon": rows.ci_lca_g_per_kwh,
        "dry_bulb": rows.temp_c,
        "wet_bulb": rows.wetbulb_c_stull,
        "wind_speed_10m": rows.wind10_kmh / 3.6,
        "cloud_cover": rows.cloud_pct,
    }
    if "price_per_mwh" in rows:
        signals["price"] = rows.price_per_mwh / 1000.0
    start = datetime.fromisoformat(rows.utc_start.iloc[0])
    hours = {name: column.to_numpy(dtype=float) for name, column in signals.items()}
    missing = np.any([np.isnan(values) for values in hours.values()], axis=0)
    whole = ~np.logical_or.reduceat(missing, np.arange(0, len(missing), 24))
    first = 24 * int(np.argmax(whole))  # some prices begin in local time, some hours late
    return History(start + timedelta(hours=first), {name: values[first:].copy() for name, values in hours.items()})


def line(zone: str, scored: Scored) -> list[str]:
    """Return one row of the table."""
    scores = scored.scores
    carbon = scored.signal == "carbon"
    days = scores.mape_pct if carbon else 1000.0 * scores.mae
    factor = 1.0 if carbon else 1000.0
    return [
        zone,
        scored.signal,
        scored.model,
        " / ".join(f"{v:.1f}" for v in (days[0], days[6], days.mean())),
        f"{factor * scores.mae.mean():.1f}",
        f"{factor * scores.pinball.mean():.2f}",
        f"{factor * scores.crps.mean():.2f}",
        f"{scores.cover_80_pct.mean():.1f}",
        f"{100 * (scored.best_days_share or 0.0):.0f}",
        f"{100 * (scored.best_hours_share or 0.0):.0f}",
    ]


def verdict(zone: str, scored: Scored) -> str:
    """Return how the trees' carbon intensity does beside the reference."""
    mape, share = float(scored.scores.mape_pct.mean()), 100 * (scored.best_days_share or 0.0)
    cover = float(scored.scores.cover_80_pct.mean())
    wanted, kept = REFERENCE[zone]
    good = mape <= wanted + MAPE_SLACK and share >= kept - SHARE_SLACK and COVER[0] <= cover <= COVER[1]
    return (
        f"{zone}: MAPE {mape:.1f} % (at most {wanted + MAPE_SLACK:.1f}), best 3 of 7 days {share:.0f} % (at least "
        f"{kept - SHARE_SLACK}), 80 % interval covers {cover:.1f} % ({COVER[0]:g} to {COVER[1]:g}): "
        f"{'kept' if good else 'NOT KEPT'}"
    )


def site_in(currency: str) -> Site:
    """Return the reference site with its money in a currency."""
    text = SITE.read_text(encoding="utf-8")
    for key, in_euros, here in (("currency", "EUR", currency), ("zone", DEMOS["EUR"], DEMOS[currency])):
        text = text.replace(f'{key} = "{in_euros}"', f'{key} = "{here}"')
    return site_from_text(text, SITE)


def seconds_of_one(history: History) -> float:
    """Return how long a zone takes to be fitted and forecast with 100 scenarios, s."""
    at = history.position(LAST)
    known = {
        name: series[: at + (HORIZON_H if name in history.weather else 0)] for name, series in history.signals.items()
    }
    longest = max(map(len, known.values()))
    values = {
        name: np.pad(series, (0, longest - len(series)), constant_values=np.nan) for name, series in known.items()
    }
    began = time.perf_counter()
    forecast_zone(History(history.start, values), [s for s in ("carbon", "price", "dry_bulb") if s in values], LAST)
    return time.perf_counter() - began


def processor_s() -> float:
    """Return the processor time that this process and those that it waited for have used, s."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="forecast")
    parser.add_argument("--zones", nargs="+", choices=ZONES, default=list(ZONES))
    parser.add_argument("--days", type=int, default=(LAST - FIRST) // timedelta(days=1) + 1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the errors laid on the weather")
    asked = parser.parse_args(arguments)
    if not TRACES.is_dir():
        raise SystemExit("the real traces (shared/data/grid) are not beside the checkout")
    print(describe(), end="\n\n")
    rows, worth, told, stated = [], [], [], ""
    last = FIRST + timedelta(days=asked.days - 1)
    for zone in asked.zones:
        history = trace(zone)
        signals = [s for s in ("carbon", "price") if s in history.signals]
        began, began_processor_s = time.perf_counter(), processor_s()
        found = backtest(
            history, signals, FIRST, last, in_processes(issue, asked.jobs, lambda *_: None), seed=asked.seed
        )
        forecast_s = time.perf_counter() - began
        plans = planned(
            site_in(CURRENCY.get(zone, "USD")),
            history,
            "lifecycle",
            found,
            EVERY_DAYS,
            in_processes(plan_both, asked.jobs, lambda *_: None),
            seed=asked.seed,
        )
        whole_s = time.perf_counter() - began
        used_s = processor_s() - began_processor_s
        n_weeks = len({week.origin for week in plans.weeks})
        stated = plans_statement(replace(plans, left_out=0))
        rows += [line(zone, scored(found, signal, model)) for signal in signals for model in MODELS]
        worth += [[zone, *row] for row in plan_rows(plans)]
        told.append(
            f"{verdict(zone, scored(found, 'carbon', MODELS[-1]))}; backtest of {len(found.origins)} origins in "
            f"{forecast_s:.0f} s, with plans of {n_weeks} weeks ({plans.left_out} left out) in {whole_s:.0f} s "
            f"(at most {LONGEST_S}; {asked.jobs} processes, {used_s:.0f} s of processor time); one forecast of "
            f"{len(signals) + 1} signals with 100 scenarios in "
            f"{seconds_of_one(history):.1f} s"
        )
    print(
        table(
            [
                "zone", "signal", "model", "MAPE (carbon, %) or MAE (price, per MWh): day 1 / day 7 / mean", "MAE",
                "pinball", "CRPS", "80 % covers, %", "best 3 of 7 days, %", "best 84 of 168 h, %",
            ],
            rows,
        )
    )  # fmt: skip
    print("\n" + table(["zone", *PLAN_HEADS], worth))
    print("\n" + "\n".join(told) + f"\n\n{STATEMENT}.\n\n{stated}.")
