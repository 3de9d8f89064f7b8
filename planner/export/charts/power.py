"""One block's power against its limit: where it goes, where it comes from, and its battery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.export.charts.frame import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
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

    from planner.week import Block
    from thermal.limit import PlanLimit
    from trainer_hooks.contract import BlockPlan


LIMIT = "Limit (IT with cooling; grid import)"
"""Name of the block's limit: charging the battery from the sun counts towards neither."""

COOLING_LIMIT = "Cooling allows (IT)"
"""Name of what the cooling lets the plan take, the site's reserve in hand: the number that the plan obeys."""


def power_figure(
    block: Block,
    plan: BlockPlan,
    time: TimeAxis,
    capacity_kw: npt.NDArray[np.float64],
    allowed: PlanLimit,
    scale: tuple[float, str],
) -> Figure:
    """Return the figure of one block.

    Args:
        block: The block.
        plan: Its slots in the calendar.
        time: The slots.
        capacity_kw: Facility power allowed per slot, kW, shape (T,).
        allowed: IT power that its cooling lets the plan take per slot, and what keeps it from more.
        scale: kW per shown unit of power and the unit's name.
    """
    factor, unit = scale
    template = f"%{{y:,.3~g}} {unit}"
    has_battery = block.battery is not None
    goes, comes, store = _domains(has_battery)

    def area(kw: tuple[float, ...], name: str, color: str, group: str, axis: str) -> Trace:
        return stacked_area(
            time, np.asarray(kw) / factor, name, color, group, yaxis=axis, hovertemplate=template, legendgroup=group
        )

    data = [
        told_time(time, "y"),
        area(plan.it_kw, "IT", BLUE, "goes", "y"),
        area(plan.cooling_kw, "Cooling", SKY, "goes", "y"),
        area(plan.import_kw, "Grid import", ORANGE, "comes", "y2"),
    ]
    if has_battery:
        data.insert(3, area(plan.charge_kw, "Battery charging", PURPLE, "goes", "y"))
    if plan.heat_pump_kw:
        data.insert(3, area(plan.heat_pump_kw, "Heat pumps", VERMILLION, "goes", "y"))
    if block.solar is not None:
        data.append(area(plan.solar_kw, "Solar", YELLOW, "comes", "y2"))
    if has_battery:
        data.append(area(plan.discharge_kw, "Battery discharging", GREEN, "comes", "y2"))
    data += [
        _limit(time, capacity_kw / factor, LIMIT, BLACK, "y", template, "dash"),
        _limit(
            time,
            capacity_kw / factor,
            LIMIT,
            BLACK,
            "y2",
            template,
            "dash",
            showlegend=False,
        ),
    ]
    # A cooling limit far above the block's own limit would only squeeze the figure.
    if (allowed.it_kw < capacity_kw).any():
        bounded = np.minimum(allowed.it_kw, 1.25 * capacity_kw.max())
        cause = [f" ({cause})" if cause else "" for cause in allowed.cause]
        data.append(
            _limit(time, bounded / factor, COOLING_LIMIT, VERMILLION, "y", f"{template}%{{customdata}}", "dot")
            | {"customdata": [*cause, cause[-1]]}
        )
    axes = {
        "yaxis": value_axis(f"used, {unit}", goes, rangemode="tozero"),
        "yaxis2": value_axis(f"supplied, {unit}", comes, rangemode="tozero"),
    }
    if has_battery:
        energy_unit = f"{unit}h"
        data.append(
            step_line(
                time,
                np.asarray(plan.battery_kwh) / factor,
                "Battery state",
                GREEN,
                yaxis="y3",
                line={"shape": "linear"},
                hovertemplate=f"%{{y:,.3~g}} {energy_unit}",
                showlegend=False,
            )
        )
        axes["yaxis3"] = value_axis(f"stored, {energy_unit}", store, rangemode="tozero")
    return {
        "data": data,
        "layout": layout(
            600 if has_battery else 480,
            f"Power of block {block.name} against its limit: IT and cooling, grid import, solar and battery",
            xaxis=time.axis(anchor="y3" if has_battery else "y2"),
            **axes,
        ),
    }


def _domains(has_battery: bool) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    if has_battery:
        return (0.60, 1.0), (0.24, 0.54), (0.0, 0.17)
    return (0.50, 1.0), (0.0, 0.43), (0.0, 0.0)


def _limit(
    time: TimeAxis,
    values: npt.NDArray[np.float64],
    name: str,
    color: str,
    axis: str,
    template: str,
    dash: str,
    *,
    showlegend: bool = True,
) -> Trace:
    return step_line(
        time,
        values,
        name,
        color,
        yaxis=axis,
        line={"dash": dash, "width": 1.4},
        hovertemplate=template,
        showlegend=showlegend,
    )
