"""The report: one HTML file that needs neither network nor server."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from planner.export import view
from planner.export.charts.frame import Figure, TimeAxis
from planner.export.charts.grid import grid_figure
from planner.export.charts.power import power_figure
from planner.export.charts.runs import runs_figure, shade_scale

if TYPE_CHECKING:
    from planner.outcome import Outcome


def report_html(outcome: Outcome) -> bytes:
    """Return the report of a planned week as a page, UTF-8.

    Args:
        outcome: The week, its calendar and the judge's figures.
    """
    week = outcome.week
    time = TimeAxis(week.grid.starts, week.grid.end, week.tz)
    capacity_kw = {block.name: week.capacity_kw(block) for block in week.blocks}
    # One unit for the whole page, so that figures can be laid side by side.
    highest_kw = max(float(kw.max()) for kw in capacity_kw.values())
    scale = (1000.0, "MW") if highest_kw >= 1000.0 else (1.0, "kW")
    plans = {plan.block: plan for plan in outcome.calendar.blocks}
    carries_kw = {result.block: result.w_max_kw for result in outcome.evaluation.blocks}
    page = _environment().get_template("report.html.j2")
    text = page.render(
        view=view,
        outcome=outcome,
        plotly=Markup(get_plotlyjs()),  # noqa: S704 - Plotly's own bundle, as its package ships it
        grid=_embedded(grid_figure(week, time, outcome.runs, scale)),
        shades=shade_scale(),
        gantt=_embedded(runs_figure(week, outcome.calendar, outcome.runs, time)),
        blocks=[
            (
                block.name,
                _embedded(
                    power_figure(block, plans[block.name], time, capacity_kw[block.name], carries_kw[block.name], scale)
                ),
            )
            for block in week.blocks
            if block.name in plans
        ],
    )
    return text.encode()


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("planner.export"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _embedded(figure: Figure) -> dict[str, Any]:
    """Return a figure's label, and its JSON made safe inside a script element."""
    text = json.dumps(figure, separators=(",", ":"), allow_nan=False, default=_plain)
    for sign, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(sign, escaped)
    return {
        "label": figure["layout"]["meta"]["label"],
        "height_px": figure["layout"]["height"],
        "json": Markup(text),  # noqa: S704 - no sign that could end the element is left
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a figure")
