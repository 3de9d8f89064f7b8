"""A backtest for people and for other programs: table, page, JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from planner.export.backtest_issued import ISSUED_HEADS, ISSUED_STATEMENT, issued_json, issued_rows
from planner.export.backtest_plans import PLAN_HEADS, plan_figures, plan_rows, plans_json, plans_statement
from planner.export.charts.frame import BLUE, GREEN, GREY, ORANGE, Figure, layout, value_axis
from planner.export.page import embedded, page
from planner.forecast.backtest import HORIZON_H, REFIT_DAYS
from planner.forecast.history import DAY_H
from planner.forecast.issued import BLEND, BOOSTED, NAIVE, told
from planner.forecast.lead_error import STATEMENT
from planner.forecast.spread import LEVELS, WINDOW
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.backtest_issued import AsIssued
    from planner.backtest_kept import Plans
    from planner.forecast.backtest import Backtest, Scored
    from planner.forecast_history import Past

SCHEMA = "gridpace.backtest/1"
_COLORS = {NAIVE: GREY, BLEND: ORANGE, BOOSTED: BLUE}
_DAYS = (1, 2, 3, 5, 7)
_PERCENT = ("mape_pct", "cover_50_pct", "cover_80_pct", "cover_90_pct")
HEADS = (
    "signal", "model", *(f"day {d}" for d in _DAYS), "mean", "MAE", "pinball", "CRPS", "80 % covers",
    "best 3 of 7 days", "best 84 of 168 h",
)  # fmt: skip
"""Columns of the table; those of days and their mean are the MAPE of carbon, else the MAE."""


def statement(found: Backtest) -> str:
    """Return what must be said beside the scores: what the models were given."""
    if not found.weather:
        return "weather input: none"
    return f"{STATEMENT}; the trees saw {', '.join(found.weather)}"


def _rows(found: Backtest) -> list[list[str]]:
    """Return the table's rows, one for each signal and model, as text."""
    return [_row(scored) for scored in found.scored]


def backtest_table(
    zone: str, past: Past, found: Backtest, plans: Plans | None = None, issued: Sequence[AsIssued] = ()
) -> list[str]:
    """Return what a backtest found, as lines of text.

    Args:
        zone: The zone.
        past: The past it was made on.
        found: What it found.
        plans: What its forecasts are worth to the planner, or None where nobody asked.
        issued: How providers did whose forecasts are kept.
    """
    lines = [
        _title(zone, found),
        *(f"{signal} in {past.series[signal].unit}" for signal in found.signals),
        "",
        *_aligned([HEADS, *_rows(found)]),
        "",
        f"Days and mean: MAPE in % of carbon, else MAE. {statement(found)}.",
    ]
    if issued:
        lines += ["", *_aligned([ISSUED_HEADS, *issued_rows(issued)]), "", f"{ISSUED_STATEMENT}."]
    if plans is None:
        return lines
    return [*lines, "", *_aligned([PLAN_HEADS, *plan_rows(plans)]), "", f"{plans_statement(plans)}."]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, the first two columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join([*left, *right]))
    return lines


def backtest_json(
    zone: str, past: Past, found: Backtest, plans: Plans | None = None, issued: Sequence[AsIssued] = ()
) -> bytes:
    """Return a backtest as JSON, every digit; arguments as for `backtest_table`."""
    document = {
        "schema": SCHEMA,
        "zone": zone,
        "first": iso(found.origins[0]),
        "last": iso(found.origins[-1]),
        "origins": len(found.origins),
        "horizon_h": HORIZON_H,
        "quantile_levels": list(LEVELS),
        "conformal_window": WINDOW,
        "refit_days": REFIT_DAYS,
        "weather_input": statement(found),
        "signals": {
            signal: {
                "unit": past.series[signal].unit,
                "basis": past.series[signal].basis,
                "source": past.series[signal].source,
            }
            for signal in found.signals
        },
        "scores": [_scores(scored, weather=bool(found.weather)) for scored in found.scored],
    }
    if past.told:
        document["labels"] = list(past.told)
    if issued:
        document["as_issued"] = {"statement": ISSUED_STATEMENT, "signals": issued_json(issued)}
    if plans is not None:
        document["planner"] = plans_json(plans)
    return json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"


def backtest_html(
    zone: str, past: Past, found: Backtest, plans: Plans | None = None, issued: Sequence[AsIssued] = ()
) -> bytes:
    """Return a backtest as a page that needs neither network nor server; arguments as for `backtest_table`."""
    return page(
        "backtest.html.j2",
        title=f"Forecasts of {zone} on past days",
        span=_title(zone, found),
        labels=(f"{statement(found)[0].upper()}{statement(found)[1:]}.", *past.told),
        heads=HEADS,
        rows=_rows(found),
        charts=[
            (signal, past.series[signal].unit, embedded(_lead_figure(found, signal, past.series[signal].unit)))
            for signal in found.signals
        ],
        issued_heads=ISSUED_HEADS,
        issued_rows=issued_rows(issued),
        issued_note=ISSUED_STATEMENT,
        plan_heads=PLAN_HEADS,
        plan_rows=[] if plans is None else plan_rows(plans),
        plan_note="" if plans is None else plans_statement(plans),
        plan_charts=[]
        if plans is None
        else [(weight, unit, embedded(figure)) for weight, unit, figure in plan_figures(plans)],
    )


def _lead_figure(found: Backtest, signal: str, unit: str) -> Figure:
    """Return the figure of one signal's error and coverage by lead day.

    Args:
        found: The backtest.
        signal: The signal.
        unit: Its unit.
    """
    days = [str(day + 1) for day in range(HORIZON_H // DAY_H)]
    data: list[dict[str, Any]] = []
    for scored in (s for s in found.scored if s.signal == signal):
        for values, axis, shown in ((scored.scores.mae, "y", True), (scored.scores.cover_80_pct, "y2", False)):
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": scored.model,
                    "x": days,
                    "y": _numbers(values),
                    "yaxis": axis,
                    "line": {"color": _COLORS[scored.model], "width": 2},
                    "hovertemplate": "%{y:.4~g}",
                    "showlegend": shown,
                }
            )
    aim = {"type": "scatter", "mode": "lines", "name": "80 %", "x": days, "y": [80] * len(days), "yaxis": "y2"}
    data.append({**aim, "line": {"color": GREEN, "dash": "dot", "width": 1.2}, "hoverinfo": "skip"})
    return {
        "data": data,
        "layout": layout(
            420,
            f"Mean absolute error of {signal} forecasts, and how often the 80 % interval holds, by day ahead",
            xaxis={"title": {"text": "day ahead"}, "type": "category", "fixedrange": True, "anchor": "y2",
                   "tickvals": days, "ticktext": days},
            yaxis=value_axis(f"MAE, {unit}", (0.46, 1.0), rangemode="tozero"),
            yaxis2=value_axis("covered, %", (0.0, 0.36)),
        ),
    }  # fmt: skip


def _title(zone: str, found: Backtest) -> str:
    first, last = found.origins[0], found.origins[-1]
    return f"{zone}: {len(found.origins)} daily forecasts of {HORIZON_H} h, from {first:%Y-%m-%d} to {last:%Y-%m-%d}"


def _row(scored: Scored) -> list[str]:
    scores = scored.scores
    error, digits = (scores.mape_pct, 1) if scored.signal == "carbon" else (scores.mae, 4)
    plain = f".{digits}f" if digits == 1 else f".{digits}g"
    return [
        scored.signal,
        scored.model,
        *(format(float(error[day - 1]), plain) for day in _DAYS),
        format(float(error.mean()), plain),
        f"{float(scores.mae.mean()):.4g}",
        f"{float(scores.pinball.mean()):.4g}",
        f"{float(scores.crps.mean()):.4g}",
        f"{float(scores.cover_80_pct.mean()):.1f} %",
        _share(scored.best_days_share),
        _share(scored.best_hours_share),
    ]


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:.0f} %"


def _scores(scored: Scored, *, weather: bool) -> dict[str, Any]:
    names = (*_PERCENT, "mae", "pinball", "crps")
    return {
        "signal": scored.signal,
        "model": scored.model,
        "version": told(scored.model, weather=weather),
        "best_3_of_7_days_share": scored.best_days_share,
        "best_84_of_168_h_share": scored.best_hours_share,
        "by_lead_day": {name: _numbers(getattr(scored.scores, name)) for name in names},
    }


def _numbers(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]
