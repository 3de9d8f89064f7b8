"""One block's power against its limit: where it goes, where it comes from, and its battery."""

from __future__ import annotations

import html
import itertools
from typing import TYPE_CHECKING

import numpy as np

from planner.export.charts.frame import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
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
"""Name of the block's limit; see `limit_told`."""

OFFER = "Own sun and wind on offer, 10 to 90 %"
"""Name of what own sources may offer, where their weather was forecast here."""
ORANGE_HAZE = "rgba(230,159,0,0.30)"

COOLING_LIMIT = "Cooling allows (IT)"
"""Name of what the cooling lets the plan take, the site's reserve in hand: the number that the plan obeys."""


def power_figure(
    block: Block,
    plan: BlockPlan,
    time: TimeAxis,
    limits_kw: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
    allowed: PlanLimit,
    scale: tuple[float, str],
    offered_kw: tuple[npt.NDArray[np.float64], ...] = (),
) -> Figure:
    """Return the figure of one block.

    Args:
        block: The block.
        plan: Its slots in the calendar.
        time: The slots.
        limits_kw: Facility power and grid import allowed per slot, kW, shape (T,) each.
        allowed: IT power that its cooling lets the plan take per slot, and what keeps it from more.
        scale: kW per shown unit of power and the unit's name.
        offered_kw: Least and most that its own sun and wind may offer, shape (T,) each; () where that is known.
    """
    factor, unit = scale
    capacity_kw, import_kw = limits_kw
    apart = bool((import_kw < capacity_kw).any())
    template = f"%{{y:,.3~g}} {unit}"
    has_battery = block.battery is not None
    goes, comes, store = _domains(has_battery)
    feeds = ["grid import", *_sources(block, plan), *(["battery"] if has_battery else [])]

    def area(kw: tuple[float, ...], name: str, color: str, group: str, axis: str) -> Trace:
        return stacked_area(
            time, np.asarray(kw) / factor, name, color, group, yaxis=axis, hovertemplate=template, legendgroup=group
        )

    data = [told_time(time, "y")]
    data += [area(kw, name, color, "goes", "y") for kw, name, color in _uses(block, plan) if kw]
    data += [area(kw, name, color, "comes", "y2") for kw, name, color in _supplies(block, plan) if kw]
    data += _offer(time, [kw / factor for kw in offered_kw])
    data += [
        _limit(time, capacity_kw / factor, LIMIT, BLACK, "y", template, "dash"),
        _limit(
            time,
            import_kw / factor,
            "Limit of grid import" if apart else LIMIT,
            BLACK,
            "y2",
            template,
            "dash",
            showlegend=apart,
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
            f"Power of block {block.name} against its limit: IT and cooling; {_listed(feeds)}",
            xaxis=time.axis(anchor="y3" if has_battery else "y2"),
            **axes,
        ),
    }


def limit_told(block: Block, plan: BlockPlan) -> str:
    """Return in a sentence what a block's limit holds for, and what may stand above it.

    Args:
        block: The block.
        plan: Its slots in the calendar.
    """
    held = "IT with cooling and heat pumps" if plan.heat_pump_kw else "IT with cooling"
    sentence = f"The dashed limit holds for {held}, and for the grid import, each by itself"
    sources = _sources(block, plan)
    free = ["export"] if plan.export_kw else []
    if sources and block.battery is not None:
        free.append(f"charging the battery from {_listed(sources)}")
    if not free:
        return f"{sentence}."
    counts = "counts" if len(free) == 1 else "count"
    return f"{sentence}; {_listed(free)} {counts} towards neither, so a stack with it may stand above the line."


def _uses(block: Block, plan: BlockPlan) -> list[tuple[tuple[float, ...], str, str]]:
    """Return where a block's power goes: series, name and colour; an empty series where it has no such part."""
    return [
        (plan.it_kw, "IT", BLUE),
        (plan.cooling_kw, "Cooling", SKY),
        (plan.heat_pump_kw, "Heat pumps", VERMILLION),
        (plan.charge_kw if block.battery is not None else (), "Battery charging", PURPLE),
        (plan.export_kw, "Export", GREY),
    ]


def _supplies(block: Block, plan: BlockPlan) -> list[tuple[tuple[float, ...], str, str]]:
    """Return where a block's power comes from, as `_uses`."""
    shades = itertools.cycle((VERMILLION, GREY))
    return [
        (plan.import_kw, "Grid import", ORANGE),
        (plan.solar_kw if block.solar is not None else (), "Solar", YELLOW),
        (plan.wind_kw, "Wind", SKY),
        *((g.generation_kw, f"Generators {html.escape(g.generator)}", next(shades)) for g in plan.generators),
        (plan.discharge_kw if block.battery is not None else (), "Battery discharging", GREEN),
    ]


def _sources(block: Block, plan: BlockPlan) -> list[str]:
    """Return what may feed a block beside the grid and its battery."""
    there = (("solar", block.solar is not None), ("wind", plan.wind_kw), ("generators", plan.generators))
    return [name for name, has in there if has]


def _listed(names: list[str]) -> str:
    """Return names with commas and an "and" before the last."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _domains(has_battery: bool) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    if has_battery:
        return (0.60, 1.0), (0.24, 0.54), (0.0, 0.17)
    return (0.50, 1.0), (0.0, 0.43), (0.0, 0.0)


def _offer(time: TimeAxis, offered: list[npt.NDArray[np.float64]]) -> list[Trace]:
    """Return the span of what own sun and wind may offer as a haze; nothing where it is known."""
    if not offered:
        return []
    shared: Trace = {
        "yaxis": "y2",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "hovertemplate": None,
        "legendgroup": OFFER,
    }
    low, high = (step_line(time, kw, OFFER, ORANGE_HAZE, **shared) for kw in offered)
    return [low | {"showlegend": False}, high | {"fill": "tonexty", "fillcolor": ORANGE_HAZE}]


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
