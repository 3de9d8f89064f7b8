"""The page's figures: the week as planned, with what telemetry reports of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.export.charts.frame import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    SKY,
    VERMILLION,
    TimeAxis,
    layout,
    power_scale,
    stacked_area,
    step_line,
    told_time,
    value_axis,
)
from planner.service.live.hours import HOUR, Sums, hours_between, planned
from planner.service.live.view import measured_series
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.export.charts.frame import Figure, Trace
    from planner.service.live.look import Look

_HEIGHT_PX = 300


def figures(look: Look, view: str, hour: datetime) -> tuple[Figure, ...]:
    """Return the figures of a view, none where no calendar is in force.

    Args:
        look: What is shown.
        view: One of `VIEWS`.
        hour: Start of the hour that is marked, UTC.
    """
    if look.calendar is None:
        return ()
    hours = hours_between(look.calendar.valid_from, look.calendar.valid_until)
    time = TimeAxis(hours, hours[-1] + HOUR, look.tz)
    plan = [sum((planned(run, start, start + HOUR) for run in look.runs), Sums()) for start in hours]
    found = measured_series(look, hours)
    power = _power(time, hour, plan, found)
    if view == "sustainability":
        return (_carbon(time, hour, plan, found), power)
    if view == "training":
        return (_efficiency(time, hour, plan, found), power)
    return (_site(look, hour), _cooling(look, hour))


def _power(time: TimeAxis, hour: datetime, plan: Sequence[Sums], found: Sequence[Sums | None]) -> Figure:
    scale, unit = power_scale(max(one.energy_kwh for one in plan))
    return _pair(
        time,
        hour,
        ("IT power", unit),
        [one.energy_kwh / scale for one in plan],
        [None if one is None else one.energy_kwh / scale for one in found],
    )


def _carbon(time: TimeAxis, hour: datetime, plan: Sequence[Sums], found: Sequence[Sums | None]) -> Figure:
    return _pair(
        time,
        hour,
        ("Carbon an hour", "kg CO2e"),
        [one.carbon_kg for one in plan],
        [None if one is None else one.carbon_kg for one in found],
    )


def _efficiency(time: TimeAxis, hour: datetime, plan: Sequence[Sums], found: Sequence[Sums | None]) -> Figure:
    return _pair(
        time,
        hour,
        ("Useful tokens per joule", "tokens/J"),
        [one.tokens_per_joule for one in plan],
        [None if one is None else one.tokens_per_joule for one in found],
        is_filled=False,
    )


def _pair(
    time: TimeAxis,
    hour: datetime,
    what: tuple[str, str],
    plan: Sequence[float | None],
    found: Sequence[float | None],
    *,
    is_filled: bool = True,
) -> Figure:
    name, unit = what
    fill = {"fill": "tozeroy", "fillcolor": "rgba(86,180,233,0.25)"} if is_filled else {"line": {"width": 2.4}}
    lines = [
        told_time(time, "y"),
        step_line(time, _numbers(plan), "planned", SKY, **fill),
        step_line(time, _numbers(found), "measured", VERMILLION, line={"width": 2.4}),
    ]
    return _figure(time, hour, lines, f"{name} of each hour, planned and measured", {"yaxis": f"{name}, {unit}"})


def _site(look: Look, hour: datetime) -> Figure:
    time, blocks = _slots(look), _blocks(look)
    sums = {name: np.sum([getattr(block, name) for block in blocks], axis=0) for name in ("it_kw", "cooling_kw")}
    drawn = np.sum([block.import_kw for block in blocks], axis=0)
    scale, unit = power_scale(float(max(np.max(sums["it_kw"] + sums["cooling_kw"]), np.max(drawn))))
    lines = [
        told_time(time, "y"),
        stacked_area(time, sums["it_kw"] / scale, "IT", BLUE, "power"),
        stacked_area(time, sums["cooling_kw"] / scale, "cooling", SKY, "power"),
        step_line(time, drawn / scale, "drawn from the grid", INK),
    ]
    return _figure(time, hour, lines, "Power of all blocks as planned", {"yaxis": f"Power, {unit}"})


def _cooling(look: Look, hour: datetime) -> Figure:
    time = _slots(look)
    colors = (GREEN, ORANGE, BLUE, VERMILLION, SKY, INK)
    lines: list[Trace] = [told_time(time, "y")]
    for i, block in enumerate(_blocks(look)):
        if any(value is not None for value in block.supply_setpoint_c):
            lines.append(step_line(time, _numbers(block.supply_setpoint_c), block.block, colors[i % len(colors)]))
    label = "Coolant supply temperature that each block asks for"
    return _figure(time, hour, lines, label, {"yaxis": "Supply, \u00b0C"})


def _figure(time: TimeAxis, hour: datetime, lines: list[Trace], label: str, titles: dict[str, str]) -> Figure:
    marked: dict[str, Any] = {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": iso(hour),
        "x1": iso(hour + HOUR),
        "y0": 0,
        "y1": 1,
        "fillcolor": "rgba(31,41,51,0.15)",
        "line": {"width": 0},
    }
    axes = {name: value_axis(title, (0, 1)) for name, title in titles.items()}
    return {"data": lines, "layout": layout(_HEIGHT_PX, label, xaxis=time.axis(), shapes=[marked], **axes)}


def _slots(look: Look) -> TimeAxis:
    assert look.calendar is not None
    length = (look.calendar.valid_until - look.calendar.valid_from) / look.calendar.n_slots
    starts = tuple(look.calendar.valid_from + k * length for k in range(look.calendar.n_slots))
    return TimeAxis(starts, look.calendar.valid_until, look.tz)


def _blocks(look: Look) -> Any:
    assert look.calendar is not None
    return look.calendar.blocks


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]
