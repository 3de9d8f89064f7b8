"""One block's cooling: temperatures against limits, load against what the plant carries, and the power it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.export.charts.frame import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    MUTED,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Figure,
    TimeAxis,
    Trace,
    layout,
    stacked_area,
    step_line,
    told_time,
    value_axis,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.thermal_outlook import BlockOutlook
    from planner.week import Signals

HEADROOM = 1.1  # keeps the lines at rated power off the edge
_DEGREES = "%{y:.1f} \u00b0C"


def cooling_figure(block: BlockOutlook, signals: Signals, time: TimeAxis, scale: tuple[float, str]) -> Figure:
    """Return the figure of one block.

    Args:
        block: The block with its facts.
        signals: The weather.
        time: The slots.
        scale: kW per shown unit of power and the unit's name.
    """
    factor, unit = scale
    template = f"%{{y:,.3~g}} {unit}"
    hours, limit_kw = block.report.hours, block.report.limit.it_kw

    def power(kw: npt.NDArray[np.float64], name: str, color: str, dash: str) -> Trace:
        return step_line(
            time, kw / factor, name, color, yaxis="y2", line={"dash": dash, "width": 1.6}, hovertemplate=template
        )

    def area(kw: npt.NDArray[np.float64], name: str, color: str, group: str, axis: str) -> Trace:
        return stacked_area(time, kw / factor, name, color, group, yaxis=axis, hovertemplate=template)

    parts = [("Fans", hours.fan_kw, SKY), ("Pumps", hours.pump_kw, GREEN), ("Compressors", hours.compressor_kw, PURPLE)]
    data = [
        told_time(time, "y"),
        *_temperatures(block, signals, time),
        area(hours.it_kw, "IT power", GREY, "it", "y2"),
        power(hours.w_max_kw, "Cooling carries", BLACK, "solid"),
        power(hours.w_max_n1_kw, "One unit out", VERMILLION, "dot"),
        *([power(limit_kw, "A plan may take", BLUE, "dash")] if (limit_kw < hours.w_max_kw).any() else []),
        *(area(kw, name, color, "cooling", "y3") for name, kw, color in parts if kw.any()),
    ]
    return {
        "data": data,
        "layout": layout(
            640,
            f"Cooling of block {block.name}: temperatures against limits, IT power against what the plant carries, and "
            "the power of fans, pumps and compressors, by hour of the week",
            xaxis=time.axis(anchor="y3"),
            yaxis=value_axis("\u00b0C", (0.56, 1.0)),
            yaxis2=value_axis(
                f"IT power, {unit}", (0.27, 0.50), range=[0, HEADROOM * block.plant.rated_it_kw / factor]
            ),
            yaxis3=value_axis(f"cooling, {unit}", (0.0, 0.21), rangemode="tozero"),
        ),
    }


def _temperatures(block: BlockOutlook, signals: Signals, time: TimeAxis) -> list[Trace]:
    hours, plant = block.report.hours, block.plant
    limited = {margin.name: margin.limit_c for margin in block.report.margins}
    rows = []
    if plant.loop is not None:
        rows += [
            ("chip case", "Chip case", hours.case_temp_c, VERMILLION),
            ("liquid supply", "Liquid to racks", hours.supply_temp_c, BLUE),
        ]
    if "room air" in limited:
        rows.append(("room air", "Room air", hours.air_supply_temp_c, PURPLE))
    traces = []
    for limit, name, temp_c, color in rows:
        traces.append(step_line(time, temp_c, name, color, hovertemplate=_DEGREES))
        if limit in limited:
            traces.append(
                step_line(
                    time,
                    np.full(len(time.starts), limited[limit]),
                    f"{name}, limit",
                    color,
                    line={"dash": "dash", "width": 1.1},
                    hovertemplate=_DEGREES,
                    showlegend=False,
                )
            )
    return [
        *traces,
        step_line(time, signals.dry_bulb_c, "Dry bulb", ORANGE, hovertemplate=_DEGREES),
        step_line(time, signals.wet_bulb_c, "Wet bulb", MUTED, line={"dash": "dot"}, hovertemplate=_DEGREES),
    ]
