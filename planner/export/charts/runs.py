"""The calendar of runs: one row per run, its windows shaded by power limit, with deadlines and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.export import wording
from planner.export.charts.frame import (
    BLACK,
    GREY,
    INK,
    VERMILLION,
    Figure,
    TimeAxis,
    Trace,
    chart_text,
    layout,
    shorten,
)
from planner.export.spells import spells
from planner.timegrid import iso

if TYPE_CHECKING:
    from datetime import datetime

    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar, Window

# Light to dark blue, read alike in greyscale: share of the full power limit in %, red, green, blue.
_SHADES = ((40, 207, 225, 242), (70, 90, 160, 208), (100, 11, 74, 130))
_ROW_PX = 28


def runs_figure(week: Week, calendar: Calendar, runs: Sequence[RunCalendar], time: TimeAxis) -> Figure:
    """Return the calendar of runs.

    Args:
        week: The inputs, for deadlines and operating points.
        calendar: The header, for promises not kept.
        runs: The windows of every run.
        time: The slots.
    """
    rows = {run.run: i for i, run in enumerate(runs)}
    names = [run.run for run in runs]
    height_px = _ROW_PX * max(len(runs), 3)
    return {
        "data": [
            _windows(week, runs, rows),
            _holds(week, runs, rows),
            _checkpoints(week, runs, rows),
            *_deadlines(week, calendar, rows),
        ],
        "layout": layout(
            height_px + 96,
            "Calendar of the runs: when each trains, how hard, its checkpoints and deadlines",
            hovermode="closest",
            xaxis=time.axis(side="bottom"),
            yaxis={
                "tickmode": "array",
                "tickvals": list(rows.values()),
                "ticktext": [chart_text(shorten(name)) for name in names],
                "range": [len(runs) - 0.4, -0.6],
                "gridcolor": "#f0f2f5",
                "zeroline": False,
                "automargin": True,
                "fixedrange": True,
            },
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -70 / height_px, "yanchor": "top"},
            barmode="overlay",
        ),
    }


def _windows(week: Week, runs: Sequence[RunCalendar], rows: dict[str, int]) -> Trace:
    found = [(run, window) for run in runs for window in run.windows if window.state == "run"]
    return _bars(
        [(rows[run.run], window) for run, window in found],
        "Trains",
        [_told(week, run.run, window) for run, window in found],
        {
            "color": [_shade(_share_of_full(week, run.run, window)) for run, window in found],
            "line": {"width": 0.5, "color": "#ffffff"},
        },
        showlegend=False,
    )


def _holds(week: Week, runs: Sequence[RunCalendar], rows: dict[str, int]) -> Trace:
    found = [(run, window) for run in runs for window in run.windows if window.state == "hold"]
    return _bars(
        [(rows[run.run], window) for run, window in found],
        "Holds its GPUs",
        [_told(week, run.run, window) for run, window in found],
        {"color": GREY, "pattern": {"shape": "/", "fgcolor": INK, "size": 5}},
        showlegend=bool(found),
    )


def _bars(placed: list[tuple[int, Window]], name: str, told: list[str], marker: Trace, *, showlegend: bool) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [row for row, _ in placed],
        "base": [iso(window.start) for _, window in placed],
        "x": [(window.end - window.start) / timedelta(milliseconds=1) for _, window in placed],
        "width": 0.72,
        "marker": marker,
        "hovertext": told,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": showlegend,
    }


def _told(week: Week, run: str, window: Window) -> str:
    lines = [
        f"<b>{chart_text(run)}</b>",
        f"{wording.local(window.start, week.tz)} to {wording.local(window.end, week.tz)}",
        f"{wording.count(window.gpus)} GPUs in {chart_text(str(window.pool))}",
    ]
    if window.gpu_power_limit_w is not None:
        lines.append(f"limit {wording.number(window.gpu_power_limit_w)} W per GPU")
    lines.append(f"{wording.tokens(window.tokens)} tokens, {wording.energy(window.energy_kwh)}")
    return "<br>".join(lines)


def _share_of_full(week: Week, run: str, window: Window) -> float:
    """Return a window's power limit as a share of the highest its run may use in its pool, %."""
    if window.gpu_power_limit_w is None:
        return 100.0
    options = {option.pool: option for option in week.run(run).options}
    full_w = options[str(window.pool)].points[-1].gpu_power_limit_w
    return round(100.0 * window.gpu_power_limit_w / full_w, 2)


def _shade(share_pct: float) -> str:
    stops = [stop[0] for stop in _SHADES]
    channels = (round(float(np.interp(share_pct, stops, [stop[i] for stop in _SHADES]))) for i in (1, 2, 3))
    return f"rgb({','.join(map(str, channels))})"


def shade_scale() -> tuple[str, str, str]:
    """Return the scale of the shades for the page: its low end, its high end, and the CSS gradient between them."""
    low, high = _SHADES[0][0], _SHADES[-1][0]
    stops = ", ".join(f"{_shade(stop[0])} {100 * (stop[0] - low) // (high - low)}%" for stop in _SHADES)
    return f"{low} %", f"{high} %", f"linear-gradient(90deg, {stops})"


def _checkpoints(week: Week, runs: Sequence[RunCalendar], rows: dict[str, int]) -> Trace:
    saved = [(rows[run.run], spell.end) for run in runs for spell in spells(run) if spell.saves_at_end]
    return _marks(
        week,
        saved,
        "Checkpoint",
        ["checkpoint"] * len(saved),
        {"symbol": "line-ns", "size": 13, "line": {"width": 2.5, "color": INK}},
    )


def _deadlines(week: Week, calendar: Calendar, rows: dict[str, int]) -> list[Trace]:
    missed = {(short.run, short.stage) for short in calendar.shortfalls}
    kept_at: list[tuple[int, datetime, str]] = []
    missed_at: list[tuple[int, datetime, str]] = []
    for run in week.runs:
        for stage in run.stages:
            if run.name not in rows or not week.grid.start <= stage.deadline <= week.grid.end:
                continue
            place = missed_at if (run.name, stage.name) in missed else kept_at
            place.append((rows[run.name], stage.deadline, f"{chart_text(stage.name)} due"))
    return [
        _marks(
            week,
            [(row, t) for row, t, _ in found],
            name,
            [text for *_, text in found],
            {"symbol": symbol, "size": 10, "color": color, "line": {"width": 1.2, "color": edge}},
        )
        for found, name, symbol, color, edge in (
            (kept_at, "Deadline kept", "diamond", "#ffffff", BLACK),
            (missed_at, "Deadline not kept", "x", VERMILLION, VERMILLION),
        )
        if found
    ]


def _marks(week: Week, placed: list[tuple[int, datetime]], name: str, told: list[str], marker: Trace) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [iso(t) for _, t in placed],
        "y": [row for row, _ in placed],
        "marker": marker,
        "hovertext": [f"{text}<br>{wording.local(t, week.tz)}" for text, (_, t) in zip(told, placed, strict=True)],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "cliponaxis": False,
        "showlegend": bool(placed),
    }
