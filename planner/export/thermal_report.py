"""The thermal report: one HTML file for facility staff that needs neither network nor server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.export import measured_view, thermal_rows, thermal_view
from planner.export.charts.cooling import cooling_figure
from planner.export.charts.frame import TimeAxis, power_scale
from planner.export.page import embedded, page
from planner.export.thermal_json import not_measured

if TYPE_CHECKING:
    from planner.thermal_outlook import ThermalOutlook


def thermal_html(outlook: ThermalOutlook) -> bytes:
    """Return the thermal report of a week as a page, UTF-8.

    Args:
        outlook: The facts of all blocks.
    """
    time = TimeAxis(outlook.grid.starts, outlook.grid.end, outlook.tz)
    scale = power_scale(max(block.plant.rated_it_kw for block in outlook.blocks))
    return page(
        "thermal.html.j2",
        view=thermal_view,
        rows=thermal_rows,
        measured_view=measured_view,
        provenance=thermal_view.provenance_rows(outlook),
        outlook=outlook,
        labels=outlook.labels,
        unmeasured=[(what, "not measured", why) for what, why in not_measured(outlook)],
        blocks=[(block, embedded(cooling_figure(block, outlook.signals, time, scale))) for block in outlook.blocks],
    )
