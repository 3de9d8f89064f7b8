"""Grid intensity and price, and beneath them the power of the runs: when the site works hard, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.export.charts.frame import (
    BLUE,
    GREEN,
    GREY,
    MUTED,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
    Figure,
    TimeAxis,
    Trace,
    chart_text,
    layout,
    shorten,
    stacked_area,
    step_line,
    told_time,
    value_axis,
)
from planner.export.slots import run_power_kw

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.week import Week
    from trainer_hooks.contract import RunCalendar

SHADED = ("ci_gco2_per_kwh", "price_per_kwh")
"""Signals whose bands are drawn."""
BAND_LEVELS = (0.10, 0.90)
"""Quantiles between which a band is drawn."""
GREEN_HAZE = "rgba(0,158,115,0.22)"
VERMILLION_HAZE = "rgba(213,94,0,0.22)"
_RUN_COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW)


def grid_figure(week: Week, time: TimeAxis, runs: Sequence[RunCalendar], scale: tuple[float, str]) -> Figure:
    """Return the figure of carbon intensity, price and the power of the runs.

    Args:
        week: The inputs.
        time: The slots.
        runs: The windows of every run.
        scale: kW per shown unit of power and the unit's name.
    """
    signals = week.signals
    price_per_mwh = signals.price_per_kwh * 1000.0
    data: list[Trace] = [
        told_time(time, "y"),
        *_band(week, time, SHADED[0], GREEN_HAZE, "y", 1.0),
        *_band(week, time, SHADED[1], VERMILLION_HAZE, "y2", 1000.0),
        step_line(
            time,
            signals.ci_gco2_per_kwh,
            "Carbon intensity",
            GREEN,
            fill="tozeroy",
            fillcolor="rgba(0,158,115,0.18)",
            hovertemplate="%{y:.0f} g/kWh",
            showlegend=False,
        ),
        step_line(
            time,
            np.full(len(time.starts), signals.ci_gco2_per_kwh.mean()),
            "Mean of the week",
            MUTED,
            line={"dash": "dot", "width": 1.2},
            hoverinfo="skip",
            hovertemplate=None,
            showlegend=False,
        ),
        step_line(
            time,
            price_per_mwh,
            "Energy price",
            VERMILLION,
            yaxis="y2",
            hovertemplate=f"%{{y:.1f}} {week.prices.currency}/MWh",
            showlegend=False,
        ),
        *_run_areas(week, time, runs, scale),
    ]
    basis = signals.ci_basis
    return {
        "data": data,
        "layout": layout(
            560,
            "Carbon intensity of the grid, energy price, and the power of the runs beneath, by hour of the week",
            xaxis=time.axis(anchor="y3"),
            yaxis=value_axis(f"gCO2e/kWh ({basis})", (0.70, 1.0), rangemode="tozero"),
            yaxis2=value_axis(f"{week.prices.currency}/MWh", (0.42, 0.64)),
            yaxis3=value_axis(f"IT power, {scale[1]}", (0.0, 0.36), rangemode="tozero"),
        ),
    }


def _band(week: Week, time: TimeAxis, signal: str, color: str, axis: str, factor: float) -> list[Trace]:
    """Return the 10 to 90 % quantiles of a signal that was forecast here as an area; nothing where it was not."""
    for band in week.bands:
        if band.signal == signal:
            low, high = (band.quantiles[band.levels.index(level)] * factor for level in BAND_LEVELS)
            shared = {
                "yaxis": axis,
                "line": {"width": 0},
                "showlegend": False,
                "hoverinfo": "skip",
                "hovertemplate": None,
            }
            return [
                step_line(time, low, "10 %", color, **shared),
                step_line(time, high, "90 %", color, fill="tonexty", fillcolor=color, **shared),
            ]
    return []


def _run_areas(week: Week, time: TimeAxis, runs: Sequence[RunCalendar], scale: tuple[float, str]) -> list[Trace]:
    by_energy = sorted(
        ((run.run, run_power_kw(run, week.grid)) for run in runs), key=lambda item: -float(item[1].sum())
    )
    shown = [(name, power) for name, power in by_energy if power.any()]
    named = shown if len(shown) <= len(_RUN_COLORS) else shown[: len(_RUN_COLORS) - 1]
    rest = shown[len(named) :]
    areas = [
        _area(time, power, chart_text(shorten(name)), color, scale)
        for (name, power), color in zip(named, _RUN_COLORS, strict=False)
    ]
    if rest:
        areas.append(_area(time, np.sum([power for _, power in rest], axis=0), f"{len(rest)} other runs", GREY, scale))
    return areas


def _area(time: TimeAxis, power_kw: npt.NDArray[np.float64], name: str, color: str, scale: tuple[float, str]) -> Trace:
    factor, unit = scale
    return stacked_area(time, power_kw / factor, name, color, "runs", yaxis="y3", hovertemplate=f"%{{y:,.3~g}} {unit}")
