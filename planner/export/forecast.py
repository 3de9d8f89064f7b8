"""A zone's forecast for people and for other programs: table, page, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from planner.export.charts.frame import BLUE, Figure, TimeAxis, Trace, layout, step_line, told_time, value_axis
from planner.export.page import embedded, page
from planner.forecast.history import DAY_H, MARGINAL
from planner.forecast.spread import LEVELS
from planner.timegrid import iso
from planner.zone_series import SPOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from planner.zone_forecast import Told, ZoneForecast

SCHEMA = "gridpace.forecast/1"
COLUMNS = ("t_start", "signal", "unit", "basis", "point", *(f"q{round(100 * level):02d}" for level in LEVELS))
"""Columns of the table file: one row per signal and hour; quantiles are empty where too little is known of errors."""
_DIGITS = 6
_HAZES = ((LEVELS[0], LEVELS[-1], "rgba(0,114,178,0.15)"), (LEVELS[2], LEVELS[-3], "rgba(0,114,178,0.25)"))


def spoken(name: str) -> str:
    """Return a signal's name for people, such as "solar yield of hall-1"."""
    kind, _, block = name.partition(":")
    return f"{SPOKEN[kind]} of {block}" if block else SPOKEN[kind]


def forecast_json(found: ZoneForecast) -> bytes:
    """Return a forecast as JSON, with quantiles and joint paths."""
    document = {
        "schema": SCHEMA,
        "zone": found.zone,
        "origin": iso(found.origin),
        "horizon_h": found.horizon_h,
        "quantile_levels": list(LEVELS),
        "labels": list(found.labels),
        "signals": {name: _signal(name, told) for name, told in found.signals.items()},
    }
    return json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"


def _signal(name: str, told: Told) -> dict[str, Any]:
    ahead = told.ahead
    return {
        "name": spoken(name),
        "unit": told.unit,
        "basis": told.basis,
        "marginal": name == MARGINAL,
        "source": told.source,
        "licence": told.licence,
        "model": ahead.model,
        "past_days": told.past_days,
        "provider_until": None if told.provider_until is None else iso(told.provider_until),
        "provider_shift": told.shift,
        "point": _rounded(ahead.point),
        "quantiles": None if ahead.quantiles is None else [_rounded(row) for row in ahead.quantiles],
        "paths": None if ahead.paths is None else [_rounded(row) for row in ahead.paths],
    }


def _rounded(values: npt.NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]


def forecast_csv(found: ZoneForecast) -> bytes:
    """Return a forecast as a table with the columns COLUMNS, UTF-8."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for name, told in found.signals.items():
        point, quantiles = _rounded(told.ahead.point), told.ahead.quantiles
        unknown: list[Sequence[str | float]] = [[""] * len(LEVELS)] * len(point)
        rows = unknown if quantiles is None else [_rounded(row) for row in quantiles.T]
        for start, value, levels in zip(found.starts, point, rows, strict=True):
            table.writerow([iso(start), name, told.unit, told.basis, value, *levels])
    return out.getvalue().encode()


def forecast_table(found: ZoneForecast) -> list[str]:
    """Return a forecast as lines of text: the mean of each day ahead, and within what eight of ten hours lie."""
    heads, rows = table_rows(found)
    lines = [heads, *rows]
    widths = [max(len(row[i]) for row in lines) for i in range(len(heads))]
    told = [title(found), ""]
    told += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in lines]
    return told


def title(found: ZoneForecast) -> str:
    """Return what the forecast is of."""
    return f"{found.zone}: {found.horizon_h} h from {iso(found.origin)}"


def table_rows(found: ZoneForecast) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the table: one row per signal, with its mean of each whole day ahead."""
    n_days = found.horizon_h // DAY_H
    heads = ["signal", "unit", *(f"day {day + 1}" for day in range(n_days)), "10 to 90 %", "model", "made from"]
    return heads, [_row(name, told, n_days) for name, told in found.signals.items()]


def _row(name: str, told: Told, n_days: int) -> list[str]:
    ahead = told.ahead
    days = [float(ahead.point[day * DAY_H : (day + 1) * DAY_H].mean()) for day in range(n_days)]
    span = "-"
    if ahead.quantiles is not None:
        low, high = (float(ahead.quantiles[LEVELS.index(level)].mean()) for level in (0.10, 0.90))
        span = f"{low:.4g} to {high:.4g}"
    unit = f"{told.unit} ({told.basis})" if told.basis else told.unit
    until = "" if told.provider_until is None else f", the source's own until {iso(told.provider_until)}"
    return [
        spoken(name), unit, *(f"{day:.4g}" for day in days), span, ahead.model, f"{told.past_days} days{until}"
    ]  # fmt: skip


def forecast_html(found: ZoneForecast) -> bytes:
    """Return a forecast as a page that needs neither network nor server."""
    heads, rows = table_rows(found)
    return page(
        "forecast.html.j2",
        title=f"Forecast of {found.zone}",
        span=title(found),
        labels=found.labels,
        heads=heads,
        rows=rows,
        charts=[
            (spoken(name), told.unit, told.basis, _sentence(told), embedded(_figure(found, name, told)))
            for name, told in found.signals.items()
        ],
    )


def _sentence(told: Told) -> str:
    said = f"{told.ahead.model}, made from {told.past_days} days of {told.source}"
    if told.provider_until is not None:
        said += f"; until {iso(told.provider_until)} the source's own forecast leads"
    if told.shift:
        said += f", corrected by {told.shift:+.3g} {told.unit}"
    return f"{said}. Licence: {told.licence}."


def _figure(found: ZoneForecast, name: str, told: Told) -> Figure:
    time = TimeAxis(found.starts, found.starts[-1] + (found.starts[1] - found.starts[0]), ZoneInfo(str(UTC)))
    data: list[Trace] = [told_time(time, "y")]
    if told.ahead.quantiles is not None:
        data += [trace for haze in _HAZES for trace in _span(time, told.ahead.quantiles, *haze)]
    data.append(step_line(time, told.ahead.point, "expected", BLUE))
    basis = f", {told.basis}" if told.basis else ""
    return {
        "data": data,
        "layout": layout(
            320,
            f"Forecast of the {spoken(name)} by hour, with the spans within which half and nine tenths are expected",
            xaxis=time.axis(),
            yaxis=value_axis(f"{told.unit}{basis}", (0.0, 1.0)),
        ),
    }


def _span(time: TimeAxis, quantiles: npt.NDArray[np.float64], low: float, high: float, haze: str) -> list[Trace]:
    label = f"{100 * low:g} to {100 * high:g} %"
    edge: Trace = {"line": {"width": 0}, "hoverinfo": "skip", "hovertemplate": None, "legendgroup": label}
    below, above = (step_line(time, quantiles[LEVELS.index(level)], label, haze, **edge) for level in (low, high))
    return [below | {"showlegend": False}, above | {"fill": "tonexty", "fillcolor": haze}]
